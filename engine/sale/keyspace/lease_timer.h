// Renews the lease of an open database.
#pragma once

#include <memory>

#include "engine/sale/keyspace/keyspace_owner.h"
#include <rushgate/backend.h>

namespace spdlog {
class logger;
}

namespace rushgate {

/// Renews the lease until it is destroyed, also where no worker does. Logs once if another copy has
/// taken it. Does not own its arguments, which must outlive it.
class LeaseTimer {
 public:
  /// `logger` may be null. Begins when the first third of the lease has passed.
  LeaseTimer(Backend& backend, KeyspaceOwner& owner, std::shared_ptr<spdlog::logger> logger);
  /// Waits for a renewal that is on its way.
  ~LeaseTimer();
  LeaseTimer(const LeaseTimer&) = delete;
  LeaseTimer& operator=(const LeaseTimer&) = delete;

 private:
  struct State;
  static void schedule(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
};

}  // namespace rushgate
