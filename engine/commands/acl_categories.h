// The categories that access control lists know, of which only COMMAND tells here:
// https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/
#pragma once

#include <string_view>
#include <vector>

#include "engine/commands/command_table.h"

namespace rushgate {

/// Without '@', in the order of COMMAND INFO.
std::vector<std::string_view> acl_categories(const CommandSpec& spec);

}  // namespace rushgate
