// The whole command surface, a row a command in command_table.cc. A new command is a function, a
// row there, what is said of it in docs_of_values.cc or docs_of_server.cc, and a transcript.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/client/reply.h"
#include "engine/commands/command_context.h"
#include "engine/commands/key_specs.h"

namespace rushgate {

/// Answers one command. Arity and flags have been checked. Checks all arguments before it changes
/// anything.
using CommandFunction = Reply (*)(CommandContext&);

enum CommandFlag : std::uint32_t {
  // ---- As COMMAND INFO names them, in its order: https://redis.io/docs/latest/commands/command/
  kWrite = 1U << 0,
  kReadOnly = 1U << 1,
  kDenyOom = 1U << 2,
  kAdmin = 1U << 3,
  kPubSub = 1U << 4,
  kNoScript = 1U << 5,  // not to be called from a script
  kBlocking = 1U << 6,
  kLoading = 1U << 7,
  kStale = 1U << 8,
  kSkipMonitor = 1U << 9,
  kSkipSlowlog = 1U << 10,
  kFast = 1U << 11,
  kNoAuth = 1U << 12,           // also for clients that have not said who they are
  kNoMandatoryKeys = 1U << 13,  // it may have keys or none
  kNoAsyncLoading = 1U << 14,
  kNoMulti = 1U << 15,
  kAllowBusy = 1U << 16,  // runs while a script is over its time

  // ---- The engine's own, which COMMAND INFO does not tell ----
  kContainer = 1U << 17,        // its first argument is a subcommand
  kNotQueued = 1U << 18,        // runs between MULTI and EXEC, too
  kWhileSubscribed = 1U << 19,  // runs for a RESP2 client that has subscribed to something, too
  kEndsBatch = 1U << 20,        // changes how what its client sends next is read or answered

  // ---- ACL categories that neither the flags above nor the group tell
  kAclKeyspace = 1U << 21,
  kAclDangerous = 1U << 22,
  kAclConnection = 1U << 23,
};

/// As COMMAND DOCS and, mostly, the ACL categories name them.
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
  std::string_view name;     // lower case; of a subcommand: "client|id"
  CommandFunction function;  // null: it is nothing without a subcommand
  std::int16_t arity;        // with the name; negative: at least that many
  std::uint32_t flags;
  CommandGroup group;
  KeySpecs keys = {};
};

/// Subcommands follow their container.
std::span<const CommandSpec> command_table();

/// The row of the command `name`, which is no subcommand, in any case; null if there is none.
const CommandSpec* find_command(std::string_view name);
/// The row of what the request asks for, which is that of the subcommand if its command is a
/// container and there are arguments; null if there is none.
const CommandSpec* find_command(RequestView request);
/// The row of `name`, which may be that of a subcommand: "client|id".
const CommandSpec* find_full_name(std::string_view name);

/// The rows of a container's subcommands; none of any other command.
std::span<const CommandSpec> subcommands_of(const CommandSpec& container);
inline bool is_subcommand(const CommandSpec& spec) {
  return spec.name.find('|') != std::string_view::npos;
}

bool arity_fits(const CommandSpec& spec, std::size_t arguments);

/// As COMMAND INFO names them, in its order.
std::vector<std::string_view> flag_names(const CommandSpec& spec);
std::string_view group_name(CommandGroup group);

}  // namespace rushgate
