#include <malloc.h>

#include <cstdint>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/script/lua_test.h"

namespace rushgate {
namespace {

// ---- Time ----

class LuaTimeLimitTest : public LuaTest {
 protected:
  LuaTimeLimitTest() : LuaTest({.busy_after_ms = 1}) {
    on_poll_ = [this] { return ++polls_ >= kill_at_poll_; };
  }

  int polls_ = 0;
  int kill_at_poll_ = 3;
};

TEST_F(LuaTimeLimitTest, ShortScriptsAreNotPolled) {
  limits_.busy_after_ms = 60'000;
  EXPECT_EQ(eval("local n = 0 for i = 1, 100000 do n = n + i end return n"),
            Reply::integer(5'000'050'000));
  EXPECT_EQ(polls_, 0);
}

TEST_F(LuaTimeLimitTest, LongScriptsRunUntilKilled) {
  kill_at_poll_ = 1'000'000;
  EXPECT_EQ(eval("local n = 0 for i = 1, 20000000 do n = n + 1 end return n"),
            Reply::integer(20'000'000));
  EXPECT_GE(polls_, 1);
}

TEST_F(LuaTimeLimitTest, KilledScriptHasErrorOfRedis) {
  EXPECT_EQ(text("while true do end"),
            "(error) ERR Script killed by user with SCRIPT KILL... script: <sha1>, on "
            "@user_script:1.");
  EXPECT_EQ(polls_, kill_at_poll_);
}

/// Each script survives or hangs if a kill is an ordinary error.
constexpr std::string_view kSurvivors[] = {
    "while true do pcall(function() while true do end end) end",
    "pcall(function() while true do end end) return 'survived'",
    "pcall(pcall, pcall, function() while true do end end) return 'survived'",
    "xpcall(function() while true do end end, function() return 1 end) return 'survived'",
    "xpcall(function() while true do end end, function() while true do end end) return 'survived'",
    "xpcall(function() while true do end end, __redis__err__handler) return 'survived'",
    "xpcall(error, function() while true do end end) return 'survived'",
    "xpcall(error, pcall) while true do end",
    "coroutine.wrap(function() while true do end end)()",
    "coroutine.resume(coroutine.create(function() while true do end end)) return 'survived'",
    R"(local function catch() pcall(function() while true do end end) coroutine.yield() end
       local co = coroutine.create(catch)
       while true do coroutine.resume(co) end)",
    R"(local function nest(n)
         if n == 0 then while true do end end
         return coroutine.resume(coroutine.create(nest), n - 1)
       end
       nest(50) return 'survived')",
    "while true do redis.pcall('x') end",
    "while true do pcall(redis.call, 'x') end",
    "load(function() while true do end end) return 'survived'",
    "load(function() return ' ' end) return 'survived'",
    "table.sort({3, 2, 1}, function() while true do end end)",
    "string.gsub('abc', '.', function() while true do end end)",
    "local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
    "local t = setmetatable({}, {__newindex = function() while true do end end}) error(t)",
    "local t = setmetatable({}, {__index = function() while true do end end}) error(t)",
    "return tostring(setmetatable({}, {__tostring = function() while true do end end}))",
    "for _ in function() while true do end end do end",
    "table.foreach({1}, function() while true do end end)",
    "table.insert({}, -2147483648, 'moved far down')",
    "while true do string.rep('', 2147483647) end",
    "while true do string.rep('x', 50000000) end",
    "local s = ('a'):rep(50000000) while true do s:find('ab', 1, true) end",
    "string.gsub(('a'):rep(10000), '(b?)', ('%1'):rep(1000000))",
    "string.gsub(('a'):rep(10000), '', ('%a'):rep(1000000))",
    "while true do string.gsub(('a'):rep(1000000), '', {}) end",
    "local t = {} for i = 1, 100000 do t[i] = {} end while true do collectgarbage() end",
    "local t = {} for i = 1, 1e5 do t[i] = i end while true do t[#t + 1] = table.remove(t, 1) end",
    "local t = {} for i = 1, 100000 do t[i] = i end while true do table.maxn(t) end",
    "local t = {} for i = 1, 100000 do t[i] = i end while true do table.sort(t) end",
    R"(local function nest(n)
         if n == 0 then for i = 1, 4000 do end return end
         for i = 1, 900 do coroutine.wrap(nest)(n - 1) end
       end
       nest(3))",
    R"(local function nest(n)
         if n == 0 then for i = 1, 4000 do end return end
         for i = 1, 900 do coroutine.resume(coroutine.create(nest), n - 1) end
       end
       nest(3))",
    R"(local once_full = {}
       for i = 1, 1000000 do once_full[i] = 1 end
       for i = 1, 1000000 do once_full[i] = nil end
       local all = {}
       for i = 1, 100000 do all[i] = once_full end
       return cmsgpack.pack(all))",
    R"(local once_full = {}
       for i = 1, 1000000 do once_full[i] = 1 end
       for i = 1, 1000000 do once_full[i] = nil end
       local all = {}
       for i = 1, 100000 do all[i] = once_full end
       return cjson.encode(all))",
    "cmsgpack.unpack('\\221\\2\\250\\240\\128' .. ('\\192'):rep(50000000))",
    "load(gcinfo)",
    "pcall(string.find, string.rep('a', 100), string.rep('a+', 50) .. 'b') return 'survived'",
};

TEST_F(LuaTimeLimitTest, NoScriptSurvivesKill) {
  for (const std::string_view script : kSurvivors) {
    polls_ = 0;
    keep_calls_ = false;
    EXPECT_THAT(text(script), ::testing::StartsWith("(error) ERR Script killed by user")) << script;
    EXPECT_EQ(polls_, kill_at_poll_) << script;
  }
  kill_at_poll_ = 1'000'000;
  EXPECT_EQ(eval("local n = 0 for i = 1, 1000 do n = n + 1 end return n"), Reply::integer(1'000));
}

TEST_F(LuaTimeLimitTest, SlowCommandsCountToo) {
  keep_calls_ = false;
  int commands = 0;
  on_call_ = [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < until) {
    }
    ++commands;
    return Reply::ok();
  };
  EXPECT_THAT(text("while true do redis.call('x') end"),
              ::testing::StartsWith("(error) ERR Script killed by user"));
  EXPECT_LT(commands, 1'000);
}

TEST_F(LuaTimeLimitTest, SlowCommandsCountInScriptsWithoutLoops) {
  keep_calls_ = false;
  on_call_ = [] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < until) {
    }
    return Reply::ok();
  };
  std::string script;
  for (int i = 0; i < 1'000; ++i) script += "redis.call('x')\n";
  EXPECT_THAT(text(script), ::testing::StartsWith("(error) ERR Script killed by user"));
  EXPECT_THAT(text("pcall(redis.call, 'x') while true do end"),
              ::testing::StartsWith("(error) ERR Script killed by user"));
}

TEST_F(LuaTimeLimitTest, NoLimitMeansNoPoll) {
  limits_.busy_after_ms = 0;
  kill_at_poll_ = 1;
  EXPECT_EQ(eval("for i = 1, 5000000 do end return 1"), Reply::integer(1));
  EXPECT_EQ(polls_, 0);
}

// ---- Memory ----

class LuaMemoryLimitTest : public LuaTest {
 protected:
  static constexpr std::size_t kMemoryMax = 4'000'000;
  LuaMemoryLimitTest() : LuaTest({.memory_bytes_max = kMemoryMax}) {}
};

constexpr std::string_view kGreedy[] = {
    "local t = {} while true do t[#t + 1] = {} end",
    "local s = 'x' while true do s = s .. s end",
    "return ('x'):rep(1e9)",
    "local t = {} for i = 1, 1e9 do t[i] = i end",
    "local t = {} while true do t[#t + 1] = function() return t end end",
    "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
    "local s = ('x'):rep(1000) local t = {} for i = 1, 1e7 do t[i] = s .. i end",
    "return table.concat({('x'):rep(3000000), ('x'):rep(3000000)})",
    "return select(2, load(function() return ' x = 1' end))",
    "return cjson.decode('[' .. ('1,'):rep(1000000) .. '1]')",
    R"(return cjson.decode('"' .. ('\\n'):rep(1000000) .. ('x'):rep(1000000) .. '"'))",
    "return cjson.new().decode('[' .. ('{},'):rep(100000) .. '1]')",
    "local t = {} for i = 1, 40 do t = {t, t} end return cjson.encode(t)",
    "local t = {} for i = 1, 40 do t = {t, t} end return cjson.new().encode(t)",
    "local t = {} for i = 1, 40 do t = {t, t} end return cjson.new().new().encode(t)",
    R"(local s = ('x'):rep(100000) local t = {} for i = 1, 100 do t[i] = s end
       return cjson.encode(t))",
    "local t = {} for i = 1, 15 do t = {t, t, t, t, t, t, t, t} end return cmsgpack.pack(t)",
    "return cmsgpack.unpack('\\221\\255\\255\\255\\255' .. ('\\144'):rep(1000000))",
    "local s = ('x'):rep(1000000) return struct.pack('ssss', s, s, s, s)",
    "return struct.pack(('x'):rep(3000000))",
};

TEST_F(LuaMemoryLimitTest, GreedyScriptsEndAndHostContinues) {
  for (const std::string_view script : kGreedy) {
    EXPECT_THAT(text(script), ::testing::HasSubstr("not enough memory")) << script;
    EXPECT_LT(host().memory_bytes(), kMemoryMax) << script;
    EXPECT_EQ(eval("local t = {} for i = 1, 10000 do t[i] = i end return #t"),
              Reply::integer(10'000))
        << script;
  }
}

TEST_F(LuaMemoryLimitTest, JsonUsesOnlyLuaMemory) {
  constexpr auto kOutsideMax = static_cast<std::int64_t>(kMemoryMax / 4);
  std::int64_t at_begin = 0;
  std::int64_t at_end = 0;
  on_call_ = [&] {
    const struct mallinfo2 heap = mallinfo2();  // all zero with a sanitizer
    const auto outside = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd) -
                         static_cast<std::int64_t>(host().memory_bytes());
    (calls_.back()[0] == "BEGIN" ? at_begin : at_end) = outside;
    return Reply::ok();
  };
  const std::string kept =
      "local s, kept = ('x'):rep(100000), {} redis.call('BEGIN') "
      "for i = 1, 100 do kept[i] = cjson.new() kept[i].encode(s) end redis.call('END')";
  EXPECT_EQ(eval(kept), Reply::nil());
  EXPECT_LT(at_end - at_begin, kOutsideMax);
  // Without the garbage of the first script, whose next collection may be too late.
  EXPECT_EQ(eval("collectgarbage() local s = ('x'):rep(500000) cjson.encode(s) redis.call('END')"),
            Reply::nil());
  EXPECT_LT(at_end - at_begin, kOutsideMax);
}

TEST_F(LuaMemoryLimitTest, DecodingNeedsOnlySourceAndResult) {
  constexpr std::size_t kLarge = 1'600'000;
  const auto decode = [&](const std::string& text) {
    return eval(
        "local value = cjson.decode(ARGV[1]) "
        "return type(value) == 'number' and value or #value",
        {}, {text});
  };
  EXPECT_EQ(decode(std::string(kLarge, ' ') + "7"), Reply::integer(7));
  EXPECT_EQ(decode('"' + std::string(kLarge, 'x') + '"'), Reply::integer(kLarge));
}

TEST_F(LuaMemoryLimitTest, ScriptsMayCatchMemoryError) {
  EXPECT_EQ(text("local ok, e = pcall(string.rep, 'x', 1e9) return {tostring(ok), e}"),
            R"(["false", "not enough memory"])");
}

TEST_F(LuaMemoryLimitTest, LargeArgumentsAndRepliesCount) {
  const std::string large(kMemoryMax, 'x');
  EXPECT_THAT(eval("return 1", {}, {large}).text(), ::testing::HasSubstr("not enough memory"));
  on_call_ = [&] { return Reply::bulk(large); };
  EXPECT_THAT(text("return redis.call('x')"), ::testing::HasSubstr("not enough memory"));
  EXPECT_EQ(eval("return 1"), Reply::integer(1));
}

TEST_F(LuaMemoryLimitTest, LargeScriptsAreNotCompiled) {
  std::string text = "local t = {}\n";
  while (text.size() < kMemoryMax) text += "t[#t + 1] = 'a text of some length' .. #t\n";
  EXPECT_THAT(eval(text).text(), ::testing::HasSubstr("not enough memory"));
  EXPECT_EQ(eval("return 1"), Reply::integer(1));
}

TEST_F(LuaMemoryLimitTest, NewScriptsEvictCachedOnes) {
  for (int i = 0; i < 2'000; ++i) {
    std::string script = "local t = {} ";
    for (int j = 0; j < 50; ++j) {
      script += "t[" + std::to_string(j) + "] = 'text " + std::to_string(i * 50 + j) + "' ";
    }
    ASSERT_EQ(eval(script + "return 1"), Reply::integer(1)) << i;
  }
  EXPECT_GT(host().cached_scripts(), 0U);
  EXPECT_LT(host().cached_scripts(), 2'000U);
}

TEST_F(LuaMemoryLimitTest, GarbageOfManyCallsIsCollected) {
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(eval("local t = {} for i = 1, 20 do t[i] = {} end return #t"), Reply::integer(20));
  }
  EXPECT_LT(host().memory_bytes(), kMemoryMax / 2);
}

/// Uses all that allocates: strings, tables, closures, coroutines, patterns, errors, commands,
/// JSON.
constexpr std::string_view kAllRound = R"(
local t = {}
for i = 1, 20 do t[i] = KEYS[1] .. i end
local ok, message = pcall(error, {err = 'CODE ' .. #t})
local co = coroutine.wrap(function(a) local b = coroutine.yield(a .. '!') return b end)
t[#t + 1] = co(message)
t[#t + 1] = co(cjson.encode(cjson.decode('{"a":[1,2,{"b":"c"}]}')))
t[#t + 1] = redis.call('GET', unpack(t))
t[#t + 1] = redis.pcall({}).err
t[#t + 1] = redis.error_reply('x').err .. redis.status_reply('y').ok .. redis.sha1hex('z')
t[#t + 1] = string.gsub('hello world', '%w+', function(word) return word:upper() end)
t[#t + 1] = loadstring('return ...')('loaded')
t[#t + 1] = {map = {a = {set = {b = true}}}}
t[#t + 1] = cmsgpack.unpack(cmsgpack.pack({a = {('x'):rep(600), 1.5, true}})).a[1]
t[#t + 1] = struct.unpack('!bc0d', struct.pack('!bc0d', 3, 'abc', 0.5)) .. bit.tohex(255)
xpcall(function() t.x.y = 1 end, function(m) t[#t + 1] = m end)
table.sort(ARGV)
cjson.encode_max_depth(5)
collectgarbage('setpause', 300)
if ARGV[1] == 'raise' then error('raised') end
return t)";

TEST_F(LuaMemoryLimitTest, EveryAllocationMayFail) {
  on_call_ = [] {
    return Reply::array({Reply::bulk("a"), Reply::status("b"), Reply::error("C d")});
  };
  keep_calls_ = false;
  for (const bool raises : {false, true}) {
    const Texts arguments = {raises ? "raise" : "return", "x"};
    bool enough = false;
    for (limits_.memory_bytes_max = 40'000; !enough; limits_.memory_bytes_max += 53) {
      restart();
      const Reply reply = eval(kAllRound, {"key"}, arguments);
      enough = to_debug_string(reply).find("not enough memory") == std::string::npos;
      if (enough) {
        EXPECT_EQ(reply.is_error(), raises) << to_debug_string(reply);
      }
      ASSERT_LT(limits_.memory_bytes_max, kMemoryMax);
    }
  }
}

TEST_F(LuaMemoryLimitTest, ErrorWithoutMemoryIsReplied) {
  // The script needs more memory to run than to compile, and most of it when it fails. So its error
  // already has space for the position. Lua allocates no block smaller than a step.
  constexpr std::string_view kScript =
      "local e = {err = 'CODE text', source = '', line = 1}\n"
      "local t = {} for i = 1, 100 do t[i] = {} end error(e)";
  constexpr std::size_t kStep = 8;
  const std::size_t least = host().memory_bytes();
  bool enough = false;
  for (std::size_t room = 0; !enough; room += kStep) {
    limits_.memory_bytes_max = least + room;
    restart();
    const Reply reply = eval(kScript);
    ASSERT_TRUE(reply.is_error()) << room;
    enough = reply.text().starts_with("CODE text script: ");
    ASSERT_LT(room, kMemoryMax);
  }
}

// ---- The C stack ----

TEST_F(LuaMemoryLimitTest, RecursionInCEndsWithError) {
  for (const std::string_view script : {
           "local function f() return coroutine.wrap(f)() end f()",
           "local function f() return select(2, pcall(f)) .. 'x' end error(f())",
           "local function f() return string.gsub('a', 'a', f) end f()",
           "return setmetatable({}, {__index = function(t, k) return t[k] end}).x",
           "return loadstring('return ' .. ('('):rep(100000))()",
           "return cjson.decode(('['):rep(100000))",
           "return cmsgpack.unpack(('\\145'):rep(100000))",
           "return cmsgpack.unpack(('\\129'):rep(100000))",
       }) {
    EXPECT_TRUE(eval(script).is_error()) << script;
  }
}

// ---- The cache ----

class LuaCacheTest : public LuaTest {
 protected:
  LuaCacheTest() : LuaTest({.cached_scripts_max = 3}) {}

  std::string load(std::string_view script) {
    Reply error;
    const LuaScript* const loaded = host().load(script, error);
    return loaded == nullptr ? "" : loaded->sha1;
  }
};

TEST_F(LuaCacheTest, ScriptsAreFoundInEitherCase) {
  EXPECT_EQ(load("return 1"), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  EXPECT_TRUE(host().knows("e0e1f9fabfc9d4800c877a703b823ac0578ff8db"));
  EXPECT_TRUE(host().knows("E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"));
  EXPECT_NE(host().find("E0e1f9fabfc9d4800c877a703b823ac0578ff8db"), nullptr);
  for (const char* other :
       {"", "e0e1f9fabfc9d4800c877a703b823ac0578ff8d", "e0e1f9fabfc9d4800c877a703b823ac0578ff8dg",
        "e0e1f9fabfc9d4800c877a703b823ac0578ff8db0"}) {
    EXPECT_FALSE(host().knows(other)) << other;
    EXPECT_EQ(host().find(other), nullptr) << other;
  }
}

TEST_F(LuaCacheTest, SameScriptIsCachedOnce) {
  Reply error;
  EXPECT_EQ(host().load("return 1", error), host().load("return 1", error));
  EXPECT_EQ(host().cached_scripts(), 1U);
}

TEST_F(LuaCacheTest, LeastRecentlyUsedScriptIsEvicted) {
  const std::string first = load("return 1");
  const std::string second = load("return 2");
  const std::string third = load("return 3");
  EXPECT_NE(host().find(first), nullptr);
  const std::string fourth = load("return 4");
  EXPECT_EQ(host().cached_scripts(), 3U);
  EXPECT_FALSE(host().knows(second));
  for (const std::string& kept : {first, third, fourth}) {
    ASSERT_TRUE(host().knows(kept));
  }
  EXPECT_EQ(run(*host().find(first)).reply, Reply::integer(1));
  EXPECT_EQ(run(*host().find(fourth)).reply, Reply::integer(4));
}

TEST_F(LuaCacheTest, ScriptIsCachedBeforeItFirstRuns) {
  eval("error('x')");
  EXPECT_EQ(host().cached_scripts(), 1U);
}

TEST_F(LuaCacheTest, FlushForgetsAll) {
  const std::string sha1 = load("return 1");
  const std::size_t before = host().memory_bytes();
  host().flush();
  EXPECT_EQ(host().cached_scripts(), 0U);
  EXPECT_FALSE(host().knows(sha1));
  EXPECT_LT(host().memory_bytes(), before);
  EXPECT_EQ(eval("return 1"), Reply::integer(1));
}

}  // namespace
}  // namespace rushgate
