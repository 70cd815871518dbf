// A small and fast generator of random numbers, with the same results on every machine.
#pragma once

#include <cassert>
#include <cstdint>

namespace rushgate {

/// SplitMix64. A copy draws the same numbers. Not thread-safe; not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E37'79B9'7F4A'7C15;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xBF58'476D'1CE4'E5B9;
    bits = (bits ^ (bits >> 27)) * 0x94D0'49BB'1331'11EB;
    return bits ^ (bits >> 31);
  }

  /// Returns a number in [0, bound); `bound` must not be 0. The bias of the remainder is negligible
  /// for the numbers of elements it is used with.
  std::uint64_t below(std::uint64_t bound) {
    assert(bound > 0);
    return next() % bound;
  }

 private:
  std::uint64_t state_;
};

}  // namespace rushgate
