#include "engine/redis/rdb/payload.h"

#include <string>

#include <gtest/gtest.h>

#include "engine/redis/rdb/crc64.h"

namespace rushgate::rdb {
namespace {

TEST(Crc64Test, KnownChecksum) {
  EXPECT_EQ(crc64("123456789"), 0xe9c6'd914'c4b8'd9caU);
  EXPECT_EQ(crc64(""), 0U);
}

TEST(PayloadTest, SealedPayloadIsRedisPayload) {
  std::string payload(
      "\x00\x03"
      "abc",
      5);
  const std::string value = payload;
  seal(payload);
  EXPECT_EQ(payload, std::string("\x00\x03"
                                 "abc\x0a\x00\xd9\xac\x30\x3d\x41\x72\xa2\xe2",
                                 15));
  EXPECT_EQ(unseal(payload), value);
}

TEST(PayloadTest, EachChangedByteIsNoticed) {
  std::string payload = "\x01\x01\x01x";
  seal(payload);
  for (char& byte : payload) {
    byte = static_cast<char>(byte ^ 1);
    EXPECT_FALSE(unseal(payload).has_value());
    byte = static_cast<char>(byte ^ 1);
  }
  EXPECT_TRUE(unseal(payload).has_value());
  EXPECT_FALSE(unseal(payload.substr(0, 9)).has_value());
  EXPECT_FALSE(unseal("").has_value());
}

}  // namespace
}  // namespace rushgate::rdb
