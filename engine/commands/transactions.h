// What MULTI, EXEC and WATCH keep of a client: https://redis.io/docs/latest/develop/interact/transactions/
#pragma once

#include "engine/commands/session.h"
#include "engine/keyspace/keyspace.h"

namespace rushgate {

class CommandContext;

/// Neither a transaction nor a watched key is left. Inside the turn.
void end_transaction(Session& session, Keyspace& keyspace);
void end_transaction(const CommandContext& context);

}  // namespace rushgate
