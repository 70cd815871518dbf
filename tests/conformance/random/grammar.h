// The grammar of a family's random commands, parsed from shapes/<family>.txt.
//
//   # a comment
//   SET key value {NX|XX|GET|EX seconds|KEEPTTL}     The shape of a command.
//   5 GET key                        A command that comes five times as often.
//   @unordered SMEMBERS key          Slack as in transcripts (transcript.h). Further directives:
//   @exact …                         The command has no mistakes. Others sometimes have one or two.
//   @timed …                         No mistake makes a time that passes during the run.
//   @waits …                         As @timed. The command is never sent in session 0, so that
//                                    session 0 always continues.
//   SPOP one ; DEL one               Commands that are sent one after the other, or not at all.
//   @pipelined GET key ; DEL key     Sends this command and the rest of the line at once. Only with
//                                    @connections. One of them must reply or block. The slack of the
//                                    first holds for all.
//   @first CONFIG SET …              A command for the beginning of a round.
//   @sessions 3                      Interleaves commands of sessions 0 to 2. Default: session 0.
//   @connections 9                   As @sessions, for connections to servers: "@close" closes one,
//                                    and their states are compared as well (ConnectionDuel).
//   @by 6..8 …                       The command is sent in one of these sessions.
//   @databases 2                     Number of databases compared at the end. Default: 1.
//   key = a|b|"key c"                Defines a name for use in shapes. A later one replaces it.
//   member := 1..9|"x"~bytes         Defines a name that is chosen once per round.
//
// In shapes:
//
//   WORD "word" 1..9                 Letters in any case; an exact string; a number of a range.
//   name                             A defined name, or a predefined one: integer, float, bytes
//                                    (words.h); ascending, one more each time; recent, one of its
//                                    last values; client, the CLIENT ID of a session (Duel).
//   a b   a|b   (a|b c)   [a]        A sequence, a choice, a group, an option.
//   {a|b c|d}                        Some of these, in any order, sometimes one of them twice.
//   a~b                              One word joined from two.
//   a+   a^60..70                    One to four times; 60 to 70 times.
//   a*60..70                         One word joined from 60 to 70.
//   counted(a)                       A number from one to three, then so many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/random/words.h"
#include "tests/conformance/transcript.h"
#include "tests/support/random.h"
#include <rushgate/request.h>

namespace rushgate::testing {

struct RandomCommand {
  int session = 0;
  std::string directives;  // the slack in the notation of a transcript
  std::vector<Slack> slack;
  Request request;
  std::vector<Request> pipelined = {};  // sent at once with `request`, after it
};

/// Commands that are sent or left out together.
using RandomStep = std::vector<RandomCommand>;

/// A parsed family. Immutable.
class Grammar {
 public:
  /// Parses the common words and then the shapes. Throws std::runtime_error "file:line: error".
  static Grammar parse(std::string_view file, std::string_view words, std::string_view shapes);

  [[nodiscard]] int sessions() const { return sessions_; }
  [[nodiscard]] int databases() const { return databases_; }
  /// Returns true if the sessions are connections to a server.
  [[nodiscard]] bool has_connections() const { return has_connections_; }

 private:
  friend class GrammarParser;
  friend class RandomRound;

  struct Node {
    enum class Kind : std::uint8_t {
      kText,
      kKeyword,
      kNumber,   // low to high
      kName,     // rules_[name]
      kInteger,  // random_integer() or a similar function
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
    bool once = false;  // chosen once per round
    Node node = {};     // a choice
  };
  static constexpr int kLastOfAll = std::numeric_limits<int>::max();
  struct Shape {
    std::size_t weight = 1;
    Mistakes mistakes = Mistakes::kAny;
    int first_session = 0;
    int last_session = kLastOfAll;
    std::optional<std::size_t> pipelined_from = {};  // index of a command
    struct Command {
      std::string directives;
      std::vector<Slack> slack;
      Node node;
    };
    std::vector<Command> commands;
  };

  std::vector<Rule> rules_;
  std::vector<Shape> shapes_;
  std::vector<std::size_t> weighted_;  // indices of shapes_, each repeated by its weight
  std::vector<Shape> first_;
  int sessions_ = 1;
  int databases_ = 1;
  bool has_connections_ = false;
};

/// Generates the commands of one round, which begins with empty data. Keeps references to both.
class RandomRound {
 public:
  RandomRound(const Grammar& grammar, Random& random);

  /// Returns the steps at the beginning of the round.
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
