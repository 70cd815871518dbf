#include "adapters/redis/request_timeout.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "engine/core/client/command_traits.h"
#include <rushgate/request.h>

namespace rushgate {
namespace {

template <class... Args>
std::optional<std::int64_t> block_ms(Args... args) {
  return block_timeout_ms(Request::of(args...));
}

TEST(RequestTimeoutTest, StreamReadBlocksOnlyOnRequest) {
  EXPECT_EQ(block_ms("XREAD", "STREAMS", "s", "$"), std::nullopt);
  EXPECT_EQ(block_ms("xread", "block", 50, "streams", "s", "$"), 50);
  EXPECT_EQ(block_ms("XREAD", "COUNT", 1, "BLOCK", 0, "STREAMS", "s", "$"), 0);
  EXPECT_EQ(block_ms("XREADGROUP", "GROUP", "g", "c", "BLOCK", 7, "STREAMS", "s", ">"), 7);
}

TEST(RequestTimeoutTest, NamesAreNotTakenForOptions) {
  EXPECT_EQ(block_ms("XREADGROUP", "GROUP", "BLOCK", "9", "STREAMS", "s", ">"), std::nullopt);
  EXPECT_EQ(block_ms("XREADGROUP", "GROUP", "STREAMS", "c", "BLOCK", 5, "STREAMS", "s", ">"), 5);
  EXPECT_EQ(block_ms("XREAD", "STREAMS", "BLOCK", "9"), std::nullopt);
  EXPECT_EQ(block_ms("SET", "BLOCK", "9"), std::nullopt);
}

TEST(RequestTimeoutTest, RefusedTimeoutIsNoTimeout) {
  EXPECT_EQ(block_ms("XREAD", "BLOCK", "x", "STREAMS", "s", "$"), std::nullopt);
  EXPECT_EQ(block_ms("XREAD", "BLOCK", "-1", "STREAMS", "s", "$"), std::nullopt);
  EXPECT_EQ(block_ms("XREAD", "BLOCK"), std::nullopt);
  EXPECT_EQ(block_ms("BLPOP", "l", "x"), std::nullopt);
  EXPECT_EQ(block_ms("BLPOP"), std::nullopt);
}

TEST(RequestTimeoutTest, ListsAndSortedSetsCountInSeconds) {
  EXPECT_EQ(block_ms("BLPOP", "l", "0.25"), 250);
  EXPECT_EQ(block_ms("BZPOPMIN", "z", "2"), 2'000);
  EXPECT_EQ(block_ms("BLMPOP", "1", "1", "l", "LEFT"), 1'000);
  EXPECT_EQ(block_ms("WAIT", "1", "30"), 30);
}

TEST(RequestTimeoutTest, EachTimeoutIsFound) {
  for (const auto& [name, traits] : named_command_traits()) {
    switch (traits.timeout) {
      case BlockTimeout::kFirstSeconds:
        EXPECT_EQ(block_ms(name, "3", "1", "k", "MIN"), 3'000) << name;
        break;
      case BlockTimeout::kLastSeconds:
        EXPECT_EQ(block_ms(name, "k", "3"), 3'000) << name;
        break;
      case BlockTimeout::kBlockOption:
        EXPECT_EQ(block_ms(name, "BLOCK", "3", "STREAMS", "k", "$"), 3) << name;
        break;
      case BlockTimeout::kLastMs:
        EXPECT_EQ(block_ms(name, "1", "3"), 3) << name;
        break;
      case BlockTimeout::kNone:
        break;
    }
  }
}

}  // namespace
}  // namespace rushgate
