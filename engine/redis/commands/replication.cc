// Commands of replication. The engine is a master without replicas:
// https://redis.io/docs/latest/commands/role/
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"

namespace rushgate {
namespace {

// ---- Errors: Redis's, and two of ours ----

Reply invalid_port() { return Reply::error("ERR Invalid master port"); }
Reply no_failover() { return Reply::error("ERR No failover in progress."); }
Reply no_connected_replicas() { return Reply::error("ERR FAILOVER requires connected replicas."); }
Reply invalid_failover_timeout() {
  return Reply::error("ERR FAILOVER timeout must be greater than 0");
}
Reply cannot_be_replica() {
  return Reply::error("ERR Rushgate has no replication: it cannot be a replica");
}
Reply cannot_have_replicas() {
  return Reply::error("ERR Rushgate has no replication: it cannot have replicas");
}

// ---- The commands ----

Reply role_command(CommandContext&) {
  return Reply::array({Reply::bulk("master"), Reply::integer(0), Reply::array()});
}

Reply replicaof_command(CommandContext& context) {
  if (is_keyword(context[1], "NO") && is_keyword(context[2], "ONE")) return Reply::ok();
  const std::int64_t port = parse_int64(context[2]).value_or(-1);
  if (port < 0 || port > std::numeric_limits<std::uint16_t>::max()) return invalid_port();
  return cannot_be_replica();
}

/// Checks the options of FAILOVER, each of which may come once.
void check_failover(Arguments& arguments) {
  bool has_target = false;
  bool has_timeout = false;
  bool is_forced = false;
  while (!arguments.at_end()) {
    const std::size_t left = arguments.left();
    if (left >= 3 && !has_target && arguments.accept("TO")) {
      has_target = true;
      arguments.next();  // the host
      arguments.next_integer();
    } else if (left >= 2 && !has_timeout && arguments.accept("TIMEOUT")) {
      has_timeout = true;
      if (arguments.next_integer() <= 0) arguments.fail(invalid_failover_timeout());
    } else if (!is_forced && arguments.accept("FORCE")) {
      is_forced = true;
    } else {
      arguments.fail(errors::syntax());
    }
  }
}

Reply failover_command(CommandContext& context) {
  if (context.size() == 2 && is_keyword(context[1], "ABORT")) return no_failover();
  Arguments arguments(context.request());
  check_failover(arguments);
  return arguments.ok() ? no_connected_replicas() : arguments.take_error();
}

Reply sync_command(CommandContext&) { return cannot_have_replicas(); }

Reply replconf_command(CommandContext& context) {
  return context.size() % 2 == 0 ? errors::syntax() : cannot_have_replicas();
}

// ---- The records ----

constexpr CommandFlags kBecomesReplica = kAdmin | kNoScript | kStale | kNoAsyncLoading;
constexpr CommandFlags kBeginsReplication = kAdmin | kNoScript | kNoAsyncLoading | kNoMulti;
constexpr std::string_view kMaster = "<host port | NO ONE>";

constexpr CommandSpec kReplicationCommands[] = {
    {.name = "failover",
     .function = failover_command,
     .arity = -1,
     .flags = kAdmin | kNoScript | kStale,
     .syntax = "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
     .summary = "Returns an error: there is no replica that could replace the master.",
     .since = "6.2.0",
     .complexity = "O(1)"},
    {.name = "psync",
     .function = sync_command,
     .arity = -3,
     .flags = kBeginsReplication,
     .syntax = "replicationid offset",
     .summary = "Returns an error: there is no replication.",
     .since = "2.8.0",
     .complexity = "O(1)"},
    {.name = "replconf",
     .function = replconf_command,
     .arity = -1,
     .flags = kAdministers | kAllowBusy | kSystemCommand,
     .summary = "Returns an error: there is no replication.",
     .since = "3.0.0",
     .complexity = "O(1)"},
    {.name = "replicaof",
     .function = replicaof_command,
     .arity = 3,
     .flags = kBecomesReplica,
     .syntax = kMaster,
     .summary = "Accepts NO ONE: the engine is always a master.",
     .since = "5.0.0",
     .complexity = "O(1)"},
    {.name = "role",
     .function = role_command,
     .arity = 1,
     .flags = kNoScript | kAnytime | kFast | kAclAdmin | kAclDangerous,
     .summary = "Returns the role: a master without replicas.",
     .since = "2.8.12",
     .complexity = "O(1)"},
    {.name = "slaveof",
     .function = replicaof_command,
     .arity = 3,
     .flags = kBecomesReplica,
     .syntax = kMaster,
     .summary = "Accepts NO ONE: the engine is always a master.",
     .since = "1.0.0",
     .complexity = "O(1)",
     .deprecated_since = "5.0.0",
     .replaced_by = "REPLICAOF"},
    {.name = "sync",
     .function = sync_command,
     .arity = 1,
     .flags = kBeginsReplication,
     .summary = "Returns an error: there is no replication.",
     .since = "1.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily replication_commands() { return {CommandGroup::kServer, kReplicationCommands}; }

}  // namespace rushgate
