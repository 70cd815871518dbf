// The scripts of a cache. Private to this module.
#pragma once

#include <rushgate/script.h>

namespace rushgate::cache_scripts {

/// Reads a value, or takes the lock for a load. The first element of the reply is one of
/// lua::cache_codes. KEYS value, lock. ARGV name of a load, lease (ms).
const Script& fetch();
/// As fetch(), for a value with its expiry inside.
const Script& fetch_with_expiry();
/// Writes a value and ends its load, if the load still has the lock. Returns 1, or 0 if nothing was
/// written. KEYS value, lock. ARGV name of the load, channel, value, TTL (ms), how long it is kept
/// beyond that (ms; 0: no expiry inside).
const Script& store();
/// Ends a load without a value. KEYS lock. ARGV name of the load, channel.
const Script& abandon();
/// Keeps the lock of a failed load for a while. KEYS lock. ARGV name of the load, how long (ms).
const Script& hold_off();
/// Removes the value, and ends a load. KEYS value, lock. ARGV channel, channel of invalidations,
/// key.
const Script& invalidate();

}  // namespace rushgate::cache_scripts
