#include "engine/core/base/memory_size.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <limits>

#include "absl/strings/match.h"
#include "engine/core/base/numbers.h"

namespace rushgate {

namespace {

struct Size {
  std::string_view digits;
  std::uint64_t unit_bytes;
};

std::optional<Size> split(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t bytes;
  };
  static constexpr Unit kUnits[] = {
      {"", 1},
      {"b", 1},
      {"k", 1'000},
      {"kb", 1'024},
      {"m", 1'000'000},
      {"mb", 1'024 * 1'024},
      {"g", 1'000'000'000},
      {"gb", 1'024 * 1'024 * 1'024},
  };
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit_name = text.substr(digits);
  const auto* const unit = std::ranges::find_if(kUnits, [&](const Unit& known) {
    return absl::EqualsIgnoreCase(absl::string_view(known.name.data(), known.name.size()),
                                  absl::string_view(unit_name.data(), unit_name.size()));
  });
  if (unit == std::end(kUnits)) return std::nullopt;
  return Size{text.substr(0, digits), unit->bytes};
}

}  // namespace

std::optional<std::uint64_t> parse_memory_size(std::string_view text) {
  const auto size = split(text);
  if (!size) return std::nullopt;
  if (size->digits.empty()) return 0;
  constexpr auto kGreatest = std::numeric_limits<std::uint64_t>::max();
  return parse_wrapping_uint64(size->digits).value_or(kGreatest) * size->unit_bytes;
}

std::optional<std::uint64_t> parse_memory_size_strictly(std::string_view text) {
  const auto size = split(text);
  const auto count = size ? parse_uint64(size->digits) : std::nullopt;
  std::uint64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, size->unit_bytes, &bytes)) return std::nullopt;
  return bytes;
}

std::string shown_memory_size(std::uint64_t bytes) {
  constexpr double kStep = 1'024;
  static constexpr char kUnits[] = {'K', 'M', 'G', 'T', 'P'};
  if (bytes < static_cast<std::uint64_t>(kStep)) return std::to_string(bytes) + 'B';
  auto shown = static_cast<double>(bytes) / kStep;
  std::size_t unit = 0;
  for (; shown >= kStep && unit + 1 < std::size(kUnits); ++unit) shown /= kStep;
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f%c", shown, kUnits[unit]);
  return text;
}

}  // namespace rushgate
