// The parameters of CONFIG: https://redis.io/docs/latest/operate/oss_and_stack/management/config/
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/redis/commands/command_context.h"

namespace rushgate {

/// A valid value of a parameter.
struct ConfigValue {
  std::string text;         // as CONFIG GET returns it
  std::int64_t number = 0;  // of numbers, memory sizes (unsigned, as bits), yes (1) and no (0)
};

/// A parameter of Redis 7.0. The replies of CONFIG and docs/commands.md are derived from it.
struct ConfigParameter {
  enum class Kind : std::uint8_t {
    kNumber,
    kMemory,  // bytes with an optional unit; unsigned
    kYesOrNo,
    kChoice,
    kString,
    kKeyEvents,    // notify-keyspace-events
    kSavePoints,   // save
    kPercentiles,  // latency-tracking-info-percentiles
  };
  enum class Use : std::uint8_t {
    kWorks,
    kNoEffect,  // can be set and read
    kFixed,     // can only be set to its present value
  };

  std::string_view name;
  std::string_view old_name = {};  // empty: none
  Kind kind = Kind::kString;
  Use use = Use::kNoEffect;
  std::int64_t min = 0;
  std::uint64_t max = 0;
  std::string_view choices = {};  // separated by ", "
  std::string_view initial = {};  // the value without read(), until it is set
  std::string (*read)(const CommandContext& context) = nullptr;
  void (*write)(CommandServices& services, const ConfigValue& value) = nullptr;  // kWorks
  std::string_view refusal = {};  // kFixed: the reason; empty: Redis's message
};

/// Returns all parameters: first the working ones, then the ones without effect, then the fixed
/// ones.
std::span<const ConfigParameter> config_parameters();

/// Returns the parameter of a name or an old name, in any case; null if there is none.
const ConfigParameter* find_config_parameter(std::string_view name);

/// Returns the present value.
std::string config_value(const ConfigParameter& parameter, const CommandContext& context);

/// Parses a value. If it is invalid, sets `reason` in Redis's words and returns empty.
std::optional<ConfigValue> parse_config_value(const ConfigParameter& parameter,
                                              std::string_view text, std::string& reason);

}  // namespace rushgate
