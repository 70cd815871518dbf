#include "tests/conformance/random/connection_states.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace rushgate::testing {
namespace {

constexpr absl::string_view kDecided[] = {"name",  "db",  "sub",   "psub", "ssub",
                                          "multi", "cmd", "flags", "resp", "user"};

/// Not one of a grammar's sessions.
constexpr int kStatesSession = 1'002;

}  // namespace

ConnectionStates connection_states(Backend& backend) {
  const std::string list = backend.ask(kStatesSession, Request::of("CLIENT", "LIST")).text();
  const absl::string_view lines = absl::StripPrefix(list, "txt:");  // of a verbatim string
  ConnectionStates states;
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    std::string id;
    ConnectionState state;
    bool is_closing = false;
    for (const absl::string_view field : absl::StrSplit(line, ' ')) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(field, absl::MaxSplits('=', 1));
      const auto& [name, value] = parts;
      if (name == "id") id = value;
      if (name == "multi") state.is_in_transaction = value != "-1";
      if (name == "cmd") state.command = value;
      if (name == "redir") state.redirect = value;
      if (name == "flags") {
        state.is_blocked = value.find('b') != std::string::npos;
        is_closing = value.find_first_of("cA") != std::string::npos;
      }
      if (std::ranges::find(kDecided, name) == std::end(kDecided)) continue;
      absl::StrAppend(&state.fields, state.fields.empty() ? "" : " ", field);
    }
    if (!is_closing) states.emplace(std::move(id), std::move(state));
  }
  return states;
}

}  // namespace rushgate::testing
