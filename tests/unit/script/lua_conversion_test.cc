#include <string>

#include <gtest/gtest.h>

#include "tests/unit/script/lua_test.h"

namespace rushgate {
namespace {

class LuaConversionTest : public LuaTest {
 protected:
  /// Returns a command's reply as a script sees it: its type, and for tables the result of
  /// `describe`.
  std::string seen(Reply reply, const std::string& describe, int protocol = 2) {
    on_call_ = [reply = std::move(reply)] { return reply; };
    return text("redis.setresp(" + std::to_string(protocol) +
                ") local r = redis.call('x') return " + describe);
  }
};

// ---- Lua to reply ----

TEST_F(LuaConversionTest, SimpleValuesBecomeReplies) {
  EXPECT_EQ(eval("return 'a\\0b'"), Reply::bulk(std::string("a\0b", 3)));
  EXPECT_EQ(eval("return 3"), Reply::integer(3));
  EXPECT_EQ(eval("return true"), Reply::integer(1));
  EXPECT_EQ(eval("return false"), Reply::nil());
  EXPECT_EQ(eval("return nil"), Reply::nil());
  EXPECT_EQ(eval("return"), Reply::nil());
  EXPECT_EQ(eval(""), Reply::nil());
  EXPECT_EQ(eval("return 1, 2"), Reply::integer(1));
  EXPECT_EQ(eval("return function() end"), Reply::nil());
  EXPECT_EQ(eval("return cjson.null"), Reply::nil());
}

TEST_F(LuaConversionTest, NumbersAreTruncated) {
  EXPECT_EQ(eval("return 3.99"), Reply::integer(3));
  EXPECT_EQ(eval("return -3.99"), Reply::integer(-3));
  EXPECT_EQ(eval("return 2^53"), Reply::integer(9'007'199'254'740'992));
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  for (const char* script :
       {"return 2^63", "return -2^63", "return 1e300", "return 0/0", "return math.huge"}) {
    EXPECT_EQ(eval(script), Reply::integer(kMin)) << script;
  }
}

TEST_F(LuaConversionTest, NilEndsArray) {
  EXPECT_EQ(text("return {1, 2, nil, 4}"), "[(integer) 1, (integer) 2]");
  EXPECT_EQ(text("return {1, {2, {'x'}}, true, false, 4}"),
            R"([(integer) 1, [(integer) 2, ["x"]], (integer) 1, (nil), (integer) 4])");
  EXPECT_EQ(eval("return {}"), Reply::array());
  EXPECT_EQ(eval("return {a = 1}"), Reply::array());
}

TEST_F(LuaConversionTest, StatusAndErrorAreOneLine) {
  EXPECT_EQ(eval("return {ok = 'fine'}"), Reply::status("fine"));
  EXPECT_EQ(eval("return {ok = 'a\\r\\nb'}"), Reply::status("a  b"));
  EXPECT_EQ(eval("return {ok = 'a\\0b'}"), Reply::status("a"));
  EXPECT_EQ(eval("return {err = 'CODE text'}"), Reply::error("CODE text"));
  EXPECT_EQ(eval("return {err = 'a\\nb\\r\\n'}"), Reply::error("a b"));
  EXPECT_EQ(eval("return {err = 1}"), Reply::array());
  EXPECT_EQ(eval("return {ok = {}}"), Reply::array());
  EXPECT_EQ(eval("return {ok = 'a', err = 'b'}"), Reply::error("b"));
}

TEST_F(LuaConversionTest, Resp3TablesBecomeReplies) {
  EXPECT_EQ(eval("return {double = 2.5}"), Reply::real(2.5));
  EXPECT_EQ(eval("return {double = '2.5'}"), Reply::array());
  EXPECT_EQ(eval("return {big_number = '12\\r\\n3'}"), Reply::big_number("12  3"));
  EXPECT_EQ(eval("return {map = {a = 1}}"), Reply::map({Reply::bulk("a"), Reply::integer(1)}));
  EXPECT_EQ(eval("return {set = {a = true}}"), Reply::set({Reply::bulk("a")}));
  EXPECT_EQ(eval("return {verbatim_string = {format = 'txt', string = 'x'}}"),
            Reply::verbatim("txt:x"));
  EXPECT_EQ(eval("return {verbatim_string = {format = 't', string = 'x'}}"),
            Reply::verbatim("t  :x"));
  EXPECT_EQ(eval("return {verbatim_string = {format = 'txt'}}"), Reply::array());
  EXPECT_EQ(eval("return {1, verbatim_string = {string = 'x'}}"),
            Reply::array({Reply::integer(1)}));
}

TEST_F(LuaConversionTest, BooleansStayBooleansUnderResp3) {
  EXPECT_EQ(eval("redis.setresp(3) return {true, false}"),
            Reply::array({Reply::boolean(true), Reply::boolean(false)}));
  EXPECT_EQ(eval("return {true, false}"), Reply::array({Reply::integer(1), Reply::nil()}));
}

TEST_F(LuaConversionTest, MetamethodsAreIgnored) {
  EXPECT_EQ(eval("return setmetatable({}, {__index = {1, 2, 3}})"), Reply::array());
  EXPECT_EQ(eval("return setmetatable({}, {__index = error})"), Reply::array());
}

TEST_F(LuaConversionTest, DeepAndEndlessRepliesAreCutOff) {
  for (const char* script : {"local t = {} t[1] = t return t", "local t = {} t.map = {t} return t",
                             "local t = {1} t[2] = t return t"}) {
    const Reply reply = eval(script);
    EXPECT_NE(to_debug_string(reply).find("(error) ERR reached lua stack limit"), std::string::npos)
        << script;
  }
}

TEST_F(LuaConversionTest, ReplyLargerThanMemoryIsRefused) {
  limits_.memory_bytes_max = 4'000'000;
  EXPECT_EQ(eval("local t = {} for i = 1, 40 do t = {t, t} end return t"),
            Reply::error("ERR the script's reply is too large"));
  EXPECT_EQ(
      eval("local s = ('x'):rep(100000) local t = {} for i = 1, 100 do t[i] = s end return t"),
      Reply::error("ERR the script's reply is too large"));
  for (const char* kind : {"err", "ok", "big_number"}) {
    const std::string script = std::string("local e = {") + kind + " = ('x'):rep(100000)} " +
                               "local t = {} for i = 1, 100 do t[i] = e end return t";
    EXPECT_EQ(eval(script), Reply::error("ERR the script's reply is too large")) << kind;
  }
  EXPECT_EQ(eval("return 1"), Reply::integer(1));
}

// ---- Reply to Lua ----

TEST_F(LuaConversionTest, RepliesConvertUnderResp2) {
  EXPECT_EQ(seen(Reply::nil(), "{type(r), tostring(r)}"), R"(["boolean", "false"])");
  EXPECT_EQ(seen(Reply::nil_array(), "tostring(r)"), R"("false")");
  EXPECT_EQ(seen(Reply::integer(-5), "{type(r), r}"), R"(["number", (integer) -5])");
  EXPECT_EQ(seen(Reply::boolean(true), "{type(r), r}"), R"(["number", (integer) 1])");
  EXPECT_EQ(seen(Reply::real(0.1), "{type(r), r}"), R"(["string", "0.10000000000000001"])");
  EXPECT_EQ(seen(Reply::ok(), "r.ok"), R"("OK")");
  EXPECT_EQ(seen(Reply::bulk("x"), "{type(r), r}"), R"(["string", "x"])");
  EXPECT_EQ(seen(Reply::big_number("12"), "{type(r), r}"), R"(["string", "12"])");
  EXPECT_EQ(seen(Reply::verbatim("txt:x"), "{type(r), r}"), R"(["string", "x"])");
  EXPECT_EQ(seen(Reply::array({Reply::integer(1), Reply::nil(), Reply::bulk("x")}),
                 "{#r, r[1], tostring(r[2]), r[3]}"),
            R"([(integer) 3, (integer) 1, "false", "x"])");
  EXPECT_EQ(seen(Reply::map({Reply::bulk("k"), Reply::bulk("v")}), "{#r, r[1], r[2]}"),
            R"([(integer) 2, "k", "v"])");
  EXPECT_EQ(seen(Reply::set({Reply::bulk("m")}), "{#r, r[1]}"), R"([(integer) 1, "m"])");
  EXPECT_EQ(seen(Reply::array({Reply::error("X y")}), "r[1].err"), R"("X y")");
}

TEST_F(LuaConversionTest, RepliesConvertUnderResp3) {
  EXPECT_EQ(seen(Reply::nil(), "type(r)", 3), R"("nil")");
  EXPECT_EQ(seen(Reply::boolean(true), "type(r)", 3), R"("boolean")");
  EXPECT_EQ(seen(Reply::real(1.5), "tostring(r.double)", 3), R"("1.5")");
  EXPECT_EQ(seen(Reply::map({Reply::bulk("k"), Reply::bulk("v")}), "r.map.k", 3), R"("v")");
  EXPECT_EQ(seen(Reply::set({Reply::bulk("m")}), "tostring(r.set.m)", 3), R"("true")");
  EXPECT_EQ(seen(Reply::big_number("12"), "r.big_number", 3), R"("12")");
  EXPECT_EQ(
      seen(Reply::verbatim("txt:x"), "{r.verbatim_string.format, r.verbatim_string.string}", 3),
      R"(["txt", "x"])");
}

// ---- Arguments ----

TEST_F(LuaConversionTest, KeysAndArgumentsArriveUnchanged) {
  EXPECT_EQ(eval("return {#KEYS, #ARGV, KEYS[1], KEYS[2], ARGV[1], tostring(ARGV[2])}", {"a", ""},
                 {std::string_view("b\0c", 3)}),
            Reply::array({Reply::integer(2), Reply::integer(1), Reply::bulk("a"), Reply::bulk(""),
                          Reply::bulk(std::string("b\0c", 3)), Reply::bulk("nil")}));
  EXPECT_EQ(eval("return #KEYS + #ARGV"), Reply::integer(0));
}

TEST_F(LuaConversionTest, NumbersBecomeArguments) {
  struct Case {
    const char* number;
    const char* argument;
  };
  constexpr Case kCases[] = {
      {"3", "3"},
      {"3.0", "3"},
      {"-7", "-7"},
      {"1.5", "1.5"},
      {"0.1", "0.10000000000000001"},
      {"-0", "-0"},
      {"1e15", "1000000000000000"},
      {"2^53", "9007199254740992"},
      {"1e16", "10000000000000000"},
      {"1e17", "1e+17"},
      {"2^63", "9.2233720368547758e+18"},
      {"1/0", "inf"},
      {"-1/0", "-inf"},
      {"1e-10", "1e-10"},
  };
  for (const Case& c : kCases) {
    calls_.clear();
    eval("redis.call('x', " + std::string(c.number) + ")");
    ASSERT_EQ(calls_.size(), 1U);
    EXPECT_EQ(calls_[0], Request::of("x", c.argument)) << c.number;
  }
}

TEST_F(LuaConversionTest, OtherArgumentsAreRefused) {
  for (const char* argument : {"{}", "true", "nil", "function() end", "cjson.null"}) {
    EXPECT_EQ(text("return redis.pcall('x', " + std::string(argument) + ")"),
              "(error) ERR Lua redis lib command arguments must be strings or integers")
        << argument;
  }
  EXPECT_EQ(text("return redis.pcall()"),
            "(error) ERR Please specify at least one argument for this redis lib call");
  EXPECT_TRUE(calls_.empty());
}

TEST_F(LuaConversionTest, ArgumentsLargerThanMemoryAreRefused) {
  limits_.memory_bytes_max = 4'000'000;
  EXPECT_EQ(text("local s = ('x'):rep(1000000) return redis.pcall(s, s, s, s, s)"),
            "(error) ERR the command's arguments are too large");
}

}  // namespace
}  // namespace rushgate
