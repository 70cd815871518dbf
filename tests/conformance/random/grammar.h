// What the commands of a family look like: shapes/<family>.txt, read and spoken at random.
//
//   # a comment
//   SET key value {NX|XX|GET|EX seconds|KEEPTTL}     The shape of a command.
//   5 GET key                        One that comes five times as often.
//   @unordered SMEMBERS key          Slack as in transcripts (transcript.h). Besides:
//   @exact …                         comes without mistakes; others now and then have one or two
//   @timed …                         of them none makes a time that passes during the run
//   @waits …                         the same, and none is sent in session 0, so that one goes on
//   SPOP one ; DEL one               Commands that come together, or not at all.
//   @first CONFIG SET …              Comes once at the beginning of a round.
//   @sessions 3                      In sessions 0 to 2, whose commands mix. Otherwise: session 0.
//   @databases 2                     How many databases are compared at the end. Otherwise: 1.
//   key = a|b|"key c"                A name for what may stand in shapes; a later one replaces it.
//   member := 1..9|"x"~bytes         The choice is made once a round.
//
// In shapes:
//
//   WORD "word" 1..9                 Letters, in capitals or not; a text as it is; any such number.
//   name                             What the name stands for. Some have one from the beginning:
//                                    integer, float, bytes (words.h); ascending, one more each
//                                    time; recent, one of the last of these; client, the
//                                    CLIENT ID of a session (Duel).
//   a b   a|b   (a|b c)   [a]        One after another, one of them, together, perhaps.
//   {a|b c|d}                        Some of them, in any order, a few times one twice.
//   a~b                              One word of two.
//   a+   a^60..70                    One to four times; so many times.
//   a*60..70                         One word made of so many.
//   counted(a)                       One to three times, behind their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client/request.h"
#include "tests/conformance/random/words.h"
#include "tests/conformance/transcript.h"
#include "tests/random.h"

namespace rushgate::testing {

struct RandomCommand {
  int session = 0;
  std::string directives;  // the slack, as a transcript has it
  std::vector<Slack> slack;
  Request request;
};

/// What is sent or left out together.
using RandomStep = std::vector<RandomCommand>;

/// Immutable.
class Grammar {
 public:
  /// Throws std::runtime_error "file:line: what is wrong". The words come first.
  static Grammar parse(std::string_view file, std::string_view words, std::string_view shapes);

  [[nodiscard]] int sessions() const { return sessions_; }
  [[nodiscard]] int databases() const { return databases_; }

 private:
  friend class GrammarParser;
  friend class RandomRound;

  struct Node {
    enum class Kind : std::uint8_t {
      kText,
      kKeyword,
      kNumber,   // low to high
      kName,     // rules_[name]
      kInteger,  // random_integer() and its like
      kFloat,
      kBytes,
      kAscending,
      kRecent,
      kClient,
      kSequence,
      kChoice,
      kOptional,
      kOptions,
      kJoined,
      kRepeated,  // low to high times
      kCounted,
    };
    Kind kind = Kind::kSequence;
    std::string text = {};
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::size_t name = 0;
    std::vector<Node> children = {};
  };
  struct Rule {
    std::string name;
    bool is_defined = false;
    bool once = false;  // chosen once a round
    Node node = {};     // a choice
  };
  struct Shape {
    std::size_t weight = 1;
    Mistakes mistakes = Mistakes::kAny;
    int first_session = 0;
    struct Command {
      std::string directives;
      std::vector<Slack> slack;
      Node node;
    };
    std::vector<Command> commands;
  };

  std::vector<Rule> rules_;
  std::vector<Shape> shapes_;
  std::vector<std::size_t> weighted_;  // indices of shapes_, each as often as its weight says
  std::vector<Shape> first_;
  int sessions_ = 1;
  int databases_ = 1;
};

/// Commands of one round, from empty data on. Keeps references to both.
class RandomRound {
 public:
  RandomRound(const Grammar& grammar, Random& random);

  /// What the round begins with.
  std::vector<RandomStep> first();
  RandomStep next();

 private:
  using Node = Grammar::Node;

  RandomStep step(const Grammar::Shape& shape);
  void say(const Node& node, std::vector<std::string>& words);
  void say_options(const Node& node, std::vector<std::string>& words);
  void say_counted(const Node& node, std::vector<std::string>& words);
  std::string keyword(const std::string& text);

  const Grammar& grammar_;
  Random& random_;
  std::vector<std::size_t> chosen_;  // for each rule that is chosen once
  std::int64_t last_ascending_ = 0;
};

}  // namespace rushgate::testing
