// A generator of random numbers: small, fast, the same on every machine.
#pragma once

#include <cassert>
#include <cstdint>

namespace rushgate {

/// SplitMix64: a copy draws what the original would. Not thread-safe, and not for secrets.
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

  /// In [0, bound), which must not be empty. The bias of the remainder is below what shows: a bound
  /// is a number of elements.
  std::uint64_t below(std::uint64_t bound) {
    assert(bound > 0);
    return next() % bound;
  }

 private:
  std::uint64_t state_;
};

}  // namespace rushgate
