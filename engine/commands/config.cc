// The settings, as far as they mean something here:
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

#include "engine/base/numbers.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/commands/command_functions.h"
#include "engine/commands/errors.h"
#include "engine/commands/glob.h"
#include "engine/commands/limits.h"
#include "engine/commands/subcommands.h"
#include "engine/script/lua_host.h"

namespace rushgate {
namespace {

// ---- The table ----

/// A number that can be changed.
struct NumberSetting {
  std::string_view name;
  std::int64_t EncodingLimits::*limit;  // null: when a script counts as busy
  std::int64_t min;
  std::int64_t max;
  bool is_memory;  // bytes, perhaps with a unit
};

constexpr std::int64_t kMaxLong = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinInt = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

// Each under its old name, too.
constexpr NumberSetting kNumbers[] = {
    {"hash-max-listpack-entries", &EncodingLimits::hash_entries, 0, kMaxLong, false},
    {"hash-max-ziplist-entries", &EncodingLimits::hash_entries, 0, kMaxLong, false},
    {"hash-max-listpack-value", &EncodingLimits::hash_value_bytes, 0, kMaxLong, true},
    {"hash-max-ziplist-value", &EncodingLimits::hash_value_bytes, 0, kMaxLong, true},
    {"set-max-intset-entries", &EncodingLimits::set_integers, 0, kMaxLong, false},
    {"zset-max-listpack-entries", &EncodingLimits::zset_entries, 0, kMaxLong, false},
    {"zset-max-ziplist-entries", &EncodingLimits::zset_entries, 0, kMaxLong, false},
    {"zset-max-listpack-value", &EncodingLimits::zset_value_bytes, 0, kMaxLong, true},
    {"zset-max-ziplist-value", &EncodingLimits::zset_value_bytes, 0, kMaxLong, true},
    {"list-max-listpack-size", &EncodingLimits::list_node_size, kMinInt, kMaxInt, false},
    {"list-max-ziplist-size", &EncodingLimits::list_node_size, kMinInt, kMaxInt, false},
    {"busy-reply-threshold", nullptr, 0, kMaxLong, false},
    {"lua-time-limit", nullptr, 0, kMaxLong, false},
};

/// What can only be asked for.
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

using Services = const CommandServices&;
constexpr FixedSetting kFixed[] = {
    {"appendonly",
     [](Services s) { return std::string(durability(s) == Durability::kMemory ? "no" : "yes"); }},
    {"appendfsync", sync_policy},
    {"databases", [](Services) { return std::to_string(Keyspace::kDatabases); }},
    {"maxclients", [](Services s) { return std::to_string(s.settings.clients_max); }},
    {"maxmemory", [](Services) { return std::string("0"); }},
    {"maxmemory-policy", [](Services) { return std::string("noeviction"); }},
    {"port", [](Services s) { return std::to_string(s.settings.port); }},
    {"proto-max-bulk-len", [](Services) { return std::to_string(kStringBytesMax); }},
    {"save", [](Services) { return std::string(); }},
    {"stream-node-max-bytes", [](Services) { return std::string("0"); }},
    {"stream-node-max-entries", [](Services) { return std::to_string(Stream::kNodeEntries); }},
    {"timeout", [](Services s) { return std::to_string(s.settings.idle_timeout_s); }},
};

/// The row of that name, in any case; null if there is none.
template <class Setting, std::size_t kCount>
const Setting* find_setting(const Setting (&settings)[kCount], std::string_view name) {
  const auto found =
      std::find_if(std::begin(settings), std::end(settings),
                   [&](const Setting& row) { return equal_in_any_case(name, row.name); });
  return found == std::end(settings) ? nullptr : found;
}

std::int64_t value_of(const NumberSetting& setting, const CommandServices& services) {
  if (setting.limit == nullptr) return services.lua.busy_after_ms();
  return services.keyspace.limits().*setting.limit;
}

// ---- CONFIG GET ----

/// What the answer calls the setting: its name, or that name as it was asked for. Nothing if none
/// of the patterns, which are the arguments from the third on, matches.
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

// CONFIG GET parameter [parameter ...]
Reply config_get(CommandContext& context) {
  const CommandServices& services = context.services();
  std::vector<Reply> names_and_values;
  const auto add = [&](std::string_view name, std::string value) {
    names_and_values.push_back(Reply::bulk(name));
    names_and_values.push_back(Reply::bulk(std::move(value)));
  };
  for (const NumberSetting& setting : kNumbers) {
    if (const auto name = asked_for(context, setting.name))
      add(*name, std::to_string(value_of(setting, services)));
  }
  for (const FixedSetting& setting : kFixed) {
    if (const auto name = asked_for(context, setting.name)) add(*name, setting.value(services));
  }
  return Reply::map(std::move(names_and_values));
}

// ---- CONFIG SET ----

/// A number of bytes: "100", "64kb", "1G", ….
std::optional<std::int64_t> parse_memory(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t bytes;
  };
  constexpr Unit kUnits[] = {
      {"", 1},
      {"b", 1},
      {"k", 1000},
      {"kb", 1024},
      {"m", 1'000'000},
      {"mb", 1024 * 1024},
      {"g", 1'000'000'000},
      {"gb", 1024 * 1024 * 1024},
  };
  text = errors::as_c_string(text);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const Unit* const unit = find_setting(kUnits, text.substr(digits));
  const auto count = parse_wrapping_uint64(text.substr(0, digits));
  if (unit == nullptr || (digits > 0 && !count)) return std::nullopt;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count.value_or(0), unit->bytes, &bytes)) return std::nullopt;
  return bytes;
}

/// The value that `text` gives to the setting; or, with `reason` set, nothing.
std::optional<std::int64_t> parse_value(const NumberSetting& setting, std::string_view text,
                                        std::string& reason) {
  const auto value = setting.is_memory ? parse_memory(text) : parse_int64(text);
  if (!value) {
    reason = setting.is_memory ? "argument must be a memory value"
                               : "argument couldn't be parsed into an integer";
    return std::nullopt;
  }
  if (*value >= setting.min && *value <= setting.max) return value;
  reason = "argument must be between " + std::to_string(setting.min) + " and " +
           std::to_string(setting.max) + " inclusive";
  return std::nullopt;
}

/// The settings that the arguments name, each once; or an error.
std::optional<Reply> find_settings(const CommandContext& context,
                                   std::vector<const NumberSetting*>& settings) {
  for (std::size_t i = 2; i < context.size(); i += 2) {
    if (const FixedSetting* const fixed = find_setting(kFixed, context[i]))
      return errors::setting_refused(fixed->name, "can't set immutable config");
    const NumberSetting* const setting = find_setting(kNumbers, context[i]);
    if (setting == nullptr) return errors::unknown_setting(context[i]);
    if (std::find(settings.begin(), settings.end(), setting) != settings.end())
      return errors::setting_refused(context[i], "duplicate parameter");
    settings.push_back(setting);
  }
  return std::nullopt;
}

// CONFIG SET parameter value [parameter value ...]
Reply config_set(CommandContext& context) {
  if (context.size() % 2 != 0) return errors::syntax();
  std::vector<const NumberSetting*> settings;
  if (auto error = find_settings(context, settings)) return std::move(*error);

  CommandServices& services = context.services();
  EncodingLimits limits = services.keyspace.limits();
  std::int64_t busy_after_ms = services.lua.busy_after_ms();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    std::string reason;
    const auto value = parse_value(*settings[i], context[2 * i + 3], reason);
    if (!value) return errors::setting_refused(settings[i]->name, reason);
    (settings[i]->limit == nullptr ? busy_after_ms : limits.*settings[i]->limit) = *value;
  }
  services.keyspace.set_limits(limits);
  services.lua.set_busy_after_ms(busy_after_ms);
  return Reply::ok();
}

// ---- The others ----

// CONFIG RESETSTAT
Reply config_resetstat(CommandContext&) {
  return Reply::ok();  // there are no statistics
}

// CONFIG REWRITE
Reply config_rewrite(CommandContext&) { return errors::no_configuration_file(); }

// CONFIG HELP
Reply config_help(CommandContext&) {
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

}  // namespace

// CONFIG GET | SET | RESETSTAT | REWRITE | HELP
Reply config_command(CommandContext& context) {
  static constexpr Subcommand kSubcommands[] = {
      {"get", config_get, -3},        {"set", config_set, -4},  {"resetstat", config_resetstat, 2},
      {"rewrite", config_rewrite, 2}, {"help", config_help, 2},
  };
  return run_subcommand(context, "config", kSubcommands);
}

}  // namespace rushgate
