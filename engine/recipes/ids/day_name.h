// The form of days in keys.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace rushgate {

/// Returns the day as yyyyMMdd.
inline std::string day_name(std::int64_t days_since_1970) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days_since_1970}}};
  char text[32];
  std::snprintf(text, sizeof(text), "%04d%02u%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

}  // namespace rushgate
