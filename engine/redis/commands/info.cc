// INFO: https://redis.io/docs/latest/commands/info/
//
// Fields have Redis's names and meanings: docs/differences.md.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/latency_histogram.h"
#include "engine/core/base/memory_size.h"
#include "engine/core/base/process_info.h"
#include "engine/core/base/time_units.h"
#include "engine/core/base/version.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/command_table.h"
#include "engine/redis/commands/config_parameters.h"
#include "engine/redis/commands/sessions.h"
#include "engine/redis/commands/settings.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/script/function_registry.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/native_host.h"
#include <rushgate/store.h>

namespace rushgate {
namespace {

class InfoFields {
 public:
  template <class Value>
  void add(std::string_view name, const Value& value) {
    text_ += concat(name, ":", value, "\r\n");
  }
  void add_memory(const std::string& name, std::uint64_t bytes) {
    add(name, bytes);
    add(name + "_human", shown_memory_size(bytes));
  }
  /// Adds fields of events that never happen here.
  void add_zeros(std::initializer_list<std::string_view> names, const char* zero = "0") {
    for (const std::string_view name : names) add(name, zero);
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

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::int64_t difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

/// Returns the memory that the engine keeps for clients.
std::size_t bytes_of_clients(const CommandServices& services) {
  std::size_t bytes = 0;
  for (const auto& session : services.sessions.all()) bytes += session->held_bytes.total();
  return bytes;
}

// ---- Sections ----

void write_server(Context context, InfoFields& fields) {
  constexpr std::int64_t kSecondsPerDay = 86'400;
  const std::int64_t up_s = (context.now_ms() - context.services().began_ms) / kMsPerSecond;
  fields.add("redis_version", kRedisVersion);
  fields.add("rushgate_version", std::string(library_version()));
  fields.add("redis_git_sha1", "00000000");
  fields.add("redis_git_dirty", 0);
  fields.add("redis_build_id", "0");
  fields.add("redis_mode", "standalone");
  fields.add("os", operating_system());
  fields.add("arch_bits", 8 * sizeof(void*));
  fields.add("monotonic_clock", "POSIX clock_gettime");
  fields.add("multiplexing_api", "epoll");
  fields.add("atomicvar_api", "c11-builtin");
  fields.add("gcc_version", compiler_version());
  fields.add("process_id", process_id());
  fields.add("process_supervised", "no");
  fields.add("run_id", context.services().run_id);
  fields.add("tcp_port", context.services().sessions.server().port);
  fields.add("server_time_usec", context.now_ms() * kMsPerSecond);
  fields.add("uptime_in_seconds", up_s);
  fields.add("uptime_in_days", up_s / kSecondsPerDay);
  const std::string hz = config_value(*find_config_parameter("hz"), context);
  fields.add("hz", hz);
  fields.add("configured_hz", hz);
  constexpr std::int64_t kLruClockBits = 24;
  fields.add("lru_clock", context.now_ms() / kMsPerSecond % (std::int64_t{1} << kLruClockBits));
  fields.add("executable", path_of_program());
  fields.add("config_file", "");
  fields.add("io_threads_active", 0);
}

void write_clients(Context context, InfoFields& fields) {
  fields.add("connected_clients", context.services().sessions.size());
  fields.add("cluster_connections", 0);
  fields.add("maxclients", context.services().sessions.server().clients_max);
  fields.add_zeros({"client_recent_max_input_buffer", "client_recent_max_output_buffer"});
  fields.add("blocked_clients", context.services().blocked.count());
  fields.add("tracking_clients", context.services().tracking.clients());
  fields.add("clients_in_timeout_table", context.services().blocked.count_with_timeout());
}

void write_memory(Context context, InfoFields& fields) {
  CommandServices& services = context.services();
  fields.add_memory("used_memory", services.keyspace.memory_bytes());
  const std::uint64_t used = services.keyspace.memory_bytes();
  const std::uint64_t peak = std::max<std::uint64_t>(used, services.memory_peak_bytes);
  const std::uint64_t resident = resident_bytes().value_or(0);
  const std::uint64_t allocated = allocated_bytes();
  const std::uint64_t active = allocator_bytes();
  fields.add_memory("used_memory_rss", resident);
  fields.add_memory("used_memory_peak", peak);
  fields.add("used_memory_peak_perc", absl::StrFormat("%.2f%%", 100 * ratio(used, peak)));
  fields.add_zeros({"used_memory_overhead", "used_memory_startup"});
  fields.add("used_memory_dataset", used);
  fields.add("used_memory_dataset_perc", "100.00%");
  fields.add("allocator_allocated", allocated);
  fields.add("allocator_active", active);
  fields.add("allocator_resident", resident);
  fields.add_memory("total_system_memory", memory_bytes_of_machine());
  const std::uint64_t lua = services.lua.memory_bytes();
  fields.add_memory("used_memory_lua", lua);
  fields.add("used_memory_vm_eval", lua);
  fields.add("used_memory_vm_functions", 0);
  fields.add_memory("used_memory_vm_total", lua);
  fields.add_zeros({"used_memory_scripts_eval", "used_memory_functions"});
  fields.add_memory("used_memory_scripts", 0);
  fields.add("number_of_cached_scripts", services.lua.cached_scripts());
  const LibrarySet& libraries = services.lua.functions().current();
  fields.add("number_of_functions", libraries.functions());
  fields.add("number_of_libraries", libraries.libraries().size());
  fields.add_memory("maxmemory", services.memory_bytes_max);
  fields.add("maxmemory_policy", "noeviction");
  fields.add("allocator_frag_ratio", absl::StrFormat("%.2f", ratio(active, allocated)));
  fields.add("allocator_frag_bytes", difference(active, allocated));
  fields.add("allocator_rss_ratio", absl::StrFormat("%.2f", ratio(resident, active)));
  fields.add("allocator_rss_bytes", difference(resident, active));
  fields.add("rss_overhead_ratio", "1.00");
  fields.add("rss_overhead_bytes", 0);
  fields.add("mem_fragmentation_ratio", absl::StrFormat("%.2f", ratio(resident, used)));
  fields.add("mem_fragmentation_bytes", difference(resident, used));
  fields.add_zeros({"mem_not_counted_for_evict", "mem_replication_backlog",
                    "mem_total_replication_buffers", "mem_clients_slaves"});
  fields.add("mem_clients_normal", bytes_of_clients(services));
  fields.add_zeros({"mem_cluster_links", "mem_aof_buffer"});
  fields.add("mem_allocator", "libc");
  fields.add("active_defrag_running", 0);
  const LazyFree::Counts freed = services.keyspace.lazy_free().counts();
  fields.add("lazyfree_pending_objects", freed.objects_pending);
  fields.add("lazyfreed_objects", freed.objects_later);
  fields.add("rushgate_stream_cache_bytes", services.keyspace.stream_caches().bytes());
}

void write_persistence(Context context, InfoFields& fields) {
  const CommandServices& services = context.services();
  const Durability durability = services.keyspace.store().durability();
  const bool is_ok = services.write_refusal.empty();
  fields.add_zeros(
      {"loading", "async_loading", "current_cow_peak", "current_cow_size", "current_cow_size_age"});
  fields.add("current_fork_perc", "0.00");
  fields.add_zeros({"current_save_keys_processed", "current_save_keys_total",
                    "rdb_changes_since_last_save", "rdb_bgsave_in_progress"});
  fields.add("rdb_last_save_time", services.saved_ms / 1'000);
  fields.add("rdb_last_bgsave_status", is_ok ? "ok" : "err");
  fields.add("rdb_last_bgsave_time_sec", services.saves == 0 ? -1 : 0);
  fields.add("rdb_current_bgsave_time_sec", -1);
  fields.add("rdb_saves", services.saves);
  fields.add_zeros(
      {"rdb_last_cow_size", "rdb_last_load_keys_expired", "rdb_last_load_keys_loaded"});
  fields.add("aof_enabled", durability == Durability::kMemory ? 0 : 1);
  fields.add_zeros({"aof_rewrite_in_progress", "aof_rewrite_scheduled"});
  fields.add("aof_last_rewrite_time_sec", -1);
  fields.add("aof_current_rewrite_time_sec", -1);
  fields.add("aof_last_bgrewrite_status", "ok");
  fields.add_zeros({"aof_rewrites", "aof_rewrites_consecutive_failures"});
  fields.add("aof_last_write_status", is_ok ? "ok" : "err");
  fields.add_zeros({"aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size"});
  fields.add("rushgate_durability", std::string(durability_name(durability)));
  if (services.commits != nullptr) {
    fields.add("rushgate_commits", services.commits->commits.load());
    fields.add("rushgate_syncs", services.commits->syncs.load());
  }
  for (const Store::Figure& figure : services.keyspace.store().figures()) {
    fields.add(concat("rushgate_store_", figure.name), figure.value);
  }
}

void write_stats(Context context, InfoFields& fields) {
  CommandServices& services = context.services();
  Statistics& statistics = services.statistics;
  const Traffic& traffic = services.sessions.traffic();
  fields.add("total_connections_received", services.sessions.begun());
  fields.add("total_commands_processed", statistics.commands);
  fields.add("instantaneous_ops_per_sec",
             statistics.rate.sample(statistics.commands, context.now_ms()));
  fields.add("total_net_input_bytes", traffic.input_bytes.load());
  fields.add("total_net_output_bytes", traffic.output_bytes.load());
  fields.add_zeros({"total_net_repl_input_bytes", "total_net_repl_output_bytes"});
  fields.add_zeros({"instantaneous_input_kbps", "instantaneous_output_kbps",
                    "instantaneous_input_repl_kbps", "instantaneous_output_repl_kbps"},
                   "0.00");
  fields.add("rejected_connections", services.sessions.refused());
  fields.add_zeros({"sync_full", "sync_partial_ok", "sync_partial_err"});
  fields.add("expired_keys", services.keyspace.counts().expired);
  fields.add("expired_stale_perc", "0.00");
  fields.add_zeros({"expired_time_cap_reached_count", "expire_cycle_cpu_milliseconds",
                    "evicted_keys", "evicted_clients", "total_eviction_exceeded_time",
                    "current_eviction_exceeded_time"});
  fields.add("keyspace_hits", statistics.keys_found);
  fields.add("keyspace_misses", statistics.keys_missed);
  fields.add("pubsub_channels", services.channels.count(ChannelKind::kPlain));
  fields.add("pubsub_patterns", services.channels.count(ChannelKind::kPattern));
  fields.add("pubsubshard_channels", services.channels.count(ChannelKind::kShard));
  fields.add_zeros({"latest_fork_usec", "total_forks", "migrate_cached_sockets",
                    "slave_expires_tracked_keys", "active_defrag_hits", "active_defrag_misses",
                    "active_defrag_key_hits", "active_defrag_key_misses",
                    "total_active_defrag_time", "current_active_defrag_time"});
  fields.add("tracking_total_keys", services.tracking.keys());
  fields.add("tracking_total_items", services.tracking.reads());
  fields.add("tracking_total_prefixes", services.tracking.prefixes());
  fields.add("unexpected_error_replies", 0);
  fields.add("total_error_replies", statistics.errors.total());
  fields.add("dump_payload_sanitizations", 0);
  fields.add("total_reads_processed", traffic.reads.load());
  fields.add("total_writes_processed", traffic.writes.load());
  fields.add_zeros({"io_threaded_reads_processed", "io_threaded_writes_processed",
                    "reply_buffer_shrinks", "reply_buffer_expands"});
}

void write_replication(Context context, InfoFields& fields) {
  fields.add("role", "master");
  fields.add("connected_slaves", 0);
  fields.add("master_failover_state", "no-failover");
  fields.add("master_replid", context.services().run_id);
  fields.add("master_replid2", std::string(context.services().run_id.size(), '0'));
  fields.add("master_repl_offset", 0);
  fields.add("second_repl_offset", -1);
  fields.add("repl_backlog_active", 0);
  fields.add("repl_backlog_size",
             config_value(*find_config_parameter("repl-backlog-size"), context));
  fields.add_zeros({"repl_backlog_first_byte_offset", "repl_backlog_histlen"});
}

void write_cpu(Context /*context*/, InfoFields& fields) {
  const CpuTimes process = cpu_of_process();
  const CpuTimes children = cpu_of_children();
  fields.add_seconds("used_cpu_sys", process.system_us);
  fields.add_seconds("used_cpu_user", process.user_us);
  fields.add_seconds("used_cpu_sys_children", children.system_us);
  fields.add_seconds("used_cpu_user_children", children.user_us);
  const CpuTimes thread = cpu_of_thread();
  fields.add_seconds("used_cpu_sys_main_thread", thread.system_us);
  fields.add_seconds("used_cpu_user_main_thread", thread.user_us);
}

void write_modules(Context /*context*/, InfoFields& /*fields*/) {}

void write_commands(Context context, InfoFields& fields) {
  for (const CommandSpec& spec : command_table()) {
    const CommandStatistics& of = context.services().statistics.by_command[spec];
    if (of.calls == 0 && of.rejected == 0 && of.failed == 0) continue;
    const double us = static_cast<double>(of.timed_ns) / double{kNsPerUs};
    const std::uint64_t timed = of.latency == nullptr ? 0 : of.latency->count();
    fields.add("cmdstat_" + std::string(spec.name),
               absl::StrFormat("calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,"
                               "failed_calls=%d",
                               of.calls, us, timed == 0 ? 0 : us / static_cast<double>(timed),
                               of.rejected, of.failed));
  }
}

void write_errors(Context context, InfoFields& fields) {
  for (const auto& [code, count] : context.services().statistics.errors.by_code()) {
    std::string shown = code;
    std::ranges::replace_if(
        shown, [](char c) { return c == '#' || c == ':' || c == '\r' || c == '\n'; }, '_');
    fields.add("errorstat_" + shown, concat("count=", count));
  }
}

std::string shown_percentiles(const LatencyHistogram& latency, const std::string& percentiles) {
  std::string shown;
  for (const absl::string_view percent : absl::StrSplit(percentiles, ' ', absl::SkipEmpty())) {
    double value = 0;
    static_cast<void>(absl::SimpleAtod(percent, &value));
    absl::StrAppendFormat(&shown, "%sp%s=%.3f", shown.empty() ? "" : ",", percent,
                          static_cast<double>(latency.percentile(value)) / double{kNsPerUs});
  }
  return shown;
}

void write_latencies(Context context, InfoFields& fields) {
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

void write_cluster(Context /*context*/, InfoFields& fields) { fields.add("cluster_enabled", 0); }

void write_keyspace(Context context, InfoFields& fields) {
  for (std::size_t i = 0; i < Keyspace::kDatabases; ++i) {
    const Database& db = context.keyspace().db(i);
    if (db.size() == 0) continue;
    fields.add("db" + std::to_string(i), concat("keys=", db.size(), ",expires=", db.expiring(),
                                                ",avg_ttl=", db.average_ttl_ms()));
  }
}

struct Section {
  std::string_view name;
  std::string_view title;
  void (*write)(Context context, InfoFields& fields);
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
    InfoFields fields;
    section.write(context, fields);
    info += fields.text();
  }
  return Reply::verbatim("txt:" + info);
}

// ---- The records ----

constexpr CommandSpec kInfoCommands[] = {
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

CommandFamily info_commands() { return {CommandGroup::kServer, kInfoCommands}; }

}  // namespace rushgate
