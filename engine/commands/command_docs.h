// What is written about the commands: for COMMAND DOCS, and for docs/commands.md.
#pragma once

#include <span>
#include <string_view>

namespace rushgate {

struct CommandDoc {
  std::string_view name;        // as in the command table
  std::string_view syntax;      // of the arguments: command_syntax.h
  std::string_view since;       // the version of Redis
  std::string_view complexity;  // Redis's
  std::string_view summary;
  std::string_view deprecated_since = {};  // empty: it is not
  std::string_view replaced_by = {};
};

/// What a version of Redis added to a command, or changed.
struct CommandChange {
  std::string_view name;     // of the command, as in the command table
  std::string_view version;  // of Redis
  std::string_view what;
};

std::span<const CommandDoc> docs_of_values();
std::span<const CommandDoc> docs_of_server();

/// Of the command of that full name; each has one.
const CommandDoc& find_doc(std::string_view name);

/// The oldest first.
std::span<const CommandChange> changes_of(std::string_view name);
/// The version that gave the command this argument, if that was a later one than the command's;
/// else empty. `argument` is its word, or, of one without, its name.
std::string_view since_of_argument(std::string_view command, std::string_view argument);

}  // namespace rushgate
