// The categories of access control lists. Only COMMAND and ACL CAT report them here:
// https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/
#pragma once

#include <string_view>
#include <vector>

#include "engine/redis/commands/command_spec.h"

namespace rushgate {

/// Returns the categories without '@', in the order of COMMAND INFO.
std::vector<std::string_view> acl_categories(const CommandSpec& spec);

/// Returns all categories, in the same order.
std::vector<std::string_view> all_acl_categories();

}  // namespace rushgate
