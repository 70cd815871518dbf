#include "tests/conformance/command_counts.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace rushgate::testing {
namespace {

const std::set<std::string> kOfBackends = {"client|id", "client|list", "hello", "ping"};

/// Returns the fields of a section of INFO that begin with `prefix`, by the rest of the name.
InfoByCommand section(Backend& backend, int session, const std::string& name,
                      const std::string& prefix) {
  const Reply info = backend.ask(session, Request::of("INFO", name));
  InfoByCommand fields;
  for (absl::string_view line : absl::StrSplit(info.text(), "\r\n")) {
    if (!absl::ConsumePrefix(&line, prefix)) continue;
    const std::pair<std::string, std::string> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (kOfBackends.contains(field.first)) continue;
    InfoParts& parts = fields[field.first];
    for (const absl::string_view part : absl::StrSplit(field.second, ',')) {
      parts.insert(absl::StrSplit(part, absl::MaxSplits('=', 1)));
    }
  }
  return fields;
}

std::string shown(const InfoByCommand& by_command, const std::string& command) {
  const auto found = by_command.find(command);
  if (found == by_command.end()) return "not there";
  return absl::StrJoin(found->second, ",", absl::PairFormatter("="));
}

}  // namespace

InfoByCommand command_statistics(Backend& backend, int session) {
  return section(backend, session, "commandstats", "cmdstat_");
}

InfoByCommand command_counts(Backend& backend, int session) {
  InfoByCommand counts = command_statistics(backend, session);
  for (auto& [command, parts] : counts) {
    parts.erase("usec");
    parts.erase("usec_per_call");
  }
  for (const auto& [code, parts] : section(backend, session, "errorstats", "errorstat_")) {
    counts["error " + code] = parts;
  }
  return counts;
}

InfoByCommand command_latencies(Backend& backend, int session) {
  return section(backend, session, "latencystats", "latency_percentiles_usec_");
}

std::string counts_differ(const InfoByCommand& expected, const InfoByCommand& actual) {
  std::set<std::string> commands;
  for (const InfoByCommand* const counts : {&expected, &actual}) {
    for (const auto& [command, parts] : *counts) commands.insert(command);
  }
  std::string differences;
  for (const std::string& command : commands) {
    const std::string before = shown(expected, command);
    const std::string after = shown(actual, command);
    if (before != after)
      absl::StrAppend(&differences, command, ": ", before, "; but ", after, "\n");
  }
  return differences;
}

}  // namespace rushgate::testing
