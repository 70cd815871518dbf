#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <rushgate/stream_id.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(StreamIdTest, TimeIsComparedBeforeSequence) {
  EXPECT_LT((StreamId{1, 9}), (StreamId{2, 0}));
  EXPECT_LT((StreamId{1, 8}), (StreamId{1, 9}));
  EXPECT_EQ((StreamId{1, 8}), (StreamId{1, 8}));
  EXPECT_LT(StreamId::min(), StreamId::max());
}

TEST(StreamIdTest, NextAndPreviousCarryOverSequence) {
  EXPECT_EQ((StreamId{5, 0}.next()), (StreamId{5, 1}));
  EXPECT_EQ((StreamId{5, kMax}.next()), (StreamId{6, 0}));
  EXPECT_EQ((StreamId{5, 1}.previous()), (StreamId{5, 0}));
  EXPECT_EQ((StreamId{5, 0}.previous()), (StreamId{4, kMax}));
}

TEST(StreamIdTest, NoIdIsBeyondEnds) {
  EXPECT_EQ(StreamId::max().next(), std::nullopt);
  EXPECT_EQ(StreamId::min().previous(), std::nullopt);
}

TEST(StreamIdTest, ParseIsTheInverseOfToString) {
  for (const StreamId id : {StreamId::min(), StreamId{1'700'000'000'000, 3}, StreamId::max()}) {
    EXPECT_EQ(StreamId::parse(id.to_string()), id) << id.to_string();
  }
  EXPECT_EQ(StreamId::max().to_string(), "18446744073709551615-18446744073709551615");
}

TEST(StreamIdTest, MissingSequenceIsChosenByCaller) {
  EXPECT_EQ(StreamId::parse("7"), (StreamId{7, 0}));
  EXPECT_EQ(StreamId::parse("7", kMax), (StreamId{7, kMax}));
  EXPECT_EQ(StreamId::parse("7-1", kMax), (StreamId{7, 1}));
}

// The forms that XADD of Redis 7.0.15 accepts and refuses.
TEST(StreamIdTest, PartsHaveAnyFormOfRedis) {
  EXPECT_EQ(StreamId::parse("5-007"), (StreamId{5, 7}));
  EXPECT_EQ(StreamId::parse("2- 5"), (StreamId{2, 5}));
  EXPECT_EQ(StreamId::parse("+3-+1"), (StreamId{3, 1}));
  EXPECT_EQ(StreamId::parse("4--05"), (StreamId{4, kMax - 4}));
  EXPECT_EQ(StreamId::parse("1-1\0x"sv), (StreamId{1, 1}));
  EXPECT_EQ(StreamId::parse(std::string(126, '0') + '9'), (StreamId{9, 0}));
}

TEST(StreamIdTest, MalformedIdIsRefused) {
  for (const auto text : {""sv, "-"sv, "5-"sv, "-5"sv, "-6-1"sv, "--5"sv, "4--5"sv, "8-1 "sv,
                          "1-5-5"sv, "abc"sv, "1-abc"sv, "9-\0"sv, "18446744073709551616-0"sv}) {
    EXPECT_EQ(StreamId::parse(text), std::nullopt) << '"' << text << '"';
  }
  EXPECT_EQ(StreamId::parse(std::string(127, '0') + '9'), std::nullopt);
}

}  // namespace
}  // namespace rushgate
