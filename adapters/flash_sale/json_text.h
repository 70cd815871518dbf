// Reading JSON. The parser is compiled here alone: it costs each unit that calls it a second.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"

namespace rushgate {

inline constexpr int kJsonDepthMax = 16;           // of nested objects and arrays
inline constexpr std::size_t kJsonFieldsMax = 64;  // of one object

/// Parses a stranger's text strictly. kInvalidArgument: it is no JSON in UTF-8, nests too deep, or has an object
/// with a field twice or with too many.
absl::StatusOr<nlohmann::ordered_json> parse_json(std::string_view text);

/// Parses a text as Rushgate writes it, of any size and depth: a field that comes twice is not refused.
/// Throws nlohmann::json::exception.
nlohmann::ordered_json parse_trusted_json(std::string_view text);

}  // namespace rushgate
