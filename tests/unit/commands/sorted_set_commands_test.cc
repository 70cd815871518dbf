#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

/// run() and TearDown() check that every change can be rolled back and is stored.
class SortedSetCommandsTest : public CommandTest {
 protected:
  std::string all(const char* key) { return text("ZRANGE", key, 0, -1, "WITHSCORES"); }
};

TEST_F(SortedSetCommandsTest, AddChangesScores) {
  EXPECT_EQ(text("ZADD", "z", 1, "a", 2, "b"), "(integer) 2");
  EXPECT_EQ(text("ZADD", "z", "CH", 5, "a", 2, "b", 3, "c"), "(integer) 2");
  EXPECT_EQ(text("ZINCRBY", "z", "0.5", "b"), "(double) 2.5");
  EXPECT_EQ(all("z"), R"(["b", (double) 2.5, "c", (double) 3, "a", (double) 5])");
}

TEST_F(SortedSetCommandsTest, FailedCommandChangesNothing) {
  run("ZADD", "z", "inf", "a");
  EXPECT_EQ(text("ZADD", "z", 1, "b", "x", "c"), "(error) ERR value is not a valid float");
  EXPECT_EQ(text("ZINCRBY", "z", "-inf", "a"), "(error) ERR resulting score is not a number (NaN)");
  EXPECT_EQ(text("ZADD", "new", "NX", "XX", 1, "a"),
            "(error) ERR XX and NX options at the same time are not compatible");
  EXPECT_EQ(text("EXISTS", "new"), "(integer) 0");
}

TEST_F(SortedSetCommandsTest, LastMemberRemovesKey) {
  run("ZADD", "z", 1, "a", 2, "b", 3, "c", 4, "d", 5, "e", 6, "f");
  EXPECT_EQ(text("ZREM", "z", "a", "none"), "(integer) 1");
  EXPECT_EQ(text("ZREMRANGEBYRANK", "z", 0, 0), "(integer) 1");
  EXPECT_EQ(text("ZREMRANGEBYSCORE", "z", 6, "inf"), "(integer) 1");
  EXPECT_EQ(text("ZPOPMAX", "z"), R"(["e", (double) 5])");
  EXPECT_EQ(text("ZMPOP", 2, "none", "z", "MIN", "COUNT", 1), R"(["z", [["c", (double) 3]]])");
  EXPECT_EQ(text("ZREMRANGEBYLEX", "z", "-", "+"), "(integer) 1");
  EXPECT_EQ(text("EXISTS", "z"), "(integer) 0");
}

TEST_F(SortedSetCommandsTest, StoringReplacesAnyValue) {
  run("ZADD", "a", 1, "x", 2, "y");
  run("SADD", "s", "y", "z");
  run("SET", "d", "text");
  run("PEXPIRE", "d", 100);
  EXPECT_EQ(text("ZUNIONSTORE", "d", 2, "a", "s"), "(integer) 3");
  EXPECT_EQ(all("d"), R"(["x", (double) 1, "z", (double) 1, "y", (double) 3])");
  EXPECT_EQ(text("TTL", "d"), "(integer) -1");
  EXPECT_EQ(text("ZINTERSTORE", "d", 2, "a", "d"), "(integer) 2");
  EXPECT_EQ(text("ZDIFFSTORE", "a", 2, "d", "a"), "(integer) 0");
  EXPECT_EQ(text("EXISTS", "a"), "(integer) 0");
  EXPECT_EQ(text("ZRANGESTORE", "d", "d", 1, 1), "(integer) 1");
  EXPECT_EQ(all("d"), R"(["y", (double) 5])");
}

TEST_F(SortedSetCommandsTest, RandomDrawsAreDistinctOrRepeated) {
  for (int i = 0; i < 100; ++i) run("ZADD", "z", i, i);
  const Request request = Request::of("ZRANDMEMBER", "z", 60);
  CommandContext context(services(), session(), request, CommandContext::Origin::kClient, false);
  std::set<std::string> drawn;
  const Reply reply = run_command(context);
  for (const Reply& member : reply.elements()) drawn.insert(member.text());
  EXPECT_EQ(drawn.size(), 60U);
}

TEST_F(SortedSetCommandsTest, EveryMemberIsDrawn) {
  for (int i = 0; i < 10; ++i) run("ZADD", "z", i, i);
  std::map<std::string, int> drawn;
  const auto draw = [&](const Request& request) {
    CommandContext context(services(), session(), request, CommandContext::Origin::kClient, false);
    const Reply reply = run_command(context);
    if (reply.is_text()) ++drawn[reply.text()];
    if (!reply.is_text()) {
      for (const Reply& member : reply.elements()) ++drawn[member.text()];
    }
  };
  for (int i = 0; i < 1'000; ++i) draw(Request::of("ZRANDMEMBER", "z", 3));
  for (int i = 0; i < 1'000; ++i) draw(Request::of("ZRANDMEMBER", "z"));
  draw(Request::of("ZRANDMEMBER", "z", -6'000));
  ASSERT_EQ(drawn.size(), 10U);
  for (const auto& [member, times] : drawn) {
    EXPECT_GT(times, 850) << member;  // 1,000 is expected; the seed is fixed
    EXPECT_LT(times, 1'150) << member;
  }
}

TEST_F(SortedSetCommandsTest, BlockingCommandWaitsForItsKeys) {
  const Request request = Request::of("BZPOPMIN", "y", "z", "1.5");
  CommandContext context(services(), session(), request, CommandContext::Origin::kClient, false);
  run_command(context);
  ASSERT_TRUE(context.block_request().has_value());
  EXPECT_EQ(context.block_request()->keys, (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(context.block_request()->timeout_ms, 1'500);
}

TEST_F(SortedSetCommandsTest, WokenPopTakesFromSignalledKey) {
  run("ZADD", "y", 1, "a");
  run("ZADD", "z", 2, "b");
  const Request request = Request::of("BZPOPMIN", "y", "z", 0);
  CommandContext context(services(), session(), request, CommandContext::Origin::kClient, false,
                         "z");
  EXPECT_EQ(to_debug_string(run_command(context)), R"(["z", "b", (double) 2])");
}

}  // namespace
}  // namespace rushgate
