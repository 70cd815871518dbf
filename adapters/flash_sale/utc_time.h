// Times in ISO 8601: 2024-11-11T00:00:00Z.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate {

/// Parses `YYYY-MM-DD[Thh:mm[:ss[.f]](Z|+hh:mm|-hh:mm)]` as ms since 1970 UTC. A date alone is its
/// midnight in UTC. Returns nothing for any other format, and for an offset of no real place
/// (is_utc_offset()).
std::optional<std::int64_t> parse_time(std::string_view text);

/// Returns `YYYY-MM-DDThh:mm:ss.mmmZ`.
std::string format_utc(std::int64_t ms);

}  // namespace rushgate
