#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "tests/unit/commands/command_test.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

/// Runs random commands. run() checks that each can be rolled back, and TearDown() that all were
/// stored.
class RandomCommandsTest : public CommandTest {
 protected:
  Request random_request() {
    const std::string key = pick({"a", "b", "c", "d"});
    const std::string other = pick({"a", "b", "c", "d"});
    const std::string element = pick({"1", "2", "x", "y", "03"});
    const std::string value = pick({"5", "-1", "text", "9223372036854775807"});
    const std::string score = pick({"1", "-2.5", "0", "inf", "1e300"});
    switch (random_() % 69) {
      case 0:
        return Request::of("SET", key, value);
      case 1:
        return Request::of("SET", key, value, "KEEPTTL");
      case 2:
        return Request::of("SET", key, value, "PX", random_() % 50 + 1);
      case 3:
        return Request::of("SETNX", key, value);
      case 4:
        return Request::of("INCRBY", key, random_() % 10);
      case 5:
        return Request::of("MSET", key, value, pick({"a", "b"}), value);
      case 6:
        return Request::of("DEL", key, pick({"a", "b"}));
      case 7:
        return Request::of("PEXPIRE", key, random_() % 50);
      case 8:
        return Request::of("PERSIST", key);
      case 9:
      case 10:
      case 11:
        return Request::of("SADD", key, element, pick({"1", "z"}));
      case 12:
      case 13:
        return Request::of("SREM", key, element, pick({"1", "z"}));
      case 14:
      case 15:
      case 16:
        return Request::of("HSET", key, element, value);
      case 17:
        return Request::of("HINCRBY", key, element, random_() % 10);
      case 18:
        return Request::of("HDEL", key, element, pick({"1", "z"}));
      case 19:
        return Request::of("SELECT", random_() % 3);
      case 20:
        return random_() % 20 == 0 ? Request::of("FLUSHDB") : Request::of("HGETALL", key);
      case 21:
        return Request::of("APPEND", key, value);
      case 22:
        return Request::of("SETRANGE", key, random_() % 12, element);
      case 23:
        return Request::of("INCRBYFLOAT", key, "0.5");
      case 24:
        return Request::of("GETEX", key, "PXAT",
                           kStartMs + static_cast<std::int64_t>(random_() % 50));
      case 25:
        return Request::of("GETDEL", key);
      case 26:
        return Request::of("MSETNX", key, value, pick({"a", "b"}), value);
      case 27:
        return Request::of("HSETNX", key, element, value);
      case 28:
        return Request::of("HINCRBYFLOAT", key, element, "0.5");
      case 29:
        return Request::of("SMOVE", key, other, element);
      case 30:
        return Request::of("SPOP", key, random_() % 4);
      case 31:
        return Request::of("SUNIONSTORE", key, other, pick({"a", "b"}));
      case 32:
        return Request::of("SDIFFSTORE", key, other, pick({"a", "b"}));
      case 33:
        return Request::of("SINTERSTORE", key, other, pick({"a", "b"}));
      case 34:
        return Request::of("RENAME", key, other);
      case 35:
        return Request::of("RENAMENX", key, other);
      case 36:
        return Request::of("COPY", key, other, "DB", random_() % 3, "REPLACE");
      case 37:
        return Request::of("MOVE", key, random_() % 3);
      case 38:
        return Request::of("SWAPDB", random_() % 3, random_() % 3);
      case 39:
        return Request::of("PEXPIREAT", key, kStartMs + static_cast<std::int64_t>(random_() % 500));
      case 40:
        return Request::of("HRANDFIELD", key, random_() % 4, "WITHVALUES");
      case 41:
      case 42:
        return Request::of(pick({"LPUSH", "RPUSH"}), key, element, value, element);
      case 43:
        return Request::of(pick({"LPUSHX", "RPUSHX"}), key, element);
      case 44:
        return Request::of(pick({"LPOP", "RPOP"}), key);
      case 45:
        return Request::of(pick({"LPOP", "RPOP"}), key, random_() % 4);
      case 46:
        return Request::of("LSET", key, any_index(), value);
      case 47:
      case 48:
        return Request::of("LINSERT", key, pick({"BEFORE", "AFTER"}), element, value);
      case 49:
        return Request::of("LREM", key, any_index(), element);
      case 50:
        return Request::of("LTRIM", key, any_index(), any_index());
      case 51:
      case 52:
        return Request::of("LMOVE", key, pick({"a", "b"}), pick({"LEFT", "RIGHT"}),
                           pick({"LEFT", "RIGHT"}));
      case 53:
        return Request::of("LMPOP", 2, key, pick({"a", "b"}), pick({"LEFT", "RIGHT"}), "COUNT",
                           random_() % 3 + 1);
      case 54:
      case 55:
        return Request::of("ZADD", key, pick({"CH", "GT", "LT", "XX"}), score, element, 7, "z");
      case 56:
        return Request::of("ZINCRBY", key, score, element);
      case 57:
        return Request::of("ZREM", key, element, pick({"1", "z"}));
      case 58:
        return Request::of(pick({"ZPOPMIN", "ZPOPMAX"}), key, random_() % 3);
      case 59:
        return Request::of(pick({"ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"}), key, 2,
                           pick({"a", "b"}), pick({"c", "d"}));
      case 60:
        return Request::of("ZREMRANGEBYRANK", key, random_() % 3, random_() % 5);
      case 61:
        return Request::of("ZRANGESTORE", key, pick({"a", "b"}), 0, 3);
      case 62:
        return Request::of("SETBIT", key, random_() % 200, random_() % 2);
      case 63:
        return Request::of("BITFIELD", key, "SET", "u9", random_() % 100, 1, "INCRBY", "i7",
                           random_() % 100, 5);
      case 64:
        return Request::of("BITOP", pick({"AND", "OR", "XOR"}), key, other, pick({"a", "b"}));
      default:
        return random_() % 50 == 0 ? Request::of("FLUSHALL") : Request::of("SMEMBERS", key);
    }
  }

  std::int64_t any_index() { return static_cast<std::int64_t>(random_() % 10) - 5; }

  std::string pick(std::initializer_list<std::string_view> choices) {
    return std::string(choices.begin()[random_() % choices.size()]);
  }

  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
};

TEST_F(RandomCommandsTest, EachChangeIsUndoableAndDurable) {
  SCOPED_TRACE(seed_text(seed_));
  for (int step = 0; step < 20'000 && !HasFailure(); ++step) {
    run_request(random_request());
    if (random_() % 5 == 0) advance_ms(static_cast<std::int64_t>(random_() % 10));
    if (random_() % 10 == 0) commit();
    if (random_() % 200 == 0) expect_reload_equals();
  }
}

TEST_F(RandomCommandsTest, WholeBatchCanBeRolledBack) {
  SCOPED_TRACE(seed_text(seed_));
  for (int group = 0; group < 1'000 && !HasFailure(); ++group) {
    commit();
    const auto before = contents();
    for (std::uint64_t left = random_() % 30; left > 0; --left) run_request(random_request());
    if (random_() % 2 == 0) {
      keyspace().changes().roll_back_to({});
      EXPECT_EQ(contents(), before);
    }
    if (random_() % 10 == 0) expect_reload_equals();
    advance_ms(static_cast<std::int64_t>(random_() % 20));
  }
}

}  // namespace
}  // namespace rushgate
