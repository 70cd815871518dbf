// The testing kit for GoogleTest: matchers for replies, and a fixture with an engine. With another
// test framework, include <rushgate/test_engine.h>. docs/testing-with-rushgate.md has examples.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rushgate/reply.h>
#include <rushgate/test_engine.h>

namespace rushgate {

/// Prints a reply in GoogleTest's messages.
inline void PrintTo(const Reply& reply, std::ostream* out) { *out << to_debug_string(reply); }

namespace testing {

// ---- Matchers: EXPECT_THAT(engine.call("INCR", "n"), IsInteger(1)) ----

MATCHER(IsOk, negation ? "isn't OK" : "is OK") { return arg == Reply::ok(); }

MATCHER(IsNil, negation ? "isn't nil" : "is nil") { return arg.is_nil(); }

/// Matches integers: IsInteger(3), IsInteger(Ge(3)).
MATCHER_P(IsInteger, value,
          std::string(negation ? "isn't an integer that " : "is an integer that ") +
              ::testing::DescribeMatcher<std::int64_t>(value)) {
  return arg.is_integer() && ::testing::ExplainMatchResult(value, arg.integer(), result_listener);
}

/// Matches strings: IsText("seven"), IsText(StartsWith("sev")). Does not match errors.
MATCHER_P(IsText, text,
          std::string(negation ? "isn't a text that " : "is a text that ") +
              ::testing::DescribeMatcher<std::string>(text)) {
  return arg.is_text() && ::testing::ExplainMatchResult(text, arg.text(), result_listener);
}

/// Matches arrays, and RESP3's maps and sets: IsArray(ElementsAre(IsText("a"), IsNil())),
/// IsArray(SizeIs(2)).
MATCHER_P(IsArray, elements,
          std::string(negation ? "isn't an array that " : "is an array that ") +
              ::testing::DescribeMatcher<std::vector<Reply>>(elements)) {
  return arg.is_aggregate() &&
         ::testing::ExplainMatchResult(elements, arg.elements(), result_listener);
}

MATCHER(IsError, negation ? "isn't an error" : "is an error") { return arg.is_error(); }

/// Matches the first word of an error: IsError("WRONGTYPE").
MATCHER_P(IsError, code,
          (negation ? "isn't an error with the code " : "is an error with the code ") +
              std::string(code)) {
  return arg.is_error() && arg.error_code() == code;
}

/// Matches a whole error message: IsErrorThat(HasSubstr("sold out")).
MATCHER_P(IsErrorThat, text,
          std::string(negation ? "isn't an error that " : "is an error that ") +
              ::testing::DescribeMatcher<std::string>(text)) {
  return arg.is_error() && ::testing::ExplainMatchResult(text, arg.text(), result_listener);
}

// ---- A fixture: TEST_F(EngineTest, …) { call("SET", "k", "v"); … } ----

/// Gives each test its own engine. It is in memory unless a derived fixture passes other options.
class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(TestEngineOptions options = {}) : engine_(std::move(options)) {}

  template <class... Args>
  Reply call(const Args&... args) {
    return engine_.call(args...);
  }
  Reply eval(std::string_view script, const std::vector<std::string>& keys = {},
             const std::vector<std::string>& arguments = {}) {
    return engine_.eval(script, keys, arguments);
  }
  void advance_ms(std::int64_t duration_ms) { engine_.advance_ms(duration_ms); }
  void restart() { engine_.restart(); }

  TestEngine engine_;
};

}  // namespace testing
}  // namespace rushgate
