// Slow work within one instruction, or one call of a library function, can be killed.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/script/lua_test.h"

namespace rushgate {
namespace {

class LuaLongWorkTest : public LuaTest {
 protected:
  LuaLongWorkTest() : LuaTest({.busy_after_ms = 1}) {
    on_call_ = [this] {
      if (calls_.back()[0] == "BEGIN") begun_ = true;
      if (calls_.back()[0] == "END") ended_ = true;
      return Reply::ok();
    };
    on_poll_ = [this] { return begun_ && ++polls_ >= kKillAtPoll; };
  }

  /// Runs `work` after `preparation`, and expects a kill before it ends.
  void expect_killed(const std::string& preparation, const std::string& work) {
    begun_ = ended_ = false;
    polls_ = 0;
    protocol_changes_ = 0;
    const std::string script = preparation + " redis.call('BEGIN') " + work + " redis.call('END')";
    EXPECT_THAT(text(script), ::testing::StartsWith("(error) ERR Script killed by user")) << script;
    EXPECT_TRUE(begun_) << script;
    EXPECT_FALSE(ended_) << script;
  }

  static constexpr int kKillAtPoll = 4;  // some milliseconds into the work
  int polls_ = 0;
  bool begun_ = false;
  bool ended_ = false;
};

TEST_F(LuaLongWorkTest, LongStringInstructionsAreCheckedMoreOften) {
  // With the usual 10,000 instructions between two checks, this would run thousands of rounds.
  constexpr int kRoundsMax = 1'000;
  const std::string strings =
      "local a, b = ('x'):rep(4e6) .. 'a', ('x'):rep(4e6) .. 'b' local n = ('0'):rep(4e6) "
      "local emptied = {} for i = 1, 1e6 do emptied[i] = i end for i = 1, 1e6 do emptied[i] = nil "
      "end";
  for (const std::string instruction : {
           "local c = a .. b",
           "local c = a < b",
           "local c = a >= b",
           "local c = n + 1",
           "local c = next(emptied)",
           "local c = tonumber(n)",
           "local c = a:upper()",
           "local c = a:sub(2)",
           "local c = table.concat({a, b})",
       }) {
    const std::string loop = "while true do " + instruction + " redis.setresp(2) end";
    expect_killed(strings, loop);
    EXPECT_LT(protocol_changes_, kRoundsMax) << instruction;
    expect_killed(strings, "coroutine.wrap(function() " + loop + " end)()");
    EXPECT_LT(protocol_changes_, kRoundsMax) << instruction;
    expect_killed(strings, "local co = coroutine.create(function() while true do " + instruction +
                               " redis.setresp(2) coroutine.yield() end end)" +
                               " while true do coroutine.resume(co) end");
    EXPECT_LT(protocol_changes_, kRoundsMax) << instruction;
  }
}

TEST_F(LuaLongWorkTest, EarlierCoroutineIsCheckedMoreOften) {
  constexpr int kRoundsMax = 1'000;
  expect_killed(
      "local a, b "
      "local co = coroutine.wrap(function() "
      "  while true do local c = a < b redis.setresp(2) coroutine.yield() end end) "
      "a, b = ('x'):rep(4e6) .. 'a', ('x'):rep(4e6) .. 'b'",
      "while true do co() end");
  EXPECT_LT(protocol_changes_, kRoundsMax);
}

TEST_F(LuaLongWorkTest, LibraryFunctionsAreInterrupted) {
  const std::string graph =
      "local a, b = {}, {} local f = table.foreach "
      "for i = 1, 40 do a, b = {[a] = f, [b] = f}, {[a] = f, [b] = f} end";
  expect_killed(graph, "table.foreach(a, table.foreach)");
  expect_killed("local t = {} for i = 1, 5e6 do t[i] = i end",
                "for i = 1, 100 do table.foreachi(t, math.randomseed) end");
  expect_killed("local t = {} for i = 1, 2e6 do t[i] = i * 7919 % 1000003 end", "table.sort(t)");
  expect_killed("local t = {} for i = 1, 2e6 do t[i] = i * 7919 % 1000003 end",
                "table.sort(t, function(a, b) return a > b end)");
  expect_killed("local x = ('x'):rep(1e6) local t = {} for i = 1, 200 do t[i] = x .. i % 7 end",
                "table.sort(t)");
}

TEST_F(LuaLongWorkTest, DecodingIsInterrupted) {
  for (const std::string part : {"1,", "[],", R"("a\\n",)", R"("a",)", "  1 ,"}) {
    expect_killed("local s = '[' .. ('" + part + "'):rep(2e6) .. '1]'", "cjson.decode(s)");
    expect_killed("local s = '[' .. ('" + part + "'):rep(2e6) .. '1]'", "cjson.new().decode(s)");
  }
  expect_killed("local s = (' '):rep(1e7) .. '1'", "for i = 1, 1000 do cjson.decode(s) end");
}

TEST_F(LuaLongWorkTest, EncodingIsInterrupted) {
  const std::string emptied =
      "local emptied, all = {}, {} for i = 1, 1e6 do emptied[i] = i end "
      "for i = 1, 1e6 do emptied[i] = nil end for i = 1, 1e5 do all[i] = emptied end ";
  expect_killed(emptied, "cjson.encode(all)");
  expect_killed(emptied + "local json = cjson.new()", "json.encode(all)");
  expect_killed("cjson.encode_sparse_array(false, 0) local t = {[2 ^ 31 - 1] = 1}",
                "cjson.encode(t)");
  expect_killed("local s, t = ('x'):rep(1e6), {} for i = 1, 200 do t[i] = s end",
                "cjson.encode(t)");
}

}  // namespace
}  // namespace rushgate
