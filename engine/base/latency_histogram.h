// How long requests took: any number of them, in a fixed 30 kB.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rushgate {

/// Counts durations in buckets. Up to 127 ns each value has its own; above, a bucket is less than
/// 1/64 of its values wide, so that a percentile is never more than 1.6 % above the true one. Not
/// thread-safe.
class LatencyHistogram {
 public:
  void add(std::int64_t ns, std::uint64_t count = 1) {
    counts_[bucket_of(ns < 0 ? 0 : static_cast<std::uint64_t>(ns))] += count;
    total_ += count;
  }

  void add(const LatencyHistogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
  }

  [[nodiscard]] std::uint64_t count() const { return total_; }

  /// The duration (ns) that `percent` of all did not exceed; 0 if there are none.
  [[nodiscard]] std::int64_t percentile(double percent) const {
    if (total_ == 0) return 0;
    const auto rank =
        static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(total_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (counts_[i] > 0 && seen >= rank) return greatest_in(i);
    }
    return greatest_in(kBuckets - 1);
  }

 private:
  // Values of up to 7 bits are their own buckets. A longer one is cut to its highest 7 bits, the
  // first of which is always 1: 64 buckets for each length.
  static constexpr int kBits = 7;
  static constexpr std::size_t kBucketsPerLength = std::size_t{1} << (kBits - 1);
  static constexpr std::size_t kBuckets = kBucketsPerLength * (63 - kBits + 2);

  static std::size_t bucket_of(std::uint64_t value) {
    const auto length = static_cast<int>(std::bit_width(value));
    const int cut = length > kBits ? length - kBits : 0;
    return kBucketsPerLength * static_cast<std::size_t>(cut) +
           static_cast<std::size_t>(value >> cut);
  }

  static std::int64_t greatest_in(std::size_t bucket) {
    if (bucket < 2 * kBucketsPerLength) return static_cast<std::int64_t>(bucket);
    const std::size_t cut = bucket / kBucketsPerLength - 1;
    const std::uint64_t highest = bucket - kBucketsPerLength * cut;
    return static_cast<std::int64_t>(((highest + 1) << cut) - 1);
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
};

}  // namespace rushgate
