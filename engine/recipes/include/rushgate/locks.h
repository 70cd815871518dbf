// Locks, semaphores and latches that processes share, also with JVMs that use Redisson 3.27. Read
// LockManager first, then ReentrantLock, to which the others refer. SimpleLock needs no manager.
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
  /// This process's name among the owners of locks. Empty: a random UUID, as in Redisson.
  std::string client_id = {};
  /// The lease of a lock that was acquired without a lease of its own, in ms. It is renewed every
  /// third of this time. If JVMs share a ReadWriteLock, it must not exceed their
  /// lockWatchdogTimeout (Redisson's default is the same): see ReentrantLock::is_held().
  std::int64_t watchdog_lease_ms = 30'000;
  /// Runs as a callback of the backend when an owner has lost a lock that it did not release: its
  /// lease ended, or the lock was gone when it was to be renewed. Gets the name of the lock and the
  /// number of the owner. Each side of a ReadWriteLock is reported by itself.
  std::function<void(const std::string& name, std::uint64_t owner)> on_lost = {};
  /// Options of the manager's own clients. Callers wait for a lock in the way that `wait` selects.
  ClientOptions client = {};
};

/// Holds the state that the locks of one process share: identity, subscriptions, renewal of leases.
/// A process needs one manager for each backend. Thread-safe. The backend must outlive it. Locks
/// may outlive it: their calls then fail with kCancelled.
///
/// Destroying the manager does not release any lock. It stops renewing leases, and ends waits with
/// kCancelled.
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
  std::int64_t lease_left_ms = 0;  // of the lock, that is of its longest hold; -1: it has no end
};

/// A value type.
struct LockOptions {
  /// As RFencedLock: each acquisition gets a greater number, token(). The protected resource can
  /// refuse work whose token is lower than the last one it has seen. This is the only defence
  /// against a holder that was paused for longer than its lease. All users of the lock must set the
  /// same value.
  bool is_fenced = false;
};

/// A lock like RLock and RFencedLock of Redisson 3.27. Thread-safe. Copies are the same lock.
///
/// **Owners.** An owner is a client id (the manager's) and a thread or fiber (the calling one). An
/// owner may acquire the lock several times, and must then release it as often.
///
/// **Keys** are those of Redisson 3.27 (RedissonLock, RedissonFencedLock). The lock is a hash whose
/// key is the name itself: <client id>:<thread> -> number of holds. Its expiry is the lease. A
/// release that ends the hold publishes `0` on redisson_lock__channel:{<name>}.
///
/// On a Redis, a release keeps its result at redisson_unlock_latch:{<name>}:<request> until its
/// reply has arrived, so that it can be repeated after a lost connection. Tokens are drawn from
/// redisson_lock_token:{<name>}. (No braces are added to a name that has `{`.)
///
/// **Leases.** The server decides when a lock expires. If a lock was acquired without a lease,
/// timers of the backend renew it every third of the watchdog's lease, until it is released. A
/// renewal that fails is repeated as long as the lease may last. This process counts its leases on
/// a monotonic clock, from before the request was sent. So is_held() turns false before the server
/// drops the lock.
///
/// **Waiting** sends nothing: a message on the channel, or the end of the holder's lease, starts
/// the next attempt. A message wakes one waiter of a manager. Waiters are not served in order.
///
/// Do not make a call that waits in a callback of the backend: the callback would wait for itself.
/// In a callback, and in manual mode, only acquire_async() can wait.
///
/// After a temporary error, a call that waits tries again at the next connection, or after a
/// second.
///
/// **Errors** are those of requests, and kCancelled if the manager is gone. After kUnavailable,
/// trying again may help. The acquisition may have succeeded nevertheless: the lock is then held
/// until the lease ends, or until the owner acquires and releases it.
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
  /// Works like try_acquire(), but returns at once. `owner` is a number as LockManager::caller()
  /// returns. `done` runs once: as a callback of the backend, or before this returns.
  void acquire_async(std::uint64_t owner, std::int64_t wait_ms, std::int64_t lease_ms,
                     Callback done);

  /// Ends one hold of the caller. kFailedPrecondition: the caller does not hold the lock, or lost
  /// it.
  absl::Status release() { return release_of(owner()); }
  /// Ends one hold of `owner`, with the same errors.
  absl::Status release_of(std::uint64_t owner);

  /// Makes the lease of the lock that the caller holds end in `lease_ms` from now, and stops
  /// renewing it. kFailedPrecondition: the caller does not hold the lock.
  absl::Status set_lease(std::int64_t lease_ms);

  /// Reads the state of the lock, and the caller's holds, from the server. The read side of a
  /// ReadWriteLock counts as locked while there are only readers, the write side while there is a
  /// writer.
  absl::StatusOr<LockState> state() { return state_of(owner()); }
  absl::StatusOr<LockState> state_of(std::uint64_t owner);
  /// Ends the holds of all owners in all processes, and wakes waiters. For operators. Returns false
  /// if there were no holds. A former holder goes on working: it learns of the loss at its next
  /// renewal or release, and until then its is_held() may be true.
  absl::StatusOr<bool> force_release();

  /// Returns true if the caller's lease certainly still lasts, unless force_release() ended it.
  /// Sends nothing.
  ///
  /// For a read lock this requires that the JVMs that share it have a lockWatchdogTimeout of at
  /// least LockManagerOptions::watchdog_lease_ms, because their renewals set the leases of all
  /// readers to theirs. A read lease that is longer is therefore set again every third of that
  /// time. If this keeps failing until that time has passed, is_held() is false until it succeeds.
  [[nodiscard]] bool is_held() const { return is_held_by(owner()); }
  [[nodiscard]] bool is_held_by(std::uint64_t owner) const;
  /// Returns the fencing token of the caller's last acquisition; 0 if there is none.
  [[nodiscard]] std::int64_t token() const { return token_of(owner()); }
  [[nodiscard]] std::int64_t token_of(std::uint64_t owner) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns the backend's clock, by which waits and leases are counted.
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

/// A ReentrantLock that serves waiting callers in order of arrival, like RFairLock of Redisson
/// 3.27.
///
/// **Keys** are those of RedissonFairLock. The list redisson_lock_queue:{<name>} has the waiting
/// owners. The sorted set redisson_lock_timeout:{<name>} says when each of them is dropped (ms
/// since 1970). Each owner has its own channel, redisson_lock__channel:{<name>}:<client
/// id>:<thread>. Times are the server's; Redisson uses the clients'.
///
/// An owner that died while it waited delays the others until it is dropped, when its waiting time
/// ends, or after 300 s. The others then enter at once. A live owner renews its place while it
/// waits; one of Redisson does not. A release wakes the first waiter that listens. An owner that
/// acquires the lock wakes the next one, which thereby learns the new lease. try_acquire(0) and
/// try_lock() do not queue, and fail while others wait.
class FairLock : public ReentrantLock {
 public:
  FairLock(LockManager& manager, std::string name);
};

/// A lock for many readers or one writer, like RReadWriteLock of Redisson 3.27. A writer excludes
/// all other owners. Each side is used like a ReentrantLock, with the same owners, leases, waits
/// and errors. Thread-safe. Copies are the same lock.
///
/// The owner of the write lock may also acquire the read lock. If it then releases the write lock
/// first, it keeps the read lock: other readers enter, and no writer can come in between. An owner
/// of the read lock alone cannot acquire the write lock: it waits like others, for ever if it waits
/// for itself. Writers have no precedence: readers that keep overlapping keep writers out.
///
/// **Keys** are those of Redisson 3.27 (RedissonReadLock, RedissonWriteLock). The lock is a hash
/// whose key is the name itself. Its field `mode` is `read` or `write`. <client id>:<thread> counts
/// the read holds of an owner, <client id>:<thread>:write its write holds. Each read hold has a key
/// with its lease, {<name>}:<client id>:<thread>:rwlock_timeout:<number of the hold>. The lock
/// lasts as long as the longest hold. The release of the last reader publishes `0` on
/// redisson_rwlock:{<name>}, that of a writer `1`.
///
/// **Differences from Redisson.** A renewal extends only the leases of its owner, and shortens none
/// of the others. Releasing a read hold gives the owner's remaining read holds a new lease, and
/// does not change the writer's. A writer that keeps its read lock wakes waiting readers. Acquiring
/// the write lock again sets its lease instead of adding to it. Releasing a lock that has expired
/// is an error. A waiting reader tries again after 1 s, and then whenever the time that it has
/// waited has doubled, because a JVM that keeps its read lock sends no message.
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

/// Holds all of its locks or none, like RedissonMultiLock of Redisson 3.27. Thread-safe. The locks
/// may belong to several managers and backends. The multi-lock is held as long as each of its locks
/// is.
///
/// Locks are acquired in the given order. A call that cannot get all of them in time releases those
/// that it has. acquire() does so after 1.5 s per lock, and then tries again. So callers with
/// different orders cannot block each other for ever.
///
/// With a lease, all leases begin when the last lock is acquired. If a lock was lost meanwhile, the
/// call fails, or continues as if that lock had not been acquired.
class MultiLock {
 public:
  /// Takes at least one lock, and each lock once.
  explicit MultiLock(std::vector<ReentrantLock> locks);

  /// Blocks until the caller holds all of them. After the first error it releases all, and returns
  /// it.
  absl::Status acquire(std::int64_t lease_ms = ReentrantLock::kWatchdog);
  /// Returns true if the caller now holds all of them. Waits for up to `wait_ms` in all.
  absl::StatusOr<bool> try_acquire(std::int64_t wait_ms,
                                   std::int64_t lease_ms = ReentrantLock::kWatchdog);
  /// Ends one hold of each. Releases all, even after an error, and returns the first error.
  absl::Status release();

  /// Returns true if every lease of the caller certainly still lasts.
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

/// Bounds the number of concurrent holders among all processes, like RPermitExpirableSemaphore of
/// Redisson 3.27. Thread-safe. Copies are the same semaphore.
///
/// A permit has an id and, optionally, a lease. The permit of a dead holder becomes free when its
/// lease ends. Any process can release a permit by its id. Permits are granted in no particular
/// order: a call that needs several may wait for ever while others take fewer.
///
/// **Keys** are those of RedissonPermitExpirableSemaphore. The number of free permits is a string
/// whose key is the name itself. The sorted set {<name>}:timeout has the permits that are held (16
/// bytes each), by when they end (ms since 1970). The channel redisson_sc:{<name>} gets a message
/// when permits become free. Times are the server's; Redisson uses the clients'. A permit whose
/// lease has ended becomes free at the next request for one. Permits of Redisson 3.13 (32 bytes)
/// can be released too, but Redisson 3.13 cannot release those of this class.
///
/// Waiting sends nothing. Waits in callbacks and in manual mode, and errors, are as in
/// ReentrantLock. If a call fails and may have acquired permits, they are released without waiting
/// for the reply.
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
  /// kInvalidArgument: it is not the id of a permit.
  absl::Status release(const std::string& permit) { return release_many({&permit, 1}); }

  /// Returns the ids of `count` permits: all of them at once, or none. Otherwise as acquire().
  /// kInvalidArgument: `count` is not from 1 to kPermitsMax.
  absl::StatusOr<Permits> acquire_many(std::int64_t count, std::int64_t wait_ms,
                                       std::int64_t lease_ms = kNoLease);
  /// Works as acquire_many(), but returns at once. `done` runs as that of acquire_async().
  void acquire_many_async(std::int64_t count, std::int64_t wait_ms, std::int64_t lease_ms,
                          PermitsCallback done);
  /// Releases up to kPermitsMax permits at once. kFailedPrecondition: some are not held, or their
  /// leases have ended; the others are released. kInvalidArgument: there are none or too many, or
  /// one is not the id of a permit; nothing is released.
  absl::Status release_many(std::span<const std::string> permits);

 private:
  std::shared_ptr<LockCore> core_;
  std::string name_;
};

/// Counts permits that have neither ids nor leases, like RSemaphore of Redisson 3.27
/// (getSemaphore). Thread-safe. Copies are the same semaphore.
///
/// Several permits can be taken at once, all or none, and anyone can add some. So nobody notices if
/// a permit is released twice, or if a process dies with one: use Semaphore where that matters.
/// Many systems keep a stock in such a semaphore: docs/recipes.md shows how to sell from it
/// together with them, and how a Sale takes it over.
///
/// **Keys** are those of RedissonSemaphore: the number of free permits is a string whose key is the
/// name itself. The channel redisson_sc:{<name>} gets this number when permits become free.
///
/// Waiting sends nothing. A call that needs many permits may wait for ever while others take fewer.
/// Waits in callbacks and in manual mode, and errors, are as in ReentrantLock. No call is
/// idempotent: after kUnavailable, the permits may have been taken or added.
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

/// Lets a process wait until others have done their parts, like RCountDownLatch of Redisson 3.27. A
/// latch without a count is open. Thread-safe. Copies are the same latch.
///
/// **Keys** are those of RedissonCountDownLatch: the count is a string whose key is the name
/// itself, and is removed when it reaches 0. The channel redisson_countdownlatch__channel__{<name>}
/// gets `1` when a count is set, and `0` when it reaches 0. Waiting sends nothing. Waits in
/// callbacks and in manual mode, and errors, are as in ReentrantLock.
class CountDownLatch {
 public:
  static constexpr std::int64_t kForever = -1;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<bool>)>;

  CountDownLatch(LockManager& manager, std::string name);

  /// Sets the count, which must be positive, if there is none. Returns false if there is one.
  absl::StatusOr<bool> try_set_count(std::int64_t count);
  /// Lowers the count by one. Does nothing if there is none. Not idempotent: after kUnavailable,
  /// the count may have been lowered.
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

/// The lock that most systems use: SET lock:<name> <owner> NX PX, and a script that deletes the key
/// only for its owner. Among all processes there is at most one holder. Each object is one
/// potential holder, and is not reentrant. Thread-safe. The backend must outlive it. Destroying it
/// releases the lock.
///
/// It does not wait, because the key has no channel. It does not renew the lease either: work that
/// outlasts the lease runs without the lock. expires_in_ms() returns the remaining time.
/// ReentrantLock waits and renews.
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

  /// Returns the least time that is left of the lease, in ms, by the backend's monotonic clock; 0
  /// if the lock is not held.
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
