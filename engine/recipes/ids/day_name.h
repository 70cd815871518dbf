// The form of days in keys.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"

namespace rushgate {

/// Returns the day in the form of `pattern`, in which yyyy, MM and dd stand for its parts.
inline std::string day_name(std::int64_t days_since_1970, std::string_view pattern = "yyyyMMdd") {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days_since_1970}}};
  std::string name(pattern);
  const auto replace = [&name](std::string_view part, int number) {
    const std::string digits = std::to_string(10'000 + number);  // the last ones are needed
    const std::size_t place = name.find(part);
    if (place == std::string::npos) return;
    name.replace(place, part.size(), digits, digits.size() - part.size());
  };
  replace("yyyy", static_cast<int>(date.year()));
  replace("MM", static_cast<int>(static_cast<unsigned>(date.month())));
  replace("dd", static_cast<int>(static_cast<unsigned>(date.day())));
  return name;
}

/// Returns true if the pattern has each of yyyy, MM and dd once, and no other letters or quotes.
inline bool is_day_pattern(std::string_view pattern) {
  std::string rest(pattern);
  for (const std::string_view part : {"yyyy", "MM", "dd"}) {
    const std::size_t place = rest.find(part);
    if (place == std::string::npos) return false;
    rest.replace(place, part.size(), " ");  // the letters around it must not join
  }
  return std::none_of(rest.begin(), rest.end(), [](char letter) {
    return absl::ascii_isalpha(static_cast<unsigned char>(letter)) || letter == '\'';
  });
}

/// The names of the counters of days. A value type.
struct CounterKeys {
  std::string prefix;
  std::string day_pattern;

  [[nodiscard]] std::string of(std::int64_t day) const {
    return prefix + day_name(day, day_pattern);
  }
};

}  // namespace rushgate
