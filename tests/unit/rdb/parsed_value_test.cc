// Values that no redis-server can show: the conformance tests restore the others.
#include "engine/redis/rdb/parsed_value.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/redis/rdb/listpack.h"
#include "engine/redis/rdb/rdb_reader.h"
#include "engine/redis/rdb/rdb_writer.h"
#include "tests/support/faults/failing_allocator.h"

namespace rushgate::rdb {
namespace {

using std::string_view_literals::operator""sv;

std::string bytes_of(RdbType type, std::string_view value) {
  return static_cast<char>(type) + std::string(value);
}

bool is_valid(RdbType type, std::string_view value) {
  return parse_value(bytes_of(type, value)).has_value();
}

std::string as_string(std::string_view bytes) {
  std::string out;
  RdbWriter(out).string(bytes);
  return out;
}

std::string listpack(std::initializer_list<std::string_view> elements) {
  ListpackWriter writer;
  for (const std::string_view element : elements) writer.append(element);
  return as_string(writer.bytes());
}

TEST(ParsedValueTest, CountsNeedBytes) {
  const LargeAllocationsFail failing(1'000'000);
  constexpr std::string_view kCount = "\x81\xff\xff\xff\xff\xff\xff\xff\xff"sv;
  for (int type = 0; type < 256; ++type) {
    EXPECT_FALSE(is_valid(static_cast<RdbType>(type), kCount)) << type;
    EXPECT_FALSE(is_valid(static_cast<RdbType>(type), std::string(kCount) + "\x01x")) << type;
  }
}

TEST(ParsedValueTest, CompressedStringsShareBound) {
  // Each expands to 88 times its size.
  constexpr std::size_t kRepetitions = 1'000;
  constexpr std::size_t kBytes = 1 + kRepetitions * 264;
  std::string compressed("\x00x"sv);
  for (std::size_t i = 0; i < kRepetitions; ++i) compressed += "\xe0\xff\x00"sv;
  std::string element = "\xc3";
  RdbWriter(element).length(compressed.size()).length(kBytes);
  element += compressed;
  RdbReader one(element);
  EXPECT_EQ(one.string().size(), kBytes);

  constexpr std::size_t kElementsMax = RdbReader::kDecompressedBytesMax / kBytes;
  std::string many;
  for (std::size_t i = 0; i <= kElementsMax; ++i) many += element;
  RdbReader reader(many);
  for (std::size_t i = 0; i < kElementsMax; ++i) reader.string();
  EXPECT_TRUE(reader.ok());
  reader.string();
  EXPECT_FALSE(reader.ok());
}

TEST(ParsedValueTest, DuplicatesInListpackAreRefused) {
  EXPECT_TRUE(is_valid(RdbType::kHashListpack, listpack({"a", "1", "b", "1"})));
  EXPECT_FALSE(is_valid(RdbType::kHashListpack, listpack({"a", "1", "a", "2"})));
  EXPECT_FALSE(is_valid(RdbType::kHashListpack, listpack({"a", "1", "b"})));
  EXPECT_FALSE(is_valid(RdbType::kSortedSetListpack, listpack({"a", "1", "a", "2"})));
}

TEST(ParsedValueTest, UnsortedListpackIsRefused) {
  EXPECT_TRUE(is_valid(RdbType::kSortedSetListpack, listpack({"a", "1", "b", "1", "a1", "inf"})));
  EXPECT_FALSE(is_valid(RdbType::kSortedSetListpack, listpack({"a", "2", "b", "1"})));
  EXPECT_FALSE(is_valid(RdbType::kSortedSetListpack, listpack({"b", "1", "a", "1"})));
  EXPECT_FALSE(is_valid(RdbType::kSortedSetListpack, listpack({"a", "nan"})));
  EXPECT_FALSE(is_valid(RdbType::kSortedSetListpack, listpack({"a", "x"})));
}

TEST(ParsedValueTest, UnsortedIntsetIsRefused) {
  EXPECT_TRUE(is_valid(RdbType::kSetIntset, as_string("\2\0\0\0\2\0\0\0\1\0\2\0"sv)));
  EXPECT_FALSE(is_valid(RdbType::kSetIntset, as_string("\2\0\0\0\2\0\0\0\2\0\1\0"sv)));
  EXPECT_FALSE(is_valid(RdbType::kSetIntset, as_string("\2\0\0\0\2\0\0\0\1\0\1\0"sv)));
}

}  // namespace
}  // namespace rushgate::rdb
