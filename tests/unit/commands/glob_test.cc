#include "engine/redis/commands/glob.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

TEST(GlobTest, WildcardsMatch) {
  EXPECT_TRUE(glob_matches("a*c", "abbbc"));
  EXPECT_TRUE(glob_matches("a*c", "ac"));
  EXPECT_FALSE(glob_matches("a*c", "acb"));
  EXPECT_TRUE(glob_matches("*a*b*", "xxaxxbxx"));
  EXPECT_TRUE(glob_matches("*ab", "aab"));
  EXPECT_TRUE(glob_matches("a?c", "abc"));
  EXPECT_FALSE(glob_matches("a?c", "ac"));
  EXPECT_TRUE(glob_matches("a**", "a"));
  EXPECT_FALSE(glob_matches("a", "ab"));
  EXPECT_FALSE(glob_matches("ab", "a"));
}

TEST(GlobTest, EmptyStringMatchesOnlyEmptyPattern) {
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("*", ""));
  EXPECT_FALSE(glob_matches("[^a]", ""));
  EXPECT_FALSE(glob_matches("", "a"));
}

TEST(GlobTest, ClassesMatch) {
  EXPECT_TRUE(glob_matches("[abc]", "b"));
  EXPECT_FALSE(glob_matches("[^abc]", "b"));
  EXPECT_TRUE(glob_matches("[a-c]", "b"));
  EXPECT_TRUE(glob_matches("[c-a]", "b"));
  EXPECT_TRUE(glob_matches("[a\\-c]", "-"));
  EXPECT_FALSE(glob_matches("[a\\-c]", "b"));
  EXPECT_TRUE(glob_matches("[\\]]", "]"));
  EXPECT_TRUE(glob_matches("[*]", "*"));
  EXPECT_FALSE(glob_matches("[]", "a"));
  EXPECT_TRUE(glob_matches("[^]", "a"));
}

TEST(GlobTest, UnclosedClassEndsWithPattern) {
  EXPECT_TRUE(glob_matches("[ab", "b"));
  EXPECT_FALSE(glob_matches("[ab", "c"));
  EXPECT_TRUE(glob_matches("[a-", "-"));
  EXPECT_FALSE(glob_matches("[", "["));
  EXPECT_TRUE(glob_matches("[^", "x"));
  EXPECT_TRUE(glob_matches("[a-]", "^"));  // a range from 'a' to ']'
}

TEST(GlobTest, EscapedByteMatchesItself) {
  EXPECT_TRUE(glob_matches("\\*", "*"));
  EXPECT_FALSE(glob_matches("\\*", "a"));
  EXPECT_TRUE(glob_matches("\\a", "a"));
  EXPECT_TRUE(glob_matches("a\\", "a\\"));
}

TEST(GlobTest, RangesCompareSignedBytes) {
  EXPECT_TRUE(glob_matches("[a-\xff]"sv, "\x05"));
  EXPECT_FALSE(glob_matches("[a-\xff]"sv, "b"));
  EXPECT_TRUE(glob_matches("[\x80-\xff]"sv, "\xf0"));
}

TEST(GlobTest, CaseMattersByDefault) {
  EXPECT_FALSE(glob_matches("A*", "ab"));
  EXPECT_TRUE(glob_matches_in_any_case("A*", "ab"));
  EXPECT_TRUE(glob_matches_in_any_case("[A-C]", "b"));
  EXPECT_FALSE(glob_matches_in_any_case("[\\A]", "a"));
}

TEST(GlobTest, ManyStarsStayFast) {
  std::string pattern;
  for (int i = 0; i < 1'000; ++i) pattern += "a*";
  EXPECT_FALSE(glob_matches(pattern + 'b', std::string(10'000, 'a')));
}

}  // namespace
}  // namespace rushgate
