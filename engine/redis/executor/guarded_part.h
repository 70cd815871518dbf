// Code in the turn whose exceptions become an error reply.
#pragma once

#include <optional>

#include "absl/functional/function_ref.h"
#include "engine/redis/keyspace/keyspace.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Runs `part` in a savepoint. If it throws, rolls back its changes and returns the error for its
/// client.
std::optional<Reply> run_guarded(Keyspace& keyspace, absl::FunctionRef<void()> part);

}  // namespace rushgate
