// Compares our functions of the table library with Lua's own.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/random.h"
#include "tests/unit/script/lua_comparison.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using LuaTablesTest = LuaComparisonTest;

/// Returns a script that sorts a random list and returns the comparisons and the result.
std::string random_sort(::rushgate::testing::Random& random) {
  constexpr std::string_view kComparisons[] = {
      "a.key < b.key",
      "a.key > b.key",
      "a.key <= b.key",
      "(a.key + b.key) % 3 == 0",
      "#trace % 2 == 0",
      "true",
      "nil",
      "a.key % 5 < b.key % 5",
      "a.key < b.key or #trace > 40 and a.nothing < 1",
  };
  const std::size_t size = random.chance(80) ? random.below(30) : random.below(300);
  std::string script = "local trace, t = {}, {} ";
  for (std::size_t i = 1; i <= size; ++i) {
    script += "t[" + std::to_string(i) + "] = {key = " + std::to_string(random.below(40)) +
              ", at = " + std::to_string(i) + "} ";
  }
  return script +
         "local ok, message = pcall(table.sort, t, function(a, b) "
         "  trace[#trace + 1] = (a and a.at or 'nil') .. '?' .. (b and b.at or 'nil') return " +
         std::string(random.pick(kComparisons)) +
         " end) "
         "for i = 1, #t do t[i] = t[i].at end "
         "return table.concat(t, ' ') .. tostring(message) .. table.concat(trace, ' ')";
}

TEST_F(LuaTablesTest, SortComparesAsLua) {
  constexpr int kScripts = 1'000;
  for (const std::uint64_t seed : {std::uint64_t{1}, random_seed()}) {
    SCOPED_TRACE(seed_text(seed));
    ::rushgate::testing::Random random(seed);
    for (int i = 0; i < kScripts && !HasFailure(); ++i) expect_as_lua(random_sort(random));
  }
}

TEST_F(LuaTablesTest, SortWithoutFunctionEqualsLua) {
  for (const std::string list : {
           "{}",
           "{1}",
           "{2, 1}",
           "{3, 1, 2}",
           "{'b', 'a', 'B', '', 'a\\0b', 'a\\0a'}",
           "{1, 'a'}",
           "{{}, {}}",
           "{2, 1, nil, 3}",
           "{5, 4, 3, 2, 1, 0/0, 7, 9}",
       }) {
    expect_as_lua("local t = " + list +
                  " local ok, message = pcall(table.sort, t) "
                  "for i = 1, #t do t[i] = tostring(t[i]):gsub('0x%x+', '') end "
                  "return tostring(ok) .. tostring(message) .. table.concat(t, ' ')");
  }
}

TEST_F(LuaTablesTest, TableWalksEqualLua) {
  for (
      const std::string call : {
          "table.foreach({10, 20, x = 30}, function(k, v) seen = seen .. k .. '=' .. v .. ' ' end)",
          "table.foreach({10, 20}, function(k, v) seen = seen .. v if k == 1 then return 'end' end "
          "end)",
          "table.foreachi({10, 20, nil, 40}, function(k, v) seen = seen .. k .. tostring(v) end)",
          "table.foreachi({10, 20}, function(k, v) seen = seen .. v if k == 1 then return false "
          "end end)",
          "table.foreach()",
          "table.foreach({})",
          "table.foreach(1, type)",
          "table.foreachi({}, 1)",
          "table.foreachi(nil, type)",
          "table.sort(1)",
          "table.sort({}, 1)",
          "table.sort({2, 1}, nil)",
          "table.sort()",
          "coroutine.wrap(function(...) local a = coroutine.yield(select('#', ...)) end)(1, 2)",
          "coroutine.wrap(1)",
          "coroutine.wrap(type)",
          "coroutine.wrap(function() error('text') end)()",
          "coroutine.wrap(function() error({}) end)().x",
          "coroutine.resume(1)",
          "coroutine.resume(coroutine.create(function() error('text') end))",
      }) {
    expect_as_lua("local seen = '' local results = {pcall(function() return " + call +
                  " end)} for i = 1, 3 do seen = seen .. ' ' .. "
                  "(tostring(results[i]):gsub('0x%x+', '')) end return seen");
  }
}

TEST_F(LuaTablesTest, WrappedCoroutineResumesUntilItEnds) {
  expect_as_lua(
      "local co = coroutine.wrap(function(a) "
      "  local b = coroutine.yield(a .. '1') local c = coroutine.yield(b .. '2') return c .. '3' "
      "end) "
      "local seen = co('a') .. co('b') .. co('c') "
      "return seen .. tostring(select(2, pcall(co)))");
}

}  // namespace
}  // namespace rushgate
