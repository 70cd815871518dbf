#include <string>
#include <string_view>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

using namespace std::string_view_literals;

class StringsTest : public CommandTest {
 protected:
  static constexpr const char* kInvalidExpire = "(error) ERR invalid expire time in 'set' command";
  static constexpr const char* kOverflow = "(error) ERR increment or decrement would overflow";
};

TEST_F(StringsTest, GetReturnsBytesOfSet) {
  EXPECT_EQ(text("GET", "k"), "(nil)");
  for (const auto value : {"text"sv, ""sv, "5"sv, "05"sv, "-0"sv, "a\0b"sv}) {
    EXPECT_EQ(text("SET", "k", value), "OK");
    EXPECT_EQ(run("GET", "k"), Reply::bulk(value));
  }
  run("SADD", "s", 1);
  EXPECT_EQ(text("GET", "s"), kWrongType);
}

// ---- SET ----

TEST_F(StringsTest, SetReplacesAnyTypeAndItsExpiry) {
  run("SADD", "k", 1);
  run("EXPIRE", "k", 10);
  EXPECT_EQ(text("SET", "k", "v"), "OK");
  EXPECT_EQ(text("TYPE", "k"), "string");
  EXPECT_EQ(text("TTL", "k"), "(integer) -1");
}

TEST_F(StringsTest, SetNxAndXxCheckKey) {
  EXPECT_EQ(run("SET", "k", "1", "XX"), Reply::nil());
  EXPECT_EQ(text("SET", "k", "1", "NX"), "OK");
  EXPECT_EQ(text("SET", "k", "2", "nx"), "(nil)");
  EXPECT_EQ(text("SET", "k", "3", "xx"), "OK");
  EXPECT_EQ(text("GET", "k"), "\"3\"");
  EXPECT_EQ(text("SET", "k", "4", "NX", "NX"), "(nil)");
}

TEST_F(StringsTest, SetGetRepliesOldValueWithoutSetting) {
  EXPECT_EQ(text("SET", "k", "1", "GET"), "(nil)");
  EXPECT_EQ(text("SET", "k", "2", "GET"), "\"1\"");
  EXPECT_EQ(text("SET", "k", "3", "NX", "GET"), "\"2\"");
  EXPECT_EQ(text("GET", "k"), "\"2\"");
  EXPECT_EQ(text("SET", "none", "3", "XX", "GET"), "(nil)");
  EXPECT_EQ(text("EXISTS", "none"), "(integer) 0");
  EXPECT_EQ(text("SET", "none", "3", "NX", "GET"), "(nil)");
  EXPECT_EQ(text("EXISTS", "none"), "(integer) 1");
}

TEST_F(StringsTest, SetGetRefusesAnotherType) {
  run("SADD", "s", 1);
  EXPECT_EQ(text("SET", "s", "v", "GET"), kWrongType);
  EXPECT_EQ(text("SET", "s", "v", "NX", "GET"), kWrongType);
  EXPECT_EQ(text("TYPE", "s"), "set");
}

TEST_F(StringsTest, SetTakesExpiryInFourForms) {
  run("SET", "k", "v", "EX", 100);
  EXPECT_EQ(text("PTTL", "k"), "(integer) 100000");
  run("SET", "k", "v", "px", 1'500);
  EXPECT_EQ(text("PTTL", "k"), "(integer) 1500");
  run("SET", "k", "v", "EXAT", kStartMs / 1000 + 10);
  EXPECT_EQ(text("PTTL", "k"), "(integer) 9877");
  run("SET", "k", "v", "PXAT", kStartMs + 77);
  EXPECT_EQ(text("PTTL", "k"), "(integer) 77");
}

TEST_F(StringsTest, RepeatedExpiryOptionReplacesFirst) {
  EXPECT_EQ(text("SET", "k", "v", "EX", 10, "EX", 20), "OK");
  EXPECT_EQ(text("TTL", "k"), "(integer) 20");
  EXPECT_EQ(text("SET", "k", "v", "EX", "abc", "EX", 30), "OK");
  EXPECT_EQ(text("TTL", "k"), "(integer) 30");
}

TEST_F(StringsTest, PastExpiryLeavesNoValue) {
  EXPECT_EQ(text("SET", "k", "v", "PXAT", 1), "OK");
  EXPECT_EQ(text("GET", "k"), "(nil)");
}

TEST_F(StringsTest, KeepttlKeepsExpiryForAnyType) {
  run("SET", "k", "v", "EX", 100);
  EXPECT_EQ(text("SET", "k", "w", "KEEPTTL"), "OK");
  EXPECT_EQ(text("TTL", "k"), "(integer) 100");
  EXPECT_EQ(text("SET", "k", "w"), "OK");
  EXPECT_EQ(text("TTL", "k"), "(integer) -1");
  run("SADD", "s", 1);
  run("EXPIRE", "s", 50);
  EXPECT_EQ(text("SET", "s", "v", "keepttl", "KEEPTTL"), "OK");
  EXPECT_EQ(text("TTL", "s"), "(integer) 50");
  EXPECT_EQ(text("SET", "new", "v", "KEEPTTL"), "OK");
  EXPECT_EQ(text("TTL", "new"), "(integer) -1");
}

TEST_F(StringsTest, SetRefusesConflictingOptions) {
  EXPECT_EQ(text("SET", "k", "v", "NX", "XX"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "EX", 10, "PX", 10), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "EX", 10, "EXAT", 10), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "KEEPTTL", "EX", 10), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "PXAT", 10, "KEEPTTL"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "EX"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "foo"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "PERSIST"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "EX", "abc", "foo"), kSyntaxError);
}

TEST_F(StringsTest, SetRefusesInvalidExpiries) {
  for (const char* option : {"EX", "PX", "EXAT", "PXAT"}) {
    EXPECT_EQ(text("SET", "k", "v", option, 0), kInvalidExpire);
    EXPECT_EQ(text("SET", "k", "v", option, -1), kInvalidExpire);
    EXPECT_EQ(text("SET", "k", "v", option, "abc"), kNotAnInteger);
    EXPECT_EQ(text("SET", "k", "v", option, ""), kNotAnInteger);
  }
  EXPECT_EQ(text("SET", "k", "v", "EX", "9223372036854775807"), kInvalidExpire);
  EXPECT_EQ(text("SET", "k", "v", "EX", "9223372036854775"), kInvalidExpire);
  EXPECT_EQ(text("SET", "k", "v", "PX", "9223372036854775807"), kInvalidExpire);
  EXPECT_EQ(text("SET", "k", "v", "EXAT", "9223372036854776"), kInvalidExpire);
  EXPECT_EQ(text("SET", "k", "v", "EXAT", "9223372036854775"), "OK");
  EXPECT_EQ(text("SET", "k", "v", "PXAT", "9223372036854775807"), "OK");
  EXPECT_EQ(text("PTTL", "k"), "(integer) " + std::to_string(9'223'372'036'854'775'807 - kStartMs));
}

TEST_F(StringsTest, SetChecksArgumentsBeforeKey) {
  run("SADD", "s", 1);
  EXPECT_EQ(text("SET", "s", "v", "GET", "EX", 0), kInvalidExpire);
}

TEST_F(StringsTest, StringIsLimitedToHalfGigabyte) {
  const std::string longest(512ULL * 1024 * 1024 + 1, 'x');
  EXPECT_EQ(text("SET", "k", longest),
            "(error) ERR string exceeds maximum allowed size (proto-max-bulk-len)");
}

TEST_F(StringsTest, SetnxSetsOnlyMissingKey) {
  EXPECT_EQ(text("SETNX", "k", "1"), "(integer) 1");
  EXPECT_EQ(text("SETNX", "k", "2"), "(integer) 0");
  EXPECT_EQ(text("GET", "k"), "\"1\"");
  run("SADD", "s", 1);
  EXPECT_EQ(text("SETNX", "s", "2"), "(integer) 0");
}

// ---- MGET and MSET ----

TEST_F(StringsTest, MgetRepliesNilForOtherTypes) {
  run("SET", "a", 1);
  run("SADD", "s", 1);
  EXPECT_EQ(text("MGET", "a", "none", "s", "a"), R"(["1", (nil), (nil), "1"])");
}

TEST_F(StringsTest, MsetReplacesAllLastValueWins) {
  run("SET", "a", 1, "EX", 10);
  run("SADD", "s", 1);
  EXPECT_EQ(text("MSET", "a", 2, "s", 3, "a", 4), "OK");
  EXPECT_EQ(text("MGET", "a", "s"), R"(["4", "3"])");
  EXPECT_EQ(text("TTL", "a"), "(integer) -1");
}

TEST_F(StringsTest, MsetNeedsPairs) {
  EXPECT_EQ(text("MSET", "a"), "(error) ERR wrong number of arguments for 'mset' command");
  EXPECT_EQ(text("mSet", "a", 1, "b"), "(error) ERR wrong number of arguments for 'mset' command");
  EXPECT_EQ(text("EXISTS", "a"), "(integer) 0");
}

// ---- INCR and its variants ----

TEST_F(StringsTest, CountersStartAtZeroAndKeepExpiry) {
  EXPECT_EQ(text("INCR", "n"), "(integer) 1");
  EXPECT_EQ(text("INCRBY", "n", 10), "(integer) 11");
  EXPECT_EQ(text("DECR", "n"), "(integer) 10");
  run("EXPIRE", "n", 100);
  EXPECT_EQ(text("DECRBY", "n", -5), "(integer) 15");
  EXPECT_EQ(text("TTL", "n"), "(integer) 100");
  EXPECT_EQ(text("DECR", "m"), "(integer) -1");
  EXPECT_EQ(text("GET", "n"), "\"15\"");
}

TEST_F(StringsTest, CountersRefuseNonNumbers) {
  for (const char* value :
       {"", "abc", "05", "+5", " 5", "5 ", "-0", "1.0", "9223372036854775808"}) {
    run("SET", "k", value);
    EXPECT_EQ(text("INCR", "k"), kNotAnInteger) << value;
    EXPECT_EQ(text("INCRBY", "n", value), kNotAnInteger) << value;
    EXPECT_EQ(text("DECRBY", "n", value), kNotAnInteger) << value;
  }
  run("SADD", "s", 1);
  EXPECT_EQ(text("INCR", "s"), kWrongType);
  EXPECT_EQ(text("INCRBY", "s", "abc"), kNotAnInteger);
}

TEST_F(StringsTest, CountersDoNotOverflow) {
  run("SET", "max", "9223372036854775807");
  run("SET", "min", "-9223372036854775808");
  EXPECT_EQ(text("INCR", "max"), kOverflow);
  EXPECT_EQ(text("DECR", "min"), kOverflow);
  EXPECT_EQ(text("INCRBY", "min", -1), kOverflow);
  EXPECT_EQ(text("DECRBY", "max", -1), kOverflow);
  EXPECT_EQ(text("DECRBY", "max", "-9223372036854775808"), "(error) ERR decrement would overflow");
  EXPECT_EQ(text("INCRBY", "max", "-9223372036854775808"), "(integer) -1");
  EXPECT_EQ(text("INCRBY", "new", "-9223372036854775808"), "(integer) -9223372036854775808");
}

}  // namespace
}  // namespace rushgate
