#include "tests/conformance/transcript.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate::testing {
namespace {

/// Returns the single step of a case that consists of `line`.
Step step_of(const std::string& line) {
  const std::vector<Case> cases = parse_transcript("f.txt", "== case\n" + line + "\n");
  EXPECT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].steps.size(), 1u);
  return cases[0].steps[0];
}

Request request_of(const std::string& line, const Variables& variables = {}) {
  return step_of(line).request(variables, 1);
}

std::string error_of(const std::string& text) {
  try {
    parse_transcript("f.txt", text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TranscriptTest, CasesHaveTitlesAndFirstLines) {
  const std::vector<Case> cases =
      parse_transcript("f.txt", "# about\n\n== one\nPING\n  # more\nGET k\n==two\nPING");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].title, "one");
  EXPECT_EQ(cases[0].line, 3);
  ASSERT_EQ(cases[0].steps.size(), 2u);
  EXPECT_EQ(cases[0].steps[1].line, 6);
  EXPECT_EQ(cases[0].steps[1].text, "GET k");
  EXPECT_EQ(cases[1].title, "two");
  EXPECT_EQ(cases[1].file, "f.txt");
}

TEST(TranscriptTest, WordsAreQuotedAsInRedisCli) {
  EXPECT_EQ(request_of(R"(SET  "a b\"\\\n\x00\xFf" '' 'it\'s \n')"),
            Request::of("SET", std::string_view("a b\"\\\n\0\xff", 8), "", "it's \\n"));
}

TEST(TranscriptTest, NamesAreReplacedExceptInSingleQuotes) {
  const Variables variables = {{"id", "1-2"}};
  EXPECT_EQ(request_of("XRANGE s ($id \"$id\" '$id' $ $ids", variables),
            Request::of("XRANGE", "s", "(1-2", "1-2", "$id", "$", "$ids"));
  EXPECT_EQ(request_of("ECHO <$repeat(3,ab)>"), Request::of("ECHO", "<ababab>"));
  EXPECT_EQ(request_of("ECHO $repeat(x,ab)"), Request::of("ECHO", "$repeat(x,ab)"));
  EXPECT_EQ(step_of("@times 9 ECHO k$i").request({}, 7), Request::of("ECHO", "k7"));
}

TEST(TranscriptTest, DirectivesPrecedeCommand) {
  const Step step =
      step_of("@unordered @at 1 @any @at idle @approx-ms 50 @prefix ERR @set id PING");
  ASSERT_EQ(step.slack.size(), 4u);
  EXPECT_EQ(step.slack[0].kind, Slack::Kind::kUnordered);
  EXPECT_EQ(step.slack[1].kind, Slack::Kind::kAny);
  EXPECT_EQ(step.slack[2].ms, 50);
  EXPECT_EQ(step.slack[3].prefix, "ERR");
  EXPECT_EQ(step.set, "id");
  EXPECT_EQ(step.request({}, 1), Request::of("PING"));
  EXPECT_EQ(step_of("@elapse 20").elapse_ms, 20);
}

TEST(TranscriptTest, SessionsSendAndReceiveSeparately) {
  const std::vector<Case> cases =
      parse_transcript("f.txt", "== c\n12> GET k\n12?\n@any 12<\n3: GET k\nGET 1:");
  const std::vector<Step>& steps = cases[0].steps;
  EXPECT_EQ(steps[0].kind, Step::Kind::kSend);
  EXPECT_EQ(steps[0].session, 12);
  EXPECT_EQ(steps[0].request({}, 1), Request::of("GET", "k"));
  EXPECT_EQ(steps[1].kind, Step::Kind::kPending);
  EXPECT_EQ(steps[2].kind, Step::Kind::kReceive);
  EXPECT_EQ(steps[2].slack.size(), 1u);
  EXPECT_EQ(steps[3].kind, Step::Kind::kCall);
  EXPECT_EQ(steps[3].session, 3);
  EXPECT_EQ(steps[4].session, 0);
}

TEST(TranscriptTest, MistakesAreReportedWithLine) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"PING", "f.txt:1: a command before the first case"},
      {"== ", "f.txt:1: a case without a title"},
      {"== a\n== a", "f.txt:2: a second case with the title a"},
      {"== a\nGET \"k", "f.txt:2: a quote that is not closed"},
      {"== a\nGET 'k'x", "f.txt:2: no space after a closing quote"},
      {"== a\nGET it's", "f.txt:2: a quote inside the word it's"},
      {"== a\nGET \"\\x1\"", "f.txt:2: \\x without two digits"},
      {"== a\n@some GET k", "f.txt:2: unknown directive @some"},
      {"== a\n@any", "f.txt:2: no command"},
      {"== a\n@at x GET k", "f.txt:2: @at after nothing"},
      {"== a\n@any @at a..b GET k", "f.txt:2: an empty step in a path"},
      {"== a\n@approx-ms x GET k", "f.txt:2: the number of ms is not a number"},
      {"== a\n@elapse 5 GET k", "f.txt:2: a command after @elapse"},
      {"== a\n1> GET k\n", "f.txt:2: session 1 still waits at the end of the case"},
      {"== a\n1> GET k\n1: GET k", "f.txt:3: session 1 still waits for a reply"},
      {"== a\n1<", "f.txt:2: session 1 waits for no reply"},
      {"== a\n@any 1> GET k", "f.txt:2: a directive for a reply, but no reply is received"},
      {"== a\n@times 2 1> GET k", "f.txt:2: @times without a reply each"},
  };
  for (const auto& [text, error] : mistakes) EXPECT_EQ(error_of(text), error) << text;
}

// ---- Paths --------------------------------------------------------------------------------------

Reply text(const char* bytes) { return Reply::bulk(bytes); }

/// Returns the places to which a path leads in a reply like that of XINFO STREAM FULL.
std::string found(const char* path) {
  Reply reply = Reply::array(
      {text("length"), Reply::integer(3), text("groups"),
       Reply::array({Reply::array({text("name"), text("g"), text("idle"), Reply::integer(7)}),
                     Reply::array({text("name"), text("h"), text("idle"), Reply::integer(8)})})});
  std::string all;
  for (const Reply* const place : ReplyPath(path).find(reply)) all += to_debug_string(*place) + ";";
  return all;
}

TEST(ReplyPathTest, StepsArePositionsWildcardsOrNames) {
  EXPECT_EQ(found("1"), "(integer) 3;");
  EXPECT_EQ(found("3.0.1"), "\"g\";");
  EXPECT_EQ(found("3.*.1"), "\"g\";\"h\";");
  EXPECT_EQ(found("3.*.idle"), "(integer) 7;(integer) 8;");
  EXPECT_EQ(found("groups.1.name"), "\"h\";");
  EXPECT_EQ(found("idle"), "(integer) 7;(integer) 8;");
  EXPECT_EQ(found("none"), "");
  EXPECT_EQ(found("9"), "");
}

TEST(ReplyPathTest, EmptyPathIsReplyItself) {
  Reply reply = Reply::integer(1);
  ASSERT_EQ(ReplyPath().find(reply).size(), 1u);
  EXPECT_EQ(ReplyPath().find(reply)[0], &reply);
}

}  // namespace
}  // namespace rushgate::testing
