#include "engine/redis/commands/command_table.h"

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/client/command_keys.h"
#include "engine/redis/commands/command_families.h"

namespace rushgate {
namespace {

using Family = CommandFamily();

// In the order of COMMAND's replies.
constexpr Family* kFamilies[] = {
    connection_commands,
    client_commands,
    pause_commands,
    tracking_commands,
    channel_commands,
    transaction_commands,
    server_commands,
    config_commands,
    info_commands,
    shutdown_commands,
    acl_commands,
    replication_commands,
    wait_commands,
    saving_commands,
    memory_commands,
    latency_commands,
    slowlog_commands,
    module_commands,
    monitor_commands,
    debug_commands,
    key_commands,
    object_commands,
    scan_commands,
    expiry_commands,
    sort_commands,
    dump_commands,
    cluster_dump_commands,
    string_commands,
    string_condition_commands,
    string_range_commands,
    lcs_commands,
    string_number_commands,
    bitmap_commands,
    bitfield_commands,
    hyperloglog_commands,
    hash_commands,
    field_expiry_commands,
    expiring_field_commands,
    hash_scan_commands,
    set_commands,
    set_scan_commands,
    set_operation_commands,
    list_commands,
    list_pop_commands,
    sorted_set_commands,
    sorted_set_scan_commands,
    sorted_set_range_commands,
    sorted_set_pop_commands,
    sorted_set_algebra_commands,
    geo_commands,
    geo_search_commands,
    stream_commands,
    stream_group_commands,
    stream_claim_commands,
    stream_removal_commands,
    stream_info_commands,
    scripting_commands,
    function_commands,
    command_commands,
    cluster_commands,
};

std::vector<CommandSpec> concatenated() {
  std::vector<CommandSpec> table;
  for (Family* const family : kFamilies) {
    const auto [group, commands] = family();
    for (CommandSpec spec : commands) {
      spec.row = static_cast<std::uint16_t>(table.size());
      spec.group = group;
      spec.traits = command_traits(spec.name);
      spec.keys = command_keys(spec.name);
      // Redis does not report that WAIT blocks.
      const BlockTimeout timeout = spec.traits.timeout;
      if (timeout != BlockTimeout::kNone && timeout != BlockTimeout::kLastMs)
        spec.flags |= kBlocking;
      table.push_back(spec);
    }
  }
  return table;
}

}  // namespace

std::span<const CommandSpec> command_table() {
  static const std::vector<CommandSpec> kTable = concatenated();
  return kTable;
}

}  // namespace rushgate
