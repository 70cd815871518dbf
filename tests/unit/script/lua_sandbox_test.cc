#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/script/lua_test.h"

namespace rushgate {
namespace {

class LuaSandboxTest : public LuaTest {};

std::string names_in(std::string_view table) {
  return "local names = {} for name in pairs(" + std::string(table) +
         ") do names[#names + 1] = name end table.sort(names) return table.concat(names, ' ')";
}

TEST_F(LuaSandboxTest, GlobalsEqualRedis) {
  EXPECT_EQ(eval(names_in("_G")).text(),
            "ARGV KEYS _G _VERSION __redis__err__handler assert bit cjson cmsgpack "
            "collectgarbage coroutine error gcinfo getmetatable ipairs load loadstring math next "
            "pairs pcall rawequal rawget rawset redis select setmetatable string struct table "
            "tonumber tostring type unpack xpcall");
}

TEST_F(LuaSandboxTest, LibrariesEqualRedis) {
  EXPECT_EQ(eval(names_in("string")).text(),
            "byte char dump find format gfind gmatch gsub len lower match rep reverse sub upper");
  EXPECT_EQ(eval(names_in("table")).text(),
            "concat foreach foreachi getn insert maxn remove setn sort");
  EXPECT_EQ(eval(names_in("coroutine")).text(), "create resume running status wrap yield");
  EXPECT_EQ(eval(names_in("math")).text(),
            "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 "
            "max min mod modf pi pow rad random randomseed sin sinh sqrt tan tanh");
  EXPECT_EQ(eval(names_in("redis")).text(),
            "LOG_DEBUG LOG_NOTICE LOG_VERBOSE LOG_WARNING REDIS_VERSION REDIS_VERSION_NUM REPL_ALL "
            "REPL_AOF REPL_NONE REPL_REPLICA REPL_SLAVE acl_check_cmd breakpoint call debug "
            "error_reply log pcall replicate_commands set_repl setresp sha1hex status_reply");
  EXPECT_EQ(eval(names_in("cjson")).text(),
            "_NAME _VERSION decode decode_invalid_numbers decode_max_depth encode "
            "encode_invalid_numbers encode_keep_buffer encode_max_depth encode_number_precision "
            "encode_sparse_array new null");
  EXPECT_EQ(eval(names_in("bit")).text(),
            "arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex");
  EXPECT_EQ(eval(names_in("struct")).text(), "pack size unpack");
  EXPECT_EQ(eval(names_in("cmsgpack")).text(),
            "_COPYRIGHT _DESCRIPTION _NAME _VERSION pack unpack unpack_limit unpack_one");
}

TEST_F(LuaSandboxTest, UnknownGlobalsRaise) {
  for (const std::string name : {"print", "dofile", "loadfile", "require", "module", "newproxy",
                                 "getfenv", "setfenv", "os", "io", "debug", "package", "x"}) {
    EXPECT_EQ(
        text("return " + name),
        "(error) ERR user_script:1: Script attempted to access nonexistent global variable '" +
            name + "' script: <sha1>, on @user_script:1.");
  }
}

/// Each script tries to change the environment of other scripts.
constexpr std::string_view kAttacks[] = {
    "x = 1",
    "function f() end",
    "KEYS = 1",
    "redis = nil",
    "string = {}",
    "_G = nil",
    "_G.x = 1",
    "_G['redis'] = 1",
    "_G._G.x = 1",
    "redis.call = nil",
    "redis.foo = 1",
    "string.format = nil",
    "table.x = 1",
    "math.random = function() return 4 end",
    "coroutine.resume = nil",
    "cjson.encode = nil",
    "bit.band = nil",
    "struct.x = 1",
    "cmsgpack.pack = nil",
    "local r = redis local call = r.call r.call = nil",
    "local s = string local rep = s.rep s.rep = nil",
    "local r r = redis local call = r.call r.call = nil",
    "rawset(_G, 'x', 1)",
    "rawset(redis, 'call', nil)",
    "rawset(string, 'rep', nil)",
    "table.insert(_G, 1)",
    "table.insert(redis, 1, 1)",
    "setmetatable(_G, nil)",
    "setmetatable(_G, {})",
    "setmetatable(redis, {})",
    "setmetatable(string, {__index = {}})",
    "getmetatable(_G).__index = nil",
    "rawset(getmetatable(_G), '__index', nil)",
    "setmetatable(getmetatable(_G), {})",
    "getmetatable('').__index = nil",
    "getmetatable('').__index.rep = nil",
    "getmetatable('').__add = function() end",
    "rawset(getmetatable(''), '__index', nil)",
    "setmetatable(getmetatable(''), {})",
    "for _, value in pairs(_G) do if type(value) == 'table' then value.x = 1 end end",
    "local _, value = next(_G) _G.x = value",
    "loadstring('x = 1')()",
    "loadstring('redis.call = nil')()",
    "load(function() return nil end, 'x')() x = 1",
    "coroutine.wrap(function() x = 1 end)()",
    "('').x = 1",
    "local next_one, guarded = pairs(_G) guarded.x = 1",
    "string.gsub('x', 'x', function() _G.x = 1 end)",
    "table.sort({2, 1}, function() redis.x = 1 end)",
    "table.foreach(_G, function(_, value) if type(value) == 'table' then value.x = 1 end end)",
    "table.foreachi({1}, function() redis.x = 1 end)",
    "setmetatable({}, {__index = redis}).call() redis.x = 1",
    "getmetatable(redis).__newindex = nil",
    "getmetatable(setmetatable({}, getmetatable(_G))).__index = nil",
};

TEST_F(LuaSandboxTest, AttacksRaiseAndChangeNothing) {
  const std::string globals = eval(names_in("_G")).text();
  for (const std::string_view attack : kAttacks) {
    EXPECT_TRUE(eval(attack).is_error()) << attack;
    EXPECT_EQ(eval(names_in("_G")).text(), globals) << attack;
    EXPECT_EQ(text("return {type(redis.call), type(string.rep), ('x'):rep(2), "
                   "tostring(getmetatable(redis)), type(getmetatable(_G).__index), "
                   "tostring(redis.x), type(KEYS), type(cjson.encode), type(coroutine.resume)}"),
              R"(["function", "function", "xx", "nil", "function", "nil", "table", "function", )"
              R"("function"])")
        << attack;
  }
}

TEST_F(LuaSandboxTest, GuardsLookLikeTables) {
  EXPECT_EQ(
      text("return {type(redis), type(rawget(redis, 'call')), tostring(rawget(_G, 'nosuch')), "
           "#redis, type(next(redis)), tostring(_G == _G._G)}"),
      R"(["table", "function", "nil", (integer) 0, "string", "true"])");
  EXPECT_EQ(text("return tostring(getmetatable('').__index == string)"), R"("true")");
  EXPECT_EQ(text("return {table.concat(redis), table.maxn(redis), table.remove(redis)}"),
            R"(["", (integer) 0])");
  EXPECT_EQ(text("local n = 0 table.foreach(redis, function() n = n + 1 end) return n"),
            "(integer) 23");
}

TEST_F(LuaSandboxTest, GuardErrorsEqualRedis) {
  constexpr const char* kPlaced =
      "(error) ERR user_script:1: Attempt to modify a readonly table script: <sha1>, on "
      "@user_script:1.";
  constexpr const char* kUnplaced =
      "(error) ERR Attempt to modify a readonly table script: <sha1>, on @user_script:1.";
  EXPECT_EQ(text("x = 1"), kPlaced);
  EXPECT_EQ(text("redis.x = 1"), kPlaced);
  EXPECT_EQ(text("rawset(_G, 'x', 1)"), kUnplaced);
  EXPECT_EQ(text("setmetatable(redis, {})"), kUnplaced);
  EXPECT_EQ(text("table.insert(redis, 1)"), kUnplaced);
}

TEST_F(LuaSandboxTest, CompiledCodeIsRefused) {
  constexpr std::string_view kRefusal = "unexpected symbol near 'char(27)'";
  for (const std::string_view script : {
           "return select(2, loadstring(string.dump(function() return 1 end)))",
           "return select(2, loadstring('\\27'))",
           "local code = string.dump(function() return 1 end) "
           "return select(2, load(function() local piece = code code = nil return piece end))",
           "local pieces = {'\\27', 'Lua'} local n = 0 "
           "return select(2, load(function() n = n + 1 return pieces[n] end))",
       }) {
    EXPECT_THAT(eval(script).text(), ::testing::HasSubstr(kRefusal)) << script;
  }
  EXPECT_THAT(eval("\x1bLua").text(), ::testing::HasSubstr(kRefusal));
}

TEST_F(LuaSandboxTest, LoadedCodeRunsInSandbox) {
  EXPECT_EQ(text("return loadstring('return 1 + 1')()"), "(integer) 2");
  EXPECT_EQ(text("local pieces = {'return ', '5'} local n = 0 "
                 "return load(function() n = n + 1 return pieces[n] end)()"),
            "(integer) 5");
  EXPECT_EQ(text("return select(2, load(function() return {} end))"),
            "(error) ERR user_script:1: reader function must return a string");
  EXPECT_EQ(text("return loadstring('\\nredis.call(1, {})', '@chunk')()"),
            "(error) ERR Lua redis lib command arguments must be strings or integers script: "
            "<sha1>, on @chunk:2.");
}

TEST_F(LuaSandboxTest, JsonSettingsEndWithScript) {
  EXPECT_EQ(text("cjson.encode_max_depth(1) cjson.encode_sparse_array(true) "
                 "return cjson.encode({[100] = 1})"),
            R"("{"100":1}")");
  EXPECT_EQ(text("return {cjson.encode_max_depth(), cjson.encode({{}})}"),
            R"([(integer) 1000, "[{}]"])");
  EXPECT_EQ(text("return cjson.encode({[100] = 1})"),
            "(error) ERR user_script:1: Cannot serialise table: excessively sparse array script: "
            "<sha1>, on @user_script:1.");
}

TEST_F(LuaSandboxTest, JsonErrorsEqualLuaCjson) {
  EXPECT_EQ(
      text("return cjson.encode_max_depth('x')"),
      "(error) ERR user_script:1: bad argument #1 to 'encode_max_depth' (number expected, got "
      "string) script: <sha1>, on @user_script:1.");
  EXPECT_EQ(text("local t = {} t.t = t return cjson.encode(t)"),
            "(error) ERR user_script:1: Cannot serialise, excessive nesting (1001) script: <sha1>, "
            "on @user_script:1.");
  EXPECT_EQ(text("return cjson.encode(redis)"),
            "(error) ERR user_script:1: Cannot serialise function: type not supported script: "
            "<sha1>, on @user_script:1.");
  EXPECT_EQ(text("return cjson.encode(1, 2)"),
            "(error) ERR user_script:1: bad argument #1 to 'encode' (expected 1 argument) script: "
            "<sha1>, on @user_script:1.");
}

TEST_F(LuaSandboxTest, JsonRoundTripsValues) {
  EXPECT_EQ(text(R"(return cjson.encode(cjson.decode('{"a":[1,2.5,"x",null,true]}')))"),
            R"("{"a":[1,2.5,"x",null,true]}")");
  EXPECT_EQ(text("return cjson.new().encode({1, 'a'})"), R"("[1,"a"]")");
}

TEST_F(LuaSandboxTest, StoppedCollectorRestarts) {
  EXPECT_EQ(text("return collectgarbage('stop')"), "(integer) 0");
  const std::size_t before = host().memory_bytes();
  for (int i = 0; i < 1'000; ++i) eval("local t = {} for i = 1, 1000 do t[i] = {i} end");
  EXPECT_LT(host().memory_bytes(), before + 10'000'000);
}

TEST_F(LuaSandboxTest, RandomNumbersEqualRedis) {
  EXPECT_EQ(text("return {tostring(math.random()), tostring(math.random())}"),
            R"(["0.39646477363839", "0.84048536971234"])");
  EXPECT_EQ(text("return {tostring(math.random()), tostring(math.random())}"),
            R"(["0.35333609737146", "0.44658343468168"])");
  EXPECT_EQ(text("math.randomseed(5) return {tostring(math.random()), tostring(math.random()), "
                 "math.random(10), math.random(5, 9)}"),
            R"(["0.52483957937213", "0.27285430173988", (integer) 8, (integer) 5])");
  EXPECT_EQ(text("return math.random(0)"),
            "(error) ERR user_script:1: bad argument #1 to 'random' (interval is empty) script: "
            "<sha1>, on @user_script:1.");
  EXPECT_EQ(text("return math.random(5, 4)"),
            "(error) ERR user_script:1: bad argument #2 to 'random' (interval is empty) script: "
            "<sha1>, on @user_script:1.");
}

}  // namespace
}  // namespace rushgate
