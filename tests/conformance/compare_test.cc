#include "tests/conformance/compare.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace rushgate::testing {
namespace {

Step step_with(const std::string& directives) {
  return parse_transcript("f.txt", "== case\n" + directives + " PING\n")[0].steps[0];
}

bool same(const std::string& directives, std::string_view oracle, std::string_view subject) {
  const Variables none;
  return !difference(step_with(directives).slack, {oracle, none}, {subject, none}).has_value();
}

TEST(CompareTest, WithoutSlackEveryByteCounts) {
  EXPECT_TRUE(same("", "+OK\r\n", "+OK\r\n"));
  EXPECT_FALSE(same("", "+OK\r\n", "$2\r\nOK\r\n"));
  EXPECT_FALSE(same("", "$-1\r\n", "*-1\r\n"));
}

TEST(CompareTest, AnyComparesKind) {
  EXPECT_TRUE(same("@any", ":1\r\n", ":200\r\n"));
  EXPECT_TRUE(same("@any", "*1\r\n:1\r\n", "*0\r\n"));
  EXPECT_FALSE(same("@any", ":1\r\n", "$1\r\n1\r\n"));
  EXPECT_FALSE(same("@any", "$-1\r\n", "$1\r\n1\r\n"));
}

TEST(CompareTest, SameSizeComparesKindAndCount) {
  EXPECT_TRUE(same("@same-size", "*2\r\n:1\r\n:2\r\n", "*2\r\n:3\r\n$1\r\na\r\n"));
  EXPECT_FALSE(same("@same-size", "*1\r\n:1\r\n", "*0\r\n"));
  EXPECT_FALSE(same("@same-size", "*0\r\n", "-ERR\r\n"));
  EXPECT_TRUE(same("@same-size", "$1\r\na\r\n", "$2\r\nab\r\n"));
}

TEST(CompareTest, ApproxAllowsNearIntegers) {
  EXPECT_TRUE(same("@approx-ms 5", ":10\r\n", ":15\r\n"));
  EXPECT_TRUE(same("@approx-ms 5", ":15\r\n", ":10\r\n"));
  EXPECT_FALSE(same("@approx-ms 5", ":10\r\n", ":16\r\n"));
  EXPECT_FALSE(same("@approx-ms 5", ":-9223372036854775808\r\n", ":9223372036854775807\r\n"));
  EXPECT_FALSE(same("@approx-ms 5", "+10\r\n", "+11\r\n"));
}

TEST(CompareTest, PrefixMustBeSameInBoth) {
  EXPECT_TRUE(same("@prefix ERR", "-ERR a\r\n", "-ERR b\r\n"));
  EXPECT_FALSE(same("@prefix ERR", "-ERR a\r\n", "-NO b\r\n"));
  EXPECT_FALSE(same("@prefix ERR", "-NO a\r\n", "-NO b\r\n"));
  EXPECT_FALSE(same("@prefix ERR", "-ERR a\r\n", "+ERR a\r\n"));
}

TEST(CompareTest, LinesAreSelectedByPrefix) {
  EXPECT_TRUE(same("@lines a:,c", "$10\r\na:1\r\nb:2\r\n\r\n", "$10\r\na:1\r\nb:3\r\n\r\n"));
  EXPECT_FALSE(same("@lines a:,b", "$10\r\na:1\r\nb:2\r\n\r\n", "$10\r\na:1\r\nb:3\r\n\r\n"));
  EXPECT_FALSE(same("@lines a:", "$5\r\na:1\r\n\r\n", "$5\r\nb:1\r\n\r\n"));
  EXPECT_THROW(same("@lines c", "$5\r\na:1\r\n\r\n", "$5\r\na:1\r\n\r\n"), std::runtime_error);
}

TEST(CompareTest, UnorderedComparesMultisets) {
  EXPECT_TRUE(same("@unordered", "*3\r\n:1\r\n:2\r\n:2\r\n", "*3\r\n:2\r\n:1\r\n:2\r\n"));
  EXPECT_FALSE(same("@unordered", "*3\r\n:1\r\n:2\r\n:2\r\n", "*3\r\n:2\r\n:1\r\n:1\r\n"));
}

TEST(CompareTest, PairsStayPairs) {
  EXPECT_TRUE(
      same("@pairs-unordered", "*4\r\n+a\r\n+1\r\n+b\r\n+2\r\n", "*4\r\n+b\r\n+2\r\n+a\r\n+1\r\n"));
  EXPECT_FALSE(
      same("@pairs-unordered", "*4\r\n+a\r\n+1\r\n+b\r\n+2\r\n", "*4\r\n+a\r\n+2\r\n+b\r\n+1\r\n"));
}

TEST(CompareTest, SlackHoldsOnlyAtItsPath) {
  EXPECT_TRUE(same("@any @at 1", "*2\r\n:1\r\n:2\r\n", "*2\r\n:1\r\n:3\r\n"));
  EXPECT_FALSE(same("@any @at 1", "*2\r\n:1\r\n:2\r\n", "*2\r\n:9\r\n:3\r\n"));
  EXPECT_FALSE(same("@any @at *.1", "*1\r\n*2\r\n:1\r\n:2\r\n", "*1\r\n*1\r\n:1\r\n"));
  EXPECT_THROW(same("@any @at 5", "*1\r\n:1\r\n", "*1\r\n:1\r\n"), std::runtime_error);
}

TEST(CompareTest, VariablesOfBothSidesAreEqual) {
  const Variables oracle = {{"id", "5-0"}};
  const Variables subject = {{"id", "7-0"}};
  EXPECT_FALSE(difference({}, {"$3\r\n5-0\r\n", oracle}, {"$3\r\n7-0\r\n", subject}));
  EXPECT_TRUE(difference({}, {"$3\r\n5-0\r\n", oracle}, {"$3\r\n5-0\r\n", subject}));
  EXPECT_TRUE(difference({}, {"+5-0\r\n", oracle}, {"$3\r\n7-0\r\n", subject}));
}

TEST(CompareTest, CapturedValueIsStringOrInteger) {
  EXPECT_EQ(captured(step_with("@set x"), "$3\r\n5-0\r\n"), "5-0");
  EXPECT_EQ(captured(step_with("@set x"), ":-4\r\n"), "-4");
  EXPECT_EQ(captured(step_with("@set x @at 1.0"), "*2\r\n:1\r\n*1\r\n+a\r\n"), "a");
  EXPECT_THROW(captured(step_with("@set x"), "*0\r\n"), std::runtime_error);
}

}  // namespace
}  // namespace rushgate::testing
