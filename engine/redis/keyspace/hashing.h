// Hash functions of the keyspace's tables: seeded, and deterministic.
#pragma once

#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL  // keys are short: a call would cost as much as the hash
#ifndef NDEBUG
#define XXH_NO_INLINE_HINTS 1  // GCC refuses some of them with -Og since xxHash 0.8.3
#endif
#include <xxhash.h>

namespace rushgate {

inline std::uint64_t hash_integer(std::int64_t value, std::uint64_t seed) {
  std::uint64_t bits = static_cast<std::uint64_t>(value) ^ seed;  // MurmurHash3's finaliser
  bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdULL;
  bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return bits ^ (bits >> 33);
}

inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace rushgate
