// Commands of a cluster, which the engine never belongs to. It replies as a Redis without cluster
// mode does: https://redis.io/docs/latest/commands/?group=cluster
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"

namespace rushgate {
namespace {

Reply cluster_disabled_command(CommandContext&) {
  return Reply::error("ERR This instance has cluster support disabled");
}

// ---- The records ----

constexpr CommandFlags kChangesCluster = kAdmin | kStale | kNoAsyncLoading;
constexpr std::string_view kO1 = "O(1)";

/// Returns the record of a command that is refused.
constexpr CommandSpec refused(std::string_view name, std::int16_t arity, CommandFlags flags,
                              std::string_view syntax, std::string_view summary,
                              std::string_view since = "3.0.0") {
  return {.name = name,
          .function = cluster_disabled_command,
          .arity = arity,
          .flags = flags,
          .syntax = syntax,
          .summary = summary,
          .since = since,
          .complexity = kO1};
}

/// As refused(), for a deprecated subcommand.
constexpr CommandSpec deprecated(CommandSpec record, std::string_view since,
                                 std::string_view replaced_by) {
  record.deprecated_since = since;
  record.replaced_by = replaced_by;
  return record;
}

/// As refused(), for a command about a connection to a cluster.
constexpr CommandSpec about_connection(std::string_view name, CommandFlags flags,
                                       std::string_view summary) {
  return refused(name, 1, flags | kFast | kAclConnection, "", summary);
}

constexpr CommandSpec kClusterCommands[] = {
    about_connection("asking", 0, "Allows the next command on a slot that is being moved."),
    about_connection("readonly", kAnytime, "Allows reads from a replica of a cluster."),
    about_connection("readwrite", kAnytime, "Ends READONLY."),
    {.name = "cluster",
     .arity = -2,
     .flags = kContainer,
     .summary = "Manages a cluster.",
     .since = "3.0.0",
     .complexity = "Depends on the subcommand."},
    refused("cluster|addslots", -3, kChangesCluster, "slot [slot ...]",
            "Assigns slots to the node."),
    refused("cluster|addslotsrange", -4, kChangesCluster,
            "start-slot end-slot [start-slot end-slot ...]", "Assigns ranges of slots to the node.",
            "7.0.0"),
    refused("cluster|bumpepoch", 2, kChangesCluster, "", "Advances the configuration epoch."),
    refused("cluster|count-failure-reports", 3, kAdmin | kStale, "node-id",
            "Counts the failure reports about a node."),
    refused("cluster|countkeysinslot", 3, kStale, "slot", "Counts the keys of a slot."),
    refused("cluster|delslots", -3, kChangesCluster, "slot [slot ...]",
            "Removes slots from the node."),
    refused("cluster|delslotsrange", -4, kChangesCluster,
            "start-slot end-slot [start-slot end-slot ...]",
            "Removes ranges of slots from the node.", "7.0.0"),
    refused("cluster|failover", -2, kChangesCluster, "[FORCE | TAKEOVER]",
            "Lets a replica replace its master."),
    refused("cluster|flushslots", 2, kChangesCluster, "", "Removes all slots from the node."),
    refused("cluster|forget", 3, kChangesCluster, "node-id", "Removes a node from the cluster."),
    refused("cluster|getkeysinslot", 4, kStale, "slot count", "Returns keys of a slot."),
    help_record("cluster|help", cluster_disabled_command, "5.0.0"),
    refused("cluster|info", 2, kStale, "", "Returns the state of the cluster."),
    refused("cluster|keyslot", 3, kStale, "key-name", "Returns the slot of a key."),
    refused("cluster|links", 2, kStale, "", "Returns the connections to other nodes.", "7.0.0"),
    refused("cluster|meet", -4, kChangesCluster, "ip port [cluster_bus_port]",
            "Connects the node to another one."),
    refused("cluster|myid", 2, kStale, "", "Returns the id of the node."),
    refused("cluster|nodes", 2, kStale, "", "Returns the nodes of the cluster, one line each."),
    refused("cluster|replicas", 3, kAdmin | kStale, "node-id", "Returns the replicas of a node.",
            "5.0.0"),
    refused("cluster|replicate", 3, kChangesCluster, "node-id",
            "Makes the node a replica of another one."),
    refused("cluster|reset", -2, kAdmin | kNoScript | kStale, "[HARD | SOFT]", "Resets the node."),
    refused("cluster|saveconfig", 2, kChangesCluster, "", "Saves the configuration of the node."),
    refused("cluster|set-config-epoch", 3, kChangesCluster, "config-epoch",
            "Sets the configuration epoch of a new node."),
    refused("cluster|setslot", -4, kChangesCluster,
            "slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>",
            "Assigns a slot to a node, or begins or ends its migration."),
    refused("cluster|shards", 2, kStale, "", "Returns the slots and nodes of all shards.", "7.0.0"),
    deprecated(
        refused("cluster|slaves", 3, kAdmin | kStale, "node-id", "Returns the replicas of a node."),
        "5.0.0", "CLUSTER REPLICAS"),
    deprecated(refused("cluster|slots", 2, kStale, "", "Returns the nodes of each range of slots."),
               "7.0.0", "CLUSTER SHARDS"),
};

}  // namespace

CommandFamily cluster_commands() { return {CommandGroup::kCluster, kClusterCommands}; }

}  // namespace rushgate
