// A lock that is given in the order of asking: RFairLock of Redisson 3.27.
#pragma once

#include <string>
#include <utility>

#include "engine/recipes/locks/reentrant_lock.h"

namespace rushgate {

/// As ReentrantLock, but callers that wait are served in the order in which they began to.
///
/// **Keys**, as RedissonFairLock's: a list redisson_lock_queue:{<name>} of the owners that wait, a
/// sorted set redisson_lock_timeout:{<name>} of when each is dropped, ms since 1970, and a channel of
/// its own for each owner, redisson_lock__channel:{<name>}:<client id>:<thread>. Times are those of the
/// server; Redisson takes the clients'.
///
/// An owner that has died while it waited delays the others until it is dropped: after the time that it
/// was ready to wait, or 300 s. One that lives renews its place while it waits, which Redisson's does
/// not. try_acquire(0) and try_lock() do not queue, and fail while others wait.
class FairLock : public ReentrantLock {
 public:
  FairLock(LockManager& manager, std::string name)
      : ReentrantLock(manager, std::move(name), LockKind::kFair) {}
};

}  // namespace rushgate
