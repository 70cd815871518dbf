// Values of parameters, parsed as Redis parses them.
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/memory_size.h"
#include "engine/core/base/numbers.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/config_parameters.h"
#include "engine/redis/commands/errors.h"

namespace rushgate {
namespace {

using ParameterKind = ConfigParameter::Kind;

/// A parameter without effect stores its value, which must not take more memory than this.
constexpr std::size_t kStringBytesMaxOfParameter = 4'096;

using Parsed = std::optional<ConfigValue>;

std::string out_of_bounds(const ConfigParameter& parameter) {
  return concat("argument must be between ", parameter.min, " and ", parameter.max, " inclusive");
}

Parsed parse_number(const ConfigParameter& parameter, std::string_view text, std::string& reason) {
  const auto number = parse_int64(text);
  if (!number) {
    reason = "argument couldn't be parsed into an integer";
    return std::nullopt;
  }
  if (*number < parameter.min ||
      (*number >= 0 && static_cast<std::uint64_t>(*number) > parameter.max)) {
    reason = out_of_bounds(parameter);
    return std::nullopt;
  }
  return ConfigValue{std::to_string(*number), *number};
}

Parsed parse_memory(const ConfigParameter& parameter, std::string_view text, std::string& reason) {
  const auto size = parse_memory_size(text);
  if (!size) {
    reason = "argument must be a memory value";
    return std::nullopt;
  }
  if (*size < static_cast<std::uint64_t>(parameter.min) || *size > parameter.max) {
    reason = out_of_bounds(parameter);
    return std::nullopt;
  }
  return ConfigValue{std::to_string(*size), static_cast<std::int64_t>(*size)};
}

Parsed parse_yes_or_no(std::string_view text, std::string& reason) {
  if (equal_in_any_case(text, "yes")) return ConfigValue{"yes", 1};
  if (equal_in_any_case(text, "no")) return ConfigValue{"no", 0};
  reason = "argument must be 'yes' or 'no'";
  return std::nullopt;
}

Parsed parse_choice(const ConfigParameter& parameter, std::string_view text, std::string& reason) {
  const absl::string_view choices(parameter.choices.data(), parameter.choices.size());
  for (const absl::string_view known : absl::StrSplit(choices, ", ")) {
    if (equal_in_any_case(text, {known.data(), known.size()}))
      return ConfigValue{std::string(known)};
  }
  reason = "argument(s) must be one of the following: " + std::string(parameter.choices);
  return std::nullopt;
}

Parsed parse_string(std::string_view text, std::string& reason) {
  if (text.size() <= kStringBytesMaxOfParameter) return ConfigValue{std::string(text)};
  reason = concat("argument is longer than ", kStringBytesMaxOfParameter, " bytes");
  return std::nullopt;
}

Parsed parse_key_event_letters(std::string_view text, std::string& reason) {
  if (const auto flags = parse_key_events(text))
    return ConfigValue{key_event_letters(*flags), *flags};
  reason = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
  return std::nullopt;
}

std::vector<absl::string_view> words_of(std::string_view text) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), ' ');
}

/// Pairs of seconds and changes.
Parsed parse_save_points(std::string_view text, std::string& reason) {
  ConfigValue value;
  if (text.empty()) return value;
  const auto words = words_of(text);
  bool is_valid = words.size() % 2 == 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::int64_t number = 0;
    const std::int64_t min = i % 2 == 0 ? 1 : 0;
    is_valid = is_valid && absl::SimpleAtoi(words[i], &number) && number >= min;
    value.text += concat(i == 0 ? "" : " ", number);
  }
  if (is_valid) return value;
  reason = "Invalid save parameters";
  return std::nullopt;
}

Parsed parse_percentiles(std::string_view text, std::string& reason) {
  ConfigValue value;
  if (text.empty()) return value;
  for (const absl::string_view word : words_of(text)) {
    double percentile = 0;
    if (!absl::SimpleAtod(word, &percentile)) {
      reason = "Invalid latency-tracking-info-percentiles parameters";
      return std::nullopt;
    }
    if (!(percentile >= 0 && percentile <= 100)) {
      reason = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
      return std::nullopt;
    }
    std::string shown = absl::StrFormat("%f", percentile);
    remove_trailing_zeros(shown);
    value.text += concat(value.text.empty() ? "" : " ", shown);
  }
  return value;
}

}  // namespace

std::optional<ConfigValue> parse_config_value(const ConfigParameter& parameter,
                                              std::string_view text, std::string& reason) {
  const std::string_view value = errors::as_c_string(text);
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      return parse_number(parameter, text, reason);
    case ParameterKind::kMemory:
      return parse_memory(parameter, value, reason);
    case ParameterKind::kYesOrNo:
      return parse_yes_or_no(value, reason);
    case ParameterKind::kChoice:
      return parse_choice(parameter, value, reason);
    case ParameterKind::kKeyEvents:
      return parse_key_event_letters(value, reason);
    case ParameterKind::kSavePoints:
      return parse_save_points(value, reason);
    case ParameterKind::kPercentiles:
      return parse_percentiles(text, reason);
    case ParameterKind::kString:
      break;
  }
  return parse_string(value, reason);
}

}  // namespace rushgate
