// The record of a command. It holds all facts about the command. The table of commands, the replies
// of COMMAND, docs/commands.md, and the traits that clients and servers use are derived from it.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/core/client/command_traits.h"
#include "engine/core/client/key_specs.h"
#include "engine/redis/commands/command_context.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Runs a command whose arity and flags have been checked. Checks all arguments before the first
/// change.
using CommandFunction = Reply (*)(CommandContext&);

using CommandFlags = std::uint64_t;

enum CommandFlag : CommandFlags {
  // ---- As COMMAND INFO names them, in its order: https://redis.io/docs/latest/commands/command/
  kWrite = 1U << 0,
  kReadOnly = 1U << 1,
  kDenyOom = 1U << 2,
  kAdmin = 1U << 3,
  kPubSub = 1U << 4,
  kNoScript = 1U << 5,  // not allowed in scripts
  kBlocking = 1U << 6,  // set by the table: the record has a timeout, and is not that of WAIT
  kLoading = 1U << 7,
  kStale = 1U << 8,
  kSkipMonitor = 1U << 9,
  kSkipSlowlog = 1U << 10,
  kAsking = 1U << 11,  // as after ASKING, which has no effect here
  kFast = 1U << 12,
  kNoAuth = 1U << 13,           // also before AUTH
  kNoMandatoryKeys = 1U << 14,  // its keys are optional
  kNoAsyncLoading = 1U << 15,
  kNoMulti = 1U << 16,
  kAllowBusy = 1U << 17,  // runs while a script exceeds its time limit

  // ---- The engine's own, which COMMAND INFO does not report ----
  kContainer = 1U << 18,         // its first argument is a subcommand
  kNotQueued = 1U << 19,         // runs at once between MULTI and EXEC
  kRunsQueue = 1U << 20,         // EXEC
  kEndsMulti = 1U << 21,         // frees the queued commands, so it also runs without memory
  kWhileSubscribed = 1U << 22,   // allowed for a RESP2 client with subscriptions
  kEndsBatch = 1U << 23,         // changes how its client's next requests are read or replied to
  kChangesProtocol = 1U << 24,   // replies of earlier requests must precede it
  kDebugs = 1U << 25,            // refused unless Settings::debug_commands
  kPausedWithWrites = 1U << 26,  // CLIENT PAUSE … WRITE delays it although it has no kWrite

  // ---- ACL categories that do not follow from the flags above or the group
  kAclKeyspace = 1U << 27,
  kAclDangerous = 1U << 28,
  kAclConnection = 1U << 29,
  kAclAdmin = 1U << 30,
  kAclSorts = 1U << 31,  // SORT: lists, sets and sorted sets

  // ---- For COMMAND DOCS
  kSystemCommand = CommandFlags{1} << 32,  // for maintenance and tests of the server
};

/// Named as in COMMAND DOCS; the ACL categories mostly have the same names.
enum class CommandGroup : std::uint8_t {
  kGeneric,
  kString,
  kBitmap,
  kHyperLogLog,
  kHash,
  kList,
  kSet,
  kSortedSet,
  kGeo,
  kStream,
  kChannels,  // publish and subscribe
  kTransactions,
  kConnection,
  kServer,
  kScripting,
  kCluster,
  kModule,  // the program's commands, which Redis's clients take for those of a module
};

struct CommandSpec {
  std::string_view name;               // lower case; subcommands: "client|id"
  CommandFunction function = nullptr;  // null: not a command without a subcommand
  std::int16_t arity;                  // with the name; negative: at least that many
  std::uint16_t row = 0;               // in the table, which sets it
  CommandFlags flags;
  CommandGroup group = {};    // its family's; the table sets it
  CommandTraits traits = {};  // those of its name; the table sets them
  KeySpecs keys = {};         // those of its name; the table sets them
  /// Returns true if maxmemory applies to the request. Null: kDenyOom says it.
  bool (*asks_for_memory)(const CommandContext&) = nullptr;
  /// Returns true if the request is known to write nothing, for kPausedWithWrites. Null: none is.
  bool (*never_writes)(const CommandContext&) = nullptr;
  /// Returns the flags of the command's key, if other arguments select them
  /// (key_specs::kVariableFlags). The arity must fit.
  unsigned (*key_flags)(RequestView request) = nullptr;

  // ---- Documentation ----
  std::string_view syntax = {};  // of the arguments: command_syntax.h
  std::string_view summary;
  std::string_view since;                  // the version of Redis
  std::string_view complexity;             // Redis's
  std::string_view deprecated_since = {};  // empty: not deprecated
  std::string_view replaced_by = {};
};

}  // namespace rushgate
