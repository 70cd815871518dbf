// What is said of a client: https://redis.io/docs/latest/commands/client-list/
#pragma once

#include <string_view>

#include "engine/commands/session.h"

namespace rushgate {

struct CommandServices;

/// There is one user.
inline constexpr std::string_view kDefaultUser = "default";

/// An empty one takes the name away. False if it has spaces or what cannot be printed.
bool set_client_name(Session& session, std::string_view name);

/// What it waited for, watched and subscribed to is over, and nobody finds it any more.
void end_session(CommandServices& services, Session& session);

}  // namespace rushgate
