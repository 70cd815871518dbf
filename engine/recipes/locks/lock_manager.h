// The parts that the locks of one process share: its identity, its subscriptions, the renewal of leases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/client/backend.h"
#include "engine/client/client_options.h"

namespace rushgate {

class LockCore;

struct LockManagerOptions {
  /// Names this process among the owners of locks. Empty: a random UUID, as Redisson has.
  std::string client_id = {};
  /// The lease of a lock that was taken without one. It is renewed every third of it.
  std::int64_t watchdog_lease_ms = 30'000;
  /// Runs as a callback of the backend when a lock was lost that its owner has not released: its
  /// lease ended, or it was gone when it was to be renewed. Gets the name of the lock and the number
  /// of the owner. The two sides of a ReadWriteLock are lost one by one.
  std::function<void(const std::string& name, std::uint64_t owner)> on_lost = {};
  /// Of the manager's own clients. `wait` says how callers wait for a lock, too.
  ClientOptions client = {};
};

/// One is enough for a process and a backend. Thread-safe. The backend must outlive it. Locks may
/// outlive it: their calls fail then with kCancelled.
///
/// Destroying it releases no lock. Leases are renewed no longer, and waits end with kCancelled.
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
