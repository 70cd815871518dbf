// The scripts of ReentrantLock, FairLock and ReadWriteLock: the effects of Redisson 3.27's, written
// independently.
#pragma once

#include "engine/recipes/locks/lock_kind.h"
#include <rushgate/script.h>

namespace rushgate {

/// Returns the script of a lock, latch or semaphore in the form that publishes to shard channels
/// (SPUBLISH). `script` must live as long as the program. Thread-safe.
const Script& with_shard_channels(const Script& script);

/// The scripts of one kind of lock. KEYS are keys_of() the lock.
struct LockScripts {
  /// Acquires the lock. Returns {1, token} if the owner now holds it (0: no token). Otherwise
  /// returns {0, how long the lock lasts in ms; -1: for ever}.
  /// ARGV the lease in ms, the owner, and of a fair lock how long the owner will wait in ms (0: it
  /// does not queue).
  const Script& acquire;
  /// Releases the lock. Returns 1 if the owner no longer holds it, 0 if it still does, nil if it
  /// did not.
  /// KEYS also have the latch at the end, if there is one.
  /// ARGV the owner, the lease in ms if it stays held, and with a latch how long that stays in ms.
  const Script& release;
  /// Sets the lease. ARGV the lease in ms, the owner. Returns 1 if the owner holds the lock, else
  /// 0.
  const Script& renew;
};

/// Returns the scripts of a lock that has owners.
const LockScripts& scripts_of(LockKind kind);

/// Returns {1 if any owner holds the lock, the owner's holds, how long the lock lasts in ms; -1: for
/// ever}. KEYS are keys_of() the lock. ARGV the owner's field, and of one side of a ReadWriteLock its
/// mode.
const Script& lock_state_script();

/// Ends the holds of all owners. Returns 1 if there were any, else 0. KEYS are keys_of() the lock.
/// ARGV of one side of a ReadWriteLock: its mode.
const Script& force_release_script(LockKind kind);

/// Removes an owner from the queue of a fair lock. Returns 1 if it was there, else 0. KEYS are
/// keys_of() the lock. ARGV the owner, how long it was going to wait in ms.
const Script& leave_queue_script();

}  // namespace rushgate
