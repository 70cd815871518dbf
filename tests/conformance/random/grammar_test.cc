#include "tests/conformance/random/grammar.h"

#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/conformance/random/exchange.h"

namespace rushgate::testing {
namespace {

/// Returns the lines that a grammar generates in a few hundred steps.
std::set<std::string> said(const std::string& shapes, const std::string& words = "") {
  const Grammar grammar = Grammar::parse("f", words, shapes);
  Random random(1);
  std::set<std::string> lines;
  for (int rounds = 0; rounds < 20; ++rounds) {
    RandomRound round(grammar, random);
    for (int steps = 0; steps < 30; ++steps) {
      std::string line;
      for (const RandomCommand& command : round.next()) {
        line += (line.empty() ? "" : " ; ") + transcript_line(command);
      }
      lines.insert(line);
    }
  }
  return lines;
}

std::string error_of(const std::string& shapes) {
  try {
    said(shapes);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

using Lines = std::set<std::string>;

TEST(GrammarTest, ChoicesNamesAndRangesAreGenerated) {
  EXPECT_EQ(said("k = \"a\"|\"b c\"\n@exact \"GET\" k"), (Lines{"GET a", "GET \"b c\""}));
  EXPECT_EQ(said("@exact \"GET\" (1..2|\"x\" \"y\")"), (Lines{"GET 1", "GET 2", "GET x y"}));
  EXPECT_EQ(said("@exact \"GET\" [\"x\"]"), (Lines{"GET", "GET x"}));
  EXPECT_EQ(said("@exact \"GET\" k", "k = \"a\""), (Lines{"GET a"}));
  EXPECT_EQ(said("k = \"b\"\n@exact \"GET\" k", "k = \"a\""), (Lines{"GET b"}));
}

TEST(GrammarTest, WordsAreJoinedAndRepeated) {
  EXPECT_EQ(said("@exact \"(\"~1..2~\"x\"*3..3"), (Lines{"(1xxx", "(2xxx"}));
  EXPECT_EQ(said("@exact \"a\"^2..3"), (Lines{"a a", "a a a"}));
  EXPECT_EQ(said("@exact (\"a\" \"b\")^2..2"), (Lines{"a b a b"}));
  EXPECT_EQ(said("@exact \"a\"+").size(), 4u);
}

TEST(GrammarTest, OptionsComeInAnyOrder) {
  const Lines lines = said("@exact \"SET\" {\"A\"|\"B\" 1..1}");
  for (const char* line : {"SET", "SET A", "SET B 1", "SET A B 1", "SET B 1 A", "SET A A"}) {
    EXPECT_TRUE(lines.contains(line)) << line;
  }
}

TEST(GrammarTest, CountedElementsFollowTheirNumber) {
  const Lines lines = said("@exact \"Z\" counted(\"k\")");
  for (const char* line : {"Z 1 k", "Z 2 k k", "Z 3 k k k"}) EXPECT_TRUE(lines.contains(line));
}

TEST(GrammarTest, OnceIsChosenOncePerRound) {
  const Grammar grammar = Grammar::parse("f", "", "k := \"a\"|\"b\"\n@exact k k k");
  Random random(1);
  Lines lines;
  for (int rounds = 0; rounds < 50; ++rounds) {
    lines.insert(transcript_line(RandomRound(grammar, random).next()[0]));
  }
  EXPECT_EQ(lines, (Lines{"a a a", "b b b"}));
}

TEST(GrammarTest, AscendingNumbersAscend) {
  const Grammar grammar = Grammar::parse("f", "", "@exact ascending ; ascending");
  Random random(1);
  RandomRound round(grammar, random);
  EXPECT_EQ(round.next()[1].request, Request::of("2"));
  EXPECT_EQ(round.next()[0].request, Request::of("3"));
}

TEST(GrammarTest, StepMayHaveSeveralCommandsWithSlack) {
  const Grammar grammar =
      Grammar::parse("f", "", "@sessions 2\n@first A 1\n@exact 3 @any @at 1 A ; B");
  Random random(1);
  RandomRound round(grammar, random);
  ASSERT_EQ(round.first().size(), 1u);
  const RandomStep step = round.next();
  ASSERT_EQ(step.size(), 2u);
  EXPECT_EQ(step[0].slack.size(), 1u);
  EXPECT_EQ(step[0].directives, "@any @at 1 ");
  EXPECT_EQ(step[0].session, step[1].session);
}

TEST(GrammarTest, WaitingCommandIsNotInFirstSession) {
  EXPECT_EQ(said("@sessions 3\n@waits GET").contains("GET"), false);
  EXPECT_EQ(
      said("@sessions 2\n@exact \"ID\" client"),
      (Lines{"ID \"$client0\"", "1: ID \"$client0\"", "ID \"$client1\"", "1: ID \"$client1\""}));
}

TEST(GrammarTest, MistakesAreMadeUnlessExact) {
  EXPECT_GT(said("\"GET\" \"k\"").size(), 3u);
  EXPECT_EQ(said("@exact \"GET\" \"k\"").size(), 1u);
}

TEST(GrammarTest, ErrorNamesItsLine) {
  EXPECT_EQ(error_of("\n\"GET\" ("), "f:2: no )");
  EXPECT_EQ(error_of("\"GET\" \"k"), "f:1: a quote that is not closed");
  EXPECT_EQ(error_of("@any @times 2 GET"), "f:1: only slack may stand here");
  EXPECT_EQ(error_of("GET nothing"), "f: nothing is called nothing");
  EXPECT_EQ(error_of("# only\n"), "f: no shapes");
  EXPECT_EQ(error_of("@waits GET"), "f: @waits and @by need @sessions");
}

TEST(TranscriptLineTest, WrittenShapeIsReadBack) {
  const Request request = Request::of("SET", "", "a b", std::string_view("\0\r\n\"\\'$\xff", 8),
                                      std::string(70, 'x'), "-1", "(1");
  const std::string line = transcript_line({2, "@any ", {}, request});
  const Step step = parse_transcript("f", "== case\n" + line + "\n")[0].steps[0];
  EXPECT_EQ(step.request({}, 1), request);
  EXPECT_EQ(step.session, 2);
  EXPECT_EQ(step.slack.size(), 1u);
}

}  // namespace
}  // namespace rushgate::testing
