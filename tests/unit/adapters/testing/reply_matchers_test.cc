// The replies that the matchers accept, and their messages for other replies.
#include <gmock/gmock.h>

#include <rushgate/testing.h>

namespace rushgate::testing {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// Returns the message of EXPECT_THAT(reply, matcher).
template <class M>
std::string message(const Reply& reply, const M& matcher) {
  const ::testing::Matcher<const Reply&> typed = matcher;
  ::testing::StringMatchResultListener listener;
  EXPECT_FALSE(typed.MatchAndExplain(reply, &listener));
  std::ostringstream text;
  typed.DescribeTo(&text);
  return text.str() + " | " + ::testing::PrintToString(reply) + listener.str();
}

TEST(ReplyMatchersTest, MatchersAcceptTheirKinds) {
  EXPECT_THAT(Reply::ok(), IsOk());
  EXPECT_THAT(Reply::bulk("OK"), Not(IsOk())) << "a stored string";
  EXPECT_THAT(Reply::nil(), IsNil());
  EXPECT_THAT(Reply::nil_array(), IsNil());
  EXPECT_THAT(Reply::bulk(""), Not(IsNil()));
  EXPECT_THAT(Reply::integer(3), IsInteger(3));
  EXPECT_THAT(Reply::integer(3), IsInteger(Ge(3)));
  EXPECT_THAT(Reply::bulk("3"), Not(IsInteger(_)));
  EXPECT_THAT(Reply::bulk("seven"), IsText("seven"));
  EXPECT_THAT(Reply::status("PONG"), IsText(HasSubstr("ON")));
  EXPECT_THAT(Reply::error("ERR seven"), Not(IsText(_)));
  EXPECT_THAT(Reply::array({Reply::bulk("a"), Reply::nil()}),
              IsArray(ElementsAre(IsText("a"), IsNil())));
  EXPECT_THAT(Reply::map({Reply::bulk("f"), Reply::bulk("v")}), IsArray(SizeIs(2)));
  EXPECT_THAT(Reply::nil_array(), Not(IsArray(_)));
  EXPECT_THAT(Reply::error("WRONGTYPE Operation"), IsError());
  EXPECT_THAT(Reply::error("WRONGTYPE Operation"), IsError("WRONGTYPE"));
  EXPECT_THAT(Reply::error("WRONGTYPE Operation"), Not(IsError("WRONG")));
  EXPECT_THAT(Reply::error("ERR sold out"), IsErrorThat(HasSubstr("sold out")));
  EXPECT_THAT(Reply::ok(), Not(IsError()));
}

TEST(ReplyMatchersTest, MessageShowsExpectedAndActual) {
  EXPECT_EQ(message(Reply::integer(2), IsInteger(3)),
            "is an integer that is equal to 3 | (integer) 2");
  EXPECT_EQ(message(Reply::error("ERR no"), IsOk()), "is OK | (error) ERR no");
  EXPECT_EQ(message(Reply::nil(), IsText("seven")), "is a text that is equal to \"seven\" | (nil)");
  EXPECT_EQ(message(Reply::error("ERR no"), IsError("WRONGTYPE")),
            "is an error with the code WRONGTYPE | (error) ERR no");
  EXPECT_THAT(message(Reply::array({Reply::integer(1)}), IsArray(ElementsAre(IsInteger(2)))),
              HasSubstr("whose element #0 doesn't match"));
  EXPECT_EQ(message(Reply::nil(), Not(IsNil())), "isn't nil | (nil)");
}

}  // namespace
}  // namespace rushgate::testing
