// Random choices from a seed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace rushgate::testing {

/// Gives the same numbers on every platform, unlike the standard's distributions. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  /// Returns a number from 0 to count - 1. Requires a positive `count`.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  /// Returns a number from low to high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + engine_() % span);
  }
  bool chance(std::size_t percent) { return below(100) < percent; }

  template <class Choices>
  const auto& pick(const Choices& choices) {
    return *(std::begin(choices) + static_cast<std::ptrdiff_t>(below(std::size(choices))));
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rushgate::testing
