// The scripts of Semaphore and PlainSemaphore: the effects of Redisson 3.27's, written independently.
#pragma once

#include <rushgate/script.h>

namespace rushgate {

/// All: KEYS the free permits, of a Semaphore the permits that are held, the channel.

/// Acquires permits, all or none. Returns {1, 0} if they are now held, else {0, how long until the
/// next lease ends in ms; -1: none will}. ARGV their lease in ms; 0: none; the permits.
const Script& acquire_permits_script();

/// Acquires permits. Returns {1, 0} if they are taken, else {0, -1}. ARGV the number.
const Script& acquire_count_script();

/// Adds free permits. Returns the number that is free. ARGV the number.
const Script& release_count_script();

/// Takes all free permits. Returns the number.
const Script& drain_script();

/// Releases permits. Returns how many of them were held. ARGV pairs of a permit and its id as
/// Redisson 3.13 keeps it.
const Script& release_permits_script();

/// Sets the number of permits. Returns 1 if it was set, 0 if there is one. ARGV the number.
const Script& set_permits_script();

/// Returns the number of free permits.
const Script& free_permits_script();

}  // namespace rushgate
