#include <string>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class KeysTest : public CommandTest {
 protected:
  static constexpr const char* kInvalidExpire =
      "(error) ERR invalid expire time in 'expire' command";
};

TEST_F(KeysTest, DelRemovesKeysOfAnyType) {
  run("SET", "string", 1);
  run("SADD", "set", 1);
  run("HSET", "hash", "f", "v");
  EXPECT_EQ(text("DEL", "string", "set", "hash", "none", "string"), "(integer) 3");
  EXPECT_EQ(text("DBSIZE"), "(integer) 0");
}

TEST_F(KeysTest, ExistsCountsRepeatedKeyRepeatedly) {
  run("SET", "a", 1);
  EXPECT_EQ(text("EXISTS", "a", "none", "a"), "(integer) 2");
}

TEST_F(KeysTest, TypeNamesTheType) {
  run("SET", "string", 1);
  run("SADD", "set", 1);
  run("HSET", "hash", "f", "v");
  EXPECT_EQ(run("TYPE", "string"), Reply::status("string"));
  EXPECT_EQ(text("TYPE", "set"), "set");
  EXPECT_EQ(text("TYPE", "hash"), "hash");
  EXPECT_EQ(text("TYPE", "none"), "none");
}

// ---- Expiry ----

TEST_F(KeysTest, ExpiredKeyIsGone) {
  run("SET", "k", 1);
  EXPECT_EQ(text("PEXPIRE", "k", 1'000), "(integer) 1");
  advance_ms(999);
  EXPECT_EQ(text("EXISTS", "k"), "(integer) 1");
  advance_ms(1);
  EXPECT_EQ(text("EXISTS", "k"), "(integer) 0");
  EXPECT_EQ(text("TTL", "k"), "(integer) -2");
}

TEST_F(KeysTest, TtlIsRoundedAndPttlIsNot) {
  run("SET", "k", 1);
  EXPECT_EQ(text("TTL", "k"), "(integer) -1");
  EXPECT_EQ(text("PTTL", "k"), "(integer) -1");
  EXPECT_EQ(text("PTTL", "none"), "(integer) -2");
  run("EXPIRE", "k", 100);
  advance_ms(499);
  EXPECT_EQ(text("PTTL", "k"), "(integer) 99501");
  EXPECT_EQ(text("TTL", "k"), "(integer) 100");
  advance_ms(2);
  EXPECT_EQ(text("TTL", "k"), "(integer) 99");
}

TEST_F(KeysTest, ExpireInPastDeletes) {
  for (const char* seconds : {"0", "-1", "-9223372036854775"}) {
    run("SADD", "k", 1);
    EXPECT_EQ(text("EXPIRE", "k", seconds), "(integer) 1") << seconds;
    EXPECT_EQ(text("EXISTS", "k"), "(integer) 0") << seconds;
  }
  run("SADD", "k", 1);
  EXPECT_EQ(text("PEXPIRE", "k", "-9223372036854775808"), "(integer) 1");
  EXPECT_EQ(text("EXISTS", "k"), "(integer) 0");
}

TEST_F(KeysTest, ExpireOfMissingKeyIsZero) {
  EXPECT_EQ(text("EXPIRE", "none", 10), "(integer) 0");
  EXPECT_EQ(text("EXPIRE", "none", 10, "XX"), "(integer) 0");
}

TEST_F(KeysTest, ExpireRefusesOutOfRangeTimeWithoutKey) {
  EXPECT_EQ(text("EXPIRE", "k", "9223372036854775807"), kInvalidExpire);
  EXPECT_EQ(text("EXPIRE", "k", "-9223372036854775808"), kInvalidExpire);
  EXPECT_EQ(text("EXPIRE", "k", "9223372036854775"), kInvalidExpire);
  EXPECT_EQ(text("PEXPIRE", "k", "9223372036854775807"),
            "(error) ERR invalid expire time in 'pexpire' command");
  EXPECT_EQ(text("EXPIRE", "k", "abc"), kNotAnInteger);
  EXPECT_EQ(text("EXPIRE", "k", "1.5"), kNotAnInteger);
}

TEST_F(KeysTest, ExpireChecksOptionsBeforeTime) {
  EXPECT_EQ(text("EXPIRE", "k", "abc", "foo"), "(error) ERR Unsupported option foo");
  EXPECT_EQ(text("EXPIRE", "k", "abc", "NX", "XX", "a\nb"), "(error) ERR Unsupported option a b");
  EXPECT_EQ(text("EXPIRE", "k", "abc", "NX", "GT"),
            "(error) ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(text("EXPIRE", "k", "abc", "nx", "lt", "gt"),
            "(error) ERR NX and XX, GT or LT options at the same time are not compatible");
  EXPECT_EQ(text("EXPIRE", "k", "abc", "GT", "LT"),
            "(error) ERR GT and LT options at the same time are not compatible");
}

TEST_F(KeysTest, ExpireNxAndXxCheckExpiry) {
  run("SET", "k", 1);
  EXPECT_EQ(text("EXPIRE", "k", 10, "XX"), "(integer) 0");
  EXPECT_EQ(text("EXPIRE", "k", 10, "NX"), "(integer) 1");
  EXPECT_EQ(text("EXPIRE", "k", 20, "NX"), "(integer) 0");
  EXPECT_EQ(text("TTL", "k"), "(integer) 10");
  EXPECT_EQ(text("EXPIRE", "k", 20, "xx"), "(integer) 1");
  EXPECT_EQ(text("TTL", "k"), "(integer) 20");
}

TEST_F(KeysTest, ExpireGtLtTreatNoExpiryAsInfinity) {
  run("SET", "k", 1);
  EXPECT_EQ(text("EXPIRE", "k", 10, "GT"), "(integer) 0");
  EXPECT_EQ(text("EXPIRE", "k", 10, "LT"), "(integer) 1");
  EXPECT_EQ(text("EXPIRE", "k", 10, "GT"), "(integer) 0");
  EXPECT_EQ(text("EXPIRE", "k", 10, "LT"), "(integer) 0");
  EXPECT_EQ(text("EXPIRE", "k", 11, "GT", "XX"), "(integer) 1");
  EXPECT_EQ(text("EXPIRE", "k", 9, "LT", "XX"), "(integer) 1");
  EXPECT_EQ(text("EXPIRE", "k", -1, "GT"), "(integer) 0");
  EXPECT_EQ(text("EXPIRE", "k", -1, "LT"), "(integer) 1");
  EXPECT_EQ(text("EXISTS", "k"), "(integer) 0");
}

TEST_F(KeysTest, PersistRemovesExpiry) {
  EXPECT_EQ(text("PERSIST", "none"), "(integer) 0");
  run("SET", "k", 1);
  EXPECT_EQ(text("PERSIST", "k"), "(integer) 0");
  run("EXPIRE", "k", 10);
  EXPECT_EQ(text("PERSIST", "k"), "(integer) 1");
  EXPECT_EQ(text("TTL", "k"), "(integer) -1");
}

TEST_F(KeysTest, ExpirySurvivesRestart) {
  run("SADD", "s", 1);
  run("EXPIRE", "s", 10);
  commit();
  run("PERSIST", "s");
  run("PEXPIRE", "s", 5);  // TearDown() compares it with a reloaded keyspace
}

TEST_F(KeysTest, RandomkeySkipsExpiredKeys) {
  for (int i = 0; i < 100; ++i) run("SET", "k" + std::to_string(i), 1, "PX", 10);
  run("SET", "stays", 1);
  advance_ms(10);
  EXPECT_EQ(text("RANDOMKEY"), "\"stays\"");
}

TEST_F(KeysTest, RandomkeyCountsNoHits) {
  run("SET", "expires", 1, "PX", 10);
  run("SET", "stays", 1);
  advance_ms(10);
  EXPECT_EQ(text("RANDOMKEY"), "\"stays\"");
  EXPECT_EQ(services().statistics.keys_found, 0U);
  EXPECT_EQ(services().statistics.keys_missed, 0U);
}

TEST_F(KeysTest, RandomkeyEndsAlthoughAllKeysHaveExpired) {
  run("SET", "s", 1, "PX", 10);
  run("HSET", "h", "f", "v");
  run("HPEXPIRE", "h", 10, "FIELDS", 1, "f");
  run("CLIENT", "PAUSE", 1'000, "WRITE");
  advance_ms(10);
  EXPECT_NE(text("RANDOMKEY"), "(nil)");
  run("CLIENT", "UNPAUSE");
  EXPECT_EQ(text("RANDOMKEY"), "(nil)");
}

TEST_F(KeysTest, RenamedHashKeepsItsFields) {
  run("HSET", "h", "f", "v", 1, 2);
  commit();
  EXPECT_EQ(text("RENAME", "h", "g"), "OK");
  commit();
  run("HSET", "g", "f", "w");
  expect_reload_equals();
  EXPECT_EQ(text("HGET", "g", "f"), "\"w\"");
}

TEST_F(KeysTest, SwapdbIsDurableAndReversible) {
  run("SET", "a", 1, "PX", 1'000);
  run("HSET", "h", "f", "v");
  run("SELECT", 3);
  run("SADD", "s", 1, 2);
  commit();
  EXPECT_EQ(text("SWAPDB", 0, 3), "OK");
  run("HSET", "h", "g", "w");
  run("SET", "new", 1);
  expect_reload_equals();
  EXPECT_EQ(text("PTTL", "a"), "(integer) 1000");
  run("SWAPDB", 3, 0);
  run("SELECT", 0);
  EXPECT_EQ(text("HLEN", "h"), "(integer) 2");
  EXPECT_EQ(text("EXISTS", "new"), "(integer) 1");
}

TEST_F(KeysTest, WriteInPauseReplacesExpiredKey) {
  text("SET", "k", 7, "PX", 30);
  advance_ms(60);
  text("MULTI");
  text("CLIENT", "PAUSE", 10'000, "WRITE");
  text("EVAL", "return redis.call('INCR', KEYS[1])", 1, "k");
  text("DBSIZE");
  text("EXEC");
  EXPECT_EQ(text("GET", "k"), "\"1\"");
  EXPECT_EQ(text("DBSIZE"), "(integer) 1");
  EXPECT_EQ(text("CLIENT", "UNPAUSE"), "OK");
  EXPECT_EQ(text("DEL", "k"), "(integer) 1");
  EXPECT_EQ(text("GET", "k"), "(nil)");
}

}  // namespace
}  // namespace rushgate
