#include <string>
#include <vector>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class ListsCommandTest : public CommandTest {
 protected:
  std::string all(const char* key) { return text("LRANGE", key, 0, -1); }
};

TEST_F(ListsCommandTest, ElementsKeepTheirOrder) {
  EXPECT_EQ(text("RPUSH", "l", "b", "c"), "(integer) 2");
  EXPECT_EQ(text("LPUSH", "l", "a", 0), "(integer) 4");
  EXPECT_EQ(all("l"), R"(["0", "a", "b", "c"])");
  EXPECT_EQ(text("LSET", "l", -1, "z"), "OK");
  EXPECT_EQ(text("LINSERT", "l", "BEFORE", "b", "x"), "(integer) 5");
  EXPECT_EQ(text("LINSERT", "l", "AFTER", "z", "end"), "(integer) 6");
  EXPECT_EQ(text("LREM", "l", 0, "a"), "(integer) 1");
  EXPECT_EQ(all("l"), R"(["0", "x", "b", "z", "end"])");
  EXPECT_EQ(text("LTRIM", "l", 1, -2), "OK");
  EXPECT_EQ(all("l"), R"(["x", "b", "z"])");
}

TEST_F(ListsCommandTest, LastElementRemovesList) {
  for (const auto& taking : std::vector<Request>{
           Request::of("LPOP", "l"), Request::of("RPOP", "l", 3), Request::of("LREM", "l", 0, "a"),
           Request::of("LTRIM", "l", 1, 0), Request::of("LMPOP", 1, "l", "LEFT"),
           Request::of("RPOPLPUSH", "l", "other")}) {
    run("RPUSH", "l", "a");
    run_request(taking);
    EXPECT_EQ(text("EXISTS", "l"), "(integer) 0") << taking[0];
    commit();
  }
}

TEST_F(ListsCommandTest, ElementMayMoveWithinSingletonList) {
  run("RPUSH", "l", "a");
  run("EXPIRE", "l", 100);
  EXPECT_EQ(text("LMOVE", "l", "l", "LEFT", "RIGHT"), R"("a")");
  EXPECT_EQ(text("TTL", "l"), "(integer) 100") << "the list is the same one";
  EXPECT_EQ(all("l"), R"(["a"])");
}

TEST_F(ListsCommandTest, LongListIsStored) {
  for (int i = 0; i < 3'000; ++i) run("RPUSH", "l", i);
  commit();
  EXPECT_EQ(text("LINDEX", "l", 1'500), R"("1500")");
  run("LPOP", "l", 1'000);
  run("RPOP", "l", 1'000);
  expect_reload_equals();
  EXPECT_EQ(text("LLEN", "l"), "(integer) 1000");
  EXPECT_EQ(text("LPOS", "l", "1999"), "(integer) 999");
}

}  // namespace
}  // namespace rushgate
