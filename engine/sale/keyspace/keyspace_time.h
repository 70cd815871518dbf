// The time by which the keyspace decides.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include <rushgate/client.h>

namespace rushgate {

/// Returns the keyspace's time, in ms since 1970 UTC. Sends one request.
absl::StatusOr<std::int64_t> keyspace_time_ms(Client& client);

}  // namespace rushgate
