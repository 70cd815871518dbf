// Reading and changing parameters:
// https://redis.io/docs/latest/commands/config-get/
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/config_parameters.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/glob.h"
#include "engine/redis/commands/help_reply.h"
#include "engine/redis/commands/sessions.h"

namespace rushgate {
namespace {

// ---- CONFIG GET ----

/// Returns a parameter's name in the reply: its name, or the spelling of the request. Empty if none
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
  std::vector<Reply> names_and_values;
  for (const ConfigParameter& parameter : config_parameters()) {
    for (const std::string_view known : {parameter.name, parameter.old_name}) {
      const auto name = known.empty() ? std::nullopt : asked_for(context, known);
      if (!name) continue;
      names_and_values.push_back(Reply::bulk(*name));
      names_and_values.push_back(Reply::bulk(config_value(parameter, context)));
    }
  }
  return Reply::map(std::move(names_and_values));
}

// ---- CONFIG SET ----

/// A parameter under one of its names.
struct NamedParameter {
  const ConfigParameter* parameter;
  std::string_view name;
};

/// Finds the parameters named in the arguments, each name once; returns an error if one is unknown
/// or constant.
std::optional<Reply> find_parameters(const CommandContext& context,
                                     std::vector<NamedParameter>& named) {
  for (std::size_t i = 2; i < context.size(); i += 2) {
    const ConfigParameter* const parameter = find_config_parameter(context[i]);
    if (parameter == nullptr) return errors::unknown_setting(context[i]);
    const bool is_old = !equal_in_any_case(context[i], parameter->name);
    const std::string_view name = is_old ? parameter->old_name : parameter->name;
    if (parameter->use == ConfigParameter::Use::kFixed && parameter->refusal.empty() &&
        errors::as_c_string(context[i + 1]) != config_value(*parameter, context)) {
      return errors::setting_refused(name, "can't set immutable config");
    }
    if (std::ranges::find(named, name, &NamedParameter::name) != named.end())
      return errors::setting_refused(context[i], "duplicate parameter");
    named.push_back({parameter, name});
  }
  return std::nullopt;
}

/// Parses a value that may be set. Else sets `reason` and returns empty.
std::optional<ConfigValue> read_value(const CommandContext& context,
                                      const ConfigParameter& parameter, std::string_view text,
                                      std::string& reason) {
  auto value = parse_config_value(parameter, text, reason);
  if (!value || parameter.use != ConfigParameter::Use::kFixed) return value;
  if (value->text == config_value(parameter, context)) return value;
  reason = parameter.refusal;
  return std::nullopt;
}

void apply(CommandServices& services, const ConfigParameter& parameter, ConfigValue value) {
  switch (parameter.use) {
    case ConfigParameter::Use::kWorks:
      return parameter.write(services, value);
    case ConfigParameter::Use::kNoEffect:
      services.settings.without_effect.insert_or_assign(std::string(parameter.name),
                                                        std::move(value.text));
      return;
    case ConfigParameter::Use::kFixed:
      return;
  }
}

Reply config_set_command(CommandContext& context) {
  if (context.size() % 2 != 0) return errors::syntax();
  std::vector<NamedParameter> named;
  if (auto error = find_parameters(context, named)) return std::move(*error);
  std::vector<ConfigValue> values;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto& [parameter, name] = named[i];
    std::string reason;
    auto value = read_value(context, *parameter, context[2 * i + 3], reason);
    if (!value) return errors::setting_refused(name, reason);
    values.push_back(*std::move(value));
  }
  for (std::size_t i = 0; i < named.size(); ++i)
    apply(context.services(), *named[i].parameter, std::move(values[i]));
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

constexpr CommandSpec kConfigCommands[] = {
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

CommandFamily config_commands() { return {CommandGroup::kServer, kConfigCommands}; }

}  // namespace rushgate
