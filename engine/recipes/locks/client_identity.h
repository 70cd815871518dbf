// Names of lock clients, and of the owners of their locks.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

namespace rushgate {

/// Returns a random UUID, version 4: 36 characters.
inline std::string random_uuid() {
  constexpr std::uint32_t kVersion = 0x4000;
  constexpr std::uint32_t kVariant = 0x8000;
  std::random_device random;
  std::array<std::uint32_t, 4> bits{};
  for (std::uint32_t& word : bits) word = random();
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%04x%08x", bits[0], bits[1] >> 16,
                (bits[1] & 0x0fff) | kVersion, (bits[2] >> 16 & 0x3fff) | kVariant,
                bits[2] & 0xffff, bits[3]);
  return text.data();
}

/// Returns the name of a lock's owner: the field of Redisson's hashes.
inline std::string owner_name(const std::string& client_id, std::uint64_t caller) {
  return client_id + ':' + std::to_string(caller);
}

}  // namespace rushgate
