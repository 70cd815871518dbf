#include "engine/redis/commands/errors.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

TEST(ErrorsTest, UnknownCommandIsQuotedWithFirstArguments) {
  EXPECT_EQ(errors::unknown_command(Request::of("foo").views()).text(),
            "ERR unknown command 'foo', with args beginning with: ");
  EXPECT_EQ(errors::unknown_command(Request::of("foo", "a", "b").views()).text(),
            "ERR unknown command 'foo', with args beginning with: 'a' 'b' ");
}

TEST(ErrorsTest, LongQuoteIsCut) {
  const std::string x200(200, 'x');
  const std::string x128(128, 'x');
  EXPECT_EQ(errors::unknown_command(Request::of(x200, x200, "b").views()).text(),
            "ERR unknown command '" + x128 + "', with args beginning with: '" + x128 + "' ");
  EXPECT_EQ(errors::unknown_subcommand("XGROUP", x200).text(),
            "ERR unknown subcommand '" + x128 + "'. Try XGROUP HELP.");
}

TEST(ErrorsTest, QuoteIsOneLineAndEndsAtNul) {
  EXPECT_EQ(errors::unknown_command(Request::of("foo\nx", "a\r\nb", "c\0d"sv).views()).text(),
            "ERR unknown command 'foo x', with args beginning with: 'a  b' 'c' ");
  EXPECT_EQ(errors::unknown_subcommand("XGROUP", "a\nb").text(),
            "ERR unknown subcommand 'a b'. Try XGROUP HELP.");
  EXPECT_EQ(errors::unsupported_option("f\0oo"sv).text(), "ERR Unsupported option f");
}

}  // namespace
}  // namespace rushgate
