// A lock that many readers share, or one writer holds: RReadWriteLock of Redisson 3.27.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "engine/recipes/locks/lock_kind.h"
#include "engine/recipes/locks/lock_manager.h"
#include "engine/recipes/locks/reentrant_lock.h"

namespace rushgate {

/// Thread-safe; copies are the same lock. Its two sides are used as ReentrantLock is, with the same
/// owners, leases, waits and errors. Readers share the lock. A writer excludes all other owners.
///
/// The owner that writes may also read. If it releases the write lock first, its read lock stays:
/// other readers enter, and no writer can come between. An owner that reads cannot write: it waits
/// like others, for ever if it waits for itself. Writers have no precedence: readers that overlap
/// without end keep writers out.
///
/// **Keys**, as in Redisson 3.27 (RedissonReadLock, RedissonWriteLock). The lock is a hash at the
/// name itself. Its field `mode` is `read` or `write`. <client id>:<thread> counts the read holds
/// of an owner, <client id>:<thread>:write its write holds. Each read hold has a key with its
/// lease, {<name>}:<client id>:<thread>:rwlock_timeout:<number of the hold>. The lock lasts as long
/// as the longest hold. The last reader's release publishes `0` on redisson_rwlock:{<name>}, a
/// writer's `1`.
///
/// **Differences from Redisson's.** A renewal extends the leases of its owner alone, and shortens
/// none of other owners. A release of a read hold gives the remaining read holds a new lease, and
/// does not change the writer's. A writer that keeps its read lock wakes waiting readers. Another
/// acquisition of the write lock sets its lease, and does not add to it. A release of a lock that
/// has expired is an error.
class ReadWriteLock {
 public:
  ReadWriteLock(LockManager& manager, std::string name)
      : read_(manager, name, LockKind::kRead), write_(manager, std::move(name), LockKind::kWrite) {}

  [[nodiscard]] ReentrantLock& read_lock() { return read_; }
  [[nodiscard]] ReentrantLock& write_lock() { return write_; }

  // ---- For std::unique_lock and std::lock_guard: the write lock ----

  void lock() { write_.lock(); }
  bool try_lock() { return write_.try_lock(); }
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
    return write_.try_lock_for(duration);
  }
  void unlock() { write_.unlock(); }

  // ---- For std::shared_lock: the read lock ----

  void lock_shared() { read_.lock(); }
  bool try_lock_shared() { return read_.try_lock(); }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& duration) {
    return read_.try_lock_for(duration);
  }
  void unlock_shared() { read_.unlock(); }

 private:
  ReentrantLock read_;
  ReentrantLock write_;
};

}  // namespace rushgate
