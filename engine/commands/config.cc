// The settings that have an effect here:
// https://redis.io/docs/latest/commands/config-get/
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/memory_size.h"
#include "engine/base/numbers.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_families.h"
#include "engine/commands/errors.h"
#include "engine/commands/glob.h"
#include "engine/commands/help_reply.h"
#include "engine/commands/limits.h"
#include "engine/commands/sessions.h"
#include "engine/commands/settings.h"
#include "engine/script/lua_host.h"

namespace rushgate {
namespace {

// ---- The table ----

constexpr std::uint64_t kMaxLong = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxUnsignedLong = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kMinInt = std::numeric_limits<std::int32_t>::min();
constexpr std::uint64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

/// The settings that can be changed, except the policy; yes and no are 1 and 0.
struct Numbers : EncodingLimits {
  std::int64_t busy_after_ms;
  std::int64_t memory_bytes_max;  // unsigned, as bits
  std::int64_t latency_tracking;
  std::int64_t key_events;  // of KeyEventFlag
};

enum class SettingKind : std::uint8_t {
  kNumber,
  kMemory,  // bytes with an optional unit; unsigned
  kYesOrNo,
  kLetters,  // notify-keyspace-events
  kPolicy,   // maxmemory-policy, which is not a number
};

struct Setting {
  std::string_view name;
  std::int64_t Numbers::*number;  // null: the policy
  SettingKind kind;
  std::int64_t min = 0;
  std::uint64_t max = kMaxLong;
};

// Each also under its old name.
constexpr Setting kSettings[] = {
    {"hash-max-listpack-entries", &EncodingLimits::hash_entries, SettingKind::kNumber},
    {"hash-max-ziplist-entries", &EncodingLimits::hash_entries, SettingKind::kNumber},
    {"hash-max-listpack-value", &EncodingLimits::hash_value_bytes, SettingKind::kMemory},
    {"hash-max-ziplist-value", &EncodingLimits::hash_value_bytes, SettingKind::kMemory},
    {"set-max-intset-entries", &EncodingLimits::set_integers, SettingKind::kNumber},
    {"zset-max-listpack-entries", &EncodingLimits::zset_entries, SettingKind::kNumber},
    {"zset-max-ziplist-entries", &EncodingLimits::zset_entries, SettingKind::kNumber},
    {"zset-max-listpack-value", &EncodingLimits::zset_value_bytes, SettingKind::kMemory},
    {"zset-max-ziplist-value", &EncodingLimits::zset_value_bytes, SettingKind::kMemory},
    {"list-max-listpack-size", &EncodingLimits::list_node_size, SettingKind::kNumber, kMinInt,
     kMaxInt},
    {"list-max-ziplist-size", &EncodingLimits::list_node_size, SettingKind::kNumber, kMinInt,
     kMaxInt},
    {"busy-reply-threshold", &Numbers::busy_after_ms, SettingKind::kNumber},
    {"lua-time-limit", &Numbers::busy_after_ms, SettingKind::kNumber},
    {"maxmemory", &Numbers::memory_bytes_max, SettingKind::kMemory, 0, kMaxUnsignedLong},
    {"maxmemory-policy", nullptr, SettingKind::kPolicy},
    {"latency-tracking", &Numbers::latency_tracking, SettingKind::kYesOrNo},
    {"notify-keyspace-events", &Numbers::key_events, SettingKind::kLetters},
};

constexpr std::string_view kOnlyPolicy = "noeviction";

/// Settings that can be read but not changed.
struct FixedSetting {
  std::string_view name;
  std::string (*value)(const CommandServices& services);
};

Durability durability(const CommandServices& services) {
  return services.keyspace.store().durability();
}

std::string sync_policy(const CommandServices& services) {
  switch (durability(services)) {
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
std::string output_limits(const CommandServices& services) {
  const ServerSettings server = services.sessions.server();
  return absl::StrCat("normal ", server.output_bytes_max, " 0 0 slave 0 0 0 pubsub ",
                      server.subscriber_bytes_max, " ", server.subscriber_soft_bytes_max, " ",
                      server.subscriber_soft_s);
}

using Services = const CommandServices&;
constexpr FixedSetting kFixed[] = {
    {"appendonly",
     [](Services s) { return std::string(durability(s) == Durability::kMemory ? "no" : "yes"); }},
    {"appendfsync", sync_policy},
    {"client-output-buffer-limit", output_limits},
    {"client-query-buffer-limit",
     [](Services s) { return std::to_string(s.sessions.server().query_bytes_max); }},
    {"databases", [](Services) { return std::to_string(Keyspace::kDatabases); }},
    {"latency-tracking-info-percentiles",
     [](Services) { return std::string(kLatencyPercentiles); }},
    {"maxclients", [](Services s) { return std::to_string(s.sessions.server().clients_max); }},
    {"maxmemory-clients",
     [](Services s) { return std::to_string(s.sessions.server().clients_bytes_max); }},
    {"port", [](Services s) { return std::to_string(s.sessions.server().port); }},
    {"proto-max-bulk-len", [](Services) { return std::to_string(kStringBytesMax); }},
    {"save", [](Services) { return std::string(); }},
    {"stream-node-max-bytes", [](Services) { return std::string("0"); }},
    {"stream-node-max-entries",
     [](Services) { return std::to_string(StreamCounters::kNodeEntries); }},
    {"tcp-keepalive",
     [](Services s) { return std::to_string(s.sessions.server().tcp_keepalive_s); }},
    {"timeout", [](Services s) { return std::to_string(s.sessions.server().idle_timeout_s); }},
};

/// Returns the row of a name, in any case; null if there is none.
template <class Row, std::size_t kCount>
const Row* find_setting(const Row (&settings)[kCount], std::string_view name) {
  const auto found = std::find_if(std::begin(settings), std::end(settings), [&](const Row& row) {
    return equal_in_any_case(name, row.name);
  });
  return found == std::end(settings) ? nullptr : found;
}

Numbers numbers_of(const CommandServices& services) {
  return {services.keyspace.limits(), services.lua.busy_after_ms(),
          static_cast<std::int64_t>(services.memory_bytes_max),
          services.settings.latency_tracking ? 1 : 0, services.keyspace.events().flags()};
}

void set_numbers(const Numbers& numbers, CommandServices& services) {
  services.keyspace.set_limits(numbers);
  services.lua.set_busy_after_ms(numbers.busy_after_ms);
  services.memory_bytes_max = static_cast<std::uint64_t>(numbers.memory_bytes_max);
  services.settings.latency_tracking = numbers.latency_tracking != 0;
  services.keyspace.events().set_flags(static_cast<std::uint16_t>(numbers.key_events));
}

std::string value_of(const Setting& setting, const Numbers& numbers) {
  if (setting.kind == SettingKind::kPolicy) return std::string(kOnlyPolicy);
  const std::int64_t number = numbers.*setting.number;
  if (setting.kind == SettingKind::kLetters)
    return key_event_letters(static_cast<std::uint16_t>(number));
  if (setting.kind == SettingKind::kYesOrNo) return number != 0 ? "yes" : "no";
  return setting.kind == SettingKind::kMemory ? std::to_string(static_cast<std::uint64_t>(number))
                                              : std::to_string(number);
}

// ---- CONFIG GET ----

/// Returns the setting's name in the reply: its name, or the spelling of the request. Empty if none
/// of the patterns (arguments from the third on) matches.
std::optional<std::string_view> asked_for(const CommandContext& context, std::string_view name) {
  for (const std::string_view argument : context.request().subspan(2)) {
    const std::string_view pattern = errors::as_c_string(argument);
    if (pattern.find_first_of("[*?") == std::string_view::npos) {
      if (equal_in_any_case(argument, name)) return argument;
    } else if (glob_matches_in_any_case(pattern, name)) {
      return name;
    }
  }
  return std::nullopt;
}

Reply config_get_command(CommandContext& context) {
  const CommandServices& services = context.services();
  std::vector<Reply> names_and_values;
  const auto add = [&](std::string_view name, std::string value) {
    names_and_values.push_back(Reply::bulk(name));
    names_and_values.push_back(Reply::bulk(std::move(value)));
  };
  const Numbers numbers = numbers_of(services);
  for (const Setting& setting : kSettings) {
    if (const auto name = asked_for(context, setting.name)) add(*name, value_of(setting, numbers));
  }
  for (const FixedSetting& setting : kFixed) {
    if (const auto name = asked_for(context, setting.name)) add(*name, setting.value(services));
  }
  return Reply::map(std::move(names_and_values));
}

// ---- CONFIG SET ----

/// Returns true for the only supported policy. Else sets `reason`.
bool is_policy(std::string_view text, std::string& reason) {
  static constexpr std::string_view kPolicies[] = {
      "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
      "allkeys-lru",  "allkeys-lfu",  "allkeys-random",  kOnlyPolicy,
  };
  const std::string_view policy = errors::as_c_string(text);
  if (equal_in_any_case(policy, kOnlyPolicy)) return true;
  if (std::ranges::any_of(
          kPolicies, [&](std::string_view known) { return equal_in_any_case(policy, known); })) {
    reason = "no keys are evicted here: the only policy is noeviction";
    return false;
  }
  reason = "argument(s) must be one of the following: ";
  for (const std::string_view known : kPolicies) {
    reason += known;
    if (known != kOnlyPolicy) reason += ", ";
  }
  return false;
}

/// Parses yes or no. On failure sets `reason` and returns empty.
std::optional<std::int64_t> parse_yes_or_no(std::string_view text, std::string& reason) {
  const std::string_view word = errors::as_c_string(text);
  if (equal_in_any_case(word, "yes")) return 1;
  if (equal_in_any_case(word, "no")) return 0;
  reason = "argument must be 'yes' or 'no'";
  return std::nullopt;
}

/// Parses notify-keyspace-events. On failure sets `reason` and returns empty.
std::optional<std::int64_t> parse_letters(std::string_view text, std::string& reason) {
  const auto flags = parse_key_events(errors::as_c_string(text));
  if (!flags) reason = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
  return flags;
}

/// Parses a value of the setting. On failure sets `reason` and returns empty.
std::optional<std::int64_t> parse_number(const Setting& setting, std::string_view text,
                                         std::string& reason) {
  if (setting.kind == SettingKind::kYesOrNo) return parse_yes_or_no(text, reason);
  if (setting.kind == SettingKind::kLetters) return parse_letters(text, reason);
  const bool is_memory = setting.kind == SettingKind::kMemory;
  bool is_within = false;
  std::optional<std::int64_t> number;
  if (is_memory) {
    const auto size = parse_memory_size(errors::as_c_string(text));
    if (size) number = static_cast<std::int64_t>(*size);
    is_within = size && *size <= setting.max;
  } else {
    number = parse_int64(text);
    is_within = number && *number >= setting.min &&
                (*number < 0 || static_cast<std::uint64_t>(*number) <= setting.max);
  }
  if (is_within) return number;
  if (number) {
    reason = "argument must be between " + std::to_string(setting.min) + " and " +
             std::to_string(setting.max) + " inclusive";
  } else {
    reason = is_memory ? "argument must be a memory value"
                       : "argument couldn't be parsed into an integer";
  }
  return std::nullopt;
}

/// Finds the settings named in the arguments, each once; returns an error if one is invalid.
std::optional<Reply> find_settings(const CommandContext& context,
                                   std::vector<const Setting*>& settings) {
  for (std::size_t i = 2; i < context.size(); i += 2) {
    if (const FixedSetting* const fixed = find_setting(kFixed, context[i]))
      return errors::setting_refused(fixed->name, "can't set immutable config");
    const Setting* const setting = find_setting(kSettings, context[i]);
    if (setting == nullptr) return errors::unknown_setting(context[i]);
    if (std::find(settings.begin(), settings.end(), setting) != settings.end())
      return errors::setting_refused(context[i], "duplicate parameter");
    settings.push_back(setting);
  }
  return std::nullopt;
}

Reply config_set_command(CommandContext& context) {
  if (context.size() % 2 != 0) return errors::syntax();
  std::vector<const Setting*> settings;
  if (auto error = find_settings(context, settings)) return std::move(*error);

  CommandServices& services = context.services();
  Numbers numbers = numbers_of(services);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting& setting = *settings[i];
    const std::string_view text = context[2 * i + 3];
    std::string reason;
    if (setting.kind == SettingKind::kPolicy) {
      if (!is_policy(text, reason)) return errors::setting_refused(setting.name, reason);
      continue;
    }
    const auto number = parse_number(setting, text, reason);
    if (!number) return errors::setting_refused(setting.name, reason);
    numbers.*setting.number = *number;
  }
  set_numbers(numbers, services);
  return Reply::ok();
}

// ---- The others ----

Reply config_resetstat_command(CommandContext& context) {
  CommandServices& services = context.services();
  services.statistics = {};
  services.keyspace.counts() = {};
  services.sessions.reset_counts();
  return Reply::ok();
}

Reply config_rewrite_command(CommandContext&) { return errors::no_configuration_file(); }

Reply config_help_command(CommandContext&) {
  static constexpr std::string_view kLines[] = {
      "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "GET <pattern>",
      "    Return parameters matching the glob-like <pattern> and their values.",
      "SET <directive> <value>",
      "    Set the configuration <directive> to <value>.",
      "RESETSTAT",
      "    Reset statistics reported by the INFO command.",
      "REWRITE",
      "    Rewrite the configuration file.",
      "HELP",
      "    Prints this help.",
  };
  return help_reply(kLines);
}

// ---- The records ----

constexpr CommandSpec kCommands[] = {
    {.name = "config",
     .arity = -2,
     .flags = kContainer,
     .summary = "Reads and changes settings.",
     .since = "2.0.0",
     .complexity = "Depends on the subcommand."},
    {.name = "config|get",
     .function = config_get_command,
     .arity = -3,
     .flags = kAdministers,
     .syntax = "parameter [parameter ...]",
     .summary = "Returns the settings that match, with their values.",
     .since = "2.0.0",
     .complexity = "O(N), N settings requested"},
    {.name = "config|set",
     .function = config_set_command,
     .arity = -4,
     .flags = kAdministers,
     .syntax = "parameter value [parameter value ...]",
     .summary = "Changes settings.",
     .since = "2.0.0",
     .complexity = "O(N), N settings"},
    {.name = "config|resetstat",
     .function = config_resetstat_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Resets the statistics.",
     .since = "2.0.0",
     .complexity = "O(1)"},
    {.name = "config|rewrite",
     .function = config_rewrite_command,
     .arity = 2,
     .flags = kAdministers,
     .summary = "Returns an error: there is no configuration file.",
     .since = "2.8.0",
     .complexity = "O(1)"},
    help_record("config|help", config_help_command, "5.0.0"),
};

}  // namespace

CommandFamily config_commands() { return {CommandGroup::kServer, kCommands}; }

}  // namespace rushgate
