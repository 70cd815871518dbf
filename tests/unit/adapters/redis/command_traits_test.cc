#include "adapters/redis/command_traits.h"

#include <optional>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

template <class... Args>
std::optional<std::int64_t> block_ms(const Args&... args) {
  return block_timeout_ms(Request::of(args...));
}

TEST(CommandTraitsTest, StreamReadBlocksOnlyOnRequest) {
  EXPECT_EQ(block_ms("XREAD", "STREAMS", "s", "$"), std::nullopt);
  EXPECT_EQ(block_ms("xread", "block", 50, "streams", "s", "$"), 50);
  EXPECT_EQ(block_ms("XREAD", "COUNT", 1, "BLOCK", 0, "STREAMS", "s", "$"), 0);
  EXPECT_EQ(block_ms("XREADGROUP", "GROUP", "g", "c", "BLOCK", 7, "STREAMS", "s", ">"), 7);
}

TEST(CommandTraitsTest, NamesAreNotTakenForOptions) {
  EXPECT_EQ(block_ms("XREADGROUP", "GROUP", "BLOCK", "9", "STREAMS", "s", ">"), std::nullopt);
  EXPECT_EQ(block_ms("XREADGROUP", "GROUP", "STREAMS", "c", "BLOCK", 5, "STREAMS", "s", ">"), 5);
  EXPECT_EQ(block_ms("XREAD", "STREAMS", "BLOCK", "9"), std::nullopt);
  EXPECT_EQ(block_ms("SET", "BLOCK", "9"), std::nullopt);
}

TEST(CommandTraitsTest, RefusedTimeoutIsNoTimeout) {
  EXPECT_EQ(block_ms("XREAD", "BLOCK", "x", "STREAMS", "s", "$"), std::nullopt);
  EXPECT_EQ(block_ms("XREAD", "BLOCK", "-1", "STREAMS", "s", "$"), std::nullopt);
  EXPECT_EQ(block_ms("XREAD", "BLOCK"), std::nullopt);
  EXPECT_EQ(block_ms("BLPOP", "l", "x"), std::nullopt);
  EXPECT_EQ(block_ms("BLPOP"), std::nullopt);
}

TEST(CommandTraitsTest, ListsAndSortedSetsCountInSeconds) {
  EXPECT_EQ(block_ms("BLPOP", "l", "0.25"), 250);
  EXPECT_EQ(block_ms("BZPOPMIN", "z", "2"), 2'000);
  EXPECT_EQ(block_ms("BLMPOP", "1", "1", "l", "LEFT"), 1'000);
  EXPECT_EQ(block_ms("WAIT", "1", "30"), 30);
}

TEST(CommandTraitsTest, ConnectionUseIsKnownByNameAndSubcommand) {
  const auto use = [](const auto&... words) { return connection_use(Request::of(words...)); };
  EXPECT_EQ(use("GET", "SELECT"), ConnectionUse::kOrdinary);
  EXPECT_EQ(use("", "SELECT"), ConnectionUse::kOrdinary);
  EXPECT_EQ(use("SCRIPT", "LOAD", ""), ConnectionUse::kOrdinary);
  EXPECT_EQ(use("select", "1"), ConnectionUse::kChangesState);
  EXPECT_EQ(use("CLIENT", "SETNAME", "x"), ConnectionUse::kChangesState);
  EXPECT_EQ(use("CLIENT", "list"), ConnectionUse::kOrdinary);
  EXPECT_EQ(use("client", "reply", "OFF"), ConnectionUse::kUnsupported);
  EXPECT_EQ(use("Subscribe", "c"), ConnectionUse::kSubscribes);
  EXPECT_EQ(use("xread", "STREAMS", "s", "0"), ConnectionUse::kMayBlock);
  EXPECT_EQ(use("multi"), ConnectionUse::kBeginsTransaction);
}

}  // namespace
}  // namespace rushgate
