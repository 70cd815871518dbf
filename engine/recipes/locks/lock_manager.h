// The state that the locks of one process share: identity, subscriptions, renewal of leases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <rushgate/backend.h>
#include <rushgate/client.h>

namespace rushgate {

class LockCore;

struct LockManagerOptions {
  /// The process's name among the owners of locks. Empty: a random UUID, as in Redisson.
  std::string client_id = {};
  /// The lease of a lock that was acquired without one. It is renewed every third of this time.
  std::int64_t watchdog_lease_ms = 30'000;
  /// Runs as a callback of the backend when a lock was lost that its owner has not released. Either
  /// its lease ended, or the lock was gone at its renewal. Gets the name of the lock and the number
  /// of the owner. Each side of a ReadWriteLock is reported by itself.
  std::function<void(const std::string& name, std::uint64_t owner)> on_lost = {};
  /// Of the manager's own clients. `wait` is also the way in which callers wait for a lock.
  ClientOptions client = {};
};

/// One is enough for a process and a backend. Thread-safe. The backend must outlive it. Locks may
/// outlive it: their calls then fail with kCancelled.
///
/// Destroying it releases no lock. Leases are no longer renewed, and waits end with kCancelled.
class LockManager {
 public:
  explicit LockManager(Backend& backend, LockManagerOptions options = {});
  ~LockManager();
  LockManager(const LockManager&) = delete;
  LockManager& operator=(const LockManager&) = delete;

  [[nodiscard]] const std::string& client_id() const;
  /// Returns the number of the calling thread, or of the fiber if callers wait as fibers.
  [[nodiscard]] std::uint64_t caller() const;

 private:
  friend class CountDownLatch;
  friend class ReentrantLock;
  friend class Semaphore;

  const std::shared_ptr<LockCore> core_;
};

}  // namespace rushgate
