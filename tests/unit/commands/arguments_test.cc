#include "engine/redis/commands/arguments.h"

#include <string_view>

#include <gtest/gtest.h>

#include "engine/redis/commands/errors.h"

namespace rushgate {
namespace {

TEST(ArgumentsTest, ArgumentsAreReadLeftToRight) {
  const std::string_view request[] = {"CMD", "key", "7", "LIMIT", "x"};
  Arguments arguments(request);
  EXPECT_EQ(arguments.left(), 4U);
  EXPECT_EQ(arguments.next(), "key");
  EXPECT_EQ(arguments.next_integer(), 7);
  EXPECT_FALSE(arguments.accept("COUNT"));
  EXPECT_TRUE(arguments.accept("LIMIT"));
  EXPECT_EQ(arguments.next(), "x");
  EXPECT_TRUE(arguments.at_end());
  EXPECT_TRUE(arguments.ok());
}

TEST(ArgumentsTest, KeywordsMayHaveAnyCase) {
  const std::string_view request[] = {"CMD", "kEePttl"};
  EXPECT_TRUE(Arguments(request).accept("KEEPTTL"));
  EXPECT_FALSE(Arguments(request).accept("KEEP"));
}

TEST(ArgumentsTest, MissingArgumentIsSyntaxError) {
  const std::string_view request[] = {"CMD"};
  Arguments arguments(request);
  EXPECT_EQ(arguments.next(), "");
  EXPECT_EQ(arguments.take_error(), errors::syntax());
}

TEST(ArgumentsTest, TooSmallCountIsNamedError) {
  const std::string_view request[] = {"CMD", "1", "key", "0", "x"};
  Arguments arguments(request);
  EXPECT_EQ(arguments.next_at_least(1, errors::not_positive()), 1);
  arguments.skip(1);
  EXPECT_EQ(arguments.next_at_least(1, errors::not_above_zero("count")), 0);
  EXPECT_EQ(arguments.take_error(), errors::not_above_zero("count"));
  EXPECT_EQ(arguments.next_at_least(0, errors::not_positive()), 0);
  EXPECT_EQ(arguments.take_error(), errors::not_positive()) << "not a number";
}

TEST(ArgumentsTest, FirstErrorIsKeptAndEndsReading) {
  const std::string_view request[] = {"CMD", "abc", "NX", "5"};
  Arguments arguments(request);
  EXPECT_EQ(arguments.next_integer(), 0);
  EXPECT_FALSE(arguments.ok());
  EXPECT_TRUE(arguments.at_end());
  EXPECT_EQ(arguments.left(), 0U);
  EXPECT_FALSE(arguments.accept("NX"));
  EXPECT_EQ(arguments.next(), "");
  arguments.fail(errors::wrong_type());
  EXPECT_EQ(arguments.take_error(), errors::not_an_integer());
}

TEST(ArgumentsTest, BoundedIntegerErrorNamesBounds) {
  const std::string_view request[] = {"CMD", "10", "-1"};
  EXPECT_EQ(Arguments(request).next_integer(0, 10), 10);
  Arguments arguments(request, 2);
  EXPECT_EQ(arguments.next_integer(0, 10), 0);
  EXPECT_EQ(arguments.take_error(),
            Reply::error("ERR value is out of range, value must between 0 and 10"));
}

TEST(ArgumentsTest, IncompletePairIsRefused) {
  const std::string_view whole[] = {"CMD", "k", "f", "v"};
  Arguments pairs(whole, 2);
  pairs.expect_pairs();
  EXPECT_TRUE(pairs.ok());
  Arguments odd(whole, 1);
  odd.expect_pairs();
  EXPECT_EQ(odd.take_error(), errors::wrong_arity("cmd"));
}

}  // namespace
}  // namespace rushgate
