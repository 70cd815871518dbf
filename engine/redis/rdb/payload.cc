#include "engine/redis/rdb/payload.h"

#include <cstddef>
#include <cstdint>

#include "engine/redis/rdb/crc64.h"
#include "engine/redis/rdb/little_endian.h"
#include "engine/redis/rdb/rdb_format.h"

namespace rushgate::rdb {
namespace {

constexpr std::size_t kVersionBytes = sizeof(kVersion);
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

}  // namespace

void seal(std::string& payload) {
  append_little_endian(payload, kVersion);
  append_little_endian(payload, crc64(payload));
}

std::optional<std::string_view> unseal(std::string_view payload, Checksum checksum) {
  if (payload.size() < kSealBytes) return std::nullopt;
  const std::string_view summed = payload.substr(0, payload.size() - kChecksumBytes);
  const std::string_view value = summed.substr(0, summed.size() - kVersionBytes);
  if (load_little_endian<std::uint16_t>(summed.substr(value.size())) > kVersion)
    return std::nullopt;
  if (checksum == Checksum::kChecked &&
      load_little_endian<std::uint64_t>(payload.substr(summed.size())) != crc64(summed)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace rushgate::rdb
