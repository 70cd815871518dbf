// Facts about a client: https://redis.io/docs/latest/commands/client-list/
#pragma once

#include <string_view>

#include "engine/commands/session.h"

namespace rushgate {

struct CommandServices;

/// The only user.
inline constexpr std::string_view kDefaultUser = "default";

/// Sets or removes (empty) the name. Returns false if it has spaces or unprintable characters.
bool set_client_name(Session& session, std::string_view name);

/// Ends the session's blocking, watches and subscriptions, and unregisters it.
void end_session(CommandServices& services, Session& session);

}  // namespace rushgate
