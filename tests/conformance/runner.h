// Runs a case of a transcript on two backends.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/conformance/backend.h"
#include "tests/conformance/transcript.h"

namespace rushgate::testing {

/// Returns the differences as messages "file:line: …" with the command and both raw replies, and
/// unexpected replies at the end. Empty if there are none. `oracle` is right by definition. Skips
/// the rest of the case after kFailuresMax messages or a backend's failure. Writes every command
/// and the oracle's reply to `log`, if not null. This helps to write transcripts.
std::vector<std::string> run_case(const Case& test_case, Backend& oracle, Backend& subject,
                                  std::ostream* log = nullptr);

inline constexpr std::size_t kFailuresMax = 5;

}  // namespace rushgate::testing
