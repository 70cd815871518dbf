#include "engine/redis/commands/function_payload.h"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/redis/rdb/crc64.h"
#include "engine/redis/rdb/lzf.h"

namespace rushgate {
namespace {

using namespace std::string_literals;

constexpr std::size_t kBytesMax = 100'000;

TEST(FunctionPayloadTest, ChecksumIsThatOfRedis) {
  EXPECT_EQ(rdb::crc64("123456789"), 0xe9c6d914c4b8d9ca);
}

TEST(FunctionPayloadTest, EmptyPayloadEqualsRedis) {
  EXPECT_EQ(LibraryPayloadWriter().finish(), "\n\0\x5d\x9b\\@\x0f\x7f\xa2\xda"s);
}

TEST(FunctionPayloadTest, SourcesComeBack) {
  LibraryPayloadWriter writer;
  for (const std::size_t size : {0U, 63U, 64U, 16'383U, 16'384U})
    writer.add(std::string(size, 'x'));
  const std::string payload = writer.finish();
  LibraryPayloadReader reader(payload, kBytesMax);
  ASSERT_TRUE(reader.is_intact());
  Reply error;
  for (const std::size_t size : {0U, 63U, 64U, 16'383U, 16'384U}) {
    EXPECT_EQ(reader.next(error), std::string(size, 'x'));
  }
  EXPECT_TRUE(reader.at_end());
}

TEST(FunctionPayloadTest, SourceBeyondBoundIsDamaged) {
  LibraryPayloadWriter writer;
  writer.add(std::string(100, 'x'));
  const std::string payload = writer.finish();
  Reply error;
  EXPECT_TRUE(LibraryPayloadReader(payload, 100).next(error));
  EXPECT_FALSE(LibraryPayloadReader(payload, 99).next(error));
  EXPECT_EQ(error, Reply::error("ERR Failed loading library payload"));
}

TEST(FunctionPayloadTest, ChangedByteIsNotIntact) {
  LibraryPayloadWriter writer;
  writer.add("x");
  const std::string payload = writer.finish();
  for (std::size_t i = 0; i < payload.size(); ++i) {
    std::string changed = payload;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(LibraryPayloadReader(changed, kBytesMax).is_intact()) << i;
  }
  EXPECT_FALSE(LibraryPayloadReader("", kBytesMax).is_intact());
}

TEST(FunctionPayloadTest, CompressedStringsAreDecompressed) {
  EXPECT_EQ(rdb::decompress_lzf("", 0), "");
  EXPECT_EQ(rdb::decompress_lzf("\x02"
                                "abc",
                                3),
            "abc");
  EXPECT_EQ(rdb::decompress_lzf("\x02"
                                "abc\x20\x02"s,
                                6),
            "abcabc");
  EXPECT_EQ(rdb::decompress_lzf("\x00"
                                "a\xe0\x01\x00"s,
                                11),
            std::string(11, 'a'));
  for (const std::string& damaged : {"\x02"
                                     "ab"s,
                                     "\x20"s, "\xe0"s, "\xe0\x01"s,
                                     "\x00"
                                     "a\x20\x01"s,
                                     "\x00"
                                     "a\x20"s}) {
    EXPECT_EQ(rdb::decompress_lzf(damaged, 3), std::nullopt);
  }
  EXPECT_EQ(rdb::decompress_lzf("\x02"
                                "abc",
                                2),
            std::nullopt);
  EXPECT_EQ(rdb::decompress_lzf("\x02"
                                "abc",
                                4),
            std::nullopt);
  EXPECT_EQ(rdb::decompress_lzf("\x00"
                                "a\xe0\xff\x00"s,
                                5),
            std::nullopt);
}

}  // namespace
}  // namespace rushgate
