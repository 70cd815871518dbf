// INFO: https://redis.io/docs/latest/commands/info/
//
// Fields have Redis's names and meanings. Fields that would not be true here are omitted:
// docs/differences.md.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/base/latency_histogram.h"
#include "engine/base/memory_size.h"
#include "engine/base/process_info.h"
#include "engine/base/redis_version.h"
#include "engine/base/version.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_families.h"
#include "engine/commands/command_table.h"
#include "engine/commands/sessions.h"
#include "engine/commands/settings.h"
#include "engine/script/function_registry.h"
#include "engine/script/lua_host.h"
#include "engine/script/native_host.h"
#include <rushgate/store.h>

namespace rushgate {
namespace {

class Fields {
 public:
  template <class Value>
  void add(std::string_view name, const Value& value) {
    absl::StrAppend(&text_, absl::string_view(name.data(), name.size()), ":", value, "\r\n");
  }
  void add_memory(const std::string& name, std::uint64_t bytes) {
    add(name, bytes);
    add(name + "_human", shown_memory_size(bytes));
  }
  void add_seconds(std::string_view name, std::int64_t microseconds) {
    constexpr std::int64_t kPerSecond = 1'000'000;
    char text[32];
    std::snprintf(text, sizeof(text), "%lld.%06lld",
                  static_cast<long long>(microseconds / kPerSecond),
                  static_cast<long long>(microseconds % kPerSecond));
    add(name, text);
  }
  [[nodiscard]] std::string& text() { return text_; }

 private:
  std::string text_;
};

using Context = const CommandContext&;

constexpr double kNsPerUs = 1'000;

// ---- Sections ----

void write_server(Context context, Fields& fields) {
  constexpr std::int64_t kMsPerSecond = 1'000;
  constexpr std::int64_t kSecondsPerDay = 86'400;
  const std::int64_t up_s = (context.now_ms() - context.services().began_ms) / kMsPerSecond;
  fields.add("redis_version", kRedisVersion);
  fields.add("rushgate_version", std::string(library_version()));
  fields.add("redis_mode", "standalone");
  fields.add("os", operating_system());
  fields.add("arch_bits", 8 * sizeof(void*));
  fields.add("process_id", process_id());
  fields.add("tcp_port", context.services().sessions.server().port);
  fields.add("server_time_usec", context.now_ms() * kMsPerSecond);
  fields.add("uptime_in_seconds", up_s);
  fields.add("uptime_in_days", up_s / kSecondsPerDay);
}

void write_clients(Context context, Fields& fields) {
  fields.add("connected_clients", context.services().sessions.size());
  fields.add("cluster_connections", 0);
  fields.add("maxclients", context.services().sessions.server().clients_max);
  fields.add("blocked_clients", context.services().blocked.count());
  fields.add("tracking_clients", context.services().tracking.clients());
  fields.add("clients_in_timeout_table", context.services().blocked.count_with_timeout());
}

void write_memory(Context context, Fields& fields) {
  CommandServices& services = context.services();
  fields.add_memory("used_memory", services.keyspace.memory_bytes());
  if (const auto resident = resident_bytes()) fields.add_memory("used_memory_rss", *resident);
  fields.add_memory("total_system_memory", memory_bytes_of_machine());
  fields.add_memory("used_memory_lua", services.lua.memory_bytes());
  fields.add("number_of_cached_scripts", services.lua.cached_scripts());
  const LibrarySet& libraries = services.lua.functions().current();
  fields.add("number_of_functions", libraries.functions() + services.natives.size());
  fields.add("number_of_libraries",
             libraries.libraries().size() + (services.natives.size() == 0 ? 0 : 1));
  fields.add_memory("maxmemory", services.memory_bytes_max);
  fields.add("maxmemory_policy", "noeviction");
  const LazyFree::Counts freed = services.keyspace.lazy_free().counts();
  fields.add("lazyfree_pending_objects", freed.objects_pending);
  fields.add("lazyfreed_objects", freed.objects_later);
  fields.add("rushgate_stream_cache_bytes", services.keyspace.stream_caches().bytes());
}

void write_persistence(Context context, Fields& fields) {
  const CommandServices& services = context.services();
  const Durability durability = services.keyspace.store().durability();
  fields.add("loading", 0);
  fields.add("async_loading", 0);
  fields.add("rdb_bgsave_in_progress", 0);
  fields.add("aof_enabled", durability == Durability::kMemory ? 0 : 1);
  fields.add("aof_rewrite_in_progress", 0);
  fields.add("aof_last_write_status", services.write_refusal.empty() ? "ok" : "err");
  fields.add("rushgate_durability", std::string(durability_name(durability)));
}

void write_stats(Context context, Fields& fields) {
  const CommandServices& services = context.services();
  const Statistics& statistics = services.statistics;
  fields.add("total_connections_received", services.sessions.begun());
  fields.add("total_commands_processed", statistics.commands);
  fields.add("rejected_connections", services.sessions.refused());
  fields.add("expired_keys", services.keyspace.counts().expired);
  fields.add("evicted_keys", 0);
  fields.add("keyspace_hits", statistics.keys_found);
  fields.add("keyspace_misses", statistics.keys_missed);
  fields.add("pubsub_channels", services.channels.count(ChannelKind::kPlain));
  fields.add("pubsub_patterns", services.channels.count(ChannelKind::kPattern));
  fields.add("pubsubshard_channels", services.channels.count(ChannelKind::kShard));
  fields.add("tracking_total_keys", services.tracking.keys());
  fields.add("tracking_total_items", services.tracking.reads());
  fields.add("tracking_total_prefixes", services.tracking.prefixes());
  fields.add("total_error_replies", statistics.errors.total());
}

void write_replication(Context /*context*/, Fields& fields) {
  fields.add("role", "master");
  fields.add("connected_slaves", 0);
  fields.add("master_failover_state", "no-failover");
}

void write_cpu(Context /*context*/, Fields& fields) {
  const CpuTimes process = cpu_of_process();
  const CpuTimes children = cpu_of_children();
  fields.add_seconds("used_cpu_sys", process.system_us);
  fields.add_seconds("used_cpu_user", process.user_us);
  fields.add_seconds("used_cpu_sys_children", children.system_us);
  fields.add_seconds("used_cpu_user_children", children.user_us);
}

void write_modules(Context /*context*/, Fields& /*fields*/) {}

void write_commands(Context context, Fields& fields) {
  for (const CommandSpec& spec : command_table()) {
    const CommandStatistics& of = context.services().statistics.by_command[spec];
    if (of.calls == 0 && of.rejected == 0 && of.failed == 0) continue;
    const double us = static_cast<double>(of.timed_ns) / kNsPerUs;
    const std::uint64_t timed = of.latency == nullptr ? 0 : of.latency->count();
    fields.add("cmdstat_" + std::string(spec.name),
               absl::StrFormat("calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,"
                               "failed_calls=%d",
                               of.calls, us, timed == 0 ? 0 : us / static_cast<double>(timed),
                               of.rejected, of.failed));
  }
}

void write_errors(Context context, Fields& fields) {
  for (const auto& [code, count] : context.services().statistics.errors.by_code()) {
    std::string shown = code;
    std::ranges::replace_if(
        shown, [](char c) { return c == '#' || c == ':' || c == '\r' || c == '\n'; }, '_');
    fields.add("errorstat_" + shown, absl::StrCat("count=", count));
  }
}

std::string shown_percentiles(const LatencyHistogram& latency, const std::string& percentiles) {
  std::string shown;
  for (const absl::string_view percent : absl::StrSplit(percentiles, ' ', absl::SkipEmpty())) {
    double value = 0;
    static_cast<void>(absl::SimpleAtod(percent, &value));
    absl::StrAppendFormat(&shown, "%sp%s=%.3f", shown.empty() ? "" : ",", percent,
                          static_cast<double>(latency.percentile(value)) / kNsPerUs);
  }
  return shown;
}

void write_latencies(Context context, Fields& fields) {
  const Settings& settings = context.services().settings;
  if (!settings.latency_tracking) return;
  for (const CommandSpec& spec : command_table()) {
    const LatencyHistogram* const latency =
        context.services().statistics.by_command[spec].latency.get();
    if (latency == nullptr) continue;
    fields.add("latency_percentiles_usec_" + std::string(spec.name),
               shown_percentiles(*latency, settings.latency_percentiles));
  }
}

void write_cluster(Context /*context*/, Fields& fields) { fields.add("cluster_enabled", 0); }

void write_keyspace(Context context, Fields& fields) {
  for (std::size_t i = 0; i < Keyspace::kDatabases; ++i) {
    const Database& db = context.keyspace().db(i);
    if (db.size() == 0) continue;
    fields.add("db" + std::to_string(i),
               absl::StrCat("keys=", db.size(), ",expires=", db.expiring(),
                            ",avg_ttl=", db.average_ttl_ms()));
  }
}

struct Section {
  std::string_view name;
  std::string_view title;
  void (*write)(Context context, Fields& fields);
  bool is_default = true;  // false: only on request, or with ALL
};

constexpr Section kSections[] = {
    {"server", "Server", write_server},
    {"clients", "Clients", write_clients},
    {"memory", "Memory", write_memory},
    {"persistence", "Persistence", write_persistence},
    {"stats", "Stats", write_stats},
    {"replication", "Replication", write_replication},
    {"cpu", "CPU", write_cpu},
    {"modules", "Modules", write_modules},
    {"commandstats", "Commandstats", write_commands, false},
    {"errorstats", "Errorstats", write_errors},
    {"latencystats", "Latencystats", write_latencies, false},
    {"cluster", "Cluster", write_cluster},
    {"keyspace", "Keyspace", write_keyspace},
};

// ---- Choosing ----

bool is_asked_for(const CommandContext& context, const Section& section) {
  if (context.size() == 1) return section.is_default;
  return std::ranges::any_of(context.request().subspan(1), [&section](std::string_view asked) {
    return is_keyword(asked, section.name) || is_keyword(asked, "ALL") ||
           is_keyword(asked, "EVERYTHING") || (section.is_default && is_keyword(asked, "DEFAULT"));
  });
}

Reply info_command(CommandContext& context) {
  std::string info;
  for (const Section& section : kSections) {
    if (!is_asked_for(context, section)) continue;
    if (!info.empty()) info += "\r\n";
    info.append("# ").append(section.title).append("\r\n");
    Fields fields;
    section.write(context, fields);
    info += fields.text();
  }
  return Reply::verbatim("txt:" + info);
}

// ---- The records ----

constexpr CommandSpec kCommands[] = {
    {.name = "info",
     .function = info_command,
     .arity = -1,
     .flags = kAnytime | kAclDangerous,
     .syntax = "[section [section ...]]",
     .summary = "Returns statistics of the server.",
     .since = "1.0.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily info_commands() { return {CommandGroup::kServer, kCommands}; }

}  // namespace rushgate
