#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/reply.h>

namespace rushgate {
namespace {

using Kind = Reply::Kind;

TEST(ReplyTest, IsNilByDefault) {
  EXPECT_EQ(Reply(), Reply::nil());
  EXPECT_TRUE(Reply().is_nil());
  EXPECT_TRUE(Reply::nil_array().is_nil());
  EXPECT_NE(Reply::nil(), Reply::nil_array());
}

TEST(ReplyTest, EachKindReturnsItsValue) {
  EXPECT_EQ(Reply::integer(-7).integer(), -7);
  EXPECT_EQ(Reply::real(1.5).real(), 1.5);
  EXPECT_EQ(Reply::decimal(1.5).real(), 1.5);
  EXPECT_TRUE(Reply::decimal(1.5).is_decimal());
  EXPECT_FALSE(Reply::real(1.5).is_decimal());
  EXPECT_TRUE(Reply::boolean(true).boolean());
  EXPECT_EQ(Reply::status("PONG").text(), "PONG");
  EXPECT_EQ(Reply::bulk(std::string_view("a\0b", 3)).text(), std::string_view("a\0b", 3));
  EXPECT_EQ(Reply::big_number("123").text(), "123");
  EXPECT_EQ(Reply::array({Reply::integer(1), Reply::nil()}).elements().size(), 2U);
}

TEST(ReplyTest, PredicatesFollowTheKind) {
  EXPECT_TRUE(Reply::integer(1).is_integer());
  EXPECT_FALSE(Reply::boolean(true).is_integer());
  EXPECT_TRUE(Reply::error("ERR x").is_error());
  for (const Reply& text :
       {Reply::ok(), Reply::bulk("b"), Reply::big_number("1"), Reply::verbatim("txt:x")}) {
    EXPECT_TRUE(text.is_text());
    EXPECT_TRUE(text.has_text());
    EXPECT_FALSE(text.is_aggregate());
  }
  for (const Reply& aggregate : {Reply::array(), Reply::map(), Reply::set(), Reply::push({})}) {
    EXPECT_TRUE(aggregate.is_aggregate());
    EXPECT_FALSE(aggregate.is_text());
  }
}

TEST(ReplyTest, ErrorIsNoData) {
  const Reply error = Reply::error("CLOSED the server is down");
  EXPECT_FALSE(error.is_text()) << "a reader would take it for data";
  EXPECT_TRUE(error.has_text());
  EXPECT_EQ(error.text(), "CLOSED the server is down");
}

TEST(ReplyTest, AccessorsOfAnotherKindReturnEmpty) {
  const Reply replies[] = {Reply::nil(),
                           Reply::nil_array(),
                           Reply::integer(1),
                           Reply::real(1.5),
                           Reply::ok(),
                           Reply::error("ERR no"),
                           Reply::bulk("1"),
                           Reply::array({Reply::integer(1)}),
                           Reply::map({Reply::bulk("a"), Reply::bulk("b")})};
  for (const Reply& reply : replies) {
    SCOPED_TRACE(to_debug_string(reply));
    if (!reply.is_integer()) {
      EXPECT_EQ(reply.integer(), 0);
    }
    if (!reply.is_integer()) {
      EXPECT_FALSE(reply.boolean());
    }
    if (reply.kind() != Reply::Kind::kDouble) {
      EXPECT_EQ(reply.real(), 0);
    }
    if (!reply.has_text()) {
      EXPECT_EQ(reply.text(), "");
    }
    if (!reply.is_aggregate()) {
      EXPECT_TRUE(reply.elements().empty());
    }
  }
}

TEST(ReplyTest, MutableAccessorsReturnTheirKind) {
  Reply reply = Reply::error("ERR no");
  reply.mutable_text() += ", not that";
  EXPECT_EQ(reply, Reply::error("ERR no, not that"));
  reply.mutable_elements().push_back(Reply::integer(1));
  EXPECT_EQ(reply, Reply::array({Reply::integer(1)}));
  reply.mutable_text() = "x";
  EXPECT_EQ(reply, Reply::bulk("x"));
}

TEST(ReplyTest, EqualityComparesKindAndValue) {
  EXPECT_EQ(Reply::bulk("a"), Reply::bulk("a"));
  EXPECT_NE(Reply::bulk("a"), Reply::status("a"));
  EXPECT_NE(Reply::integer(1), Reply::boolean(true));
  EXPECT_NE(Reply::array(), Reply::set());
  EXPECT_EQ(Reply::array({Reply::nil()}), Reply::array({Reply::nil()}));
}

TEST(ReplyTest, ErrorCodeIsFirstWord) {
  EXPECT_EQ(Reply::error("WRONGTYPE Operation against").error_code(), "WRONGTYPE");
  EXPECT_EQ(Reply::error("BUSY").error_code(), "BUSY");
  EXPECT_EQ(Reply::bulk("WRONGTYPE x").error_code(), "");
  EXPECT_TRUE(
      has_code(Reply::error("OUTCOMEUNKNOWN the store failed"), error_code::kOutcomeUnknown));
  EXPECT_FALSE(has_code(Reply::error("OUTCOME"), error_code::kOutcomeUnknown));
  EXPECT_FALSE(has_code(Reply::nil(), error_code::kOutcomeUnknown));
}

TEST(ReplyTest, PrintsOnOneLine) {
  EXPECT_EQ(to_debug_string(Reply::nil()), "(nil)");
  EXPECT_EQ(to_debug_string(Reply::nil_array()), "(nil array)");
  EXPECT_EQ(to_debug_string(Reply::error("ERR x")), "(error) ERR x");
  EXPECT_EQ(to_debug_string(Reply::array({Reply::integer(1), Reply::bulk("b"), Reply::ok()})),
            "[(integer) 1, \"b\", OK]");
  EXPECT_EQ(to_debug_string(Reply::map({Reply::bulk("f"), Reply::real(0.5)})),
            "{\"f\", (double) 0.5}");
}

// ---- to_resp2 ----

TEST(ToResp2Test, Resp2RepliesStayUnchanged) {
  for (const Reply& reply :
       {Reply::nil(), Reply::nil_array(), Reply::integer(1), Reply::ok(), Reply::bulk("b"),
        Reply::error("ERR x"), Reply::array({Reply::integer(1)})}) {
    EXPECT_EQ(to_resp2(reply), reply) << to_debug_string(reply);
  }
}

TEST(ToResp2Test, SimpleRepliesBecomeStringsOrIntegers) {
  EXPECT_EQ(to_resp2(Reply::boolean(true)), Reply::integer(1));
  EXPECT_EQ(to_resp2(Reply::boolean(false)), Reply::integer(0));
  EXPECT_EQ(to_resp2(Reply::big_number("123")), Reply::bulk("123"));
  EXPECT_EQ(to_resp2(Reply::verbatim("txt:some text")), Reply::bulk("some text"));
  EXPECT_EQ(to_resp2(Reply::real(3)), Reply::bulk("3"));
  EXPECT_EQ(to_resp2(Reply::real(0.1)), Reply::bulk("0.10000000000000001"));
  EXPECT_EQ(to_resp2(Reply::decimal(13.361389338970184)), Reply::bulk("13.36138933897018433"));
  EXPECT_EQ(to_resp2(Reply::real(std::numeric_limits<double>::infinity())), Reply::bulk("inf"));
  EXPECT_EQ(to_resp2(Reply::real(-std::numeric_limits<double>::infinity())), Reply::bulk("-inf"));
  EXPECT_EQ(to_resp2(Reply::real(std::numeric_limits<double>::quiet_NaN())), Reply::bulk("nan"));
}

TEST(ToResp2Test, AggregatesBecomeArraysAtEveryDepth) {
  const std::vector<Reply> elements = {Reply::bulk("f"), Reply::bulk("v")};
  EXPECT_EQ(to_resp2(Reply::map(elements)), Reply::array(elements));
  EXPECT_EQ(to_resp2(Reply::set(elements)), Reply::array(elements));
  EXPECT_EQ(to_resp2(Reply::push(elements)), Reply::array(elements));
  EXPECT_EQ(
      to_resp2(Reply::array({Reply::map({Reply::bulk("k"), Reply::set({Reply::boolean(true)})})})),
      Reply::array({Reply::array({Reply::bulk("k"), Reply::array({Reply::integer(1)})})}));
}

TEST(ReplyKindTest, EachKindHasItsName) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(Reply::Kind::kSeveral); ++kind) {
    names.insert(reply_kind_name(static_cast<Reply::Kind>(kind)));
  }
  EXPECT_EQ(names.size(), 15U);
  EXPECT_FALSE(names.contains("?"));
  EXPECT_EQ(reply_kind_name(Reply::nil().kind()), "nil");
  EXPECT_EQ(reply_kind_name(Reply::ok().kind()), "status");
  EXPECT_EQ(reply_kind_name(Reply::big_number("1").kind()), "big number");
}

}  // namespace
}  // namespace rushgate
