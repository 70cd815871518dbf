// The scripts of Semaphore: the effects of Redisson 3.27's, written independently.
#pragma once

#include <rushgate/script.h>

namespace rushgate {

/// All: KEYS the free permits, the permits that are held, the channel.

/// Acquires a permit. Returns {1, 0} if it is now held, else {0, how long until the next lease ends
/// in ms; -1: none will}. ARGV the permit, its lease in ms; 0: none.
const Script& acquire_permit_script();

/// Releases a permit. Returns 1 if it was held, else 0. ARGV the permit.
const Script& release_permit_script();

/// Sets the number of permits. Returns 1 if it was set, 0 if there is one. ARGV the number.
const Script& set_permits_script();

/// Returns the number of free permits.
const Script& free_permits_script();

}  // namespace rushgate
