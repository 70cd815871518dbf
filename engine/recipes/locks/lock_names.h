// Redisson's names of the keys and channels of a lock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/recipes/locks/lock_kind.h"

namespace rushgate {

/// Returns {<name>}, or the name if it has its own hash tag: the lock's slot on a Redis Cluster.
std::string braced_name(std::string_view name);

/// Returns <prefix>:{<name>}, with braced_name().
std::string tagged_name(std::string_view prefix, std::string_view name);

/// Returns the KEYS of a lock's scripts: its name, the keys that its kind adds, its channel. Added
/// keys. Fenced: the token. Fair: the queue, and when each waiter is dropped. Read and write:
/// {<name>}, the beginning of the keys of read holds. Semaphore: the permits that are held.
std::vector<std::string> keys_of(LockKind kind, const std::string& name);

/// Returns the mode in which a side of a ReadWriteLock is held; empty for other kinds.
std::string_view mode_of(LockKind kind);

/// Returns the field of a lock that counts the holds of `owner`, an owner_name().
std::string field_of(LockKind kind, const std::string& owner);

/// Returns the channel of a lock. Each waiter of a fair lock has <channel>:<owner>.
std::string channel_of(LockKind kind, const std::string& name);

}  // namespace rushgate
