// Compares the pattern functions with those of Debian's Lua.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/redis/script/lua.h"
#include "tests/support/sweep.h"
#include "tests/unit/script/lua_test.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

/// Returns all results as a string.
constexpr std::string_view kShowAll = R"(
local text, pattern, replacement, begin = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local function show(...)
  local shown = {}
  for i = 1, select('#', ...) do shown[i] = tostring((select(i, ...))) end
  return table.concat(shown, ',')
end
local lines = {}
local function try(name, ...) lines[#lines + 1] = name .. ': ' .. show(pcall(string[name], ...)) end
try('find', text, pattern)
try('find', text, pattern, begin)
try('find', text, pattern, begin, true)
try('match', text, pattern)
try('match', text, pattern, begin)
try('gsub', text, pattern, replacement)
try('gsub', text, pattern, replacement, begin)
try('gsub', text, pattern, {a = 1, ab = 'x', [1] = false, [''] = '-'})
try('gsub', text, pattern, function(...) return select('#', ...) > 1 and show(...) or nil end)
try('gsub', text, pattern, function() return {} end)
for _, name in ipairs({'gmatch', 'gfind'}) do
  local found = {}
  local ok, failure = pcall(function()
    for a, b, c in string[name](text, pattern) do found[#found + 1] = show(a, b, c) end
  end)
  lines[#lines + 1] = name .. ': ' .. show(ok, failure, table.concat(found, ';'))
end
return table.concat(lines, '\n'))";

/// Debian's unmodified Lua.
class PlainLua {
 public:
  PlainLua() : lua_(luaL_newstate()) { luaL_openlibs(lua_.get()); }

  /// Returns the reply of the script, which must be a string.
  std::string eval(std::string_view script, const std::vector<std::string_view>& arguments) {
    lua_State* const lua = lua_.get();
    lua_createtable(lua, static_cast<int>(arguments.size()), 0);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      lua_pushlstring(lua, arguments[i].data(), arguments[i].size());
      lua_rawseti(lua, -2, static_cast<int>(i) + 1);
    }
    lua_setglobal(lua, "ARGV");
    EXPECT_EQ(luaL_loadbuffer(lua, script.data(), script.size(), "@user_script"), 0);
    EXPECT_EQ(lua_pcall(lua, 0, 1, 0), 0);
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua, -1, &size);
    std::string answer(text, size);
    lua_pop(lua, 1);
    return answer;
  }

 private:
  struct Close {
    void operator()(lua_State* lua) const { lua_close(lua); }
  };
  std::unique_ptr<lua_State, Close> lua_;
};

class LuaPatternsTest : public LuaTest {
 protected:
  /// Joins at most `most` of some pieces.
  std::string some_of(const std::vector<std::string>& pieces, std::size_t most) {
    std::string text;
    for (std::size_t i = random_() % (most + 1); i > 0; --i)
      text += pieces[random_() % pieces.size()];
    return text;
  }
  void is_answered_alike(std::string_view script, const Texts& arguments) {
    ASSERT_EQ(eval(script, {}, arguments).text(), plain_.eval(script, arguments))
        << script << ::testing::PrintToString(arguments);
  }

  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};

 private:
  PlainLua plain_;
};

TEST_F(LuaPatternsTest, AnyPatternFindsSameAsDebiansLua) {
  SCOPED_TRACE(seed_text(seed_));
  const std::string zero(1, '\0');
  const std::vector<std::string> texts = {"a", "a", "b", "ab", "A", "1",  " ",    "(", ")",
                                          "]", "-", "%", "_",  ".", "\n", "\xe9", zero};
  const std::vector<std::string> patterns = {
      "a",      "a",    "b",   "(",    ")",    "()",          ".",    "%a",   "%A",
      "%w",     "%s",   "%p",  "%d",   "%x",   "%c",          "%u",   "%l",   "%z",
      "%Z",     "%%",   "%",   "%1",   "%2",   "%0",          "*",    "+",    "-",
      "?",      "^",    "$",   "[ab]", "[^a]", "[a-z]",       "[",    "]",    "[]]",
      "[%a",    "%f",   "[^",  "%b",   "ab",   "%q",          "%f[a", "%b()", "%f[%w]",
      "[%w_-]", "[a-]", "(a)", "(.-)", "\xe9", "[\x80-\xff]", zero};
  const std::vector<std::string> replacements = {"x", "%0", "%1", "%2", "%", "%%", "%a", zero};
  const int calls = testing::is_full_run() ? 20'000 : 5'000;
  for (int i = 0; i < calls && !HasFatalFailure(); ++i) {
    const std::string text = some_of(texts, 12);
    const std::string pattern = some_of(patterns, 6);
    const std::string replacement = some_of(replacements, 3);
    const std::string begin = std::to_string(static_cast<int>(random_() % 20) - 10);
    is_answered_alike(kShowAll, {text, pattern, replacement, begin});
  }
}

TEST_F(LuaPatternsTest, ErrorsEqualDebiansLua) {
  const std::string captures_32 = [] {
    std::string all;
    for (int i = 0; i < 32; ++i) all += "()";
    return all;
  }();
  const std::string captures_33 = captures_32 + "()";
  for (const std::string_view pattern : Texts{"%", "[", "[^", "[%", "%b", "%bx", "%f", "%1", "(%1)",
                                              "(", ")", "(()", captures_32, captures_33}) {
    is_answered_alike(kShowAll, {"text", pattern, "%3", "1"});
  }
}

TEST_F(LuaPatternsTest, ArgumentChecksEqualDebiansLua) {
  for (const char* const call : {"find()", "find('a')", "find('a', {})", "find('a', 'a', {})",
                                 "find(1, 1, '1')", "match('a')", "gmatch('a')", "gsub('a', 'a')",
                                 "gsub('a', 'a', true)", "gsub('a', 'a', 'b', {})", "gsub(1, 1, 2)",
                                 "rep()", "rep('')", "rep('', 'x')", "rep('', 3)", "rep('a', 3)"}) {
    is_answered_alike("return tostring((select(2, pcall(function() return string." +
                          std::string(call) + " end))))",
                      {});
  }
}

TEST_F(LuaPatternsTest, DeepPatternIsRefused) {
  for (const char* const script :
       {"return string.find(('a'):rep(300000), ('a?'):rep(300000))",
        "return string.match(('a'):rep(300000), ('a-'):rep(300000))",
        "return string.gsub(('a'):rep(300000), ('a*'):rep(300000), '')",
        "return string.gmatch(('a'):rep(300000), ('a*'):rep(300000))()",
        "return string.gfind(('a'):rep(300000), ('a*'):rep(300000))()"}) {
    EXPECT_THAT(text(script), ::testing::HasSubstr("pattern too complex")) << script;
  }
}

TEST_F(LuaPatternsTest, LongPatternIsAccepted) {
  EXPECT_EQ(eval("return string.find(('a'):rep(10000), ('a'):rep(9000) .. 'a*$')"),
            Reply::integer(1));
  EXPECT_EQ(eval("return string.find(('-'):rep(10000), ('-'):rep(9000), 1, true)"),
            Reply::integer(1));
  EXPECT_EQ(eval("return string.find('a', ('b?'):rep(9000))"), Reply::integer(1));
}

/// Patterns that run for ever in Debian's Lua, most of them.
constexpr std::string_view kEndless[] = {
    "return string.find(string.rep('a', 100), string.rep('a+', 50) .. 'b')",
    "return string.match(string.rep('a', 100), string.rep('a*', 50) .. 'b')",
    "return string.gsub(string.rep('a', 100), string.rep('.-', 50) .. 'b', '')",
    "return string.gmatch(string.rep('a', 100), string.rep('a?', 50) .. string.rep('a', 90))()",
    "return string.find(string.rep('(', 1000000), '%b()')",
    "return string.find(string.rep('a', 1000000), '[' .. string.rep('b', 1000000) .. ']')",
    "return pcall(string.find, string.rep('a', 100), string.rep('a+', 50) .. 'b')",
};

class EndlessPatternTest : public LuaTest, public ::testing::WithParamInterface<std::string_view> {
 protected:
  EndlessPatternTest() : LuaTest({.busy_after_ms = 1}) {}
};

TEST_P(EndlessPatternTest, EndlessPatternIsKilled) {
  on_poll_ = [] { return true; };
  EXPECT_THAT(text(GetParam()), ::testing::StartsWith("(error) ERR Script killed by user"));
}

INSTANTIATE_TEST_SUITE_P(Patterns, EndlessPatternTest, ::testing::ValuesIn(kEndless));

}  // namespace
}  // namespace rushgate
