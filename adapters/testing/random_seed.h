// Random tests run from a seed that changes from run to run, name it when they fail, and run again
// from it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace rushgate {

/// RUSHGATE_SEED of the environment, else a new one. Use: const auto seed = random_seed();
/// SCOPED_TRACE(seed_text(seed));
inline std::uint64_t random_seed() {
  if (const char* chosen = std::getenv("RUSHGATE_SEED")) return std::strtoull(chosen, nullptr, 10);
  return std::random_device{}();
}

inline std::string seed_text(std::uint64_t seed) {
  return "to run again: RUSHGATE_SEED=" + std::to_string(seed);
}

}  // namespace rushgate
