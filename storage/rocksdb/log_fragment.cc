#include "storage/rocksdb/log_fragment.h"

#include <boost/crc.hpp>

namespace rushgate {
namespace {

constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kTypeAt = 6;

std::uint32_t read_little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

/// CRC-32C, masked as RocksDB does, because the bytes may hold checksums themselves.
std::uint32_t masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t plain = crc.checksum();
  return ((plain >> 15) | (plain << 17)) + 0xa282ead8U;
}

}  // namespace

std::optional<LogFragment> read_fragment(std::string_view rest) {
  if (rest.size() < LogFragment::kHeadBytes) return std::nullopt;
  const std::size_t length = read_little_endian(rest.substr(kLengthAt, 2));
  if (rest.size() < LogFragment::kHeadBytes + length) return std::nullopt;
  const std::uint32_t crc = read_little_endian(rest.substr(0, kLengthAt));
  if (masked_crc(rest.substr(kTypeAt, 1 + length)) != crc) return std::nullopt;
  return LogFragment{
      .type = LogFragment::Type{static_cast<std::uint8_t>(rest[kTypeAt])},
      .payload = rest.substr(LogFragment::kHeadBytes, length),
  };
}

}  // namespace rushgate
