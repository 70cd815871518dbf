#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

/// run() and TearDown() check that every change can be rolled back and is stored.
class GeoCommandsTest : public CommandTest {};

TEST_F(GeoCommandsTest, FailedCommandChangesNothing) {
  run("GEOADD", "g", 13, 38, "a");
  EXPECT_TRUE(run("GEOADD", "g", 14, 38, "b", 200, 38, "c").is_error());
  EXPECT_TRUE(run("GEOSEARCHSTORE", "g", "g", "FROMMEMBER", "x", "BYRADIUS", 1, "km").is_error());
  EXPECT_EQ(text("ZRANGE", "g", 0, -1), R"(["a"])");
}

TEST_F(GeoCommandsTest, ResultReplacesItsSource) {
  run("GEOADD", "g", 13, 38, "a", "13.1", 38, "b", 20, 38, "c");
  EXPECT_EQ(text("GEOSEARCHSTORE", "g", "g", "FROMMEMBER", "a", "BYRADIUS", 100, "km"),
            "(integer) 2");
  EXPECT_EQ(text("ZRANGE", "g", 0, -1), R"(["a", "b"])");
  EXPECT_EQ(text("GEORADIUSBYMEMBER", "g", "b", 1, "km", "STOREDIST", "g"), "(integer) 1");
  EXPECT_EQ(text("ZRANGE", "g", 0, -1, "WITHSCORES"), R"(["b", (double) 0])");
  EXPECT_EQ(text("GEORADIUS", "none", 13, 38, 1, "km", "STORE", "g"), "(integer) 0");
  EXPECT_EQ(text("EXISTS", "g"), "(integer) 0");
}

TEST_F(GeoCommandsTest, LongNamesAreFoundInAnyCase) {
  run("GEOADD", "g", 13, 38, "a");
  EXPECT_EQ(text("GeoRadiusByMember", "g", "a", 1, "km"), R"(["a"])");
  EXPECT_EQ(text("GEORADIUSBYMEMBER_RO", "g", "a", 1, "km"), R"(["a"])");
  EXPECT_TRUE(run("GEORADIUSBYMEMBER_RW", "g", "a", 1, "km").is_error());
  EXPECT_TRUE(run("GEORADIUSBYMEMBERS", "g", "a", 1, "km").is_error());
}

}  // namespace
}  // namespace rushgate
