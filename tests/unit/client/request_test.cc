#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <rushgate/request.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

TEST(RequestTest, KeepsItsArgumentsInOrder) {
  const Request request = Request::of("SET", std::string("key"), "value"sv);
  ASSERT_EQ(request.size(), 3U);
  EXPECT_EQ(request[0], "SET");
  EXPECT_EQ(request[1], "key");
  EXPECT_EQ(request[2], "value");
}

TEST(RequestTest, IntegersAreWrittenInDecimal) {
  const Request request =
      Request::of("X", 0, -7, 42U, std::numeric_limits<std::int64_t>::min(), std::size_t{5},
                  std::numeric_limits<std::uint64_t>::max(), true);
  EXPECT_EQ(request[1], "0");
  EXPECT_EQ(request[2], "-7");
  EXPECT_EQ(request[3], "42");
  EXPECT_EQ(request[4], "-9223372036854775808");
  EXPECT_EQ(request[5], "5");
  EXPECT_EQ(request[6], "18446744073709551615");
  EXPECT_EQ(request[7], "1");
}

TEST(RequestTest, ArgumentsMayBeEmptyOrAnyBytes) {
  const Request request = Request::of("", "a\0b"sv, "", "\r\n");
  ASSERT_EQ(request.size(), 4U);
  EXPECT_EQ(request[0], "");
  EXPECT_EQ(request[1], "a\0b"sv);
  EXPECT_EQ(request[2], "");
  EXPECT_EQ(request[3], "\r\n");
}

TEST(RequestTest, TooLongArgumentThrowsWithoutChange) {
  const char byte = 'x';
  const std::string_view huge(&byte, (std::size_t{1} << 32) - 3);  // its bytes are never read
  Request request = Request::of("SET", "k");
  EXPECT_THROW(request.add(huge), std::length_error);
  EXPECT_THROW(request.add_part(huge), std::length_error);
  EXPECT_EQ(request, Request::of("SET", "k"));
}

TEST(RequestTest, ArgumentsBeyondInlineSpaceAreKept) {
  Request request;
  request.reserve(100, 300);
  for (int i = 0; i < 100; ++i) request.add(i);
  ASSERT_EQ(request.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(request[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST(RequestTest, BeginningIsCopiedAndContinued) {
  for (const std::size_t size : {0U, 3U, 14U, 40U}) {
    Request beginning;
    for (std::size_t i = 0; i < size; ++i) beginning.add(i);
    Request request(beginning, 2, 8);
    EXPECT_EQ(request, beginning);
    request.add("user");
    request.add(5);
    ASSERT_EQ(request.size(), size + 2);
    EXPECT_EQ(request[size], "user");
    EXPECT_EQ(request[size + 1], "5");
    EXPECT_EQ(beginning.size(), size);
  }
}

TEST(RequestTest, ViewsAreItsArguments) {
  for (const std::size_t size : {0U, 1U, 16U, 17U, 100U}) {
    Request request;
    for (std::size_t i = 0; i < size; ++i) request.add(std::string(i % 3, 'x'));
    const Request::Views views = request.views();
    ASSERT_EQ(views.size(), size);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(views[i], request[i]);
  }
}

TEST(RequestTest, ClearedRequestIsUsableAgain) {
  Request request = Request::of("GET", "key");
  request.clear();
  EXPECT_TRUE(request.empty());
  request.add("PING");
  EXPECT_EQ(request, Request::of("PING"));
}

TEST(RequestTest, EqualityRespectsArgumentBounds) {
  EXPECT_EQ(Request::of("ab", "c"), Request::of("ab", "c"));
  EXPECT_NE(Request::of("ab", "c"), Request::of("a", "bc"));
  EXPECT_NE(Request::of("abc"), Request::of("abc", ""));
}

TEST(RequestTest, CopiesAndMovesKeepTheBytes) {
  const Request original = Request::of("SET", "key", std::string(1'000, 'x'));
  Request copy = original;
  EXPECT_EQ(copy, original);
  const Request moved = std::move(copy);
  EXPECT_EQ(moved, original);
}

}  // namespace
}  // namespace rushgate
