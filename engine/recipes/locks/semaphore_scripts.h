// The scripts of Semaphore: the effects of Redisson 3.27's, in words of our own.
#pragma once

#include "engine/client/script.h"

namespace rushgate {

/// All: KEYS the free permits, the permits that are held, the channel.

/// ARGV the permit, its lease in ms; 0: none. Returns {1, 0} if it is held now, else {0, how long until
/// the next lease ends in ms; -1: none will}.
const Script& acquire_permit_script();

/// ARGV the permit. Returns 1 if it was held, else 0.
const Script& release_permit_script();

/// ARGV the number of permits. Returns 1 if it was set, 0 if there is one.
const Script& set_permits_script();

/// Returns how many permits are free.
const Script& free_permits_script();

}  // namespace rushgate
