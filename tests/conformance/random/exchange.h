// Commands sent to two backends, and whether their answers are the same.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/backend.h"
#include "tests/conformance/random/grammar.h"

namespace rushgate::testing {

/// The command as a line of a transcript.
std::string transcript_line(const RandomCommand& command);

/// What differs between two raw answers beyond the slack, with both of them; nothing if nothing
/// does.
std::optional<std::string> answers_differ(const RandomCommand& command, std::string_view expected,
                                          std::string_view actual);

struct Mismatch {
  std::size_t index;  // of the command
  std::string what;
};

/// Sends commands that do not block to both, in one session. `expected`, if not null, gets the
/// oracle's raw answers.
std::optional<Mismatch> send_to_both(Backend& oracle, Backend& subject, int session,
                                     std::span<const RandomCommand> commands,
                                     std::vector<std::string>* expected = nullptr);

/// Everything that the first databases hold: keys, types, encodings, times, contents.
std::optional<std::string> contents_differ(Backend& oracle, Backend& subject, int databases);

}  // namespace rushgate::testing
