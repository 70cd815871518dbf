// The state of MULTI, EXEC and WATCH in a session:
// https://redis.io/docs/latest/develop/interact/transactions/
#pragma once

#include "engine/redis/commands/session.h"
#include "engine/redis/keyspace/keyspace.h"

namespace rushgate {

class CommandContext;

/// Returns true if a watched key was changed or removed, so that EXEC will fail. It also fails if
/// one has expired.
[[nodiscard]] bool any_watched_key_was_written(Session& session, Keyspace& keyspace);

/// Ends the transaction and the watches. Must be called inside the turn.
void end_transaction(Session& session, Keyspace& keyspace);
void end_transaction(const CommandContext& context);

}  // namespace rushgate
