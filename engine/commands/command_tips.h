// Hints of COMMAND INFO for whoever sends commands to a cluster, or compares answers:
// https://redis.io/docs/latest/develop/reference/command-tips/
#pragma once

#include <string_view>
#include <vector>

namespace rushgate {

/// Those of the command of that full name.
std::vector<std::string_view> command_tips(std::string_view name);

}  // namespace rushgate
