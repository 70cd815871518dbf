// Moments as people write them: 2024-11-11T00:00:00Z.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// `YYYY-MM-DD[Thh:mm[:ss[.f]]Z]`, ISO 8601 in UTC, as ms since 1970; a day alone is its beginning.
/// Nothing if it is anything else, another time zone included.
std::optional<std::int64_t> parse_utc(std::string_view text);

/// `YYYY-MM-DDThh:mm:ss.mmmZ`
std::string format_utc(std::int64_t ms);

}  // namespace rushgate
