// Sends commands to two backends and compares their replies.
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

/// Returns the command as a line of a transcript.
std::string transcript_line(const RandomCommand& command);

/// Returns a difference between two raw replies beyond the slack, with both replies. Empty if they
/// agree.
std::optional<std::string> answers_differ(const RandomCommand& command, std::string_view expected,
                                          std::string_view actual);

struct Mismatch {
  std::size_t index;  // of the command
  std::string what;
};

/// Sends commands that do not block to both backends in one session. Sets `expected`, if not null,
/// to the oracle's raw replies.
std::optional<Mismatch> send_to_both(Backend& oracle, Backend& subject, int session,
                                     std::span<const RandomCommand> commands,
                                     std::vector<std::string>* expected = nullptr);

/// Compares the contents of the first databases: keys, types, encodings, times, values. Hash tables are
/// compared in any order, and with `in_any_order` all hashes and sets.
std::optional<std::string> contents_differ(Backend& oracle, Backend& subject, int databases,
                                           bool in_any_order);

/// Returns true if a key is a hash table. Its elements have no order, also not if they have a small
/// encoding after reopening.
bool has_hash_tables(Backend& backend, int databases);

}  // namespace rushgate::testing
