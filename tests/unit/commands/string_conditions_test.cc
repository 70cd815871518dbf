#include <cctype>
#include <string>

#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

/// Commands and options of Redis 8.4, by the pages of SET, DELEX, DIGEST and MSETEX.
class StringConditionsTest : public CommandTest {
 protected:
  static constexpr const char* kNotADigest =
      "(error) ERR must be exactly 16 hexadecimal characters";

  std::string digest(const char* key) { return run("DIGEST", key).text(); }
};

// ---- DIGEST ----

TEST_F(StringConditionsTest, DigestIsXxh3OfBytes) {
  run("SET", "empty", "");
  EXPECT_EQ(text("DIGEST", "empty"), "\"2d06800538d394c2\"");
  run("SET", "text", "Hello world");
  EXPECT_EQ(text("DIGEST", "text"), "\"b6acb9d84a38ff74\"");
  run("SET", "number", 12345);
  const std::string of_number = digest("number");
  run("SET", "bytes", "1234");
  run("APPEND", "bytes", "5");
  EXPECT_EQ(digest("bytes"), of_number);
  EXPECT_EQ(text("DIGEST", "none"), "(nil)");
  run("SADD", "s", 1);
  EXPECT_EQ(text("DIGEST", "s"), kWrongType);
}

// ---- SET ----

TEST_F(StringConditionsTest, SetIfeqComparesValue) {
  EXPECT_EQ(text("SET", "k", "1", "IFEQ", "0"), "(nil)");
  EXPECT_EQ(text("EXISTS", "k"), "(integer) 0");
  run("SET", "k", "0");
  EXPECT_EQ(text("SET", "k", "1", "IFEQ", "00"), "(nil)");
  EXPECT_EQ(text("SET", "k", "1", "ifeq", "0", "EX", 10), "OK");
  EXPECT_EQ(text("TTL", "k"), "(integer) 10");
  EXPECT_EQ(text("GET", "k"), "\"1\"");
}

TEST_F(StringConditionsTest, SetIfneCreatesKey) {
  EXPECT_EQ(text("SET", "k", "1", "IFNE", "1"), "OK");
  EXPECT_EQ(text("SET", "k", "2", "IFNE", "1"), "(nil)");
  EXPECT_EQ(text("SET", "k", "2", "IFNE", "0"), "OK");
  EXPECT_EQ(text("GET", "k"), "\"2\"");
}

TEST_F(StringConditionsTest, SetComparesDigestInAnyCase) {
  run("SET", "k", "v");
  std::string upper = digest("k");
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(text("SET", "k", "w", "IFDEQ", "0123456789abcdef"), "(nil)");
  EXPECT_EQ(text("SET", "k", "w", "IFDNE", upper), "(nil)");
  EXPECT_EQ(text("SET", "k", "w", "IFDEQ", upper), "OK");
  EXPECT_EQ(text("SET", "k", "x", "IFDNE", upper), "OK");
  EXPECT_EQ(text("SET", "none", "x", "IFDEQ", "short"), "(nil)");
  EXPECT_EQ(text("SET", "k", "x", "IFDEQ", "short"), kNotADigest);
  EXPECT_EQ(text("SET", "none", "x", "IFDNE", "short"), "OK");
}

TEST_F(StringConditionsTest, SetWithConditionRepliesOldValue) {
  run("SET", "k", "1");
  EXPECT_EQ(text("SET", "k", "2", "IFEQ", "0", "GET"), "\"1\"");
  EXPECT_EQ(text("SET", "k", "2", "GET", "IFEQ", "1"), "\"1\"");
  EXPECT_EQ(text("GET", "k"), "\"2\"");
}

TEST_F(StringConditionsTest, SetTakesOneCondition) {
  EXPECT_EQ(text("SET", "k", "v", "IFEQ", "a", "NX"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "XX", "IFNE", "a"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "IFEQ", "a", "IFDEQ", "b"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "IFEQ"), kSyntaxError);
  EXPECT_EQ(text("SET", "k", "v", "IFEQ", "a", "IFEQ", "b"), "(nil)");
}

TEST_F(StringConditionsTest, SetWithConditionRefusesAnotherType) {
  run("SADD", "s", 1);
  EXPECT_EQ(text("SET", "s", "v", "IFEQ", "1"), kWrongType);
  EXPECT_EQ(text("SET", "s", "v", "IFDNE", "1"), kWrongType);
}

// ---- DELEX ----

TEST_F(StringConditionsTest, DelexRemovesIfConditionHolds) {
  run("SET", "k", "v");
  EXPECT_EQ(text("DELEX", "k", "IFEQ", "w"), "(integer) 0");
  EXPECT_EQ(text("DELEX", "k", "IFNE", "v"), "(integer) 0");
  EXPECT_EQ(text("DELEX", "k", "IFDNE", digest("k")), "(integer) 0");
  EXPECT_EQ(text("DELEX", "k", "ifdeq", digest("k")), "(integer) 1");
  EXPECT_EQ(text("DELEX", "k", "IFEQ", "v"), "(integer) 0");
  run("SET", "k", 7);
  EXPECT_EQ(text("DELEX", "k", "IFEQ", "7"), "(integer) 1");
}

TEST_F(StringConditionsTest, DelexWithoutConditionTakesAnyType) {
  run("SADD", "s", 1);
  EXPECT_EQ(text("DELEX", "s"), "(integer) 1");
  EXPECT_EQ(text("DELEX", "s"), "(integer) 0");
}

TEST_F(StringConditionsTest, DelexRefusesInvalidRequests) {
  run("SET", "k", "v");
  run("SADD", "s", 1);
  EXPECT_EQ(text("DELEX", "s", "IFEQ", "v"),
            "(error) ERR Key should be of string type if conditions are specified");
  EXPECT_EQ(text("DELEX", "k", "EQ", "v"),
            "(error) ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
  EXPECT_EQ(text("DELEX", "k", "IFDEQ", "v"), kNotADigest);
  const std::string wrong_arity = "(error) ERR wrong number of arguments for 'delex' command";
  EXPECT_EQ(text("DELEX", "k", "IFEQ"), wrong_arity);
  EXPECT_EQ(text("DELEX", "none", "IFEQ", "v", "w"), wrong_arity);
}

// ---- MSETEX ----

TEST_F(StringConditionsTest, MsetexSetsAllWithOneExpiry) {
  EXPECT_EQ(text("MSETEX", 2, "a", 1, "b", 2, "EX", 10), "(integer) 1");
  EXPECT_EQ(text("MGET", "a", "b"), R"(["1", "2"])");
  EXPECT_EQ(text("TTL", "b"), "(integer) 10");
  EXPECT_EQ(text("MSETEX", 1, "a", 3, "KEEPTTL"), "(integer) 1");
  EXPECT_EQ(text("TTL", "a"), "(integer) 10");
  EXPECT_EQ(text("MSETEX", 1, "a", 3), "(integer) 1");
  EXPECT_EQ(text("TTL", "a"), "(integer) -1");
}

TEST_F(StringConditionsTest, MsetexConditionAppliesToAllKeys) {
  run("SET", "a", 0);
  EXPECT_EQ(text("MSETEX", 2, "a", 1, "b", 1, "NX"), "(integer) 0");
  EXPECT_EQ(text("MSETEX", 2, "a", 1, "b", 1, "XX"), "(integer) 0");
  EXPECT_EQ(text("MGET", "a", "b"), R"(["0", (nil)])");
  EXPECT_EQ(text("MSETEX", 2, "b", 1, "b", 2, "NX"), "(integer) 1");
  EXPECT_EQ(text("MSETEX", 2, "a", 1, "b", 1, "XX"), "(integer) 1");
  EXPECT_EQ(text("MGET", "a", "b"), R"(["1", "1"])");
}

TEST_F(StringConditionsTest, MsetexRefusesInvalidRequests) {
  for (const char* count : {"0", "-1", "x", "2147483648"})
    EXPECT_EQ(text("MSETEX", count, "a", 1), "(error) ERR invalid numkeys value") << count;
  EXPECT_EQ(text("MSETEX", 2, "a", 1, "b"), "(error) ERR wrong number of key-value pairs");
  EXPECT_EQ(text("MSETEX", 1, "a", 1, "b", 2), kSyntaxError);
  EXPECT_EQ(text("MSETEX", 1, "a", 1, "GET"), kSyntaxError);
  EXPECT_EQ(text("MSETEX", 1, "a", 1, "IFEQ", 1), kSyntaxError);
  EXPECT_EQ(text("MSETEX", 1, "a", 1, "NX", "XX"), kSyntaxError);
  EXPECT_EQ(text("MSETEX", 1, "a", 1, "EX", 0),
            "(error) ERR invalid expire time in 'msetex' command");
}

TEST_F(StringConditionsTest, MsetexKeysAreEverySecondArgument) {
  EXPECT_EQ(text("COMMAND", "GETKEYS", "MSETEX", 2, "a", 1, "b", 2, "NX"), R"(["a", "b"])");
}

}  // namespace
}  // namespace rushgate
