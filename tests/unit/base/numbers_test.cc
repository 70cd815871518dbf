#include "engine/core/base/numbers.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kUint64Max = std::numeric_limits<std::uint64_t>::max();

TEST(ParseInt64Test, CanonicalFormIsRead) {
  EXPECT_EQ(parse_int64("0"), 0);
  EXPECT_EQ(parse_int64("7"), 7);
  EXPECT_EQ(parse_int64("-7"), -7);
  EXPECT_EQ(parse_int64("1234567890123456789"), 1234567890123456789);
}

TEST(ParseInt64Test, BothEndsOfRangeAreRead) {
  EXPECT_EQ(parse_int64("9223372036854775807"), kInt64Max);
  EXPECT_EQ(parse_int64("-9223372036854775808"), kInt64Min);
  EXPECT_EQ(parse_int64("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_int64("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(parse_int64("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_int64("-99999999999999999999"), std::nullopt);
}

TEST(ParseInt64Test, OtherFormsAreNoNumbers) {
  for (const auto text :
       {""sv, "-"sv, "--5"sv, "+5"sv, "-0"sv, "00"sv, "05"sv, "-05"sv, " 5"sv, "5 "sv, "5\0"sv,
        "\0"sv, "1e3"sv, "1.0"sv, "0x10"sv, "abc"sv, "5a"sv, "- 5"sv}) {
    EXPECT_EQ(parse_int64(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(ParseUint64Test, WholeRangeIsRead) {
  EXPECT_EQ(parse_uint64("0"), 0U);
  EXPECT_EQ(parse_uint64("9223372036854775808"), 9223372036854775808U);
  EXPECT_EQ(parse_uint64("18446744073709551615"), kUint64Max);
  EXPECT_EQ(parse_uint64("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_uint64("018446744073709551616"), std::nullopt);
}

TEST(ParseUint64Test, NonCanonicalFormIsReadAsStrtoull) {
  EXPECT_EQ(parse_uint64("007"), 7U);
  EXPECT_EQ(parse_uint64("+1"), 1U);
  EXPECT_EQ(parse_uint64(" 2"), 2U);
  EXPECT_EQ(parse_uint64("\v7"), 7U);
  EXPECT_EQ(parse_uint64("1\0x"sv), 1U);
  EXPECT_EQ(parse_uint64("-05"), kUint64Max - 4);
  EXPECT_EQ(parse_uint64(" -5"), kUint64Max - 4);
  EXPECT_EQ(parse_uint64("-0018446744073709551615"), 1U);
}

TEST(ParseUint64Test, NegativeNumbersAndWordsAreRefused) {
  for (const auto text : {""sv, "-"sv, "-5"sv, "8 "sv, "0x10"sv, "\0"sv, "abc"sv, " "sv, "1-1"sv}) {
    EXPECT_EQ(parse_uint64(text), std::nullopt) << '"' << text << '"';
  }
}

TEST(ParseLongDoubleTest, ParsedNumberEqualsStrtold) {
  EXPECT_EQ(parse_long_double("10.5"), 10.5L);
  EXPECT_EQ(parse_long_double(".5"), 0.5L);
  EXPECT_EQ(parse_long_double("5."), 5.0L);
  EXPECT_EQ(parse_long_double("+1e3"), 1000.0L);
  EXPECT_EQ(parse_long_double("0x10"), 16.0L);
  EXPECT_EQ(parse_long_double("-inf"), -std::numeric_limits<long double>::infinity());
  EXPECT_EQ(parse_long_double("infinity"), std::numeric_limits<long double>::infinity());
}

TEST(ParseLongDoubleTest, SubnormalIsNumberButUnderflowIsNot) {
  EXPECT_TRUE(parse_long_double("1e-4940").has_value());
  EXPECT_FALSE(parse_long_double("1e-5000").has_value());
  EXPECT_FALSE(parse_long_double("1e5000").has_value());
  EXPECT_FALSE(parse_long_double("-1e5000").has_value());
}

TEST(FormatLongDoubleTest, SeventeenDigitsHaveNoTrailingZeros) {
  EXPECT_EQ(format_long_double(0.0L), "0");
  EXPECT_EQ(format_long_double(-0.0L), "0");
  EXPECT_EQ(format_long_double(100.0L), "100");
  EXPECT_EQ(format_long_double(10.6L), "10.6");
  EXPECT_EQ(format_long_double(-0.5L), "-0.5");
  EXPECT_EQ(format_long_double(1e-17L), "0.00000000000000001");
  EXPECT_EQ(format_long_double(1e-18L), "0");
  EXPECT_EQ(format_long_double(-1e-18L), "0");
  EXPECT_EQ(format_long_double(std::numeric_limits<long double>::max()).size(), 4933U);
}

TEST(ParseLongDoubleTest, NanSpacesAndTrailingBytesAreRefused) {
  for (const auto text :
       {""sv, "nan"sv, "nan(abc)"sv, " 1"sv, "\t1"sv, "1 "sv, "1\0"sv, "1e"sv, "abc"sv}) {
    EXPECT_FALSE(parse_long_double(text).has_value()) << '"' << text << '"';
  }
  EXPECT_TRUE(parse_long_double(std::string(5 * 1024 - 1, '0')).has_value());
  EXPECT_FALSE(parse_long_double(std::string(5 * 1024, '0')).has_value());
}

TEST(ParseDoubleTest, AnyFormOfNumberIsRead) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_double("1"), 1);
  EXPECT_EQ(parse_double("-2.5"), -2.5);
  EXPECT_EQ(parse_double("+7"), 7);
  EXPECT_EQ(parse_double(".5"), 0.5);
  EXPECT_EQ(parse_double("5."), 5);
  EXPECT_EQ(parse_double("1e3"), 1'000);
  EXPECT_EQ(parse_double("0x1p-2"), 0.25);
  EXPECT_EQ(parse_double("INF"), kInfinity);
  EXPECT_EQ(parse_double("-Infinity"), -kInfinity);
  EXPECT_EQ(parse_double("4e-320"), 4e-320);
  EXPECT_TRUE(std::signbit(*parse_double("-0")));
}

TEST(ParseDoubleTest, NanSpacesAndOverflowAreRefused) {
  for (const auto text : {""sv, "nan"sv, "-nan"sv, "nan(1)"sv, " 1"sv, "\t1"sv, "1 "sv, "1\0"sv,
                          "1e"sv, "abc"sv, "1e400"sv, "-1e400"sv, "1e-400"sv}) {
    EXPECT_FALSE(parse_double(text).has_value()) << '"' << text << '"';
  }
}

TEST(ParseDoubleTest, BoundMayBeEmptyLargeOrNulTerminated) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_double_bound(""), 0);
  EXPECT_EQ(parse_double_bound("  1"), 1);
  EXPECT_EQ(parse_double_bound("1e400"), kInfinity);
  EXPECT_EQ(parse_double_bound("1e-400"), 0);
  EXPECT_EQ(parse_double_bound("2\0x"sv), 2);
  EXPECT_EQ(parse_double_bound("2x"), std::nullopt);
  EXPECT_EQ(parse_double_bound("1 "), std::nullopt);
  EXPECT_EQ(parse_double_bound("nan"), std::nullopt);
}

TEST(DoubleTextTest, NumberHasUpToSeventeenDigits) {
  EXPECT_EQ(DoubleText(0).view(), "0");
  EXPECT_EQ(DoubleText(-0.0).view(), "-0");
  EXPECT_EQ(DoubleText(3.3).view(), "3.2999999999999998");
  EXPECT_EQ(DoubleText(1e17).view(), "1e+17");
  EXPECT_EQ(DoubleText(-std::numeric_limits<double>::infinity()).view(), "-inf");
  EXPECT_EQ(DoubleText(std::numeric_limits<double>::quiet_NaN()).view(), "nan");
  EXPECT_EQ(DoubleText(-std::numeric_limits<double>::quiet_NaN()).view(), "-nan");
}

TEST(DoubleTextTest, FormattedNumberEqualsPrintf) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200'000; ++i) {
    double value = std::bit_cast<double>(random());
    if (i % 3 == 1) value = static_cast<double>(random() % 1'000'000'000) / 1'000;
    if (i % 3 == 2) value = static_cast<double>(random());
    if (std::isnan(value)) continue;
    char expected[64];
    std::snprintf(expected, sizeof(expected), "%.17g", value);
    ASSERT_EQ(DoubleText(value).view(), expected);
    ASSERT_EQ(parse_double(expected), value);
  }
}

TEST(CheckedAddTest, OverflowIsEmpty) {
  EXPECT_EQ(checked_add(2, -3), -1);
  EXPECT_EQ(checked_add(kInt64Max, kInt64Min), -1);
  EXPECT_EQ(checked_add(kInt64Max - 1, 1), kInt64Max);
  EXPECT_EQ(checked_add(kInt64Max, 1), std::nullopt);
  EXPECT_EQ(checked_add(kInt64Min, -1), std::nullopt);
}

TEST(DecimalTextTest, FormattingIsInverseOfParsing) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{10}, kInt64Min, kInt64Max}) {
    const DecimalText text(value);
    EXPECT_EQ(text.view(), std::to_string(value));
    EXPECT_EQ(parse_int64(text), value);
  }
}

TEST(DecimalTextTest, IncrementChangesLastDigitAlone) {
  DecimalText text(7);
  EXPECT_TRUE(text.increment());
  EXPECT_TRUE(text.increment());
  EXPECT_EQ(text.view(), "9");
  EXPECT_FALSE(text.increment());
  EXPECT_EQ(text.view(), "9");
  DecimalText greatest(kInt64Max - 1);
  EXPECT_TRUE(greatest.increment());
  EXPECT_EQ(greatest.view(), std::to_string(kInt64Max));
}

}  // namespace
}  // namespace rushgate
