// hiredis's parser with the functions that build Replies, on raw bytes.
#include "adapters/redis/hiredis_reader.h"

#include <memory>
#include <string_view>

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <rushgate/reply.h>

namespace rushgate {
namespace {

// From 1.0 on, hiredis reads RESP3.
constexpr bool kReadsResp3 = HIREDIS_MAJOR >= 1;

/// Parses one reply. Null: it is malformed, or not whole.
std::unique_ptr<Reply> parse(std::string_view bytes) {
  const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader(redisReaderCreate(),
                                                                        redisReaderFree);
  make_reader_build_replies(*reader);
  redisReaderFeed(reader.get(), bytes.data(), bytes.size());
  void* reply = nullptr;
  if (redisReaderGetReply(reader.get(), &reply) != REDIS_OK) return nullptr;
  return std::unique_ptr<Reply>(static_cast<Reply*>(reply));
}

void expect_parsed(std::string_view bytes, const Reply& expected) {
  const std::unique_ptr<Reply> reply = parse(bytes);
  ASSERT_NE(reply, nullptr) << bytes;
  EXPECT_EQ(*reply, expected) << bytes;
}

TEST(HiredisReaderTest, RepliesOfResp2AreBuilt) {
  expect_parsed("+OK\r\n", Reply::ok());
  expect_parsed("-ERR no\r\n", Reply::error("ERR no"));
  expect_parsed(":-7\r\n", Reply::integer(-7));
  expect_parsed("$-1\r\n", Reply::nil());
  expect_parsed("*-1\r\n", Reply::nil_array());
  expect_parsed("*2\r\n$2\r\nab\r\n*1\r\n:1\r\n",
                Reply::array({Reply::bulk("ab"), Reply::array({Reply::integer(1)})}));
  EXPECT_EQ(parse(":1"), nullptr) << "not whole";
}

/// A server that sends RESP3 to a connection that did not ask for it ends no process.
TEST(HiredisReaderTest, UnaskedResp3IsReadOrRefused) {
  const Reply both = Reply::array({Reply::real(1.5), Reply::boolean(false), Reply::integer(1)});
  if (kReadsResp3) {
    expect_parsed(",1.5\r\n", Reply::real(1.5));
    expect_parsed("#t\r\n", Reply::boolean(true));
    expect_parsed("_\r\n", Reply::nil());
    expect_parsed("*3\r\n,1.5\r\n#f\r\n:1\r\n", both);
  } else {
    for (const char* const bytes : {",1.5\r\n", "#t\r\n", "_\r\n", "*1\r\n,1.5\r\n"}) {
      EXPECT_EQ(parse(bytes), nullptr) << bytes;
    }
  }
}

}  // namespace
}  // namespace rushgate
