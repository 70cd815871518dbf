// A lock that JVMs with Redisson can share: RLock and RFencedLock of Redisson 3.27.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/recipes/locks/lock_hold.h"
#include "engine/recipes/locks/lock_manager.h"
#include <rushgate/clock.h>

namespace rushgate {

struct LockOptions {
  /// As RFencedLock: each acquisition raises a number, token(). The protected resource can refuse
  /// work with a lower token than the last. This is the only defence against a holder that was
  /// paused for longer than its lease. All users of the lock must choose the same.
  bool is_fenced = false;
};

/// Thread-safe; copies are the same lock. The owner is the manager's client id and the calling
/// thread or fiber. An owner may acquire the lock several times, and then must release it as often.
///
/// **Keys**, as in Redisson 3.27 (RedissonLock, RedissonFencedLock). The lock is a hash at the name
/// itself, <client id>:<thread> -> number of holds, with the lease as its expiry. A release that
/// ends the hold publishes `0` on redisson_lock__channel:{<name>}.
///
/// On a Redis a release keeps its result at redisson_unlock_latch:{<name>}:<request> until its
/// reply has arrived. So it can be repeated after a lost connection. Tokens are drawn from
/// redisson_lock_token:{<name>}. (No braces are added to a name that has `{`.)
///
/// **Leases.** The server judges expiry. Timers of the backend renew a lock that was acquired
/// without a lease, every third of the watchdog's lease, until its release. A renewal that fails is
/// repeated as long as the lease may last. Here leases are counted on a monotonic clock, from
/// before the request was sent. So is_held() is false before the server drops the lock.
///
/// **Waiting** sends nothing: a message of the channel, or the end of the holder's lease, starts
/// the next attempt. A message wakes one waiter of a manager. Waiters are not served in order.
///
/// A call that waits must not be made in a callback of the backend, which would wait for itself;
/// acquire_async() may. In manual mode, too, only acquire_async() can wait.
///
/// After a temporary error, a call that waits tries again: at the next connection, or after a
/// second.
///
/// **Errors** are those of requests, and kCancelled: the manager is gone. After kUnavailable trying
/// again may help. The acquisition may have succeeded. Then the lock is held until the lease ends,
/// or until the owner acquires and releases it.
class ReentrantLock {
 public:
  static constexpr std::int64_t kForever = -1;
  static constexpr std::int64_t kWatchdog = 0;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<bool>)>;

  ReentrantLock(LockManager& manager, std::string name, LockOptions options = {});

  /// Blocks until the caller holds the lock.
  absl::Status acquire(std::int64_t lease_ms = kWatchdog);
  /// Returns true if the caller now holds the lock. Waits for up to `wait_ms`, or kForever.
  absl::StatusOr<bool> try_acquire(std::int64_t wait_ms, std::int64_t lease_ms = kWatchdog);
  /// As try_acquire(), for `owner`, a caller's number; returns at once. `done` runs once: as a
  /// callback of the backend, or before this returns.
  void acquire_async(std::uint64_t owner, std::int64_t wait_ms, std::int64_t lease_ms,
                     Callback done);

  /// Ends one hold of the caller. kFailedPrecondition: the caller does not hold the lock, or lost it.
  absl::Status release() { return release_of(owner()); }
  absl::Status release_of(std::uint64_t owner);

  /// Sets the lease of the lock that the caller holds, from now on, and ends its renewal.
  /// kFailedPrecondition: the caller does not hold it.
  absl::Status set_lease(std::int64_t lease_ms);

  /// Returns true if the caller's lease still lasts for certain.
  [[nodiscard]] bool is_held() const { return is_held_by(owner()); }
  [[nodiscard]] bool is_held_by(std::uint64_t owner) const;
  /// Returns the fencing token of the caller's last acquisition; 0 if there is none.
  [[nodiscard]] std::int64_t token() const { return token_of(owner()); }
  [[nodiscard]] std::int64_t token_of(std::uint64_t owner) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns the backend's clock, which counts waits and leases.
  [[nodiscard]] const Clock& clock() const;

  // ---- For std::unique_lock and std::lock_guard ----

  /// acquire(). Throws std::runtime_error if it fails.
  void lock();
  /// try_acquire(0). Throws std::runtime_error if it fails.
  bool try_lock();
  /// try_acquire(duration). Throws std::runtime_error if it fails.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
    return must(try_acquire(std::chrono::ceil<std::chrono::milliseconds>(duration).count()));
  }
  /// Calls release(), and ignores its result. LockManagerOptions::on_lost reports a lost lock.
  void unlock() { static_cast<void>(release()); }

 protected:
  ReentrantLock(LockManager& manager, std::string name, LockKind kind);

 private:
  friend class ReadWriteLock;

  static bool must(const absl::StatusOr<bool>& acquired);
  [[nodiscard]] std::uint64_t owner() const;
  [[nodiscard]] LockHold hold_of(std::uint64_t owner) const;

  std::shared_ptr<LockCore> core_;
  std::string name_;
  LockKind kind_;
};

}  // namespace rushgate
