// The target of a request: its path and its query, decoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rushgate::http {

struct Target {
  std::vector<std::string> path = {};  // its parts: "/a/b" has a and b
  std::vector<std::pair<std::string, std::string>> query = {};
};

/// Parses "/path?query". Each part is decoded by itself, so an encoded slash separates nothing, and
/// no part has a special meaning. Returns nothing for one that is no absolute path, or whose decoded
/// parts are no UTF-8.
std::optional<Target> parse_target(std::string_view text);

}  // namespace rushgate::http
