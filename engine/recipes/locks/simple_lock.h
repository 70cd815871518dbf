// The field's simple lock: SET lock:<name> <owner> NX PX, and a script that deletes it only for its
// owner.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"
#include "engine/client/client.h"
#include "engine/client/client_options.h"

namespace rushgate {

struct SimpleLockOptions {
  std::string key_prefix = "lock:";  // the key is <key_prefix><name>: a string, the owner
  std::int64_t lease_ms = 10'000;    // the server drops the lock after so long; positive
  ClientOptions client = {};
};

/// One holder at a time, among all processes: an object is one would-be holder, and is not
/// reentrant. Thread-safe. The backend must outlive it. Destroying it releases the lock.
///
/// It does not wait, because the key has no channel; ReentrantLock does. It does not renew: work that
/// takes longer than the lease is work without the lock. expires_in_ms() returns the time that is left.
///
/// `std::unique_lock lock(simple, std::try_to_lock)` works on it.
class SimpleLock {
 public:
  SimpleLock(Backend& backend, std::string name, SimpleLockOptions options = {});
  ~SimpleLock();
  SimpleLock(const SimpleLock&) = delete;
  SimpleLock& operator=(const SimpleLock&) = delete;

  /// Returns true if the lock is this object's now, false if it is held, by this object too. Errors
  /// are those of the request. After kUnavailable the lock may stay taken, without a holder, until the lease ends.
  absl::StatusOr<bool> acquire();

  /// Deletes the lock if it is still this object's. kFailedPrecondition: it is not: it expired, and
  /// another holder may have it. Others are errors of the request; the lock then ends by its lease.
  absl::Status release();

  /// Returns how much of the lease is left at least, by the backend's monotonic clock; 0 if the lock
  /// is not held.
  [[nodiscard]] std::int64_t expires_in_ms() const;

  // ---- For std::unique_lock ----

  /// acquire(); an error is false.
  bool try_lock() { return acquire().value_or(false); }
  /// release(), whatever it returns.
  void unlock() { static_cast<void>(release()); }

 private:
  const Clock& clock_;
  const SimpleLockOptions options_;
  const std::string key_;
  const std::string owner_prefix_;
  const std::unique_ptr<Client> client_;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::string owner_;  // of the lock as this object holds it; empty: it does not
  std::int64_t expires_at_ms_ = 0;
  std::uint64_t acquisitions_ = 0;
};

}  // namespace rushgate
