// Parses the transcripts in transcripts/<family>.txt.
//
//   # a comment                      Blank lines and comments are ignored.
//   == title                         Begins a case: no data, no scripts, no sessions.
//   SET k "a b\x00"                  A command, quoted as in redis-cli. Both backends get it, and
//                                    the bytes of their replies must be equal.
//   1: SELECT 1                      The same in session 1. Without a number: session 0.
//   1> XREAD BLOCK 0 STREAMS s $     Sends a command without waiting for its reply.
//   1?                               The reply must not have arrived yet.
//   1<                               The reply must arrive, and is compared.
//   1!                               Receives and compares a message of a channel. At the end of a
//                                    case no message may be left.
//   @elapse 20                       Lets 20 ms pass: moves a manual clock, or waits for a server.
//
// An allowed difference precedes its command, or `1<` of a command sent without waiting:
//
//   @any                             compares only the kind
//   @same-size                       compares only the kind and the number of elements
//   @approx-ms 50                    integers may differ by 50
//   @prefix ERR                      compares only this prefix of both strings
//   @lines "#,db0:"                  compares only lines that begin with one of these prefixes
//   @unordered                       elements may have any order
//   @pairs-unordered                 pairs of elements may have any order
//   @at idle.*.2                     after one of these: limits it to that part of the reply
//
// The path of @at has steps, joined by dots. A step is a position, `*` for every position, or a
// name for the value that follows this string in a flat map. A path that begins with a name begins
// at any depth. If the server's reply does not have the place of an allowed difference, the
// transcript is wrong. @if-at is @at without this check.
//
//   @set id [@at path]               Stores the reply, separately for each backend. From then on
//                                    $id represents it in arguments, and replies may contain it.
//   @times 200                       Runs the command for $i = 1 … 200.
//   $repeat(1000,ab)                 In an argument: "ab" a thousand times.
//
// In 'single quotes' nothing is replaced.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate::testing {

/// A place in a reply: "groups.*.pending.0".
class ReplyPath {
 public:
  /// The reply itself.
  ReplyPath() = default;
  /// Throws std::invalid_argument if a step is empty.
  explicit ReplyPath(std::string_view text);

  /// Returns all places in `reply` to which the path leads.
  [[nodiscard]] std::vector<Reply*> find(Reply& reply) const;

 private:
  void find(Reply& reply, std::size_t step, std::vector<Reply*>& found) const;
  void find_anywhere(Reply& reply, std::vector<Reply*>& found) const;

  std::vector<std::string> steps_;
};

/// A difference that a transcript allows.
struct Slack {
  enum class Kind { kAny, kSameSize, kApproxMs, kPrefix, kLines, kUnordered, kPairsUnordered };
  Kind kind;
  std::int64_t ms = 0;  // kApproxMs
  std::string prefix;   // kPrefix; kLines: several, separated by commas
  ReplyPath at;
  bool may_lack = false;  // the place may be missing
};

struct Argument {
  std::string text;
  bool literal;  // was in single quotes
};

/// Values of $names. Each backend has its own.
using Variables = std::map<std::string, std::string, std::less<>>;

struct Step {
  enum class Kind {
    kCall,     // send, receive, compare
    kSend,     // 1>
    kReceive,  // 1<: receive, compare
    kMessage,  // 1!: receive a message, compare
    kPending,  // 1?
    kElapse,
  };
  Kind kind;
  int line;          // in the file, from 1
  std::string text;  // the line, for messages
  int session = 0;
  int times = 1;
  std::int64_t elapse_ms = 0;
  std::vector<Slack> slack;
  std::string set;  // the name of @set, or empty
  ReplyPath set_at;
  std::vector<Argument> command;  // empty for kReceive, kMessage, kPending, kElapse

  /// Returns the command with $names, $i and $repeat() replaced.
  [[nodiscard]] Request request(const Variables& variables, int i) const;
};

struct Case {
  std::string file;
  int line;
  std::string title;
  std::vector<Step> steps;
};

/// Removes the slack from the front of a line and returns it. Throws std::invalid_argument.
std::vector<Slack> take_slack(std::string_view& line);

/// Throws std::runtime_error "file:line: error".
std::vector<Case> parse_transcript(std::string_view file, std::string_view text);

}  // namespace rushgate::testing
