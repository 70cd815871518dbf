// Repeated measurements, and the medians, ratios and report lines derived from them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rushgate::bench {

/// Measurements of one thing. A value type.
class Samples {
 public:
  static Samples of(std::vector<double> values) {
    Samples samples;
    samples.values_ = std::move(values);
    std::ranges::sort(samples.values_);
    return samples;
  }

  void add(double value) { values_.insert(std::ranges::upper_bound(values_, value), value); }

  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] double min() const { return values_.front(); }
  [[nodiscard]] double max() const { return values_.back(); }
  /// Returns the greatest measurement at or below the quantile `q` in [0, 1].
  [[nodiscard]] double quantile(double q) const {
    return values_[static_cast<std::size_t>(q * static_cast<double>(values_.size() - 1))];
  }
  [[nodiscard]] double median() const { return quantile(0.5); }

 private:
  std::vector<double> values_;  // ascending
};

/// A quantile of a distribution of latencies, and its name in the lines of the report.
struct Quantile {
  const char* name;
  double share;
};
inline constexpr std::array<Quantile, 4> kQuantiles = {
    {{"median", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}};

/// Purchases per batch in the lines of the report.
inline constexpr std::array<int, 5> kBatchSizes = {1, 10, 100, 1'000, 10'000};

enum class Better : unsigned char { kMore, kLess };

/// One line of the report: ours compared with the peer's, measured alternately in the same run.
struct Comparison {
  std::string line;  // subject of the comparison
  std::string unit;
  Better better = Better::kMore;
  std::string ours_is;
  std::string peer_is;
  Samples ours = {};
  Samples peer = {};
  std::optional<double> target = {};  // the ratio to reach
  std::string note = {};

  /// Returns the ratio of the medians. It is above 1 if ours is better.
  [[nodiscard]] double ratio() const {
    return better == Better::kMore ? ours.median() / peer.median() : peer.median() / ours.median();
  }
};

/// A figure without a peer.
struct Figure {
  std::string line;
  std::string unit;
  double value = 0;
  Better better = Better::kLess;
  std::optional<double> target = {};  // the value to reach
  std::string note = {};
};

}  // namespace rushgate::bench
