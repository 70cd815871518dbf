// Sweeps: tests that repeat a program, with a fault at another place each time. `./dev test full` takes
// every place. Ordinary runs take some, others each time, because all of them take minutes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include <rushgate/random_seed.h>

namespace rushgate::testing {

/// Returns true in `./dev test full`.
inline bool is_full_run() { return std::getenv("RUSHGATE_FULL") != nullptr; }

/// The places of a sweep, in ascending order from 1.
class Sweep {
 public:
  /// An ordinary run takes about one place in `share`.
  explicit Sweep(std::uint64_t share) : share_(is_full_run() ? 1 : share) {}

  /// Returns the next place. The first is always 1.
  int next() {
    if (place_ == 0) return place_ = 1;
    return place_ += 1 + static_cast<int>(random_() % (2 * share_ - 1));
  }

  [[nodiscard]] std::string seed_text() const { return rushgate::seed_text(seed_); }

 private:
  const std::uint64_t share_;
  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
  int place_ = 0;
};

}  // namespace rushgate::testing
