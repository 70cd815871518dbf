// Several locks as one: RedissonMultiLock of Redisson 3.27.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/recipes/locks/reentrant_lock.h"

namespace rushgate {

/// Holds all of its locks or none. Thread-safe as they are. The locks may belong to several
/// managers and backends: the multi-lock is held as long as each lock is.
///
/// Locks are acquired in the given order. A call that cannot get all of them in time releases the
/// ones that it has. acquire() does the same after 1.5 s per lock, and starts over: so callers with
/// other orders cannot block each other for ever.
///
/// With a lease, all leases begin when the last lock is acquired. If a lock was lost meanwhile, the
/// call fails or continues as if it had not got that lock.
class MultiLock {
 public:
  /// `locks`: at least one, each once.
  explicit MultiLock(std::vector<ReentrantLock> locks);

  /// Blocks until the caller holds all of them. The first error ends it, with none held.
  absl::Status acquire(std::int64_t lease_ms = ReentrantLock::kWatchdog);
  /// Returns true if the caller now holds all of them. Waits for up to `wait_ms` in all.
  absl::StatusOr<bool> try_acquire(std::int64_t wait_ms,
                                   std::int64_t lease_ms = ReentrantLock::kWatchdog);
  /// Ends one hold of each. Releases all, even after an error, and returns the first error.
  absl::Status release();

  /// Returns true if every lease of the caller still lasts for certain.
  [[nodiscard]] bool is_held() const;

  // ---- For std::unique_lock and std::lock_guard ----

  /// acquire(). Throws std::runtime_error if it fails.
  void lock();
  /// try_acquire(0). Throws std::runtime_error if it fails.
  bool try_lock();
  /// Calls release(), and ignores its result.
  void unlock() { static_cast<void>(release()); }

 private:
  absl::Status release_first(std::size_t count);

  std::vector<ReentrantLock> locks_;
};

}  // namespace rushgate
