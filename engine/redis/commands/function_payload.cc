#include "engine/redis/commands/function_payload.h"

#include <cstdint>
#include <utility>

#include "engine/redis/rdb/payload.h"
#include "engine/redis/rdb/rdb_writer.h"
#include "engine/redis/script/function_errors.h"

namespace rushgate {
namespace {

constexpr std::uint8_t kLibraryOpcode = 0xf5;

}  // namespace

void LibraryPayloadWriter::add(std::string_view code) {
  rdb::RdbWriter(bytes_).byte(kLibraryOpcode).string(code);
}

std::string LibraryPayloadWriter::finish() {
  rdb::seal(bytes_);
  return std::move(bytes_);
}

bool LibraryPayloadReader::is_intact() const { return rdb::unseal(payload_).has_value(); }

bool LibraryPayloadReader::at_end() const { return reader_.left() <= rdb::kSealBytes; }

std::optional<std::string> LibraryPayloadReader::next(Reply& error) {
  if (reader_.byte() != kLibraryOpcode) {
    error = function_errors::payload_type();
    return std::nullopt;
  }
  std::string code = reader_.string();
  if (reader_.ok() && code.size() <= bytes_max_) return code;
  error = function_errors::payload_library();
  return std::nullopt;
}

}  // namespace rushgate
