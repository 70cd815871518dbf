// The transcripts in transcripts/<family>.txt, parsed.
//
//   # a comment                      Blank lines and comments mean nothing.
//   == title                         Begins a case: empty data, no scripts, no sessions.
//   SET k "a b\x00"                  A command, quoted as redis-cli takes it. It is sent to both
//                                    backends, and their answers must be the same bytes.
//   1: SELECT 1                      The same in session 1. Without a number: in session 0.
//   1> XREAD BLOCK 0 STREAMS s $     Sent, but not waited for,
//   1?                               … it has not been answered yet,
//   1<                               … now it must be, and the answers are compared.
//   1!                               A message of a channel that came to it, compared, too.
//                                    At the end of a case nothing more may have come.
//   @elapse 20                       Lets 20 ms pass: a manual clock is moved, a real server waits.
//
// A difference that is allowed is named in front of the command (of `1<`, if not waited for):
//
//   @any                             only the kind is the same
//   @same-size                       only the kind and the number of elements are the same
//   @approx-ms 50                    integers that differ by at most 50
//   @prefix ERR                      texts that both begin so
//   @lines "#,db0:"                  of two texts, only the lines that begin with one of these
//   @unordered                       elements in any order
//   @pairs-unordered                 elements taken two by two, the pairs in any order
//   @at idle.*.2                     after one of these: it holds for that part of the answer alone
//
// @at takes steps, joined by dots: a position, `*` for every position, or a name for the value that
// follows this text in a flat map. A path that begins with a name begins at any depth. A difference
// that is allowed in a place that the server's answer does not have is a mistake in the transcript,
// except with @if-at, which is @at otherwise.
//
//   @set id [@at path]               keeps the answer (of each backend its own): from now on $id in
//                                    an argument stands for it, and answers may have it in its
//                                    place
//   @times 200                       runs the command for $i = 1 … 200
//   $repeat(1000,ab)                 in an argument: "ab" a thousand times
//
// Nothing is replaced in 'single quotes'.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client/reply.h"
#include "engine/client/request.h"

namespace rushgate::testing {

/// Where in a reply: "groups.*.pending.0".
class ReplyPath {
 public:
  /// The reply itself.
  ReplyPath() = default;
  /// Throws std::invalid_argument if a step is empty.
  explicit ReplyPath(std::string_view text);

  /// All places in `reply` that the path leads to.
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
  std::string prefix;   // kPrefix; kLines: several, with commas in between
  ReplyPath at;
  bool may_lack = false;  // the place need not be there
};

struct Argument {
  std::string text;
  bool literal;  // was in single quotes
};

/// What stands in place of $names; each backend has its own.
using Variables = std::map<std::string, std::string, std::less<>>;

struct Step {
  enum class Kind {
    kCall,     // send, receive, compare
    kSend,     // 1>
    kReceive,  // 1<: receive, compare
    kMessage,  // 1!: the same, of what nobody asked for
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

  /// The command as it is sent: $names, $i and $repeat() replaced.
  [[nodiscard]] Request request(const Variables& variables, int i) const;
};

struct Case {
  std::string file;
  int line;
  std::string title;
  std::vector<Step> steps;
};

/// The slack at the front of a line, which is taken off. Throws std::invalid_argument.
std::vector<Slack> take_slack(std::string_view& line);

/// Throws std::runtime_error "file:line: what is wrong".
std::vector<Case> parse_transcript(std::string_view file, std::string_view text);

}  // namespace rushgate::testing
