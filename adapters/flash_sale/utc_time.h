// Times in ISO 8601: 2024-11-11T00:00:00Z.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// Parses `YYYY-MM-DD[Thh:mm[:ss[.f]]Z]` in UTC as ms since 1970. A date alone is its midnight.
/// Returns nothing for any other format or time zone.
std::optional<std::int64_t> parse_utc(std::string_view text);

/// Returns `YYYY-MM-DDThh:mm:ss.mmmZ`.
std::string format_utc(std::int64_t ms);

}  // namespace rushgate
