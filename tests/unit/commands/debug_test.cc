// DEBUG, as far as it differs from Redis. (tests/conformance/transcripts/debug.txt has the rest.)
#include <string>
#include <string_view>

#include "engine/core/base/concat.h"
#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

class DebugTest : public CommandTest {
 protected:
  DebugTest() { services().settings.debug_commands = true; }
};

constexpr std::string_view kRefused = "(error) ERR DEBUG command not allowed.";

TEST_F(DebugTest, CommandIsRefusedUnlessAllowed) {
  services().settings.debug_commands = false;
  EXPECT_TRUE(text("DEBUG", "SLEEP", 0).starts_with(kRefused));
  EXPECT_TRUE(text("DEBUG", "nosuch").starts_with(kRefused));
  EXPECT_EQ(text("DEBUG"), "(error) ERR wrong number of arguments for 'debug' command");
  EXPECT_EQ(text("EVAL", "return redis.pcall('DEBUG', 'SLEEP', 0)", 0),
            "(error) ERR This Redis command is not allowed from script");
}

TEST_F(DebugTest, RefusalPrecedesMissingPassword) {
  services().settings.debug_commands = false;
  session().is_authenticated = false;
  EXPECT_TRUE(text("DEBUG", "SLEEP", 0).starts_with(kRefused));
}

TEST_F(DebugTest, SleepHasBound) {
  for (const char* const seconds : {"60.1", "1e300", "inf", "nan"})
    EXPECT_EQ(text("DEBUG", "SLEEP", seconds), "(error) ERR DEBUG SLEEP takes at most 60 seconds");
}

TEST_F(DebugTest, ReloadSavesWithoutNosave) {
  EXPECT_EQ(text("DEBUG", "RELOAD", "NOSAVE"), "OK");
  EXPECT_FALSE(services().saves_batch);
  EXPECT_EQ(text("DEBUG", "RELOAD"), "OK");
  EXPECT_TRUE(services().saves_batch);
}

std::string length_of(const std::string& shown) {
  const std::size_t at = shown.find("serializedlength:");
  return shown.substr(at, shown.find(' ', at) - at);
}

TEST_F(DebugTest, ObjectHasRedisFields) {
  run("SET", "k", 5);
  advance_ms(7'000);
  const std::string shown = text("DEBUG", "OBJECT", "k");
  EXPECT_TRUE(shown.starts_with("Value at:0x"));
  EXPECT_NE(shown.find(" refcount:2147483647 encoding:int serializedlength:2 lru:"),
            std::string::npos);
  EXPECT_TRUE(shown.ends_with(" lru_seconds_idle:7"));
}

/// The lengths are those of redis-server 7.0.15.
TEST_F(DebugTest, ObjectHasSerializedLength) {
  run("SET", "f", "1.5");
  run("SET", "i", 50'000);
  run("SADD", "s", 1, 2, 3);
  run("HSET", "h", "f", "v");
  run("ZADD", "z", 1, "a");
  run("XADD", "x", "1-1", "f", "v");
  EXPECT_EQ(length_of(text("DEBUG", "OBJECT", "f")), "serializedlength:4");
  EXPECT_EQ(length_of(text("DEBUG", "OBJECT", "i")), "serializedlength:5");
  EXPECT_EQ(length_of(text("DEBUG", "OBJECT", "s")), "serializedlength:15");
  EXPECT_EQ(length_of(text("DEBUG", "OBJECT", "h")), "serializedlength:14");
  EXPECT_EQ(length_of(text("DEBUG", "OBJECT", "z")), "serializedlength:13");
  EXPECT_EQ(length_of(text("DEBUG", "OBJECT", "x")), "serializedlength:57");
}

TEST_F(DebugTest, ObjectShowsExpiringFields) {
  run("HSET", "h", "f", "v");
  const std::string before = length_of(text("DEBUG", "OBJECT", "h"));
  run("HPEXPIRE", "h", 100, "FIELDS", 1, "f");
  EXPECT_EQ(length_of(text("DEBUG", "OBJECT", "h")), before);
}

TEST_F(DebugTest, HtstatsCountElements) {
  constexpr std::string_view kTwo =
      "Hash table 0 stats (main hash table):\n number of elements: 2\n";
  constexpr std::string_view kNone =
      "Hash table 0 stats (main hash table):\nNo stats available for empty dictionaries\n";
  run("SADD", "s", "a", "b");
  run("SET", "k", "v");
  EXPECT_EQ(run("DEBUG", "HTSTATS", 0).text(),
            concat("txt:[Dictionary HT]\n", kTwo, "[Expires HT]\n", kNone));
  EXPECT_EQ(run("DEBUG", "HTSTATS", 1).text(),
            concat("txt:[Dictionary HT]\n", kNone, "[Expires HT]\n", kNone));
  EXPECT_EQ(run("DEBUG", "HTSTATS-KEY", "s").text(), concat("txt:", kTwo));
}

TEST_F(DebugTest, StringmatchTestEnds) {
  EXPECT_EQ(text("DEBUG", "STRINGMATCH-TEST"), "Apparently Redis did not crash: test passed");
}

TEST_F(DebugTest, SdslenCountsBytes) {
  run("SET", "key", "a longer value than most");
  EXPECT_EQ(text("DEBUG", "SDSLEN", "key"),
            "key_sds_len:3, key_sds_avail:0, key_zmalloc: 32, val_sds_len:24, val_sds_avail:0, "
            "val_zmalloc: 32");
}

TEST_F(DebugTest, PopulateHasBounds) {
  constexpr std::string_view kTooMuch =
      "(error) ERR DEBUG POPULATE takes at most 10000000 keys, and 1 GiB of values";
  EXPECT_EQ(text("DEBUG", "POPULATE", 10'000'001), kTooMuch);
  EXPECT_EQ(text("DEBUG", "POPULATE", 1'025, "k", 1 << 20), kTooMuch);
  EXPECT_EQ(text("DEBUG", "POPULATE", 1, "k", (1LL << 30) + 1), kTooMuch);
  EXPECT_EQ(text("DEBUG", "POPULATE", 0, "k", 1 << 30), "OK");
  EXPECT_TRUE(contents().empty());
}

TEST_F(DebugTest, PopulateIsRefusedAsWrite) {
  services().write_refusal = "ERR the disk is gone";
  EXPECT_EQ(text("DEBUG", "POPULATE", 1), "(error) ERR the disk is gone");
}

}  // namespace
}  // namespace rushgate
