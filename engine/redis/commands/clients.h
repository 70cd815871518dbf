// Facts about a client: https://redis.io/docs/latest/commands/client-list/
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/redis/commands/session.h"

namespace rushgate {

struct CommandServices;

/// The only user.
inline constexpr std::string_view kDefaultUser = "default";

/// Sets or removes (empty) the name. Returns false if it has spaces or unprintable characters.
bool set_client_name(Session& session, std::string_view name);

/// Returns the id of the client that gets messages about keys that this one has read; 0 if it is
/// this one, -1 if its keys are not tracked.
std::int64_t redirection_of(const Session& session);

/// Ends the session's blocking, watches, subscriptions and tracking, and unregisters it.
void end_session(CommandServices& services, Session& session);

}  // namespace rushgate
