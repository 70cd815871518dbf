// The families of commands. A family is a file, which ends with the records of its commands. A new
// command is added there alone. A new family also needs a declaration here, and its place in
// command_table.cc.
#pragma once

#include <span>
#include <string_view>

#include "engine/redis/commands/command_spec.h"

namespace rushgate {

struct CommandFamily {
  CommandGroup group;  // of all its commands
  std::span<const CommandSpec> commands;
};

CommandFamily connection_commands();
CommandFamily client_commands();
CommandFamily pause_commands();
CommandFamily tracking_commands();
CommandFamily channel_commands();
CommandFamily transaction_commands();
CommandFamily server_commands();
CommandFamily config_commands();
CommandFamily info_commands();
CommandFamily shutdown_commands();
CommandFamily acl_commands();
CommandFamily replication_commands();
CommandFamily wait_commands();
CommandFamily saving_commands();
CommandFamily memory_commands();
CommandFamily latency_commands();
CommandFamily slowlog_commands();
CommandFamily module_commands();
CommandFamily monitor_commands();
CommandFamily debug_commands();
CommandFamily key_commands();
CommandFamily object_commands();
CommandFamily scan_commands();
CommandFamily expiry_commands();
CommandFamily sort_commands();
CommandFamily dump_commands();
CommandFamily cluster_dump_commands();
CommandFamily string_commands();
CommandFamily string_condition_commands();
CommandFamily string_range_commands();
CommandFamily lcs_commands();
CommandFamily string_number_commands();
CommandFamily bitmap_commands();
CommandFamily bitfield_commands();
CommandFamily hyperloglog_commands();
CommandFamily hash_commands();
CommandFamily field_expiry_commands();
CommandFamily expiring_field_commands();
CommandFamily hash_scan_commands();
CommandFamily set_commands();
CommandFamily set_scan_commands();
CommandFamily set_operation_commands();
CommandFamily list_commands();
CommandFamily list_pop_commands();
CommandFamily sorted_set_commands();
CommandFamily sorted_set_scan_commands();
CommandFamily sorted_set_range_commands();
CommandFamily sorted_set_pop_commands();
CommandFamily sorted_set_algebra_commands();
CommandFamily geo_commands();
CommandFamily geo_search_commands();
CommandFamily stream_commands();
CommandFamily stream_group_commands();
CommandFamily stream_claim_commands();
CommandFamily stream_removal_commands();
CommandFamily stream_info_commands();
CommandFamily scripting_commands();
CommandFamily function_commands();
CommandFamily command_commands();
CommandFamily cluster_commands();

// ---- Flags that go together ----

// Both have no effect here: an open engine has loaded its data, and has no master.
inline constexpr CommandFlags kAnytime = kLoading | kStale;
inline constexpr CommandFlags kAdministers = kAdmin | kNoScript | kAnytime;
inline constexpr CommandFlags kRunsScript = kNoScript | kStale | kSkipMonitor | kNoMandatoryKeys;

/// Returns the record of a HELP subcommand.
constexpr CommandSpec help_record(std::string_view name, CommandFunction function,
                                  std::string_view since, CommandFlags flags = kAnytime) {
  return {.name = name,
          .function = function,
          .arity = 2,
          .flags = flags,
          .summary = "Lists the subcommands.",
          .since = since,
          .complexity = "O(1)"};
}

}  // namespace rushgate
