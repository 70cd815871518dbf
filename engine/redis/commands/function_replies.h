// The replies of FUNCTION LIST and STATS.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/redis/commands/command_context.h"
#include "engine/redis/script/function_library.h"
#include <rushgate/reply.h>

namespace rushgate::function_replies {

/// Returns the entry of a function.
Reply function(const LuaFunction& function);

/// Returns the entry of a library; with its code if `code` is not null.
Reply library(std::string_view name, std::string_view engine, std::vector<Reply> functions,
              const std::string* code);

/// Returns the entry of the running function.
Reply running(const RunningScript& running);

/// Returns the entry of an engine, such as LUA.
Reply engine(std::size_t libraries, std::size_t functions);

}  // namespace rushgate::function_replies
