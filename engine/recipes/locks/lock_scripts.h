// The scripts of ReentrantLock and FairLock: the effects of Redisson 3.27's, in words of our own.
#pragma once

#include "engine/client/script.h"

namespace rushgate {

/// KEYS the lock, its token if it is fenced. ARGV the lease in ms, the owner. Returns {1, token} if
/// the owner has it now, else {0, how long the lease lasts in ms; -1: for ever}.
const Script& acquire_script();

/// KEYS the lock, its channel, the latch if there is one. ARGV the owner, the lease in ms if it stays
/// held, how long the latch stays in ms. Returns 1 if the lock is free, 0 if the owner still holds it,
/// nil if the owner did not hold it.
const Script& release_script();

/// KEYS the lock. ARGV the lease in ms, the owner. Returns 1 if the owner holds it, else 0.
const Script& renew_script();

// ---- FairLock ----

/// KEYS the lock, its queue, its timeouts. ARGV the lease in ms, the owner, how long the owner is ready
/// to wait in ms; 0: it does not queue. Returns the same as acquire_script().
const Script& acquire_fair_script();

/// KEYS the lock, its queue, its timeouts, its channel, the latch if there is one. ARGV and results
/// are those of release_script().
const Script& release_fair_script();

/// KEYS the lock, its queue, its timeouts, its channel. ARGV the owner, how long it was ready to wait
/// in ms. Returns 1 if it was in the queue, else 0.
const Script& leave_queue_script();

}  // namespace rushgate
