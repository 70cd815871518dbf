#include "engine/redis/rdb/listpack.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate::rdb {
namespace {

using std::string_view_literals::operator""sv;

std::string listpack_of(const std::vector<std::string>& elements) {
  ListpackWriter writer;
  for (const std::string& element : elements) writer.append(element);
  EXPECT_EQ(writer.bytes().size(), writer.size_bytes());
  return writer.bytes();
}

void expect_read_back(const std::vector<std::string>& elements) {
  EXPECT_EQ(read_listpack(listpack_of(elements)), elements);
}

TEST(ListpackTest, BytesAreThoseOfRedis) {
  EXPECT_EQ(listpack_of({"a", "1", "-1"}),
            "\x0f\x00\x00\x00\x03\x00\x81"
            "a\x02\x01\x01\xdf\xff\x02\xff"sv);
}

TEST(ListpackTest, IntegersOfEachSizeComeBack) {
  std::vector<std::string> integers;
  for (unsigned bits = 0; bits < 64; ++bits) {
    const auto power = static_cast<std::int64_t>(std::uint64_t{1} << bits);
    for (const std::int64_t near : {power - (bits < 63 ? 1 : 0), power}) {
      integers.push_back(std::to_string(near));
      integers.push_back(std::to_string(-(near + 1)));
    }
  }
  integers.push_back(std::to_string(std::numeric_limits<std::int64_t>::max()));
  expect_read_back(integers);
}

TEST(ListpackTest, StringsOfEachSizeComeBack) {
  for (const std::size_t size :
       std::initializer_list<std::size_t>{0, 1, 63, 64, 125, 126, 127, 4'095, 4'096, 16'377, 16'378,
                                          16'379, 2'097'145, 2'097'146, 2'097'147}) {
    expect_read_back({"first", std::string(size, 'x'), "last"});
  }
  expect_read_back({"007", "-0", "+1", "9223372036854775808", "1.5"});
}

TEST(ListpackTest, ManyElementsComeBack) {
  expect_read_back({});
  expect_read_back(std::vector<std::string>(65'534, "x"));
  expect_read_back(std::vector<std::string>(65'535, "x"));
  expect_read_back(std::vector<std::string>(70'000, "12"));
}

TEST(ListpackTest, PartIsRefused) {
  const std::string whole = listpack_of({"a", "70000", std::string(100, 'x')});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string part = whole.substr(0, size);
    EXPECT_FALSE(read_listpack(part).has_value());
    if (size < 7) continue;
    part.replace(0, 4, std::string{static_cast<char>(size), 0, 0, 0});
    part.back() = '\xff';
    EXPECT_FALSE(read_listpack(part).has_value());
  }
}

TEST(ListpackTest, WrongCountIsRefused) {
  std::string bytes = listpack_of({"a", "b"});
  bytes[4] = 3;
  EXPECT_FALSE(read_listpack(bytes).has_value());
  bytes[4] = bytes[5] = '\xff';  // unknown
  EXPECT_TRUE(read_listpack(bytes).has_value());
}

TEST(ListpackTest, WrongSizeOfElementIsRefused) {
  std::string bytes = listpack_of({"abc"});
  bytes[10] = 5;
  EXPECT_FALSE(read_listpack(bytes).has_value());
}

TEST(ListpackTest, StringIsNoInteger) {
  const std::string bytes = listpack_of({"a", "1"});
  ListpackReader reader(bytes);
  EXPECT_EQ(reader.next_integer(), 0);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace rushgate::rdb
