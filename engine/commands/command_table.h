// The table of all commands, one row each (command_table.cc). A new command needs a function, a
// row, documentation (docs_of_values.cc or docs_of_server.cc) and a transcript.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/commands/command_context.h"
#include "engine/commands/key_specs.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Runs a command whose arity and flags have been checked. Checks all arguments before the first
/// change.
using CommandFunction = Reply (*)(CommandContext&);

enum CommandFlag : std::uint32_t {
  // ---- As COMMAND INFO names them, in its order: https://redis.io/docs/latest/commands/command/
  kWrite = 1U << 0,
  kReadOnly = 1U << 1,
  kDenyOom = 1U << 2,
  kAdmin = 1U << 3,
  kPubSub = 1U << 4,
  kNoScript = 1U << 5,  // not allowed in scripts
  kBlocking = 1U << 6,
  kLoading = 1U << 7,
  kStale = 1U << 8,
  kSkipMonitor = 1U << 9,
  kSkipSlowlog = 1U << 10,
  kFast = 1U << 11,
  kNoAuth = 1U << 12,           // also before AUTH
  kNoMandatoryKeys = 1U << 13,  // its keys are optional
  kNoAsyncLoading = 1U << 14,
  kNoMulti = 1U << 15,
  kAllowBusy = 1U << 16,  // runs while a script exceeds its time limit

  // ---- The engine's own, which COMMAND INFO does not report ----
  kContainer = 1U << 17,        // its first argument is a subcommand
  kNotQueued = 1U << 18,        // runs at once between MULTI and EXEC
  kWhileSubscribed = 1U << 19,  // allowed for a RESP2 client with subscriptions
  kEndsBatch = 1U << 20,        // changes how its client's next requests are read or replied to

  // ---- ACL categories that do not follow from the flags above or the group
  kAclKeyspace = 1U << 21,
  kAclDangerous = 1U << 22,
  kAclConnection = 1U << 23,
};

/// Named as in COMMAND DOCS; the ACL categories mostly have the same names.
enum class CommandGroup : std::uint8_t {
  kGeneric,
  kString,
  kHash,
  kList,
  kSet,
  kSortedSet,
  kStream,
  kChannels,  // publish and subscribe
  kTransactions,
  kConnection,
  kServer,
  kScripting,
};

struct CommandSpec {
  std::string_view name;     // lower case; subcommands: "client|id"
  CommandFunction function;  // null: not a command without a subcommand
  std::int16_t arity;        // with the name; negative: at least that many
  std::uint32_t flags;
  CommandGroup group;
  KeySpecs keys = {};
};

/// Returns all rows. Subcommands follow their container.
std::span<const CommandSpec> command_table();

/// Returns a command's row by name, in any case; null if there is none. Skips subcommands.
const CommandSpec* find_command(std::string_view name);
/// Returns the row of the request's command, or of its subcommand if the command is a container
/// with arguments; null if there is none.
const CommandSpec* find_command(RequestView request);
/// Returns the row of `name`, which may be a subcommand's: "client|id".
const CommandSpec* find_full_name(std::string_view name);

/// Returns the rows of a container's subcommands; none for other commands.
std::span<const CommandSpec> subcommands_of(const CommandSpec& container);
inline bool is_subcommand(const CommandSpec& spec) {
  return spec.name.find('|') != std::string_view::npos;
}

bool arity_fits(const CommandSpec& spec, std::size_t arguments);

/// Returns the names of COMMAND INFO, in its order.
std::vector<std::string_view> flag_names(const CommandSpec& spec);
std::string_view group_name(CommandGroup group);

}  // namespace rushgate
