// A histogram of latencies: any number of values in a fixed 30 kB.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rushgate {

/// Counts durations in buckets. Each value up to 127 ns has a bucket of its own. Above that, a
/// bucket's width is less than 1/64 of its values, so a percentile is at most 1.6 % too high. Not
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

  /// Calls visit(greatest value, number of values) for each bucket with values, ascending.
  template <class Visit>
  void for_each_bucket(Visit visit) const {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      if (counts_[i] > 0) visit(greatest_in(i), counts_[i]);
    }
  }

  /// Returns the duration (ns) that `percent` of all values do not exceed; 0 if empty.
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
  // A value of up to 7 bits is its own bucket. A longer value is cut to its 7 highest bits. The
  // first of them is always 1, so each bit length has 64 buckets.
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
