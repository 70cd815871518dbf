// Compares cjson.encode and cjson.decode with lua-cjson's.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "tests/support/random.h"
#include "tests/support/sweep.h"
#include "tests/unit/script/lua_comparison.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using testing::Random;

using LuaJsonTest = LuaComparisonTest;

/// Generates Lua expressions.
class Values {
 public:
  explicit Values(Random& random) : random_(random) {}

  std::string value(int depth) {
    constexpr int kDepthMax = 5;
    if (depth < kDepthMax && random_.chance(depth == 0 ? 80 : 40)) return table(depth);
    switch (random_.below(20)) {
      case 0:
        return random_.chance(30) ? "error" : "cjson.null";
      case 1:
      case 2:
        return random_.chance(50) ? "true" : "false";
      case 3:
        return "nil";
      default:
        return random_.chance(50) ? number() : string();
    }
  }

 private:
  std::string number() {
    constexpr std::string_view kNumbers[] = {
        "0",       "-0",
        "1",       "-7",
        "1.5",     "0.1",
        "1/3",     "1e14",
        "1e15",    "1e-5",
        "1e300",   "2^53",
        "-2^63",   "99999999999999",
        "-1e14+1", "1e100",
        "5e-324",  "123456.789",
        "1e14-1",  "123456789012345",
    };
    constexpr std::string_view kInvalid[] = {"1/0", "-1/0", "0/0"};
    if (random_.chance(2)) return std::string(random_.pick(kInvalid));
    return random_.chance(50) ? std::string(random_.pick(kNumbers))
                              : std::to_string(random_.between(-1'000, 1'000)) + "/8";
  }

  std::string string() {
    std::string text = "'";
    for (std::size_t left = random_.below(8); left > 0; --left) {
      text += "\\" + std::to_string(1'000 + random_.below(256)).substr(1);
    }
    return random_.chance(5) ? text + "'..('\\1x'):rep(300)" : text + "'";
  }

  std::string table(int depth) {
    const bool has_positions = random_.chance(50);
    std::string text = "{";
    for (std::size_t left = random_.below(6); left > 0; --left) {
      if (random_.chance(80) && has_positions) {
        text += "[" + std::to_string(1 + random_.below(random_.chance(80) ? 6 : 25)) + "]=";
      } else if (!has_positions) {
        text += "[" + key() + "]=";
      }
      text += value(depth + 1) + ",";
    }
    return text + "}";
  }

  std::string key() {
    constexpr std::string_view kKeys[] = {"1.5", "0", "-1", "2^31", "2^53", "1/3", "true", "1"};
    return random_.chance(10) ? std::string(random_.pick(kKeys)) : string();
  }

  Random& random_;
};

std::string random_script(Random& random) {
  constexpr std::string_view kSettings[] = {
      "sparse_array(true)",
      "sparse_array(false, 0)",
      "sparse_array(true, 3, 5)",
      "sparse_array()",
      "sparse_array(false, 1, 0)",
      "max_depth(2)",
      "max_depth(4)",
      "max_depth(0)",
      "number_precision(3)",
      "number_precision(1)",
      "number_precision(15)",
      "invalid_numbers(true)",
      "invalid_numbers('null')",
      "invalid_numbers('off')",
      "invalid_numbers()",
      "keep_buffer(false)",
      "keep_buffer('on')",
      "keep_buffer(1)",
      "keep_buffer()",
      "keep_buffer(true, 1)",
      "keep_buffer('x')",
  };
  std::string script =
      "local seen = {} local function see(...) for i = 1, select('#', ...) do "
      "seen[#seen + 1] = tostring((select(i, ...))) end end "
      "local module = cjson" +
      std::string(random.chance(40) ? ".new()" : "") + " ";
  for (std::size_t left = random.chance(50) ? 0 : 1 + random.below(3); left > 0; --left) {
    script += "see(pcall(function() return module.encode_" + std::string(random.pick(kSettings)) +
              " end)) ";
  }
  return script + "see(pcall(module.encode, " + Values(random).value(0) +
         ")) return table.concat(seen, ' ')";
}

TEST_F(LuaJsonTest, RandomValuesEncodeAsByLuaCjson) {
  const int scripts = testing::is_full_run() ? 6'000 : 1'500;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  for (int i = 0; i < scripts && !HasFailure(); ++i) expect_as_lua(random_script(random));
}

// ---- decode ----

/// Generates JSON documents, some of them with errors.
class Texts {
 public:
  explicit Texts(Random& random) : random_(random) {}

  std::string text() {
    std::string text = value(0);
    while (random_.chance(40)) damage(text);
    return text;
  }

 private:
  std::string value(int depth) {
    constexpr int kDepthMax = 6;
    constexpr std::string_view kScalars[] = {"true",     "false", "null", "inf", "-inf", "nan",
                                             "Infinity", "-NaN",  "True", "nul", "+1",   "x",
                                             "\"",       "-",     ".5",   "",    "'a'"};
    if (depth < kDepthMax && random_.chance(depth == 0 ? 90 : 40)) {
      const bool is_object = random_.chance(50);
      std::string text = is_object ? "{" : "[";
      const std::size_t size = random_.below(5);
      for (std::size_t i = 0; i < size; ++i) {
        if (i > 0) text += space() + ",";
        if (is_object) text += space() + string() + space() + ":";
        text += space() + value(depth + 1);
      }
      return text + space() + (is_object ? "}" : "]");
    }
    if (random_.chance(30)) return std::string(random_.pick(kScalars).substr(0));
    return random_.chance(50) ? number() : string();
  }

  std::string number() {
    constexpr std::string_view kNumbers[] = {"0",
                                             "-0",
                                             "1.5",
                                             "1e5",
                                             "1E-5",
                                             "1e999",
                                             "-1e999",
                                             "1e-999",
                                             "1e",
                                             "1.",
                                             "1.e5",
                                             "0x1F",
                                             "0X1p3",
                                             "-0x10",
                                             "01",
                                             "-01",
                                             "00",
                                             "1e+5",
                                             "-.5",
                                             "1e5.5",
                                             "1-2",
                                             "0.1",
                                             "1_0",
                                             "2.5e-324",
                                             "1e308",
                                             "0b1",
                                             "9007199254740993",
                                             "12345678901234567890123456789012345678901234567890"};
    return random_.chance(60) ? std::string(random_.pick(kNumbers))
                              : std::to_string(random_.between(-1'000, 1'000));
  }

  std::string string() {
    constexpr std::string_view kParts[] = {"a",
                                           "key",
                                           "\\n",
                                           "\\\"",
                                           "\\/",
                                           "\\\\",
                                           "\\b\\t\\f\\r",
                                           "\\u0000",
                                           "\\u00e9",
                                           "\\u20AC",
                                           "\\ud83d\\ude00",
                                           "\\udE00",
                                           "\\ud83dx",
                                           "\\ud83d\\u0041",
                                           "\\x",
                                           "\\u12",
                                           "\\uzzzz",
                                           "\t",
                                           "\n",
                                           "\x7f",
                                           "\xc3\xa9",
                                           "\xff",
                                           "\\u-001",
                                           "\\u+123",
                                           "\\u07ff\\u0800",
                                           "\\uffff"};
    std::string text = "\"";
    for (std::size_t left = random_.below(4); left > 0; --left) {
      text += random_.pick(std::span(kParts).first(random_.chance(90) ? 9 : std::size(kParts)));
    }
    if (random_.chance(2)) text += std::string(700, 'x') + "\\n" + std::string(700, 'y');
    return text + "\"";
  }

  std::string space() {
    constexpr std::string_view kSpaces[] = {" ", "\n", "\t\r ", "    ", "\f", "\v"};
    if (random_.chance(80)) return "";
    return std::string(random_.pick(std::span(kSpaces).first(random_.chance(97) ? 4 : 6)));
  }

  void damage(std::string& text) {
    constexpr std::string_view kBytes("{}[],:\"\\0-+ntfx \0", 17);
    const std::size_t at = random_.below(text.size() + 1);
    if (at < text.size() && random_.chance(50)) text.erase(at, 1 + random_.below(3));
    if (random_.chance(50)) text.insert(at, 1, kBytes[random_.below(kBytes.size())]);
  }

  Random& random_;
};

std::string lua_string(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += "\\" + std::to_string(1'000 + static_cast<unsigned char>(c)).substr(1);
  }
  return quoted + "'";
}

std::string random_decoding(Random& random) {
  constexpr std::string_view kSettings[] = {
      "max_depth(2)",           "max_depth(4)",          "max_depth(0)",
      "invalid_numbers(false)", "invalid_numbers(true)", "invalid_numbers('null')",
      "invalid_numbers()",
  };
  std::string script =
      "local seen = {} local function see(...) for i = 1, select('#', ...) do "
      "seen[#seen + 1] = tostring((select(i, ...))) end end "
      "local module = cjson" +
      std::string(random.chance(40) ? ".new()" : "") + " module.encode_invalid_numbers(true) ";
  for (std::size_t left = random.chance(50) ? 0 : 1 + random.below(3); left > 0; --left) {
    script += "see(pcall(function() return module.decode_" + std::string(random.pick(kSettings)) +
              " end)) ";
  }
  const std::string text = lua_string(Texts(random).text());
  return script + "see(pcall(function() return module.encode(module.decode(" + text +
         ")) end)) see(select(2, pcall(module.decode, " + text +
         ")) == nil) return table.concat(seen, ' ')";
}

TEST_F(LuaJsonTest, RandomDocumentsDecodeAsByLuaCjson) {
  const int scripts = testing::is_full_run() ? 20'000 : 5'000;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  for (int i = 0; i < scripts && !HasFailure(); ++i) expect_as_lua(random_decoding(random));
}

TEST_F(LuaJsonTest, ArgumentsDecodeAsByLuaCjson) {
  for (const std::string arguments : {"", "1", "nil", "{}", "'1', 2", "'1'", "'\\0'", "'1\\0'",
                                      "''", "'\\0001'", "'12\\0x'", "('1'):rep(1000)"}) {
    expect_as_lua("return tostring(select(2, pcall(function() return cjson.decode(" + arguments +
                  ") end)))");
    expect_as_lua("return tostring(select(2, pcall(cjson.decode, " +
                  (arguments.empty() ? "nil" : arguments) + ")))");
  }
}

TEST_F(LuaJsonTest, DeepDocumentsEndAsByLuaCjson) {
  for (const std::string begin : {"[", "{\"a\":"}) {
    const auto decode = [&](const std::string& depth) {
      return concat("tostring((select(2, pcall(cjson.decode, ('", begin, "'):rep(", depth, ")))))");
    };
    for (const std::string depth : {"999", "1000", "1001", "3000"}) {
      expect_as_lua("return " + decode(depth));
      expect_as_lua("cjson.decode_max_depth(100000) return " + decode(depth));
    }
    // Lua's stack bounds these documents. Our decoder uses one slot more.
    expect_as_lua("cjson.decode_max_depth(100000) return (" + decode("9000") +
                  ":gsub('%d+', 'some'))");
  }
}

// ---- encode ----

TEST_F(LuaJsonTest, EveryByteEncodesAsByLuaCjson) {
  expect_as_lua(
      "local t = {} for i = 0, 255 do t[i + 1] = string.char(i) end "
      "return cjson.encode(t) .. cjson.encode(table.concat(t):rep(10))");
}

TEST_F(LuaJsonTest, NumbersEncodeAsByLuaCjson) {
  expect_as_lua(
      "local t = {} for i = -330, 308 do "
      "t[#t + 1] = tonumber('1e' .. i) t[#t + 1] = 2 ^ i t[#t + 1] = -10 ^ i / 3 end "
      "local all = cjson.encode(t) "
      "for precision = 1, 14 do "
      "cjson.encode_number_precision(precision) all = all .. cjson.encode(t) end return all");
}

TEST_F(LuaJsonTest, DeepTablesEndAsByLuaCjson) {
  for (const std::string depth : {"999", "1000", "1001"}) {
    for (const std::string max : {"", "cjson.encode_max_depth(100000) "}) {
      expect_as_lua(concat(max, "local t = {} for i = 2, ", depth,
                           " do t = {t} end return tostring(select(2, pcall(cjson.encode, t)))"));
    }
  }
}

}  // namespace
}  // namespace rushgate
