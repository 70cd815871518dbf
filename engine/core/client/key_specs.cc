#include "engine/core/client/key_specs.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/base/letter_case.h"
#include "engine/core/base/numbers.h"

namespace rushgate {
namespace {

/// In the order of their bits.
constexpr std::string_view kFlagNames[] = {
    "RO", "RW", "OW", "RM", "access", "update", "insert", "delete", "not_key", "variable_flags",
};

// ---- As the specs say ----

/// Returns the position after the keyword. Redis does not search the last argument.
std::optional<std::int64_t> behind_keyword(const KeySpec& spec, RequestView request) {
  for (std::size_t i = static_cast<std::size_t>(spec.first); i + 1 < request.size(); ++i) {
    if (equal_in_any_case(request[i], spec.keyword)) return static_cast<std::int64_t>(i) + 1;
  }
  return std::nullopt;
}

/// Returns the positions of the keys that begin at `first`; empty if a count is invalid or the
/// request is too short.
std::optional<std::pair<std::int64_t, std::int64_t>> first_and_last(const KeySpec& spec,
                                                                    std::int64_t first,
                                                                    RequestView request) {
  const auto size = static_cast<std::int64_t>(request.size());
  if (first >= size) return std::nullopt;
  if (spec.is_counted) {
    const auto count = parse_int64(request[static_cast<std::size_t>(first)]);
    if (!count || *count < 0) return std::nullopt;
    const std::int64_t steps = static_cast<std::int32_t>(*count) - 1;
    return std::pair(first + 1, first + 1 + steps * spec.step);
  }
  if (spec.last >= 0) return std::pair(first, first + spec.last);
  return std::pair(first,
                   spec.are_half ? first + (size - first) / 2 + spec.last : size + spec.last);
}

/// Returns false if the arguments do not fit the spec. If the keyword is missing, there are no
/// keys.
bool add_keys(const KeySpec& spec, RequestView request, std::vector<FoundKey>& keys) {
  std::int64_t begin = spec.first;
  if (!spec.keyword.empty()) {
    const auto behind = behind_keyword(spec, request);
    if (!behind) return true;
    begin = *behind;
  }
  const auto found = first_and_last(spec, begin, request);
  if (!found) return false;
  const auto [first, last] = *found;
  if (last < first || last >= static_cast<std::int64_t>(request.size())) return false;
  for (std::int64_t i = first; i <= last; i += spec.step)
    keys.push_back({static_cast<std::size_t>(i), spec.flags});
  return true;
}

// ---- Redis's rules where the specs are not sufficient ----

/// Returns the number at the beginning of the string, as C parses it.
std::int32_t leading_int(std::string_view text) {
  return static_cast<std::int32_t>(std::strtoll(std::string(text).c_str(), nullptr, 10));
}

// If the specs fail, the arguments are read again by looser rules, and the accesses to the keys are
// unknown.

/// Accepts "1x" as a number. The destination comes last.
std::vector<FoundKey> find_counted_keys(const KeySpecs& specs, const KeySpec& counted,
                                        RequestView request) {
  const auto first = static_cast<std::size_t>(counted.first) + 1;
  if (request.size() < first) return {};
  const std::int64_t count = leading_int(request[first - 1]);
  const auto left = static_cast<std::int64_t>(request.size() - first);
  if (count < 1 || (count - 1) * counted.step >= left) return {};
  std::vector<FoundKey> keys;
  for (std::int64_t i = 0; i < count * counted.step; i += counted.step)
    keys.push_back({first + static_cast<std::size_t>(i), 0});
  if (&counted != specs.begin())
    keys.push_back({static_cast<std::size_t>(specs.begin()->first), 0});
  return keys;
}

/// Finds the keys behind the STREAMS that follows other options.
std::vector<FoundKey> find_stream_keys(RequestView request) {
  const auto is = [&request](std::size_t i, std::string_view word) {
    return equal_in_any_case(request[i], word);
  };
  std::size_t i = 1;
  while (i < request.size() && !is(i, "STREAMS")) {
    if (is(i, "GROUP")) {
      i += 3;
    } else if (is(i, "BLOCK") || is(i, "COUNT")) {
      i += 2;
    } else if (is(i, "NOACK")) {
      i += 1;
    } else {
      return {};
    }
  }
  const std::size_t behind = i + 1;
  if (behind >= request.size() || (request.size() - behind) % 2 != 0) return {};
  std::vector<FoundKey> keys;
  for (i = behind; i < behind + (request.size() - behind) / 2; ++i) keys.push_back({i, 0});
  return keys;
}

std::vector<FoundKey> find_loosely(const KeySpecs& specs, RequestView request) {
  for (const KeySpec& spec : specs) {
    if (!spec.keyword.empty()) return find_stream_keys(request);
    if (spec.is_counted) return find_counted_keys(specs, spec, request);
  }
  return {};
}

/// Returns the position of SORT's destination: behind the last STORE that is not the value of
/// another option.
std::optional<std::size_t> find_destination(RequestView request) {
  std::optional<std::size_t> destination;
  for (std::size_t i = 2; i + 1 < request.size(); ++i) {
    if (equal_in_any_case(request[i], "LIMIT")) {
      i += 2;
    } else if (equal_in_any_case(request[i], "GET") || equal_in_any_case(request[i], "BY")) {
      i += 1;
    } else if (equal_in_any_case(request[i], "STORE")) {
      destination = i + 1;
    }
  }
  return destination;
}

}  // namespace

KeyRange key_range(const KeySpecs& specs) {
  KeyRange range;
  for (const KeySpec& spec : specs) {
    if (!spec.is_fixed()) continue;
    if (range.first == 0) range = {.first = spec.first, .last = 0, .step = spec.step};
    range.last = spec.last < 0 ? spec.last : spec.first + spec.last;
  }
  return range;
}

bool are_movable(const KeySpecs& specs) { return !std::ranges::all_of(specs, &KeySpec::is_fixed); }

std::vector<std::string_view> key_flag_names(unsigned flags) {
  std::vector<std::string_view> names;
  for (std::size_t bit = 0; bit < std::size(kFlagNames); ++bit) {
    if ((flags >> bit & 1U) != 0) names.push_back(kFlagNames[bit]);
  }
  return names;
}

std::vector<FoundKey> find_keys(const KeySpecs& specs, RequestView request) {
  std::vector<FoundKey> keys;
  for (const KeySpec& some : specs) {
    if ((some.flags & key_specs::kNotKey) != 0) continue;
    if (some.is_unknown) {
      // SORT: the keys that its patterns denote depend on the elements, and are not listed.
      const bool is_stored = (some.flags & key_specs::kOW) != 0;
      const auto destination = is_stored ? find_destination(request) : std::nullopt;
      if (destination) keys.push_back({*destination, some.flags});
      continue;
    }
    if (!add_keys(some, request, keys)) return find_loosely(specs, request);
  }
  return keys;
}

std::vector<FoundKey> find_channels(const KeySpecs& specs, RequestView request) {
  std::vector<FoundKey> channels;
  for (const KeySpec& some : specs) {
    const bool are_channels = (some.flags & key_specs::kNotKey) != 0;
    if (are_channels && !add_keys(some, request, channels)) return {};
  }
  return channels;
}

}  // namespace rushgate
