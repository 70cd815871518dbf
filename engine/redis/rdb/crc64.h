// The checksum of Redis's snapshots: CRC-64 with the polynomial of Jones, reflected.
#pragma once

#include <cstdint>
#include <string_view>

namespace rushgate::rdb {

std::uint64_t crc64(std::string_view bytes);

}  // namespace rushgate::rdb
