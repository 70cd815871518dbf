// The last uses of keys. (tests/conformance/transcripts/last_uses.txt compares with Redis 7.0, which
// has no CLIENT NO-TOUCH.)
#include <string>
#include <string_view>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class LastUsesTest : public CommandTest {
 protected:
  LastUsesTest() {
    run("SET", "k", "v");
    run("RPUSH", "l", "a");
    advance_ms(10'000);
  }
  std::string idle_s(std::string_view key = "k") {
    return std::to_string(run("OBJECT", "IDLETIME", key).integer());
  }
};

TEST_F(LastUsesTest, IdleTimeFollowsClock) {
  EXPECT_EQ(idle_s(), "10");
  advance_ms(1'999);
  EXPECT_EQ(idle_s(), "12") << "a second has begun";
  run("GET", "k");
  EXPECT_EQ(idle_s(), "0");
  EXPECT_EQ(idle_s("l"), "12");
}

TEST_F(LastUsesTest, MovedKeyKeepsItsTime) {
  run("RENAME", "k", "r");
  advance_ms(5'000);
  run("COPY", "r", "c");
  advance_ms(2'000);
  EXPECT_EQ(idle_s("r"), "2");
  EXPECT_EQ(idle_s("c"), "2");
}

TEST_F(LastUsesTest, RestoreSetsTime) {
  const std::string payload = run("DUMP", "k").text();
  run("RESTORE", "k", 0, payload, "REPLACE", "IDLETIME", 3'600);
  EXPECT_EQ(idle_s(), "3600");
  advance_ms(60'000);
  EXPECT_EQ(idle_s(), "3660");
  run("RESTORE", "k", 0, payload, "REPLACE", "FREQ", 9);
  EXPECT_EQ(idle_s(), "0");
}

TEST_F(LastUsesTest, FlaggedClientKeepsTimes) {
  session().keeps_idle_times = true;
  run("GET", "k");
  run("APPEND", "k", "w");
  run("EXPIRE", "k", 100);
  run("SET", "k", "x");
  run("EVAL", "redis.call('INFO') return redis.call('GET', KEYS[1])", 1, "k");
  run("LPUSH", "l", "b");
  run("SORT", "l", "ALPHA");
  EXPECT_EQ(idle_s("k"), "10");
  EXPECT_EQ(idle_s("l"), "10");
  session().keeps_idle_times = false;
  run("GET", "k");
  EXPECT_EQ(idle_s("k"), "0");
}

TEST_F(LastUsesTest, ExplicitUseOfFlaggedClientCounts) {
  session().keeps_idle_times = true;
  EXPECT_EQ(run("TOUCH", "k", "l", "none", "k"), Reply::integer(3));
  EXPECT_EQ(idle_s("k"), "0");
  EXPECT_EQ(idle_s("l"), "0");
}

TEST_F(LastUsesTest, FlaggedClientCreatesWithCurrentTime) {
  session().keeps_idle_times = true;
  run("SET", "new", "v");
  EXPECT_EQ(idle_s("new"), "0");
}

}  // namespace
}  // namespace rushgate
