#include "engine/core/base/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

TEST(LatencyHistogramTest, IsEmptyAtFirst) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(99), 0);
}

TEST(LatencyHistogramTest, ShortDurationsAreExact) {
  LatencyHistogram histogram;
  for (std::int64_t ns = 1; ns <= 100; ++ns) histogram.add(ns);
  EXPECT_EQ(histogram.percentile(50), 50);
  EXPECT_EQ(histogram.percentile(99), 99);
  EXPECT_EQ(histogram.percentile(100), 100);
}

TEST(LatencyHistogramTest, PercentileErrorIsAtMostOneSixtyFourth) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  LatencyHistogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 10'000; ++i) {
    values.push_back(static_cast<std::int64_t>(random() >> (1 + random() % 63)));
    histogram.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.1, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * 10'000));
    const std::int64_t exact = values[rank - 1];
    EXPECT_GE(histogram.percentile(percent), exact) << percent;
    EXPECT_LE(histogram.percentile(percent) - exact, exact / 64) << percent;
  }
}

TEST(LatencyHistogramTest, LongestDurationIsCounted) {
  LatencyHistogram histogram;
  histogram.add(std::numeric_limits<std::int64_t>::max());
  histogram.add(-5);  // as from a clock that steps back
  EXPECT_EQ(histogram.percentile(100), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.percentile(50), 0);
}

TEST(LatencyHistogramTest, HistogramsAddUp) {
  LatencyHistogram one;
  LatencyHistogram other;
  one.add(10, 3);
  other.add(20);
  one.add(other);
  EXPECT_EQ(one.count(), 4u);
  EXPECT_EQ(one.percentile(75), 10);
  EXPECT_EQ(one.percentile(76), 20);
}

}  // namespace
}  // namespace rushgate
