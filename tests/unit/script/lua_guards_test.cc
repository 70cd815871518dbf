// Scripts with direct access to the shared tables behave like scripts that see them through guards.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/random.h"
#include "tests/unit/script/lua_test.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

/// Generates scripts that read, pass on and change the shared tables.
class RandomScript {
 public:
  explicit RandomScript(std::uint64_t seed) : random_(seed) {}

  std::string next() {
    depth_ = 0;
    std::string script = "local a, b, c, d, e, f, g, h = {call = type}, KEYS[1] ";
    for (std::size_t left = random_.below(5); left > 0; --left) script += statement();
    return script + "return " + expression();
  }

 private:
  static constexpr int kDepthMax = 3;

  std::string expression() {
    constexpr std::string_view kSimple[] = {
        "KEYS[1]", "KEYS[2]",    "ARGV[1]",    "#KEYS",   "#ARGV",        "KEYS",  "ARGV",
        "redis",   "redis.call", "'x'",        "1",       "nil",          "a",     "b",
        "c",       "KEYS.n",     "string.len", "ARGV[3]", "unpack(KEYS)", "cjson", "redis.sha1hex",
        "#b",      "math.huge",  "nosuch",
    };
    if (++depth_ > kDepthMax || random_.chance(50)) {
      --depth_;
      return std::string(random_.pick(kSimple));
    }
    const std::string made = composed_expression();
    --depth_;
    return made;
  }

  std::string composed_expression() {
    switch (random_.below(10)) {
      case 0:
        return "(" + expression() + " or " + expression() + ")[1]";
      case 1:
        return "(" + expression() + " or redis).call('GET', " + expression() + ")";
      case 2:
        return "redis.call('GET', " + expression() + ")";
      case 3:
        return "type(" + expression() + ") .. tostring(" + expression() + " == nil)";
      case 4:
        return "{" + expression() + ", " + expression() + "}";
      case 5:
        return "(function() " + statement() + "return " + expression() + " end)()";
      case 6:
        return "select(2, pcall(function() " + statement() + "end))";
      case 7:
        return random_.chance(5) ? long_constructor() : "#{" + expression() + "}";
      case 8:
        return expression() + " .. " + expression();
      default:
        return "(" + expression() + ")[1]";
    }
  }

  /// Returns a constructor whose compiled code has words that are not instructions.
  std::string long_constructor() {
    constexpr std::size_t kItemsWithoutWords = 25'550;
    const std::string item = random_.chance(50) ? "KEYS[1]," : "b,";
    std::string made = "#{";
    for (std::size_t left = kItemsWithoutWords + random_.below(2'000); left > 0; --left) {
      made += item;
    }
    return made + "}";
  }

  std::string statement() {
    constexpr std::string_view kTargets[] = {
        "a",      "b",       "c",          "c[1]", "c.call", "KEYS[1]",         "KEYS.n",
        "a.call", "redis.x", "redis.call", "KEYS", "global", "ARGV[#ARGV + 1]",
    };
    if (++depth_ > kDepthMax) {
      --depth_;
      return "redis.call('SET', KEYS[1], ARGV[1]) ";
    }
    std::string made;
    switch (random_.below(7)) {
      case 0:
      case 1:
        made = std::string(random_.pick(kTargets)) + " = " + expression() + " ";
        break;
      case 2:
        made = "local c = " + expression() + " ";
        break;
      case 3:
        made = "if " + expression() + " then " + statement() + "end ";
        break;
      case 4:
        made = "for i = 1, 2 do " + statement() + "end ";
        break;
      case 5:
        made = "redis.call('SET', " + expression() + ", " + expression() + ") ";
        break;
      default:
        made = "table.insert(" + expression() + ", 'more') ";
        break;
    }
    --depth_;
    return made;
  }

  testing::Random random_;
  int depth_ = 0;
};

class LuaGuardsTest : public LuaTest {
 protected:
  /// Returns the script's reply, its commands, and KEYS and ARGV of the next script.
  std::string effect_of(std::string_view script) {
    constexpr std::string_view kNext =
        "return {#KEYS, KEYS[1], tostring(KEYS[2]), tostring(KEYS.n), #ARGV, tostring(ARGV[3]), "
        "type(redis.call), tostring(rawget(redis, 'x'))}";
    calls_.clear();
    Reply error;
    const LuaScript* const loaded = host().load(script, error);
    if (loaded == nullptr) return to_debug_string(error);
    needed_no_guard_ = loaded->globals.needs_no_guard;
    std::string effect = without_name(run(*loaded, {"k", "l"}, {"x", "y"}).reply);
    for (const Request& call : calls_) {
      effect += "\n";
      for (const std::string_view word : call.views()) effect += std::string(word) + " ";
    }
    return effect + "\n" + to_debug_string(eval(kNext, {"a"}, {"b"}));
  }

  bool needed_no_guard_ = false;
};

TEST_F(LuaGuardsTest, RandomScriptsBehaveAsGuarded) {
  constexpr int kScripts = 3'000;
  for (const std::uint64_t seed : {std::uint64_t{1}, random_seed()}) {
    SCOPED_TRACE(seed_text(seed));
    RandomScript scripts(seed);
    int unguarded = 0;
    for (int i = 0; i < kScripts; ++i) {
      const std::string script = scripts.next();
      // A script that names _G gets guards and its own lists.
      const std::string expected = effect_of("do local _ = _G end " + script);
      ASSERT_EQ(effect_of(script), expected) << script.substr(0, 2'000);
      unguarded += needed_no_guard_ ? 1 : 0;
    }
    EXPECT_GT(unguarded, kScripts / 10);
    EXPECT_LT(unguarded, kScripts * 9 / 10);
  }
}

}  // namespace
}  // namespace rushgate
