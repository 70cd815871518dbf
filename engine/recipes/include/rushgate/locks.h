// Locks, semaphores and latches among processes. Those of Redisson 3.27 can be shared with JVMs.
// Read LockManager first, then ReentrantLock: the others refer to it. SimpleLock needs no manager.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>

namespace rushgate {

class LockCore;
enum class LockKind : std::uint8_t;
struct LockHold;

/// A value type.
struct LockManagerOptions {
  /// The process's name among the owners of locks. Empty: a random UUID, as in Redisson.
  std::string client_id = {};
  /// The lease of a lock that was acquired without one. It is renewed every third of this time. If
  /// JVMs share a ReadWriteLock, at most their lockWatchdogTimeout (Redisson's default is the
  /// same): see ReentrantLock::is_held().
  std::int64_t watchdog_lease_ms = 30'000;
  /// Runs as a callback of the backend when a lock was lost that its owner has not released. Either
  /// its lease ended, or the lock was gone at its renewal. Gets the name of the lock and the number
  /// of the owner. Each side of a ReadWriteLock is reported by itself.
  std::function<void(const std::string& name, std::uint64_t owner)> on_lost = {};
  /// Of the manager's own clients. `wait` is also the way in which callers wait for a lock.
  ClientOptions client = {};
};

/// Holds the state that the locks of one process share: identity, subscriptions, renewal of leases.
/// One manager is enough for a process and a backend. Thread-safe. The backend must outlive it.
/// Locks may outlive it: their calls then fail with kCancelled.
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
  friend class PlainSemaphore;
  friend class ReentrantLock;
  friend class Semaphore;

  const std::shared_ptr<LockCore> core_;
};

/// The state of a lock on the server, at the time of the request. A value type.
struct LockState {
  bool is_locked = false;          // by any owner of any process
  std::int64_t holds = 0;          // of the owner that asks
  std::int64_t lease_left_ms = 0;  // of the lock, so of its longest hold; -1: it has no end
};

/// A value type.
struct LockOptions {
  /// As RFencedLock: each acquisition raises a number, token(). The protected resource can refuse
  /// work with a lower token than the last. This is the only defence against a holder that was
  /// paused for longer than its lease. All users of the lock must choose the same.
  bool is_fenced = false;
};

/// Locks as RLock and RFencedLock of Redisson 3.27 do. Thread-safe. Copies are the same lock.
///
/// **Owners.** The owner is the manager's client id and the calling thread or fiber. An owner may
/// acquire the lock several times, and then must release it as often.
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
/// A call that waits must not be made in a callback of the backend: the callback would wait for
/// itself. Only acquire_async() can wait in a callback, and in manual mode.
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
  /// Works as try_acquire(), but returns at once. `owner` is a caller's number. `done` runs once:
  /// as a callback of the backend, or before this returns.
  void acquire_async(std::uint64_t owner, std::int64_t wait_ms, std::int64_t lease_ms,
                     Callback done);

  /// Ends one hold of the caller. kFailedPrecondition: the caller does not hold the lock, or lost
  /// it.
  absl::Status release() { return release_of(owner()); }
  /// Ends one hold of `owner`, with the same errors.
  absl::Status release_of(std::uint64_t owner);

  /// Sets the lease of the lock that the caller holds, from now on, and ends its renewal.
  /// kFailedPrecondition: the caller does not hold it.
  absl::Status set_lease(std::int64_t lease_ms);

  /// Reads the lock's state and the caller's holds from the server. The read side of a
  /// ReadWriteLock is locked while there are only readers, the write side while there is a writer.
  absl::StatusOr<LockState> state() { return state_of(owner()); }
  absl::StatusOr<LockState> state_of(std::uint64_t owner);
  /// Ends the holds of all owners in all processes: for an operator. Returns false if there were
  /// none. Waiters are woken. A former holder works on: it learns its loss at its next renewal or
  /// release, and until then its is_held() may be true.
  absl::StatusOr<bool> force_release();

  /// Returns true if the caller's lease still lasts for certain, unless force_release() ended it.
  /// Sends nothing.
  ///
  /// For a read lock this requires that the JVMs that share it have a lockWatchdogTimeout of at
  /// least LockManagerOptions::watchdog_lease_ms: their renewals set all readers' leases to theirs.
  /// A longer read lease is therefore set again every third of that time. When that fails for as
  /// long, is_held() is false until it succeeds.
  [[nodiscard]] bool is_held() const { return is_held_by(owner()); }
  [[nodiscard]] bool is_held_by(std::uint64_t owner) const;
  /// Returns the fencing token of the caller's last acquisition; 0 if there is none.
  [[nodiscard]] std::int64_t token() const { return token_of(owner()); }
  [[nodiscard]] std::int64_t token_of(std::uint64_t owner) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns the backend's clock, which counts waits and leases.
  [[nodiscard]] const Clock& clock() const;

  // ---- For std::unique_lock and std::lock_guard ----

  /// Calls acquire(). Throws std::runtime_error if it fails.
  void lock();
  /// Calls try_acquire(0). Throws std::runtime_error if it fails.
  bool try_lock();
  /// Calls try_acquire(duration). Throws std::runtime_error if it fails.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
    return must(try_acquire(std::chrono::ceil<std::chrono::milliseconds>(duration).count()));
  }
  /// Calls release(), and ignores its result. LockManagerOptions::on_lost reports a lost lock.
  void unlock() { static_cast<void>(release()); }

 protected:
  ReentrantLock(LockManager& manager, std::string name, LockKind kind);

 private:
  friend class ReadWriteLock;  // uses the constructor

  static bool must(const absl::StatusOr<bool>& acquired);
  [[nodiscard]] std::uint64_t owner() const;
  [[nodiscard]] LockHold hold_of(std::uint64_t owner) const;

  std::shared_ptr<LockCore> core_;
  std::string name_;
  LockKind kind_;
};

/// Serves waiting callers in order of arrival, as RFairLock of Redisson 3.27. In all else it is a
/// ReentrantLock.
///
/// **Keys**, as RedissonFairLock's. A list redisson_lock_queue:{<name>} has the waiting owners. A
/// sorted set redisson_lock_timeout:{<name>} has the time when each is dropped, ms since 1970. Each
/// owner has its own channel, redisson_lock__channel:{<name>}:<client id>:<thread>. Times are the
/// server's; Redisson uses the clients'.
///
/// An owner that died while it waited delays the others until it is dropped. That happens when its
/// waiting time ends, or after 300 s. The others then enter at once. A live one renews its place
/// while it waits; Redisson's does not. A release wakes the first waiter that listens, and an owner
/// that enters wakes the next one, which learns the new lease. try_acquire(0) and try_lock() do not
/// queue, and fail while others wait.
class FairLock : public ReentrantLock {
 public:
  FairLock(LockManager& manager, std::string name);
};

/// Locks for many readers or one writer, as RReadWriteLock of Redisson 3.27. A writer excludes all
/// other owners. Each side is used as a ReentrantLock, with the same owners, leases, waits and
/// errors. Thread-safe. Copies are the same lock.
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
/// has expired is an error. A waiting reader tries again after 1 s, and whenever the time that it
/// waited has doubled, since a JVM that keeps its read lock sends no message.
class ReadWriteLock {
 public:
  ReadWriteLock(LockManager& manager, std::string name);

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

/// Holds all of its locks or none, as RedissonMultiLock of Redisson 3.27. Thread-safe. The locks
/// may belong to several managers and backends: the multi-lock is held as long as each lock is.
///
/// Locks are acquired in the given order. A call that cannot get all of them in time releases the
/// ones that it has. acquire() does the same after 1.5 s per lock, and tries again. So callers with
/// other orders cannot block each other for ever.
///
/// With a lease, all leases begin when the last lock is acquired. If a lock was lost meanwhile, the
/// call fails, or it continues as if that lock had not been acquired.
class MultiLock {
 public:
  /// Takes at least one lock, and each lock once.
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

  /// Calls acquire(). Throws std::runtime_error if it fails.
  void lock();
  /// Calls try_acquire(0). Throws std::runtime_error if it fails.
  bool try_lock();
  /// Calls release(), and ignores its result.
  void unlock() { static_cast<void>(release()); }

 private:
  absl::Status release_first(std::size_t count);

  std::vector<ReentrantLock> locks_;
};

/// Bounds the number of concurrent holders among all processes, as RPermitExpirableSemaphore of
/// Redisson 3.27. Thread-safe. Copies are the same semaphore.
///
/// A permit has an id and, optionally, a lease. The permit of a dead holder becomes free when its
/// lease ends. Any process can release a permit by its id. Permits are given in no order: a call that
/// needs several may wait for ever while others take fewer.
///
/// **Keys**, as RedissonPermitExpirableSemaphore's. The number of free permits is a string at the
/// name itself. A sorted set {<name>}:timeout has the held permits (16 bytes each) by their end, ms
/// since 1970. The channel redisson_sc:{<name>} gets a message when permits become free. Times are
/// the server's; Redisson uses the clients'. A permit whose lease has ended becomes free at the
/// next request for one. Permits of Redisson 3.13 (32 bytes) can be released too. Redisson 3.13
/// cannot release those of this class.
///
/// Waiting sends nothing. Waits in callbacks and in manual mode, and errors, are as in
/// ReentrantLock. After an error the permits are released without waiting for the reply.
class Semaphore {
 public:
  static constexpr std::int64_t kForever = -1;
  static constexpr std::int64_t kNoLease = 0;
  /// The id of a permit, 32 hexadecimal digits; nothing if the call timed out.
  using Permit = std::optional<std::string>;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<Permit>)>;
  /// The ids of several permits; empty if the call timed out.
  using Permits = std::vector<std::string>;
  using PermitsCallback = absl::AnyInvocable<void(absl::StatusOr<Permits>)>;
  /// The most permits of one call.
  static constexpr std::int64_t kPermitsMax = 1'000;

  Semaphore(LockManager& manager, std::string name);

  /// Sets the number of permits, if it was never set. Returns false if it was.
  absl::StatusOr<bool> try_set_permits(std::int64_t count);
  /// Returns the number of free permits.
  absl::StatusOr<std::int64_t> available();

  /// Returns the id of a permit. Waits for up to `wait_ms`, or kForever.
  absl::StatusOr<Permit> acquire(std::int64_t wait_ms, std::int64_t lease_ms = kNoLease);
  /// Works as acquire(), but returns at once. `done` runs once: as a callback of the backend, or
  /// before this returns.
  void acquire_async(std::int64_t wait_ms, std::int64_t lease_ms, Callback done);

  /// Releases a permit. kFailedPrecondition: it is not held, or its lease has ended.
  /// kInvalidArgument: it is no id.
  absl::Status release(const std::string& permit) { return release_many({&permit, 1}); }

  /// Returns the ids of `count` permits: all of them at once, or none. Otherwise as acquire().
  /// kInvalidArgument: `count` is not from 1 to kPermitsMax.
  absl::StatusOr<Permits> acquire_many(std::int64_t count, std::int64_t wait_ms,
                                       std::int64_t lease_ms = kNoLease);
  /// Works as acquire_many(), but returns at once. `done` runs as that of acquire_async().
  void acquire_many_async(std::int64_t count, std::int64_t wait_ms, std::int64_t lease_ms,
                          PermitsCallback done);
  /// Releases up to kPermitsMax permits at once. kFailedPrecondition: some are not held, or their
  /// leases have ended; the others are released. kInvalidArgument: one is no id, or there are none
  /// or too many; nothing is done.
  absl::Status release_many(std::span<const std::string> permits);

 private:
  std::shared_ptr<LockCore> core_;
  std::string name_;
};

/// Counts permits that have neither ids nor leases, as RSemaphore of Redisson 3.27 (getSemaphore).
/// Thread-safe. Copies are the same semaphore.
///
/// Several permits can be taken at once, all or none, and anyone can add some. So no process
/// notices a permit that was released twice, or that a dead process keeps: Semaphore has permits
/// for that. Many systems keep a stock in it: docs/recipes.md shows how to sell from it together
/// with them, and how a Sale takes it over.
///
/// **Keys**, as RedissonSemaphore's: the number of free permits is a string at the name itself. The
/// channel redisson_sc:{<name>} gets their number when permits become free.
///
/// Waiting sends nothing. A call that needs many permits may wait for ever while others take fewer.
/// Waits in callbacks and in manual mode, and errors, are as in ReentrantLock. No call is
/// idempotent: after kUnavailable the permits may have been taken or added.
class PlainSemaphore {
 public:
  static constexpr std::int64_t kForever = -1;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<bool>)>;

  PlainSemaphore(LockManager& manager, std::string name);

  /// Sets the number of permits, if it was never set. Returns false if it was.
  absl::StatusOr<bool> try_set_permits(std::int64_t count);
  /// Returns the number of free permits.
  absl::StatusOr<std::int64_t> available();

  /// Takes `count` permits, which must be positive. Returns true if it did. Waits for up to
  /// `wait_ms`, or kForever.
  absl::StatusOr<bool> acquire(std::int64_t count, std::int64_t wait_ms);
  /// Works as acquire(), but returns at once. `done` runs once: as a callback of the backend, or
  /// before this returns.
  void acquire_async(std::int64_t count, std::int64_t wait_ms, Callback done);
  /// Adds `count` permits, which must be positive.
  absl::Status release(std::int64_t count = 1);
  /// Takes all free permits, and returns their number.
  absl::StatusOr<std::int64_t> drain();

 private:
  std::shared_ptr<LockCore> core_;
  std::string name_;
};

/// Waits until other processes have done their parts, as RCountDownLatch of Redisson 3.27. A latch
/// without a count is open. Thread-safe. Copies are the same latch.
///
/// **Keys**, as RedissonCountDownLatch's: the count is a string at the name itself, removed when it
/// reaches 0. The channel redisson_countdownlatch__channel__{<name>} gets `1` when a count is set,
/// and `0` when it reaches 0. Waiting sends nothing. Waits in callbacks and in manual mode, and
/// errors, are as in ReentrantLock.
class CountDownLatch {
 public:
  static constexpr std::int64_t kForever = -1;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<bool>)>;

  CountDownLatch(LockManager& manager, std::string name);

  /// Sets the count, which must be positive, if there is none. Returns false if there is one.
  absl::StatusOr<bool> try_set_count(std::int64_t count);
  /// Lowers the count by one. Does nothing if there is none. It is not idempotent: after
  /// kUnavailable the count may be lowered.
  absl::Status count_down();
  /// Returns the count; 0 if there is none.
  absl::StatusOr<std::int64_t> count();

  /// Waits for up to `wait_ms`, or kForever. Returns true if the latch is open.
  absl::StatusOr<bool> wait(std::int64_t wait_ms);
  /// Works as wait(), but returns at once. `done` runs once: as a callback of the backend, or
  /// before this returns.
  void wait_async(std::int64_t wait_ms, Callback done);

 private:
  std::shared_ptr<LockCore> core_;
  std::string name_;
};

/// A value type.
struct SimpleLockOptions {
  std::string key_prefix = "lock:";  // the key is <key_prefix><name>: a string, the owner
  std::int64_t lease_ms = 10'000;    // the server drops the lock after this time; positive
  ClientOptions client = {};
};

/// Locks as most systems do: SET lock:<name> <owner> NX PX, and a script that deletes the key only
/// for its owner. There is one holder at a time among all processes. An object is one potential
/// holder, and is not reentrant. Thread-safe. The backend must outlive it. Destroying it releases
/// the lock.
///
/// It does not wait, because the key has no channel. It does not renew: work that outlasts the
/// lease runs without the lock. expires_in_ms() returns the remaining time. ReentrantLock waits and
/// renews.
///
/// Use it with `std::unique_lock lock(simple, std::try_to_lock)`.
class SimpleLock {
 public:
  SimpleLock(Backend& backend, std::string name, SimpleLockOptions options = {});
  ~SimpleLock();
  SimpleLock(const SimpleLock&) = delete;
  SimpleLock& operator=(const SimpleLock&) = delete;

  /// Returns true if this object now holds the lock, false if it was held, even by this object.
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

  /// Calls acquire(). Returns false after an error.
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
