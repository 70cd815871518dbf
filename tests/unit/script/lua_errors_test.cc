#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "engine/core/base/sha1.h"
#include "tests/unit/script/lua_test.h"

namespace rushgate {
namespace {

class LuaErrorsTest : public LuaTest {};

struct Case {
  const char* script;
  const char* error;  // without its end, " script: …"
};

// Replies of Redis 7.0.15.
constexpr Case kCases[] = {
    {"error('x')", "ERR user_script:1: x"},
    {"error('x', 0)", "ERR x"},
    {"error('a\\r\\nb')", "ERR user_script:1: a  b"},
    {"error('a\\0b')", "ERR user_script:1: a"},
    {"error()", "ERR nil"},
    {"error(42)", "ERR user_script:1: 42"},
    {"error(true)", "ERR true"},
    {"error({err = 'CODE x'})", "CODE x"},
    {"error({err = 1})", "1"},
    {"error({err = ''})", ""},
    {"error({err = '-CODE x'})", "-CODE x"},
    {"error(setmetatable({}, {__index = function(_, k) return 'F ' .. k end}))", "F err"},
    {"local a = {} a.b.c = 1", "ERR user_script:1: attempt to index field 'b' (a nil value)"},
    {"return 1 .. {}", "ERR user_script:1: attempt to concatenate a table value"},
    {"assert(false)", "ERR user_script:1: assertion failed!"},
    {"local function f() return f() + 1 end f()", "ERR user_script:1: stack overflow"},
    {"string.rep()", "ERR user_script:1: bad argument #1 to 'rep' (string expected, got no value)"},
    {"coroutine.wrap(function() error('x') end)()", "ERR user_script:1: user_script:1: x"},
    {"coroutine.yield()", "ERR attempt to yield across metamethod/C-call boundary"},
    {"table.sort({2, 1}, function() error('x') end)", "ERR user_script:1: x"},
};

TEST_F(LuaErrorsTest, UncaughtErrorsEqualRedis) {
  for (const Case& c : kCases) {
    EXPECT_EQ(text(c.script),
              "(error) " + std::string(c.error) + " script: <sha1>, on @user_script:1.")
        << c.script;
  }
}

TEST_F(LuaErrorsTest, ErrorNamesLineThatRaisedIt) {
  EXPECT_EQ(text("local x = 1\n\nredis.call()"),
            "(error) ERR Please specify at least one argument for this redis lib call script: "
            "<sha1>, on @user_script:3.");
  EXPECT_EQ(text("local function f()\n error('x')\nend\n\nf()"),
            "(error) ERR user_script:2: x script: <sha1>, on @user_script:2.");
  EXPECT_EQ(text("table.foreach({1}, error)"), "(error) ERR 1 script: <sha1>, on =[C]:-1.");
  EXPECT_EQ(text("return loadstring(\"error('q')\", '=y')()"),
            "(error) ERR y:1: q script: <sha1>, on =y:1.");
  EXPECT_EQ(text("error(setmetatable({err = 'A b'}, {__newindex = function() end}))"),
            "(error) A b");
}

TEST_F(LuaErrorsTest, ErrorNamesSha1OfScript) {
  EXPECT_EQ(eval("error('x')"), Reply::error("ERR user_script:1: x script: " +
                                             sha1_hex("error('x')") + ", on @user_script:1."));
}

TEST_F(LuaErrorsTest, ErrorObjectWithoutMessageIsHandled) {
  // These scripts crash Redis 7.0.15.
  for (const char* script : {"error({})", "error({ok = 'x'})", "error({err = {}})"}) {
    EXPECT_EQ(text(script),
              "(error) ERR error object without a text in 'err' script: <sha1>, on "
              "@user_script:1.");
  }
}

TEST_F(LuaErrorsTest, ErrorsInErrorHandlersAreErrors) {
  EXPECT_EQ(text("return {xpcall(function() error('a') end, function() error('b') end)}"),
            R"([(nil), "error in error handling"])");
  EXPECT_TRUE(eval("error(redis)").is_error());
  EXPECT_TRUE(eval("error(setmetatable({}, {__newindex = error}))").is_error());
  EXPECT_TRUE(eval("error(setmetatable({}, {__index = error}))").is_error());
  EXPECT_EQ(eval("return 1"), Reply::integer(1));
}

// Redis allows one call more.
TEST_F(LuaErrorsTest, CallsNestedThroughCFunctionsAreBounded) {
  const auto nested = [&](int depth) {
    return text("local f = function() return 'deep' end for i = 1, " + std::to_string(depth) +
                " do local g = f f = function() return select(2, pcall(g)) end end return f()");
  };
  EXPECT_EQ(nested(197), R"("deep")");
  EXPECT_THAT(nested(198), ::testing::HasSubstr("stack overflow"));
}

TEST_F(LuaErrorsTest, CompilationErrorsAreReplied) {
  EXPECT_EQ(eval("x y"),
            Reply::error("ERR Error compiling script (new function): user_script:1: '=' expected "
                         "near 'y'"));
  EXPECT_EQ(eval("return \""),
            Reply::error("ERR Error compiling script (new function): user_script:1: unfinished "
                         "string near '<eof>'"));
  EXPECT_EQ(eval("return [[a [[b]]"),  // see docs/differences.md
            Reply::error("ERR Error compiling script (new function): user_script:1: nesting of "
                         "[[...]] is deprecated near '['"));
  EXPECT_EQ(host().cached_scripts(), 0U);
}

TEST_F(LuaErrorsTest, OnlyRaisedErrorsCountAsFailure) {
  Reply error;
  EXPECT_FALSE(run(*host().load("return {err = 'X y'}", error)).failed);
  EXPECT_FALSE(run(*host().load("return redis.error_reply('X y')", error)).failed);
  EXPECT_TRUE(run(*host().load("error({err = 'X y'})", error)).failed);
  EXPECT_TRUE(run(*host().load("local t = nil t.x = 1", error)).failed);
}

TEST_F(LuaErrorsTest, CommandExceptionsPassThroughScript) {
  on_call_ = []() -> Reply { throw std::runtime_error("the command broke"); };
  for (const char* script : {
           "redis.call('x')",
           "redis.pcall('x')",
           "while true do pcall(redis.call, 'x') end",
           "while true do xpcall(function() redis.call('x') end, function() return 1 end) end",
           "local co = coroutine.create(function() redis.call('x') end) coroutine.resume(co)",
           "load(function() redis.call('x') end) return 1",
       }) {
    EXPECT_THROW(eval(script), std::runtime_error) << script;
  }
  on_call_ = []() -> Reply { throw std::bad_alloc(); };
  EXPECT_THROW(eval("redis.call('x')"), std::bad_alloc);
  EXPECT_EQ(eval("return 1"), Reply::integer(1));
}

}  // namespace
}  // namespace rushgate
