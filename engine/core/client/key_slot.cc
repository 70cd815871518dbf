#include "engine/core/client/key_slot.h"

#include <array>
#include <cstddef>

namespace rushgate {
namespace {

/// CRC-16 of XMODEM: polynomial 0x1021, not reflected, begins with 0.
constexpr auto kTable = [] {
  std::array<std::uint16_t, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = static_cast<std::uint32_t>(byte) << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1U) ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t crc16(std::string_view bytes) {
  std::uint32_t crc = 0;
  for (const char c : bytes) {
    const std::uint32_t index = ((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xFFU;
    crc = ((crc << 8U) ^ kTable[index]) & 0xFFFFU;
  }
  return static_cast<std::uint16_t>(crc);
}

std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

int key_slot(std::string_view key) { return crc16(hashed_part(key)) % kSlots; }

}  // namespace rushgate
