// What MULTI, EXEC and WATCH keep of a client:
// https://redis.io/docs/latest/develop/interact/transactions/
#pragma once

#include "engine/commands/session.h"
#include "engine/keyspace/keyspace.h"

namespace rushgate {

class CommandContext;

/// So that EXEC would refuse to run.
[[nodiscard]] bool any_watched_key_has_changed(const Session& session, Keyspace& keyspace);

/// Neither a transaction nor a watched key is left. Inside the turn.
void end_transaction(Session& session, Keyspace& keyspace);
void end_transaction(const CommandContext& context);

}  // namespace rushgate
