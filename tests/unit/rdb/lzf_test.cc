#include "engine/redis/rdb/lzf.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/faults/failing_allocator.h"

namespace rushgate::rdb {
namespace {

using std::string_view_literals::operator""sv;

TEST(LzfTest, LiteralsAndRepetitionsExpand) {
  EXPECT_EQ(decompress_lzf("\x02"
                           "abc"sv,
                           3),
            "abc");
  EXPECT_EQ(decompress_lzf("\x02"
                           "abc\x20\x02"sv,
                           6),
            "abcabc");
  EXPECT_EQ(decompress_lzf("\x00"
                           "a\xe0\xff\x00"sv,
                           265),
            std::string(265, 'a'));
  EXPECT_EQ(decompress_lzf(""sv, 0), "");
}

TEST(LzfTest, LongDistanceIsReached) {
  std::string compressed;
  std::string expected;
  for (int i = 0; i < 256; ++i) {
    compressed += '\x1f' + std::string(32, static_cast<char>(i));
    expected += std::string(32, static_cast<char>(i));
  }
  compressed += "\x3f\xff";  // three bytes, 8,192 before the end
  expected += std::string(3, '\0');
  EXPECT_EQ(decompress_lzf(compressed, expected.size()), expected);
}

TEST(LzfTest, InvalidInputIsRefused) {
  EXPECT_FALSE(decompress_lzf("\x02"
                              "ab"sv,
                              3)
                   .has_value());  // a literal is cut
  EXPECT_FALSE(decompress_lzf("\x00"
                              "a\x20"sv,
                              4)
                   .has_value());  // a repetition is cut
  EXPECT_FALSE(decompress_lzf("\x00"
                              "a\xe0\x05"sv,
                              15)
                   .has_value());  // a long one is cut
  EXPECT_FALSE(decompress_lzf("\x00"
                              "a\x20\x01"sv,
                              4)
                   .has_value());                             // before the beginning
  EXPECT_FALSE(decompress_lzf("\x20\x00"sv, 3).has_value());  // without a beginning
  EXPECT_FALSE(decompress_lzf("\x02"
                              "abc"sv,
                              2)
                   .has_value());  // too long
  EXPECT_FALSE(decompress_lzf("\x02"
                              "abc"sv,
                              4)
                   .has_value());  // too short
  EXPECT_FALSE(decompress_lzf("\x00"
                              "a\xe0\xff\x00"sv,
                              264)
                   .has_value());
}

TEST(LzfTest, ImpossibleSizeAllocatesNothing) {
  const LargeAllocationsFail failing(1'000);
  EXPECT_FALSE(decompress_lzf("\x00"
                              "a\xe0\xff\x00"sv,
                              1'000'000'000)
                   .has_value());
  EXPECT_FALSE(decompress_lzf(""sv, ~std::size_t{0}).has_value());
}

}  // namespace
}  // namespace rushgate::rdb
