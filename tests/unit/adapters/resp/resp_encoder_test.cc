#include "adapters/resp/resp_encoder.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

std::string resp2(const Reply& reply) {
  std::string out;
  append_reply(reply, RespVersion::k2, out);
  return out;
}

std::string resp3(const Reply& reply) {
  std::string out;
  append_reply(reply, RespVersion::k3, out);
  return out;
}

TEST(RespEncoderTest, CommonKindsAreEncodedAlike) {
  const std::vector<std::pair<Reply, std::string>> expected = {
      {Reply::integer(0), ":0\r\n"},
      {Reply::integer(std::numeric_limits<std::int64_t>::min()), ":-9223372036854775808\r\n"},
      {Reply::ok(), "+OK\r\n"},
      {Reply::error("ERR no"), "-ERR no\r\n"},
      {Reply::bulk(""), "$0\r\n\r\n"},
      {Reply::bulk(std::string("a\r\n\0b", 5)), std::string("$5\r\na\r\n\0b\r\n", 11)},
      {Reply::array(), "*0\r\n"},
      {Reply::array({Reply::integer(1), Reply::array({Reply::bulk("x")})}),
       "*2\r\n:1\r\n*1\r\n$1\r\nx\r\n"},
  };
  for (const auto& [reply, bytes] : expected) {
    EXPECT_EQ(resp2(reply), bytes);
    EXPECT_EQ(resp3(reply), bytes);
  }
}

TEST(RespEncoderTest, Resp2HasTwoNilsAndResp3One) {
  EXPECT_EQ(resp2(Reply::nil()), "$-1\r\n");
  EXPECT_EQ(resp2(Reply::nil_array()), "*-1\r\n");
  EXPECT_EQ(resp3(Reply::nil()), "_\r\n");
  EXPECT_EQ(resp3(Reply::nil_array()), "_\r\n");
}

TEST(RespEncoderTest, Resp3KindsAreFlattenedForResp2) {
  const Reply map = Reply::map({Reply::bulk("k"), Reply::boolean(true)});
  EXPECT_EQ(resp3(map), "%1\r\n$1\r\nk\r\n#t\r\n");
  EXPECT_EQ(resp2(map), "*2\r\n$1\r\nk\r\n:1\r\n");
  EXPECT_EQ(resp3(Reply::set({Reply::integer(1)})), "~1\r\n:1\r\n");
  EXPECT_EQ(resp2(Reply::set({Reply::integer(1)})), "*1\r\n:1\r\n");
  EXPECT_EQ(resp3(Reply::push({Reply::bulk("m")})), ">1\r\n$1\r\nm\r\n");
  EXPECT_EQ(resp2(Reply::push({Reply::bulk("m")})), "*1\r\n$1\r\nm\r\n");
  EXPECT_EQ(resp3(Reply::boolean(false)), "#f\r\n");
  EXPECT_EQ(resp3(Reply::big_number("-12345678901234567890")), "(-12345678901234567890\r\n");
  EXPECT_EQ(resp2(Reply::big_number("12")), "$2\r\n12\r\n");
  EXPECT_EQ(resp3(Reply::verbatim("txt:hello")), "=9\r\ntxt:hello\r\n");
  EXPECT_EQ(resp2(Reply::verbatim("txt:hello")), "$5\r\nhello\r\n");
}

TEST(RespEncoderTest, DoublesHaveSeventeenDigits) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(resp3(Reply::real(0.1)), ",0.10000000000000001\r\n");
  EXPECT_EQ(resp2(Reply::real(0.1)), "$19\r\n0.10000000000000001\r\n");
  EXPECT_EQ(resp3(Reply::real(3)), ",3\r\n");
  EXPECT_EQ(resp3(Reply::real(kInfinity)), ",inf\r\n");
  EXPECT_EQ(resp2(Reply::real(-kInfinity)), "$4\r\n-inf\r\n");
  EXPECT_EQ(resp3(Reply::real(-std::numeric_limits<double>::quiet_NaN())), ",-nan\r\n");
}

TEST(RespEncoderTest, DecimalsHaveNoExponent) {
  EXPECT_EQ(resp3(Reply::decimal(0.0000026822090148925781)), ",0.00000268220901489\r\n");
  EXPECT_EQ(resp2(Reply::decimal(13.361389338970184)), "$20\r\n13.36138933897018433\r\n");
  EXPECT_EQ(resp3(Reply::decimal(-180)), ",-180\r\n");
}

TEST(RespEncoderTest, LineEndsInSimpleStringsBecomeSpaces) {
  EXPECT_EQ(resp2(Reply::error("ERR a\r\nb\nc")), "-ERR a  b c\r\n");
  EXPECT_EQ(resp3(Reply::status("a\nb")), "+a b\r\n");
}

TEST(RespEncoderTest, Resp2OfEveryKindEqualsResp2Form) {
  const std::vector<Reply> replies = {
      Reply::nil(),
      Reply::nil_array(),
      Reply::real(1.5),
      Reply::decimal(1.5),
      Reply::boolean(true),
      Reply::big_number("7"),
      Reply::verbatim("txt:x"),
      Reply::set({Reply::map({Reply::bulk("a"), Reply::push({Reply::real(-2)})})}),
  };
  for (const Reply& reply : replies) EXPECT_EQ(resp2(reply), resp2(to_resp2(reply)));
}

TEST(RespEncoderTest, RequestIsArrayOfBulkStrings) {
  std::string out = "before";
  append_request(Request::of("SET", "", std::string_view("a\0\n", 3), -5), out);
  EXPECT_EQ(out, std::string("before*4\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\na\0\n\r\n$2\r\n-5\r\n", 42));
}

}  // namespace
}  // namespace rushgate
