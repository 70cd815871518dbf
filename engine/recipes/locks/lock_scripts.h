// The scripts of ReentrantLock, FairLock and ReadWriteLock: the effects of Redisson 3.27's, in words of
// our own.
#pragma once

#include "engine/client/script.h"
#include "engine/recipes/locks/lock_kind.h"

namespace rushgate {

/// The scripts of one kind of lock. KEYS are keys_of() the lock.
struct LockScripts {
  /// ARGV the lease in ms, the owner, and of a fair lock how long the owner is ready to wait in ms (0:
  /// it does not queue). Returns {1, token} if the owner holds it now (0: no token), else {0, how long
  /// the lock lasts in ms; -1: for ever}.
  const Script& acquire;
  /// KEYS have the latch last, if there is one. ARGV the owner, the lease in ms if it stays held, and if
  /// there is a latch how long it stays in ms. Returns 1 if the owner holds the lock no longer, 0 if it
  /// still does, nil if it did not.
  const Script& release;
  /// Sets the lease. ARGV the lease in ms, the owner. Returns 1 if the owner holds the lock, else 0.
  const Script& renew;
};

/// Returns the scripts of a lock that has owners.
const LockScripts& scripts_of(LockKind kind);

/// Of a fair lock. KEYS are keys_of() it. ARGV the owner, how long it was ready to wait in ms. Returns 1
/// if it was in the queue, else 0.
const Script& leave_queue_script();

}  // namespace rushgate
