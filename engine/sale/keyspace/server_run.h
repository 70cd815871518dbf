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
  /// Remembers the server and the history to which `connection` leads. Returns true if they are those
  /// remembered before. Returns false if the server reports neither.
  bool remember(Client& connection);

 private:
  std::mutex mutex_;
  std::string last_;  // guarded by mutex_; empty: not known
};

}  // namespace rushgate
