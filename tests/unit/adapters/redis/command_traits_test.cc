#include "adapters/redis/command_traits.h"

#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "engine/commands/command_table.h"
#include <rushgate/request.h>

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
  EXPECT_EQ(use("READONLY"), ConnectionUse::kChangesState);
  EXPECT_EQ(use("PSYNC", "?", "-1"), ConnectionUse::kUnsupported);
  EXPECT_EQ(use("WAIT", "1", "0"), ConnectionUse::kMayBlock);
}

TEST(CommandTraitsTest, ConnectionUseComesFromRecord) {
  for (const CommandSpec& spec : command_table()) {
    Request request;
    const std::string name = absl::AsciiStrToUpper(std::string(spec.name));
    for (const auto word : absl::StrSplit(name, '|')) request.add(std::string(word));
    const bool may_block = spec.timeout != BlockTimeout::kNone;
    const ConnectionUse expected = may_block ? ConnectionUse::kMayBlock : spec.connection;
    EXPECT_EQ(connection_use(request), expected) << spec.name;
    EXPECT_TRUE(may_block || !block_timeout_ms(request)) << spec.name;
  }
}

TEST(CommandTraitsTest, RecordedTimeoutIsFound) {
  for (const CommandSpec& spec : command_table()) {
    const std::string_view name = spec.name;
    switch (spec.timeout) {
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

TEST(CommandTraitsTest, CommandOfServersAloneHasNoRecord) {
  const auto use = [](const auto&... words) {
    const Request request = Request::of(words...);
    EXPECT_FALSE(find_command_traits(request)) << request[0];
    return connection_use(request);
  };
  EXPECT_EQ(use("WAITAOF"), ConnectionUse::kMayBlock);
  EXPECT_EQ(use("FT.SEARCH", "k"), ConnectionUse::kOrdinary);
}

}  // namespace
}  // namespace rushgate
