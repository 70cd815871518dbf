#include "engine/redis/commands/config_parameters.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/sessions.h"
#include "engine/redis/commands/settings.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/script/lua_host.h"

namespace rushgate {
namespace {

using ParameterKind = ConfigParameter::Kind;
using Use = ConfigParameter::Use;
using Context = const CommandContext&;
using Services = CommandServices&;

constexpr std::uint64_t kMaxLong = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxUnsignedLong = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kMinInt = std::numeric_limits<std::int32_t>::min();
constexpr std::uint64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

// ---- The parameters that work ----

template <std::int64_t EncodingLimits::*kLimit>
std::string read_limit(Context context) {
  return std::to_string(context.keyspace().limits().*kLimit);
}

template <std::int64_t EncodingLimits::*kLimit>
void write_limit(Services services, const ConfigValue& value) {
  EncodingLimits limits = services.keyspace.limits();
  limits.*kLimit = value.number;
  services.keyspace.set_limits(limits);
}

template <std::int64_t EncodingLimits::*kLimit>
constexpr ConfigParameter limit(std::string_view name, std::string_view old_name,
                                ParameterKind kind, std::int64_t min = 0,
                                std::uint64_t max = kMaxLong) {
  return {.name = name,
          .old_name = old_name,
          .kind = kind,
          .use = Use::kWorks,
          .min = min,
          .max = max,
          .read = read_limit<kLimit>,
          .write = write_limit<kLimit>};
}

std::string shown(bool is_on) { return is_on ? "yes" : "no"; }

template <std::int64_t ServerSettings::*kSetting>
std::string read_server(Context context) {
  return std::to_string(context.services().sessions.server().*kSetting);
}

template <std::int64_t ServerSettings::*kSetting>
void write_server(Services services, const ConfigValue& value) {
  ServerSettings server = services.sessions.server();
  server.*kSetting = value.number;
  services.sessions.set_server(server);
}

template <std::int64_t Settings::*kSetting>
std::string read_setting(Context context) {
  return std::to_string(context.services().settings.*kSetting);
}

template <std::int64_t Settings::*kSetting>
void write_setting(Services services, const ConfigValue& value) {
  services.settings.*kSetting = value.number;
}

template <std::int64_t Settings::*kSetting>
constexpr ConfigParameter setting(std::string_view name, std::int64_t min = 0) {
  return {.name = name,
          .kind = ParameterKind::kNumber,
          .use = Use::kWorks,
          .min = min,
          .max = kMaxLong,
          .read = read_setting<kSetting>,
          .write = write_setting<kSetting>};
}

constexpr ConfigParameter kWorking[] = {
    limit<&EncodingLimits::hash_entries>("hash-max-listpack-entries", "hash-max-ziplist-entries",
                                         ParameterKind::kNumber),
    limit<&EncodingLimits::hash_value_bytes>("hash-max-listpack-value", "hash-max-ziplist-value",
                                             ParameterKind::kMemory),
    limit<&EncodingLimits::set_integers>("set-max-intset-entries", {}, ParameterKind::kNumber),
    limit<&EncodingLimits::zset_entries>("zset-max-listpack-entries", "zset-max-ziplist-entries",
                                         ParameterKind::kNumber),
    limit<&EncodingLimits::zset_value_bytes>("zset-max-listpack-value", "zset-max-ziplist-value",
                                             ParameterKind::kMemory),
    limit<&EncodingLimits::list_node_size>("list-max-listpack-size", "list-max-ziplist-size",
                                           ParameterKind::kNumber, kMinInt, kMaxInt),
    limit<&EncodingLimits::hll_sparse_bytes>("hll-sparse-max-bytes", {}, ParameterKind::kMemory),
    limit<&EncodingLimits::stream_node_bytes>("stream-node-max-bytes", {}, ParameterKind::kMemory),
    limit<&EncodingLimits::stream_node_entries>("stream-node-max-entries", {},
                                                ParameterKind::kNumber),
    {.name = "busy-reply-threshold",
     .old_name = "lua-time-limit",
     .kind = ParameterKind::kNumber,
     .use = Use::kWorks,
     .max = kMaxLong,
     .read = [](Context context) { return std::to_string(context.services().lua.busy_after_ms()); },
     .write = [](Services services,
                 const ConfigValue& value) { services.lua.set_busy_after_ms(value.number); }},
    {.name = "maxmemory",
     .kind = ParameterKind::kMemory,
     .use = Use::kWorks,
     .max = kMaxUnsignedLong,
     .read = [](Context context) { return std::to_string(context.services().memory_bytes_max); },
     .write =
         [](Services services, const ConfigValue& value) {
           services.memory_bytes_max = static_cast<std::uint64_t>(value.number);
         }},
    {.name = "latency-tracking",
     .kind = ParameterKind::kYesOrNo,
     .use = Use::kWorks,
     .read = [](Context context) { return shown(context.services().settings.latency_tracking); },
     .write = [](Services services,
                 const ConfigValue& value) { services.settings.latency_tracking = value.number; }},
    {.name = "latency-tracking-info-percentiles",
     .kind = ParameterKind::kPercentiles,
     .use = Use::kWorks,
     .read = [](Context context) { return context.services().settings.latency_percentiles; },
     .write = [](Services services,
                 const ConfigValue& value) { services.settings.latency_percentiles = value.text; }},
    setting<&Settings::slowlog_log_slower_than_us>("slowlog-log-slower-than", -1),
    setting<&Settings::slowlog_max_len>("slowlog-max-len"),
    setting<&Settings::latency_monitor_threshold_ms>("latency-monitor-threshold"),
    {.name = "tracking-table-max-keys",
     .kind = ParameterKind::kNumber,
     .use = Use::kWorks,
     .max = kMaxLong,
     .read =
         [](Context context) {
           return std::to_string(context.services().settings.tracked_keys_max);
         },
     .write =
         [](Services services, const ConfigValue& value) {
           services.settings.tracked_keys_max = value.number;
           services.tracking.shrink();
         }},
    {.name = "notify-keyspace-events",
     .kind = ParameterKind::kKeyEvents,
     .use = Use::kWorks,
     .read = [](Context context) { return key_event_letters(context.keyspace().events().flags()); },
     .write =
         [](Services services, const ConfigValue& value) {
           services.keyspace.events().set_flags(static_cast<std::uint16_t>(value.number));
         }},
    {.name = "proto-max-bulk-len",
     .kind = ParameterKind::kMemory,
     .use = Use::kWorks,
     .min = 1'048'576,
     .max = kStringBytesMax,
     .read =
         [](Context context) {
           const std::size_t bytes = context.services().settings.string_bytes_max;
           return std::to_string(bytes);
         },
     .write =
         [](Services services, const ConfigValue& value) {
           services.settings.string_bytes_max = static_cast<std::size_t>(value.number);
         }},
    {.name = "timeout",
     .kind = ParameterKind::kNumber,
     .use = Use::kWorks,
     .max = kMaxInt,
     .read = read_server<&ServerSettings::idle_timeout_s>,
     .write = write_server<&ServerSettings::idle_timeout_s>},
    {.name = "tcp-keepalive",
     .kind = ParameterKind::kNumber,
     .use = Use::kWorks,
     .max = kTcpKeepaliveMaxS,
     .read = read_server<&ServerSettings::tcp_keepalive_s>,
     .write = write_server<&ServerSettings::tcp_keepalive_s>},
};

// ---- The parameters without effect ----

constexpr ConfigParameter number(std::string_view name, std::string_view initial, std::int64_t min,
                                 std::uint64_t max, std::string_view old_name = {}) {
  return {.name = name,
          .old_name = old_name,
          .kind = ParameterKind::kNumber,
          .min = min,
          .max = max,
          .initial = initial};
}
constexpr ConfigParameter memory(std::string_view name, std::string_view initial, std::int64_t min,
                                 std::uint64_t max) {
  return {.name = name, .kind = ParameterKind::kMemory, .min = min, .max = max, .initial = initial};
}
constexpr ConfigParameter yes_or_no(std::string_view name, std::string_view initial,
                                    std::string_view old_name = {}) {
  return {.name = name, .old_name = old_name, .kind = ParameterKind::kYesOrNo, .initial = initial};
}
constexpr ConfigParameter choice(std::string_view name, std::string_view initial,
                                 std::string_view choices) {
  return {.name = name, .kind = ParameterKind::kChoice, .choices = choices, .initial = initial};
}
constexpr ConfigParameter string(std::string_view name, std::string_view initial,
                                 std::string_view old_name = {}) {
  return {.name = name, .old_name = old_name, .kind = ParameterKind::kString, .initial = initial};
}

constexpr ConfigParameter kWithoutEffect[] = {
    {.name = "save", .kind = ParameterKind::kSavePoints},
    choice("acl-pubsub-default", "resetchannels", "allchannels, resetchannels"),
    number("acllog-max-len", "128", 0, kMaxLong),
    number("active-defrag-cycle-max", "25", 1, 99),
    number("active-defrag-cycle-min", "1", 1, 99),
    memory("active-defrag-ignore-bytes", "104857600", 1, kMaxLong),
    number("active-defrag-max-scan-fields", "1000", 1, kMaxLong),
    number("active-defrag-threshold-lower", "10", 0, 1'000),
    number("active-defrag-threshold-upper", "100", 0, 1'000),
    number("active-expire-effort", "1", 1, 10),
    yes_or_no("activerehashing", "yes"),
    yes_or_no("aof-disable-auto-gc", "no"),
    yes_or_no("aof-load-truncated", "yes"),
    yes_or_no("aof-rewrite-incremental-fsync", "yes"),
    yes_or_no("aof-timestamp-enabled", "no"),
    yes_or_no("aof-use-rdb-preamble", "yes"),
    memory("auto-aof-rewrite-min-size", "67108864", 0, kMaxLong),
    number("auto-aof-rewrite-percentage", "100", 0, kMaxInt),
    string("bind-source-addr", ""),
    yes_or_no("cluster-allow-pubsubshard-when-down", "yes"),
    yes_or_no("cluster-allow-reads-when-down", "no"),
    yes_or_no("cluster-allow-replica-migration", "yes"),
    number("cluster-announce-bus-port", "0", 0, 65'535),
    string("cluster-announce-ip", ""),
    number("cluster-announce-port", "0", 0, 65'535),
    number("cluster-announce-tls-port", "0", 0, 65'535),
    memory("cluster-link-sendbuf-limit", "0", 0, kMaxUnsignedLong),
    number("cluster-migration-barrier", "1", 0, kMaxInt),
    number("cluster-node-timeout", "15000", 0, kMaxLong),
    choice("cluster-preferred-endpoint-type", "ip", "ip, hostname, unknown-endpoint"),
    yes_or_no("cluster-replica-no-failover", "no", "cluster-slave-no-failover"),
    number("cluster-replica-validity-factor", "10", 0, kMaxInt, "cluster-slave-validity-factor"),
    yes_or_no("cluster-require-full-coverage", "yes"),
    yes_or_no("crash-log-enabled", "yes"),
    yes_or_no("crash-memcheck-enabled", "yes"),
    yes_or_no("dynamic-hz", "yes"),
    number("hz", "10", 0, kMaxInt),
    string("ignore-warnings", ""),
    yes_or_no("jemalloc-bg-thread", "yes"),
    yes_or_no("lazyfree-lazy-eviction", "no"),
    yes_or_no("lazyfree-lazy-expire", "no"),
    yes_or_no("lazyfree-lazy-server-del", "no"),
    yes_or_no("lazyfree-lazy-user-del", "no"),
    yes_or_no("lazyfree-lazy-user-flush", "no"),
    number("lfu-decay-time", "1", 0, kMaxInt),
    number("lfu-log-factor", "10", 0, kMaxInt),
    number("list-compress-depth", "0", 0, kMaxInt),
    choice("loglevel", "notice", "debug, verbose, notice, warning"),
    string("masterauth", ""),
    string("masteruser", ""),
    number("maxmemory-eviction-tenacity", "10", 0, 100),
    number("maxmemory-samples", "5", 1, kMaxInt),
    number("min-replicas-max-lag", "10", 0, kMaxInt, "min-slaves-max-lag"),
    yes_or_no("no-appendfsync-on-rewrite", "no"),
    choice("propagation-error-behavior", "ignore", "ignore, panic, panic-on-replicas"),
    yes_or_no("rdb-del-sync-files", "no"),
    yes_or_no("rdb-save-incremental-fsync", "yes"),
    yes_or_no("rdbcompression", "yes"),
    number("repl-backlog-ttl", "3600", 0, kMaxLong),
    yes_or_no("repl-disable-tcp-nodelay", "no"),
    choice("repl-diskless-load", "disabled", "disabled, on-empty-db, swapdb"),
    yes_or_no("repl-diskless-sync", "yes"),
    number("repl-diskless-sync-delay", "5", 0, kMaxInt),
    number("repl-diskless-sync-max-replicas", "0", 0, kMaxInt),
    number("repl-ping-replica-period", "10", 1, kMaxInt, "repl-ping-slave-period"),
    number("repl-timeout", "60", 1, kMaxInt),
    string("replica-announce-ip", "", "slave-announce-ip"),
    number("replica-announce-port", "0", 0, 65'535, "slave-announce-port"),
    yes_or_no("replica-announced", "yes"),
    yes_or_no("replica-ignore-disk-write-errors", "no"),
    yes_or_no("replica-ignore-maxmemory", "yes", "slave-ignore-maxmemory"),
    yes_or_no("replica-lazy-flush", "no", "slave-lazy-flush"),
    number("replica-priority", "100", 0, kMaxInt, "slave-priority"),
    yes_or_no("replica-read-only", "yes", "slave-read-only"),
    yes_or_no("replica-serve-stale-data", "yes", "slave-serve-stale-data"),
    choice("sanitize-dump-payload", "no", "no, yes, clients"),
    choice("shutdown-on-sigint", "default", "default, save, nosave, now, force"),
    choice("shutdown-on-sigterm", "default", "default, save, nosave, now, force"),
    number("shutdown-timeout", "10", 0, kMaxInt),
    yes_or_no("stop-writes-on-bgsave-error", "yes"),
};

// ---- The fixed parameters ----

Durability durability(Context context) { return context.keyspace().store().durability(); }

std::string read_sync_policy(Context context) {
  switch (durability(context)) {
    case Durability::kOs:
      return "no";
    case Durability::kSync:
      return "always";
    case Durability::kMemory:
    case Durability::kEverySec:
      break;
  }
  return "everysec";
}

/// There are no replicas.
std::string read_output_limits(Context context) {
  const ServerSettings server = context.services().sessions.server();
  return concat("normal ", server.output_bytes_max, " 0 0 slave 0 0 0 pubsub ",
                server.subscriber_bytes_max, " ", server.subscriber_soft_bytes_max, " ",
                server.subscriber_soft_s);
}

/// The directory to which the paths of this process are relative.
std::string read_directory(Context /*context*/) {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

constexpr std::string_view kOfStore = "the durability is chosen when the store is opened";
constexpr std::string_view kOfServer = "it is an option of the server, which is set when it starts";
constexpr std::string_view kOfProgram = "the process belongs to its program";
constexpr std::string_view kNoTls = "the server has no TLS";
constexpr std::string_view kNoReplicas = "there are no replicas";

constexpr ConfigParameter fixed(std::string_view name, std::string_view value,
                                std::string_view refusal = {}) {
  return {.name = name, .use = Use::kFixed, .initial = value, .refusal = refusal};
}
constexpr ConfigParameter fixed(std::string_view name, std::string (*read)(Context context),
                                std::string_view refusal = {}) {
  return {.name = name, .use = Use::kFixed, .read = read, .refusal = refusal};
}

constexpr ConfigParameter kFixed[] = {
    {.name = "maxmemory-policy",
     .kind = ParameterKind::kChoice,
     .use = Use::kFixed,
     .choices = "volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, "
                "allkeys-lfu, allkeys-random, noeviction",
     .initial = "noeviction",
     .refusal = "no keys are evicted here: the only policy is noeviction"},
    fixed(
        "appendonly",
        [](Context context) { return shown(durability(context) != Durability::kMemory); },
        kOfStore),
    fixed("appendfsync", read_sync_policy, kOfStore),
    fixed("bind", "", kOfServer),
    fixed("client-output-buffer-limit", read_output_limits, kOfServer),
    fixed(
        "client-query-buffer-limit",
        [](Context c) { return std::to_string(c.services().sessions.server().query_bytes_max); },
        kOfServer),
    fixed("databases", [](Context) { return std::to_string(Keyspace::kDatabases); }),
    fixed("enable-debug-command",
          [](Context context) { return shown(context.services().settings.debug_commands); }),
    fixed("dir", read_directory, kOfProgram),
    fixed(
        "maxclients",
        [](Context c) { return std::to_string(c.services().sessions.server().clients_max); },
        kOfServer),
    fixed(
        "maxmemory-clients",
        [](Context c) { return std::to_string(c.services().sessions.server().clients_bytes_max); },
        kOfServer),
    {.name = "min-replicas-to-write",
     .old_name = "min-slaves-to-write",
     .use = Use::kFixed,
     .initial = "0",
     .refusal = kNoReplicas},
    fixed(
        "port", [](Context c) { return std::to_string(c.services().sessions.server().port); },
        kOfServer),
    fixed("protected-mode", "yes", "without a password, a server listens on loopback only"),
    {.name = "replicaof", .old_name = "slaveof", .use = Use::kFixed},
    fixed(
        "requirepass", [](Context c) { return c.session().password; }, kOfServer),
    fixed("activedefrag", "no", "memory is not defragmented"),
    fixed("cluster-announce-hostname", "", "there is no cluster"),
    fixed("proc-title-template", "{title} {listen-addr} {server-mode}", kOfProgram),
    fixed("repl-backlog-size", "1048576", kNoReplicas),
    fixed("oom-score-adj", "no", kOfProgram),
    fixed("oom-score-adj-values", "0 200 800", kOfProgram),
    fixed("unixsocket", ""),
    fixed("logfile", ""),
    fixed("pidfile", ""),
    fixed("aclfile", ""),
    fixed("always-show-logo", "no"),
    fixed("aof_rewrite_cpulist", ""),
    fixed("appenddirname", "appendonlydir"),
    fixed("appendfilename", "appendonly.aof"),
    fixed("bgsave_cpulist", ""),
    fixed("bio_cpulist", ""),
    fixed("cluster-config-file", "nodes.conf"),
    fixed("cluster-enabled", "no"),
    fixed("cluster-port", "0"),
    fixed("daemonize", "no"),
    fixed("dbfilename", "dump.rdb"),
    fixed("disable-thp", "yes"),
    fixed("enable-module-command", "no"),
    fixed("enable-protected-configs", "no"),
    fixed("io-threads", "1"),
    fixed("io-threads-do-reads", "no"),
    fixed("rdbchecksum", "yes"),
    fixed("server_cpulist", ""),
    fixed("set-proc-title", "yes"),
    fixed("socket-mark-id", "0"),
    fixed("supervised", "no"),
    fixed("syslog-enabled", "no"),
    fixed("syslog-facility", "local0"),
    fixed("syslog-ident", "redis"),
    fixed("tcp-backlog", "511"),
    fixed("unixsocketperm", "0"),
    fixed("tls-auth-clients", "yes", kNoTls),
    fixed("tls-ca-cert-dir", "", kNoTls),
    fixed("tls-ca-cert-file", "", kNoTls),
    fixed("tls-cert-file", "", kNoTls),
    fixed("tls-ciphers", "", kNoTls),
    fixed("tls-ciphersuites", "", kNoTls),
    fixed("tls-client-cert-file", "", kNoTls),
    fixed("tls-client-key-file", "", kNoTls),
    fixed("tls-client-key-file-pass", "", kNoTls),
    fixed("tls-cluster", "no", kNoTls),
    fixed("tls-dh-params-file", "", kNoTls),
    fixed("tls-key-file", "", kNoTls),
    fixed("tls-key-file-pass", "", kNoTls),
    fixed("tls-port", "0", kNoTls),
    fixed("tls-prefer-server-ciphers", "no", kNoTls),
    fixed("tls-protocols", "", kNoTls),
    fixed("tls-replication", "no", kNoTls),
    fixed("tls-session-cache-size", "20480", kNoTls),
    fixed("tls-session-cache-timeout", "300", kNoTls),
    fixed("tls-session-caching", "yes", kNoTls),
};

std::vector<ConfigParameter> all_parameters() {
  std::vector<ConfigParameter> all(std::begin(kWorking), std::end(kWorking));
  all.insert(all.end(), std::begin(kWithoutEffect), std::end(kWithoutEffect));
  all.insert(all.end(), std::begin(kFixed), std::end(kFixed));
  return all;
}

}  // namespace

std::span<const ConfigParameter> config_parameters() {
  static const std::vector<ConfigParameter> kAll = all_parameters();
  return kAll;
}

const ConfigParameter* find_config_parameter(std::string_view name) {
  const auto all = config_parameters();
  const auto found = std::ranges::find_if(all, [&](const ConfigParameter& parameter) {
    return equal_in_any_case(name, parameter.name) ||
           (!parameter.old_name.empty() && equal_in_any_case(name, parameter.old_name));
  });
  return found == all.end() ? nullptr : &*found;
}

std::string config_value(const ConfigParameter& parameter, const CommandContext& context) {
  if (parameter.read != nullptr) return parameter.read(context);
  const auto& values = context.services().settings.without_effect;
  const auto found = values.find(parameter.name);
  return found == values.end() ? std::string(parameter.initial) : found->second;
}

}  // namespace rushgate
