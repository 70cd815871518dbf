// The server, and the history of its data, at the end of a connection.
#pragma once

#include <mutex>
#include <string>

#include <rushgate/client.h>

namespace rushgate {

/// Detects a new connection that may lead to a keyspace that lost writes. Thread-safe.
///
/// A Redis may lose acknowledged writes when its process ends, or when another takes its place. In
/// both cases `INFO` then reports another run_id or master_replid:
/// https://redis.io/docs/latest/commands/info/
class ServerRun {
 public:
  /// Returns true unless `connection` leads to the same server and history as the one before it.
  /// Also returns true if the server reports neither.
  bool may_have_lost_writes(Client& connection);

 private:
  std::mutex mutex_;
  std::string last_;  // guarded by mutex_; empty: not known
};

}  // namespace rushgate
