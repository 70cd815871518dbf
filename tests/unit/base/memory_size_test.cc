#include "engine/core/base/memory_size.h"

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(MemorySizeTest, UnitsArePowersOf1000Or1024) {
  EXPECT_EQ(parse_memory_size("100"), 100U);
  EXPECT_EQ(parse_memory_size("7b"), 7U);
  EXPECT_EQ(parse_memory_size("2k"), 2'000U);
  EXPECT_EQ(parse_memory_size("2Kb"), 2'048U);
  EXPECT_EQ(parse_memory_size("3m"), 3'000'000U);
  EXPECT_EQ(parse_memory_size("3MB"), 3U * 1'024 * 1'024);
  EXPECT_EQ(parse_memory_size("4g"), 4'000'000'000U);
  EXPECT_EQ(parse_memory_size("4gB"), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_memory_size(""), 0U);
  EXPECT_EQ(parse_memory_size("18446744073709551616"), 18'446'744'073'709'551'615U);
}

TEST(MemorySizeTest, OtherFormsAreEmpty) {
  for (const char* text : {"-1", " 1", "1 ", "1.5gb", "0x10", "1kk", "kb1", "1tb"}) {
    EXPECT_EQ(parse_memory_size(text), std::nullopt) << text;
  }
}

TEST(MemorySizeTest, SizeIsShownInFewCharacters) {
  EXPECT_EQ(shown_memory_size(0), "0B");
  EXPECT_EQ(shown_memory_size(1'023), "1023B");
  EXPECT_EQ(shown_memory_size(1'024), "1.00K");
  EXPECT_EQ(shown_memory_size(1'682'200), "1.60M");
  EXPECT_EQ(shown_memory_size(std::uint64_t{3'000} << 30), "2.93T");
}

TEST(MemorySizeTest, StrictSizeHasDigitsAndFits) {
  EXPECT_EQ(parse_memory_size_strictly("0"), 0U);
  EXPECT_EQ(parse_memory_size_strictly("2kb"), 2'048U);
  EXPECT_EQ(parse_memory_size_strictly("17179869183gb"), 17'179'869'183U << 30);
  for (const char* text :
       {"", "kb", "-1", "17179869184gb", "18446744073709551616", "99999999999999999999b"}) {
    EXPECT_EQ(parse_memory_size_strictly(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace rushgate
