// Renews the lease of an open database.
#pragma once

#include <memory>

#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/keyspace/repeating_timer.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>

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

 private:
  void renew();

  const std::unique_ptr<Client> client_;
  KeyspaceOwner& owner_;
  const std::shared_ptr<spdlog::logger> logger_;
  bool was_lost_ = false;  // for the timer's calls
  const RepeatingTimer timer_;
};

}  // namespace rushgate
