#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class ServerTest : public CommandTest {};

TEST_F(ServerTest, TimeIsTimeOfEngine) {
  EXPECT_EQ(text("TIME"), R"(["1700000000", "123000"])");
  advance_ms(877);
  EXPECT_EQ(text("TIME"), R"(["1700000001", "0"])");
}

TEST_F(ServerTest, DbsizeCountsOneDatabase) {
  EXPECT_EQ(text("DBSIZE"), "(integer) 0");
  run("MSET", "a", 1, "b", 2);
  EXPECT_EQ(text("DBSIZE"), "(integer) 2");
  run("SELECT", 1);
  EXPECT_EQ(text("DBSIZE"), "(integer) 0");
}

class FlushTest : public CommandTest {
 protected:
  void SetUp() override {
    run("SET", "a", 1, "EX", 10);
    run("SADD", "s", "x", 1);
    run("HSET", "h", "f", "v");
    run("SELECT", 1);
    run("SADD", "s", "y");
    run("SELECT", 0);
  }
};

TEST_F(FlushTest, FlushdbEmptiesOneDatabase) {
  EXPECT_EQ(text("FLUSHDB"), "OK");
  EXPECT_EQ(text("DBSIZE"), "(integer) 0");
  run("SELECT", 1);
  EXPECT_EQ(text("DBSIZE"), "(integer) 1");
}

TEST_F(FlushTest, FlushallEmptiesAll) {
  commit();
  EXPECT_EQ(text("FLUSHALL", "async"), "OK");
  EXPECT_EQ(text("DBSIZE"), "(integer) 0");
  run("SELECT", 1);
  EXPECT_EQ(text("DBSIZE"), "(integer) 0");
  run("SADD", "s", "z");
  EXPECT_EQ(text("SMEMBERS", "s"), R"(["z"])");
}

TEST_F(FlushTest, FlushTakesOneOptionAtMost) {
  EXPECT_EQ(text("FLUSHDB", "SYNC"), "OK");
  EXPECT_EQ(text("FLUSHDB", "Async"), "OK");
  EXPECT_EQ(text("FLUSHDB", "foo"), kSyntaxError);
  EXPECT_EQ(text("FLUSHALL", "SYNC", "ASYNC"), kSyntaxError);
  EXPECT_EQ(text("FLUSHALL", ""), kSyntaxError);
}

}  // namespace
}  // namespace rushgate
