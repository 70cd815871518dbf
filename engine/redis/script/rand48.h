// The generator behind math.random(): POSIX's lrand48, as Redis carries it along.
#pragma once

#include <cstdint>

namespace rushgate {

class Rand48 {
 public:
  static constexpr std::int32_t kMax = 2'147'483'647;

  explicit Rand48(std::uint32_t value) { seed(value); }

  void seed(std::uint32_t value) { state_ = (std::uint64_t{value} << 16) | 0x330E; }

  /// In [0, kMax].
  std::int32_t next() {
    state_ = (state_ * 0x5DEECE66D + 0xB) & ((std::uint64_t{1} << 48) - 1);
    return static_cast<std::int32_t>(state_ >> 17);
  }

 private:
  std::uint64_t state_;
};

}  // namespace rushgate
