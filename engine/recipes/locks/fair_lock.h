// A lock that is granted in order of arrival: RFairLock of Redisson 3.27.
#pragma once

#include <string>
#include <utility>

#include "engine/recipes/locks/reentrant_lock.h"

namespace rushgate {

/// As ReentrantLock, but waiting callers are served in order of arrival.
///
/// **Keys**, as RedissonFairLock's. A list redisson_lock_queue:{<name>} has the waiting owners. A
/// sorted set redisson_lock_timeout:{<name>} has the time when each is dropped, ms since 1970. Each
/// owner has its own channel, redisson_lock__channel:{<name>}:<client id>:<thread>. Times are the
/// server's; Redisson uses the clients'.
///
/// An owner that died while it waited delays the others until it is dropped. That happens when its
/// waiting time ends, or after 300 s. A live one renews its place while it waits; Redisson's does
/// not. try_acquire(0) and try_lock() do not queue, and fail while others wait.
class FairLock : public ReentrantLock {
 public:
  FairLock(LockManager& manager, std::string name)
      : ReentrantLock(manager, std::move(name), LockKind::kFair) {}
};

}  // namespace rushgate
