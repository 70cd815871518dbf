#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/unit/script/lua_test.h"

namespace rushgate {
namespace {

class LuaGlobalsTest : public LuaTest {
 protected:
  GlobalUse use_of(std::string_view script) {
    Reply error;
    const LuaScript* const loaded = host().load(script, error);
    EXPECT_NE(loaded, nullptr) << to_debug_string(error);
    return loaded == nullptr ? GlobalUse{} : loaded->globals;
  }

  /// Returns KEYS and ARGV as the next script sees them.
  std::string lists(const Texts& keys, const Texts& arguments) {
    constexpr std::string_view kReadOnly =
        "return {#KEYS, KEYS[1], tostring(KEYS[2]), tostring(KEYS.x), #ARGV, ARGV[1], "
        "tostring(ARGV[2]), tostring(ARGV[0])}";
    return to_debug_string(eval(kReadOnly, keys, arguments));
  }
};

TEST_F(LuaGlobalsTest, ReadOnlyScriptsNeedNoGuard) {
  for (const std::string_view script : {
           "return 1",
           "return redis.call('GET', KEYS[1])",
           "local call = redis.call return call('GET', KEYS[1])",
           "for i = 1, #ARGV do redis.pcall('SET', ARGV[i], tonumber(KEYS[i])) end",
           "local function f(n) return redis.call('GET', KEYS[n]) end return f(1)",
           "local t = {} t.x = string.format('%d', math.floor(1.5)) return cjson.encode(t)",
           "local redis = {} redis.call = 1 return redis.call",
       }) {
    EXPECT_TRUE(use_of(script).needs_no_guard) << script;
    EXPECT_TRUE(use_of(script).keeps_lists) << script;
  }
}

TEST_F(LuaGlobalsTest, OtherScriptsAreGuarded) {
  for (const std::string_view script : {
           "x = 1",
           "redis = nil",
           "function f() end",
           "return _G",
           "return function() x = 1 end",
           "local r = redis return r.call('GET', 'k')",
           "local r = redis local call = r.call r.call = nil",
           "redis.call = nil",
           "redis.x = 1",
           "return pairs(redis)",
           "return redis",
           "return #string",
           "return redis:call()",
           "local function f() return math end return f()",
       }) {
    EXPECT_FALSE(use_of(script).needs_no_guard) << script;
  }
}

TEST_F(LuaGlobalsTest, ListsPassedOnMayChange) {
  for (const std::string_view script : {
           "KEYS[1] = 'x'",
           "local k = KEYS return k[1]",
           "local k = KEYS local first = k[1] k[1] = 'x'",
           "return unpack(ARGV)",
           "return function() return ARGV end",
           "for _, key in ipairs(KEYS) do end",
           "return _G.KEYS[1]",
       }) {
    EXPECT_FALSE(use_of(script).keeps_lists) << script;
  }
}

TEST_F(LuaGlobalsTest, ScriptChangesToListsAreIsolated) {
  for (const std::string_view script : {
           "KEYS[1] = 'changed' ARGV[1] = 'changed'",
           "KEYS[2] = 'more' ARGV[2] = 'more' ARGV[0] = 'before'",
           "KEYS.x = 'field'",
           "local k = KEYS local first = k[1] k[1] = 'changed'",
           "table.insert(KEYS, 1, 'first') table.remove(ARGV)",
           "setmetatable(KEYS, {__index = function() return 'made up' end})",
           "local function f(list) list[1] = 'changed' end f(ARGV)",
           "loadstring('KEYS[1] = 1 ARGV.x = 2')()",
           "load(function() return nil end) _G.KEYS[2] = 1",
           "_G.KEYS[1] = 'changed'",
           "for i = 1, 1000 do KEYS[i] = i end",
           "KEYS[1] = 'changed' error('failed')",
       }) {
    lists({"a"}, {"b"});
    eval(script, {"a"}, {"b"});
    EXPECT_EQ(lists({"a"}, {"b"}),
              R"([(integer) 1, "a", "nil", "nil", (integer) 1, "b", "nil", "nil"])")
        << script;
  }
}

TEST_F(LuaGlobalsTest, ListsGrowShrinkAndChange) {
  EXPECT_EQ(lists({"a", "b"}, {"c"}),
            R"([(integer) 2, "a", "b", "nil", (integer) 1, "c", "nil", "nil"])");
  EXPECT_EQ(lists({"a"}, {"c", "d"}),
            R"([(integer) 1, "a", "nil", "nil", (integer) 2, "c", "d", "nil"])");
  EXPECT_EQ(lists({"x", "b"}, {""}),
            R"([(integer) 2, "x", "b", "nil", (integer) 1, "", "nil", "nil"])");
  EXPECT_EQ(to_debug_string(eval("return {#KEYS, #ARGV, tostring(KEYS[1])}")),
            R"([(integer) 0, (integer) 0, "nil"])");
}

TEST_F(LuaGlobalsTest, FunctionsSeeListsOfTheirCall) {
  const std::string_view script =
      "local function f() return KEYS[1] .. ARGV[1] end return KEYS[1] .. ARGV[1] .. f()";
  for (const std::string_view text : {"a", "b", "c"}) {
    EXPECT_EQ(eval(script, {text}, {"1"}),
              Reply::bulk(std::string(text) + "1" + std::string(text) + "1"));
    eval("KEYS[1] = 'x'", {text}, {"1"});
  }
}

TEST_F(LuaGlobalsTest, OwnTableReplacesGlobalInExpressions) {
  const std::string own = "local own = {call = function() return 'own' end, 'own'} ";
  for (const std::string_view part : {
           "return (own or redis).call('GET', 'k')",
           "local answer = (own or redis).call('GET', 'k') return answer",
           "return (ARGV[1] == 'x' and own or redis).call('GET', 'k')",
           "return (own or KEYS)[1]",
           "return (own or ARGV)[1]",
       }) {
    EXPECT_EQ(eval(own + std::string(part), {"key"}, {"x"}), Reply::bulk("own")) << part;
  }
}

/// Returns a script that counts the items of a table constructor.
std::string count_items(int items) {
  std::string script = "local a, b, c, d, e, f, g, h return #({";
  for (int i = 0; i < items; ++i) script += "KEYS[1],";
  return script + "})";
}

TEST_F(LuaGlobalsTest, LongTableConstructorKeepsAllItems) {
  // From 25,551 items on, the compiled code contains words that are not instructions. The last word
  // of this script looks like a read of KEYS.
  constexpr int kItems = 25'810;
  EXPECT_EQ(eval(count_items(kItems), {"key"}), Reply::integer(kItems));
}

TEST_F(LuaGlobalsTest, LongTableConstructorIsJudgedExactly) {
  constexpr int kItemsPerWord = 50;
  for (const int word : {517, 519}) {  // as instructions, these read and write a global
    const GlobalUse use = use_of(count_items(word * kItemsPerWord));
    EXPECT_TRUE(use.needs_no_guard) << word;
    EXPECT_TRUE(use.keeps_lists) << word;
  }
}

TEST_F(LuaGlobalsTest, ErrorsNameSourceExpressions) {
  EXPECT_EQ(text("\nreturn KEYS[1] .. 'x'"),
            "(error) ERR user_script:2: attempt to concatenate field '?' (a nil value) script: "
            "<sha1>, on @user_script:2.");
  EXPECT_EQ(text("\n\nreturn redis.nosuch('x')"),
            "(error) ERR user_script:3: attempt to call field 'nosuch' (a nil value) script: "
            "<sha1>, on @user_script:3.");
  EXPECT_EQ(text("return KEYS()"),
            "(error) ERR user_script:1: attempt to call global 'KEYS' (a table value) script: "
            "<sha1>, on @user_script:1.");
  EXPECT_EQ(text("return #KEYS + redis.call"),
            "(error) ERR user_script:1: attempt to perform arithmetic on field 'call' (a function "
            "value) script: <sha1>, on @user_script:1.");
}

}  // namespace
}  // namespace rushgate
