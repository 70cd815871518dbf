// Hints of COMMAND INFO for cluster clients and comparisons of replies:
// https://redis.io/docs/latest/develop/reference/command-tips/
#pragma once

#include <string_view>
#include <vector>

namespace rushgate {

/// Returns the tips of a command, by its full name.
std::vector<std::string_view> command_tips(std::string_view name);

}  // namespace rushgate
