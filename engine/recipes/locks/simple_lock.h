// The field's simple lock: SET lock:<name> <owner> NX PX, and a script that deletes it only for its
// owner.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>

namespace rushgate {

struct SimpleLockOptions {
  std::string key_prefix = "lock:";  // the key is <key_prefix><name>: a string, the owner
  std::int64_t lease_ms = 10'000;    // the server drops the lock after this time; positive
  ClientOptions client = {};
};

/// One holder at a time, among all processes. An object is one potential holder, and is not
/// reentrant. Thread-safe. The backend must outlive it. Destroying it releases the lock.
///
/// It does not wait, because the key has no channel; ReentrantLock does. It does not renew: work
/// that outlasts the lease runs without the lock. expires_in_ms() returns the remaining time.
///
/// `std::unique_lock lock(simple, std::try_to_lock)` works on it.
class SimpleLock {
 public:
  SimpleLock(Backend& backend, std::string name, SimpleLockOptions options = {});
  ~SimpleLock();
  SimpleLock(const SimpleLock&) = delete;
  SimpleLock& operator=(const SimpleLock&) = delete;

  /// Returns true if this object now holds the lock; false if it is held, even by this object.
  /// Errors are those of the request. After kUnavailable the lock may stay taken, without a holder,
  /// until the lease ends.
  absl::StatusOr<bool> acquire();

  /// Deletes the lock if this object still holds it. kFailedPrecondition: it does not; the lock
  /// expired, and another holder may have it. Other errors are those of the request; the lock then
  /// ends by its lease.
  absl::Status release();

  /// Returns how much of the lease is left at least, by the backend's monotonic clock; 0 if the
  /// lock is not held.
  [[nodiscard]] std::int64_t expires_in_ms() const;

  // ---- For std::unique_lock ----

  /// acquire(); an error is false.
  bool try_lock() { return acquire().value_or(false); }
  /// Calls release(), and ignores its result.
  void unlock() { static_cast<void>(release()); }

 private:
  const Clock& clock_;
  const SimpleLockOptions options_;
  const std::string key_;
  const std::string owner_prefix_;
  const std::unique_ptr<Client> client_;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::string owner_;  // of the hold; empty: this object does not hold the lock
  std::int64_t expires_at_ms_ = 0;
  std::uint64_t acquisitions_ = 0;
};

}  // namespace rushgate
