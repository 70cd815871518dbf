#include <bit>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "engine/core/base/random.h"
#include <rushgate/ids.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

constexpr std::string_view kKey = "sixteen bytes ok";
constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

TEST(IdScramblerTest, ScramblingIsReversible) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  const auto scrambler = IdScrambler::create(kKey).value();
  for (int i = 0; i < 20'000; ++i) {
    const auto id = static_cast<std::int64_t>(random.next() >> 1 | 1);
    const std::int64_t number = scrambler.scramble(id);
    EXPECT_GT(number, 0);
    EXPECT_EQ(scrambler.unscramble(number), id);
    EXPECT_EQ(scrambler.scramble(scrambler.unscramble(id)), id);
  }
  for (const std::int64_t id : {std::int64_t{1}, kGreatest}) {
    EXPECT_EQ(scrambler.unscramble(scrambler.scramble(id)), id);
  }
}

TEST(IdScramblerTest, NeighboursDoNotShowVolume) {
  const auto scrambler = IdScrambler::create(kKey).value();
  const std::int64_t first = std::int64_t{60'000'000} << 32 | 1;
  int ascending = 0;
  int bits = 0;
  constexpr int kCount = 10'000;
  for (int i = 0; i < kCount; ++i) {
    const std::int64_t a = scrambler.scramble(first + i);
    const std::int64_t b = scrambler.scramble(first + i + 1);
    if (a < b) ++ascending;
    bits += std::popcount(static_cast<std::uint64_t>(a ^ b));
  }
  EXPECT_NEAR(ascending, kCount / 2.0, kCount / 20.0);
  EXPECT_NEAR(bits, kCount * 63 / 2.0, kCount);
}

TEST(IdScramblerTest, KeysGiveDifferentNumbers) {
  const auto one = IdScrambler::create(kKey).value();
  const auto other = IdScrambler::create("sixteen bytes OK").value();
  EXPECT_NE(one.scramble(1), other.scramble(1));
}

/// Another mapping would turn published numbers into other ids.
TEST(IdScramblerTest, MapStaysTheSame) {
  EXPECT_EQ(IdScrambler::create(kKey)->scramble(1), 2'427'211'924'983'628'450);
}

TEST(IdScramblerTest, KeyOfOtherSizeIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(IdScrambler::create("short").status()));
}

}  // namespace
}  // namespace rushgate
