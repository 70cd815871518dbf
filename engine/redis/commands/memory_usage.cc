// MEMORY: https://redis.io/docs/latest/commands/memory-usage/
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/memory_size.h"
#include "engine/core/base/process_info.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/script/lua_host.h"

namespace rushgate {
namespace {

constexpr double kPercent = 100;

double share_of(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// ---- MEMORY USAGE ----

/// Reads SAMPLES, which has no effect: no value is sampled.
void read_samples(Arguments& arguments) {
  while (!arguments.at_end()) {
    const bool has_option = arguments.left() >= 2 && arguments.accept("SAMPLES");
    if (!has_option || arguments.next_integer() < 0) arguments.fail(errors::syntax());
  }
}

Reply memory_usage_command(CommandContext& context) {
  Arguments arguments(context.request(), 3);
  read_samples(arguments);
  if (!arguments.ok()) return arguments.take_error();
  const Object* const object = context.db().find_stored(context[2]);  // also an expired key
  if (object == nullptr) return Reply::nil();
  return Reply::integer(static_cast<std::int64_t>(object->memory_bytes()));
}

// ---- MEMORY STATS ----

class Figures {
 public:
  void add(std::string name, Reply value) {
    figures_.push_back(Reply::bulk(std::move(name)));
    figures_.push_back(std::move(value));
  }
  void add(std::string name, std::size_t value) {
    add(std::move(name), Reply::integer(static_cast<std::int64_t>(value)));
  }
  void add(std::string name, double value) { add(std::move(name), Reply::real(value)); }
  [[nodiscard]] Reply take() { return Reply::map(std::move(figures_)); }

 private:
  std::vector<Reply> figures_;
};

struct Tables {
  std::size_t keys = 0;
  std::size_t bytes = 0;
};

/// Adds the tables of each database with keys. Returns their sums.
Tables add_tables(Keyspace& keyspace, Figures& figures) {
  Tables sums;
  for (std::size_t i = 0; i < Keyspace::kDatabases; ++i) {
    const Database& db = keyspace.db(i);
    sums.keys += db.size();
    sums.bytes += db.key_table_bytes() + db.expiry_index_bytes();
    if (db.size() == 0) continue;
    Figures tables;
    tables.add("overhead.hashtable.main", db.key_table_bytes());
    tables.add("overhead.hashtable.expires", db.expiry_index_bytes());
    tables.add("overhead.hashtable.slot-to-keys", std::size_t{0});
    figures.add("db." + std::to_string(i), tables.take());
  }
  return sums;
}

void add_allocator(Figures& figures) {
  const std::size_t allocated = allocated_bytes();
  const std::size_t active = allocator_bytes();
  const std::size_t resident = resident_bytes().value_or(active);
  figures.add("allocator.allocated", allocated);
  figures.add("allocator.active", active);
  figures.add("allocator.resident", resident);
  figures.add("allocator-fragmentation.ratio", share_of(active, allocated));
  figures.add("allocator-fragmentation.bytes", active - allocated);
}

// Figures without a true value are omitted: peaks, and buffers of clients.
Reply memory_stats_command(CommandContext& context) {
  CommandServices& services = context.services();
  const std::size_t total = services.keyspace.memory_bytes();
  Figures figures;
  figures.add("total.allocated", total);
  for (const char* const absent :
       {"replication.backlog", "clients.slaves", "cluster.links", "aof.buffer"}) {
    figures.add(absent, std::size_t{0});
  }
  figures.add("lua.caches", services.lua.memory_bytes());
  const Tables tables = add_tables(services.keyspace, figures);
  figures.add("overhead.total", tables.bytes);
  figures.add("keys.count", tables.keys);
  figures.add("keys.bytes-per-key", tables.keys == 0 ? 0 : total / tables.keys);
  figures.add("dataset.bytes", total - tables.bytes);
  figures.add("dataset.percentage", kPercent * share_of(total - tables.bytes, total));
  add_allocator(figures);
  return figures.take();
}

// ---- The others ----

Reply memory_doctor_command(CommandContext& context) {
  constexpr double kNearlyFull = 0.9;
  CommandServices& services = context.services();
  const std::size_t used = services.keyspace.memory_bytes();
  const std::uint64_t bound = services.memory_bytes_max;
  std::string report = concat("The keyspace uses ", shown_memory_size(used), ". ");
  if (bound == 0) {
    report += "It has no bound: CONFIG SET maxmemory sets one.\n";
  } else if (share_of(used, bound) >= kNearlyFull) {
    report += concat("This is close to its bound, maxmemory ", shown_memory_size(bound),
                     ", beyond which commands that take memory are refused.\n");
  } else {
    report += concat("This is well below its bound, maxmemory ", shown_memory_size(bound), ".\n");
  }
  return Reply::verbatim("txt:" + report);
}

Reply memory_purge_command(CommandContext& /*context*/) {
  release_free_memory();
  return Reply::ok();
}

Reply memory_malloc_stats_command(CommandContext& /*context*/) {
  return Reply::verbatim("txt:" + allocator_report());
}

Reply memory_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "DOCTOR",
      "    Return memory problems reports.",
      "MALLOC-STATS",
      "    Return internal statistics report from the memory allocator.",
      "PURGE",
      "    Attempt to purge dirty pages for reclamation by the allocator.",
      "STATS",
      "    Return information about the memory usage of the server.",
      "USAGE <key> [SAMPLES <count>]",
      "    Return memory in bytes used by <key> and its value. Nested values are",
      "    sampled up to <count> times (default: 5, 0 means sample all).",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandSpec kMemoryCommands[] = {
    {.name = "memory",
     .arity = -2,
     .flags = kContainer,
     .summary = "Describes the use of memory.",
     .since = "4.0.0",
     .complexity = "Depends on the subcommand."},
    {.name = "memory|doctor",
     .function = memory_doctor_command,
     .arity = 2,
     .flags = 0,
     .summary = "Returns a report about problems of memory.",
     .since = "4.0.0",
     .complexity = "O(1)"},
    help_record("memory|help", memory_help_command, "4.0.0"),
    {.name = "memory|malloc-stats",
     .function = memory_malloc_stats_command,
     .arity = 2,
     .flags = 0,
     .summary = "Returns the report of the process's allocator.",
     .since = "4.0.0",
     .complexity = "Depends on the memory in use"},
    {.name = "memory|purge",
     .function = memory_purge_command,
     .arity = 2,
     .flags = 0,
     .summary = "Returns the allocator's free memory to the system.",
     .since = "4.0.0",
     .complexity = "Depends on the memory in use"},
    {.name = "memory|stats",
     .function = memory_stats_command,
     .arity = 2,
     .flags = 0,
     .summary = "Returns figures about the use of memory.",
     .since = "4.0.0",
     .complexity = "O(1)"},
    {.name = "memory|usage",
     .function = memory_usage_command,
     .arity = -3,
     .flags = kReadOnly,
     .syntax = "key [SAMPLES count]",
     .summary = "Returns the memory of a key and its value.",
     .since = "4.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily memory_commands() { return {CommandGroup::kServer, kMemoryCommands}; }

}  // namespace rushgate
