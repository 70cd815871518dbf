// Which run of a keyspace this is, and what time it has.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>
#include <rushgate/script.h>

namespace rushgate {

/// Returns the keyspace's time, in ms since 1970 UTC. Sends one request.
absl::StatusOr<std::int64_t> keyspace_time_ms(Client& client);

/// Returns the script that names the run. The native implementation returns a new name each time an
/// engine is opened. The Lua script (on Redis) returns an empty one: a server's runs say nothing
/// about the processes that use it. Only in this script do the two differ, on purpose.
const Script& keyspace_run_script();
NativeScript native_keyspace_run();
inline constexpr std::string_view kNativeKeyspaceRun = "rushgate.keyspace_run";

/// Returns true if `connection` leads to a node of a cluster that does not have these keys. Its check has
/// nothing to compare then. Sends one request. `has_slots`: of the backend's capabilities.
bool is_on_other_node(Client& connection, const SaleKeys& keys, bool has_slots);

/// Detects a new connection that may lead to a keyspace that lost writes. Thread-safe.
///
/// A Redis may lose acknowledged writes when its process ends, or when another takes its place. In
/// both cases `INFO` then reports another run_id or master_replid:
/// https://redis.io/docs/latest/commands/info/
class ServerRun {
 public:
  /// Remembers the server and the history to which `connection` leads. Returns true if they are those
  /// remembered before. Returns false if the server reports neither.
  bool remember(Client& connection);

 private:
  std::mutex mutex_;
  std::string last_;  // guarded by mutex_; empty: not known
};

}  // namespace rushgate
