// Which server, and which history of its data, a connection leads to.
#pragma once

#include <mutex>
#include <string>

#include "engine/client/client.h"

namespace rushgate {

/// Tells whether a new connection may lead to a keyspace that lost writes. Thread-safe.
///
/// A Redis loses what it answered when its process ends, or when another takes its place. So what
/// `INFO` names (run_id, master_replid) is another then: https://redis.io/docs/latest/commands/info/
class ServerRun {
 public:
  /// Returns true unless `connection` leads to what the connection before it led to. True, too, if
  /// the server does not say.
  bool may_have_lost_writes(Client& connection);

 private:
  std::mutex mutex_;
  std::string last_;  // guarded by mutex_; empty: not known
};

}  // namespace rushgate
