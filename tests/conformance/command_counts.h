// What INFO tells of commands, to be compared.
#pragma once

#include <map>
#include <string>

#include "tests/conformance/backend.h"

namespace rushgate::testing {

/// Of a field of INFO: "calls" → "3".
using InfoParts = std::map<std::string, std::string>;
/// By command; without those that backends send themselves.
using InfoByCommand = std::map<std::string, InfoParts>;

/// INFO commandstats; asked for in `session`.
InfoByCommand command_statistics(Backend& backend, int session);
/// Of that what depends on nothing but the requests: without times. And INFO errorstats, by
/// "error <code>".
InfoByCommand command_counts(Backend& backend, int session);
/// INFO latencystats.
InfoByCommand command_latencies(Backend& backend, int session);

/// The commands that are counted otherwise, with both counts; empty if none is.
std::string counts_differ(const InfoByCommand& expected, const InfoByCommand& actual);

}  // namespace rushgate::testing
