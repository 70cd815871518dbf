// Seeds of random tests. A seed changes from run to run. A failed test names it, so that the same
// run can be repeated.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace rushgate {

/// Returns RUSHGATE_SEED of the environment, or a new seed if it is not set. Use:
///   const auto seed = random_seed();
///   SCOPED_TRACE(seed_text(seed));
inline std::uint64_t random_seed() {
  if (const char* chosen = std::getenv("RUSHGATE_SEED")) return std::strtoull(chosen, nullptr, 10);
  return std::random_device{}();
}

/// Returns a message that says how to repeat the run.
inline std::string seed_text(std::uint64_t seed) {
  return "to run again: RUSHGATE_SEED=" + std::to_string(seed);
}

}  // namespace rushgate
