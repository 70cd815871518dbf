#include "engine/redis/keyspace/string_value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

TEST(StringValueTest, StringReturnsItsBytes) {
  for (const auto bytes :
       {""sv, "5"sv, "-5"sv, "05"sv, " 5"sv, "text"sv, "a\0b"sv, "9223372036854775808"sv}) {
    EXPECT_EQ(StringValue(bytes).bytes(), bytes);
  }
}

TEST(StringValueTest, CanonicalFormIsNumber) {
  EXPECT_EQ(StringValue("-5").integer(), -5);
  EXPECT_EQ(StringValue(std::int64_t{7}).bytes(), "7");
  EXPECT_EQ(StringValue("05").integer(), std::nullopt);
  EXPECT_EQ(StringValue("05").text(), "05");
}

TEST(StringValueTest, ExplicitStringStaysString) {
  StringValue text = StringValue::as_text("5");
  EXPECT_FALSE(text.is_integer());
  EXPECT_EQ(text.integer(), 5);
  EXPECT_EQ(text.bytes(), "5");
  EXPECT_EQ(text.size(), 1U);
  EXPECT_EQ(StringValue::as_text("05").integer(), std::nullopt);
}

TEST(StringValueTest, BufferCanBeEdited) {
  StringValue buffer = StringValue::as_buffer("12");
  ASSERT_TRUE(buffer.is_buffer());
  buffer.edit() += "3";
  EXPECT_EQ(buffer.integer(), 123);
  EXPECT_FALSE(StringValue("12").is_buffer());
  EXPECT_FALSE(StringValue::as_text("12").is_buffer());
}

TEST(StringValueTest, ShortStringNeedsNoHeap) {
  const std::string longest(15, 'x');
  EXPECT_EQ(StringValue(longest).memory_bytes(), 0U);
  EXPECT_EQ(StringValue(longest).text(), longest);
  EXPECT_GT(StringValue(longest + 'x').memory_bytes(), 0U);
  EXPECT_EQ(StringValue(longest + 'x').text(), longest + 'x');
}

TEST(StringValueTest, MovedAndCopiedValueIsEqual) {
  const std::string shorter = "a short text";
  const std::string longer = "a text of more than fifteen bytes";
  for (const std::string& bytes : {std::string("-7"), shorter, longer}) {
    for (StringValue value :
         {StringValue(bytes), StringValue::as_text(bytes), StringValue::as_buffer(bytes)}) {
      const StringValue copy = value;  // NOLINT(performance-unnecessary-copy-initialization)
      StringValue moved(longer);
      moved = std::move(value);
      EXPECT_EQ(copy.bytes(), bytes);
      EXPECT_EQ(moved.bytes(), bytes);
      EXPECT_EQ(copy.encoding(), moved.encoding());
    }
  }
}

TEST(StringValueTest, EncodingEqualsRedis) {
  const std::string short_text(44, 'x');
  EXPECT_EQ(StringValue("5").encoding(), StringEncoding::kInt);
  EXPECT_EQ(StringValue(short_text).encoding(), StringEncoding::kEmbstr);
  EXPECT_EQ(StringValue(short_text + 'x').encoding(), StringEncoding::kRaw);
  EXPECT_EQ(StringValue::as_text("5").encoding(), StringEncoding::kEmbstr);
  EXPECT_EQ(StringValue::as_buffer("5").encoding(), StringEncoding::kRaw);
}

}  // namespace
}  // namespace rushgate
