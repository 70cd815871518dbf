// Statistics of commands from INFO, for comparison.
#pragma once

#include <map>
#include <string>

#include "tests/conformance/backend.h"

namespace rushgate::testing {

/// The parts of a field of INFO: "calls" → "3".
using InfoParts = std::map<std::string, std::string>;
/// Parts by command, without the commands that backends send themselves.
using InfoByCommand = std::map<std::string, InfoParts>;

/// Returns INFO commandstats, requested in `session`.
InfoByCommand command_statistics(Backend& backend, int session);
/// Returns the part that depends only on the requests, without times. Adds INFO errorstats by
/// "error <code>".
InfoByCommand command_counts(Backend& backend, int session);
/// Returns INFO latencystats.
InfoByCommand command_latencies(Backend& backend, int session);

/// Returns the commands with different counts, and both counts. Empty if there are none.
std::string counts_differ(const InfoByCommand& expected, const InfoByCommand& actual);

}  // namespace rushgate::testing
