#include "tests/support/redis_server/raw_reply.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/resp/resp_encoder.h"

namespace rushgate::testing {
namespace {

const std::vector<Reply>& replies_of_every_kind() {
  static const std::vector<Reply> kReplies = {
      Reply::nil(),
      Reply::integer(-7),
      Reply::real(1.5),
      Reply::boolean(true),
      Reply::status("OK"),
      Reply::error("ERR no"),
      Reply::bulk(""),
      Reply::bulk("a\r\nb"),
      Reply::big_number("123456789012345678901234567890"),
      Reply::verbatim("txt:hello"),
      Reply::array({Reply::integer(1), Reply::array(), Reply::nil()}),
      Reply::map({Reply::bulk("k"), Reply::set({Reply::bulk("v")})}),
      Reply::push({Reply::bulk("message")}),
  };
  return kReplies;
}

TEST(RawReplyTest, MessagesInRepliesAreSeparated) {
  const RawOutput output = separate_messages(
      ":1\r\n*2\r\n$1\r\na\r\n>2\r\n+x\r\n$2\r\n>1\r\n%1\r\n+k\r\n>1\r\n:7\r\n*-1\r\n");
  EXPECT_EQ(output.replies,
            (std::vector<std::string>{":1\r\n", "*2\r\n$1\r\na\r\n%1\r\n+k\r\n*-1\r\n"}));
  EXPECT_EQ(output.messages,
            (std::vector<std::string>{">2\r\n+x\r\n$2\r\n>1\r\n", ">1\r\n:7\r\n"}));
  EXPECT_THROW(separate_messages("*2\r\n:1\r\n"), std::runtime_error);
}

TEST(RawReplyTest, EncodedRepliesAreParsed) {
  for (const Reply& reply : replies_of_every_kind()) {
    std::string bytes;
    append_reply(reply, RespVersion::k3, bytes);
    const auto parsed = parse_raw_reply(bytes + "+next\r\n");
    ASSERT_TRUE(parsed) << bytes;
    EXPECT_EQ(parsed->reply, reply);
    EXPECT_EQ(parsed->size, bytes.size());
  }
}

TEST(RawReplyTest, EveryProperPrefixIsIncomplete) {
  for (const Reply& reply : replies_of_every_kind()) {
    std::string bytes;
    append_reply(reply, RespVersion::k3, bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(parse_raw_reply(std::string_view(bytes).substr(0, size))) << bytes << size;
    }
  }
}

TEST(RawReplyTest, Resp2NilsAreDistinguished) {
  EXPECT_EQ(parse_raw_reply("$-1\r\n")->reply, Reply::nil());
  EXPECT_EQ(parse_raw_reply("*-1\r\n")->reply, Reply::nil_array());
}

TEST(RawReplyTest, InvalidReplyThrows) {
  EXPECT_THROW(parse_raw_reply("?\r\n"), std::runtime_error);
  EXPECT_THROW(parse_raw_reply("\r\n"), std::runtime_error);
  EXPECT_THROW(parse_raw_reply("$x\r\n"), std::runtime_error);
}

TEST(RawReplyTest, UnprintableBytesAreEscaped) {
  EXPECT_EQ(escaped(std::string_view("a\r\n\0\xff\\", 6)), "a\\r\\n\\x00\\xff\\\\");
}

}  // namespace
}  // namespace rushgate::testing
