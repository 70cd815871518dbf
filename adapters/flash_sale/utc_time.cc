#include "adapters/flash_sale/utc_time.h"

#include <chrono>

#include <fmt/format.h>

#include "engine/core/base/time_units.h"

namespace rushgate {
namespace {

/// Parses a time part by part. After the first invalid part, ok is false.
struct Scanner {
  std::string_view rest;
  bool ok = true;

  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (i >= rest.size() || rest[i] < '0' || rest[i] > '9') ok = false;
      if (!ok) return 0;
      value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(count);
    return value;
  }
  bool accept(char expected) {
    if (!ok || rest.empty() || rest.front() != expected) return false;
    rest.remove_prefix(1);
    return true;
  }
  void expect(char expected) { ok = accept(expected) && ok; }

  /// Parses a fraction of any length. Only the first three digits count.
  int fraction_ms() {
    int value = digits(1) * 100;
    const auto is_digit = [this] { return rest.front() >= '0' && rest.front() <= '9'; };
    for (int weight = 10; ok && !rest.empty() && is_digit(); weight /= 10) {
      value += digits(1) * weight;
    }
    return value;
  }

  /// Parses Z, or an offset from UTC in minutes.
  int offset_minutes() {
    if (accept('Z')) return 0;
    const bool is_west = accept('-');
    if (!is_west) expect('+');
    const int hours = digits(2);
    expect(':');
    const int minutes = digits(2);
    const int offset = (is_west ? -1 : 1) * (hours * 60 + minutes);
    if (minutes > 59 || !is_utc_offset(offset)) ok = false;
    return offset;
  }
};

}  // namespace

std::optional<std::int64_t> parse_time(std::string_view text) {
  Scanner scanner{text};
  const int year = scanner.digits(4);
  scanner.expect('-');
  const auto month = static_cast<unsigned>(scanner.digits(2));
  scanner.expect('-');
  const auto day = static_cast<unsigned>(scanner.digits(2));
  int hour = 0;
  int minute = 0;
  int second = 0;
  int ms = 0;
  int offset = 0;
  if (scanner.ok && !scanner.rest.empty()) {
    scanner.expect('T');
    hour = scanner.digits(2);
    scanner.expect(':');
    minute = scanner.digits(2);
    if (scanner.accept(':')) {
      second = scanner.digits(2);
      if (scanner.accept('.')) ms = scanner.fraction_ms();
    }
    offset = scanner.offset_minutes();
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  const bool in_range = date.ok() && hour < 24 && minute < 60 && second < 60;
  if (!scanner.ok || !scanner.rest.empty() || !in_range) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1'000 + ms;
}

std::string format_utc(std::int64_t ms) {
  using std::chrono::days;
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(ms)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace rushgate
