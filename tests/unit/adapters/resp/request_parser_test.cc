#include "adapters/resp/request_parser.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/resp/resp_encoder.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using Result = RequestParser::Result;
using namespace std::string_view_literals;

/// The result of parsing an input that arrives in pieces.
struct Parsed {
  std::vector<Request> requests;
  std::string error;
  std::size_t bytes_left = 0;
};

Parsed parse(std::string_view input, std::size_t piece_bytes = std::string_view::npos,
             const RequestParser::Limits& limits = RequestParser::kAuthenticated) {
  RequestParser parser;
  Parsed parsed;
  std::string received;
  while (true) {
    std::string_view rest = received;
    Request request;
    const Result result = parser.next(rest, limits, request);
    received.erase(0, received.size() - rest.size());
    if (result == Result::kRequest) {
      parsed.requests.push_back(request);
    } else if (result == Result::kBroken) {
      parsed.error = parser.error();
      break;
    } else if (input.empty()) {
      break;
    } else {
      received += input.substr(0, piece_bytes);
      input.remove_prefix(std::min(piece_bytes, input.size()));
    }
  }
  parsed.bytes_left = received.size();
  return parsed;
}

std::vector<Request> requests_of(std::string_view input) {
  const Parsed parsed = parse(input);
  EXPECT_EQ(parsed.error, "");
  return parsed.requests;
}

std::string error_of(std::string_view input) { return parse(input).error; }

using Requests = std::vector<Request>;

// ---- Arrays ----

TEST(RequestParserTest, ArraysOfBulkStringsAreRead) {
  EXPECT_EQ(requests_of("*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n"),
            (Requests{Request::of("PING"), Request::of("GET", "")}));
}

TEST(RequestParserTest, ArraysWithoutElementsAreSkipped) {
  EXPECT_EQ(requests_of("*0\r\n*-5\r\n*1\r\n$4\r\nPING\r\n"), (Requests{Request::of("PING")}));
}

TEST(RequestParserTest, LineEndsAreUncheckedAsInRedis) {
  EXPECT_EQ(requests_of("*1\rX$4\rXPINGxx*1\r\n$4\r\nPING\r\n"),
            (Requests{Request::of("PING"), Request::of("PING")}));
}

TEST(RequestParserTest, ZeroByteHidesLineEndAsInRedis) {
  for (const std::string_view input :
       {"*1\0\r\n$4\r\nPING\r\n"sv, "*1\r\n$4\0\r\nPING\r\n"sv, "*1\r\n\0\r\n"sv}) {
    const Parsed parsed = parse(std::string(input));
    EXPECT_TRUE(parsed.requests.empty());
    EXPECT_EQ(parsed.error, "");
  }
}

TEST(RequestParserTest, AllBytesOfArgumentAreKept) {
  const std::string bytes("\0\r\n$*\xff", 6);
  EXPECT_EQ(requests_of("*1\r\n$6\r\n" + bytes + "\r\n"), (Requests{Request::of(bytes)}));
}

TEST(RequestParserTest, ErrorsEqualRedis) {
  struct Case {
    std::string input;
    const char* what;
  };
  const std::string many_ones(RequestParser::kLineBytesMax + 1, '1');
  const Case cases[] = {
      {"*\r\n", "invalid multibulk length"},
      {"*a\r\n", "invalid multibulk length"},
      {"*01\r\n", "invalid multibulk length"},
      {"*+1\r\n", "invalid multibulk length"},
      {"*1 \r\n", "invalid multibulk length"},
      {"*2147483648\r\n", "invalid multibulk length"},
      {"*1\r\nPING\r\n", "expected '$', got 'P'"},
      {"*1\r\n\r\n", "expected '$', got '\r'"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$04\r\n", "invalid bulk length"},
      {"*1\r\n$4x\r\n", "invalid bulk length"},
      {"*1\r\n$536870913\r\n", "invalid bulk length"},
      {"PING \"a\r\n", "unbalanced quotes in request"},
      {"PING \"a\"b\r\n", "unbalanced quotes in request"},
      {"PING 'a\r\n", "unbalanced quotes in request"},
      {"*" + many_ones, "too big mbulk count string"},
      {"*1\r\n$" + many_ones, "too big bulk count string"},
      {many_ones, "too big inline request"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(error_of(one.input), std::string("ERR Protocol error: ") + one.what)
        << one.input.substr(0, 40);
  }
}

TEST(RequestParserTest, RequestsBeforeErrorAreRead) {
  const Parsed parsed = parse("PING\r\n*x\r\n");
  EXPECT_EQ(parsed.requests, (Requests{Request::of("PING")}));
  EXPECT_NE(parsed.error, "");
}

TEST(RequestParserTest, UnauthenticatedClientMaySendLess) {
  const auto error = [](std::string_view input) {
    return parse(input, std::string_view::npos, RequestParser::kUnauthenticated).error;
  };
  EXPECT_EQ(error("*10\r\n$16384\r\n"), "");
  EXPECT_EQ(error("*11\r\n"), "ERR Protocol error: unauthenticated multibulk length");
  EXPECT_EQ(error("*1\r\n$16385\r\n"), "ERR Protocol error: unauthenticated bulk length");
}

TEST(RequestParserTest, ArgumentMayHaveAtMostItsBound) {
  RequestParser::Limits limits = RequestParser::kAuthenticated;
  limits.argument_bytes_max = 1'000'000;
  const auto error = [&limits](std::string_view input) {
    return parse(input, std::string_view::npos, limits).error;
  };
  EXPECT_EQ(error("*1\r\n$1000000\r\n"), "");
  EXPECT_EQ(error("*1\r\n$1000001\r\n"), "ERR Protocol error: invalid bulk length");
}

TEST(RequestParserTest, LongArrayTakesNoMemoryBeforeArrival) {
  const Parsed parsed = parse("*2147483647\r\n$1\r\na\r\n$512\r\nabc");
  EXPECT_TRUE(parsed.requests.empty());
  EXPECT_EQ(parsed.error, "");
}

// ---- Lines ----

TEST(RequestParserTest, MoreBytesMayPrecedeWordThanEndIt) {
  EXPECT_EQ(
      requests_of("ECHO a\vb\fc\r\n\v\fPING\t\f\r\nECHO 'a'\v\r\n"),
      (Requests{Request::of("ECHO", "a\vb\fc"), Request::of("PING"), Request::of("ECHO", "a")}));
}

TEST(RequestParserTest, LinesAreRead) {
  EXPECT_EQ(requests_of("PING\r\n  SET\tk  v \r\n\r\n \nGET k\n"),
            (Requests{Request::of("PING"), Request::of("SET", "k", "v"), Request::of("GET", "k")}));
}

TEST(RequestParserTest, QuotedWordsAreRead) {
  EXPECT_EQ(requests_of("\"PING\" \"\" ''\n"), (Requests{Request::of("PING", "", "")}));
  EXPECT_EQ(requests_of("PI\"NG\" \"\\x41\\n\\r\\t\\b\\a\\q\\\"\" 'a\\'b\\n'\n"),
            (Requests{Request::of("PING", "A\n\r\t\b\aq\"", "a'b\\n")}));
  EXPECT_EQ(requests_of("\"\\x4\" \"\\xfg\"\n"), (Requests{Request::of("x4", "xfg")}));
}

TEST(RequestParserTest, LineWithZeroByteNeverEnds) {
  const Parsed parsed = parse(std::string_view("PING a\0b\r\n", 10));
  EXPECT_TRUE(parsed.requests.empty());
  EXPECT_EQ(parsed.error, "");
}

// ---- Pieces ----

TEST(RequestParserTest, PiecesOfAnySizeAreRead) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string input;
    Requests expected;
    for (std::uint64_t i = 0; i < 1 + random() % 5; ++i) {
      Request request;
      for (std::uint64_t k = 0; k < 1 + random() % 4; ++k) {
        std::string argument(random() % 40, '\0');
        for (char& c : argument) c = static_cast<char>(random());
        request.add(argument);
      }
      append_request(request, input);
      expected.push_back(request);
    }
    for (const std::size_t piece : {1U, 2U, 3U, 7U, 64U}) {
      const Parsed parsed = parse(input, piece);
      ASSERT_EQ(parsed.error, "");
      ASSERT_EQ(parsed.requests, expected);
      ASSERT_EQ(parsed.bytes_left, 0U);
    }
  }
}

}  // namespace
}  // namespace rushgate
