// Plays a case of a transcript against two backends.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/conformance/backend.h"
#include "tests/conformance/transcript.h"

namespace rushgate::testing {

/// What was different, as messages "file:line: …" with the command and both raw answers, and which
/// answers nobody asked for are left at the end; empty if nothing was. `oracle` is right by
/// definition. After kFailuresMax messages, or when a backend fails, the rest of the case is left
/// out. `log`, if not null, is told every command and the oracle's answer: for writing transcripts.
std::vector<std::string> run_case(const Case& test_case, Backend& oracle, Backend& subject,
                                  std::ostream* log = nullptr);

inline constexpr std::size_t kFailuresMax = 5;

}  // namespace rushgate::testing
