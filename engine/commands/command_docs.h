// Documentation of the commands, for COMMAND DOCS and docs/commands.md.
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
  std::string_view deprecated_since = {};  // empty: not deprecated
  std::string_view replaced_by = {};
};

/// A change of a command in a version of Redis.
struct CommandChange {
  std::string_view name;     // of the command, as in the command table
  std::string_view version;  // of Redis
  std::string_view what;
};

std::span<const CommandDoc> docs_of_values();
std::span<const CommandDoc> docs_of_server();

/// Returns the documentation of a command, by its full name. Every command has one.
const CommandDoc& find_doc(std::string_view name);

/// Returns the changes of a command, the oldest first.
std::span<const CommandChange> changes_of(std::string_view name);
/// Returns the version that added an argument, if it is later than the command's; else empty.
/// `argument` is the argument's word or, without a word, its name.
std::string_view since_of_argument(std::string_view command, std::string_view argument);

}  // namespace rushgate
