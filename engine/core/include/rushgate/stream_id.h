// The id of a stream entry: a time in ms and a sequence number within that millisecond.
// Semantics: https://redis.io/docs/latest/develop/data-types/streams/#entry-ids
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

struct StreamId {
  std::uint64_t ms = 0;
  std::uint64_t seq = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy means the comparison with 0 that this implies
  friend constexpr auto operator<=>(const StreamId&, const StreamId&) = default;

  /// Returns the smallest id above this one; empty for max().
  [[nodiscard]] constexpr std::optional<StreamId> next() const {
    if (seq != std::numeric_limits<std::uint64_t>::max()) return StreamId{ms, seq + 1};
    if (ms != std::numeric_limits<std::uint64_t>::max()) return StreamId{ms + 1, 0};
    return std::nullopt;
  }

  /// Returns the greatest id below this one; empty for min().
  [[nodiscard]] constexpr std::optional<StreamId> previous() const {
    if (seq != 0) return StreamId{ms, seq - 1};
    if (ms != 0) return StreamId{ms - 1, std::numeric_limits<std::uint64_t>::max()};
    return std::nullopt;
  }

  static constexpr StreamId min() { return {}; }
  static constexpr StreamId max() {
    return {std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max()};
  }

  /// Returns `<ms>-<seq>`, in decimal.
  [[nodiscard]] std::string to_string() const;

  /// Parses the form of to_string(), or `<ms>` alone, for which `seq` is `missing_seq`. Returns
  /// empty if `text` is neither. Both parts may have any form that parse_uint64() accepts.
  static std::optional<StreamId> parse(std::string_view text, std::uint64_t missing_seq = 0);
};

}  // namespace rushgate
