#include "engine/core/client/command_traits.h"

#include <string>

#include <gtest/gtest.h>

#include <rushgate/request.h>

namespace rushgate {
namespace {

TEST(CommandTraitsTest, ConnectionUseIsKnownByNameAndSubcommand) {
  const auto use = [](const auto&... words) {
    return command_traits(Request::of(words...)).connection;
  };
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
  EXPECT_EQ(use("CLIENT", "later than us"), ConnectionUse::kChangesState);
  EXPECT_EQ(use("FT.SEARCH", "k"), ConnectionUse::kOrdinary);
  EXPECT_EQ(use(std::string(1'000, 'x'), "SELECT"), ConnectionUse::kOrdinary);
}

TEST(CommandTraitsTest, OnlyTimeoutsMayBlock) {
  for (const auto& [name, traits] : named_command_traits()) {
    const bool may_block = traits.connection == ConnectionUse::kMayBlock;
    EXPECT_EQ(may_block, traits.timeout != BlockTimeout::kNone) << name;
    EXPECT_EQ(command_traits(name), traits) << name;
  }
}

}  // namespace
}  // namespace rushgate
