// A bound on how many hold something at once, among all processes: RPermitExpirableSemaphore of
// Redisson 3.27.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/recipes/locks/lock_manager.h"

namespace rushgate {

/// Thread-safe; copies are the same semaphore. A permit has an id and, if asked for, a lease: a holder
/// that has died gives it back when the lease ends. Any process can release it by its id. Permits are
/// given in no order.
///
/// **Keys**, as RedissonPermitExpirableSemaphore's: the number of free permits is a string at the name
/// itself, a sorted set {<name>}:timeout has the permits that are held (16 bytes each) by when they end,
/// ms since 1970, and the channel redisson_sc:{<name>} gets a message when permits become free. Times
/// are those of the server; Redisson takes the clients'. A permit whose lease has ended becomes free
/// when a process next asks for one.
///
/// Waiting sends nothing. Waits in callbacks and in manual mode, and errors, are as in ReentrantLock. After an error the permit is given back without waiting for the reply.
class Semaphore {
 public:
  static constexpr std::int64_t kForever = -1;
  static constexpr std::int64_t kNoLease = 0;
  /// 32 hexadecimal digits; nothing: no permit in time.
  using Permit = std::optional<std::string>;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<Permit>)>;

  Semaphore(LockManager& manager, std::string name);

  /// Sets the number of permits, if it was never set. Returns false if it was.
  absl::StatusOr<bool> try_set_permits(std::int64_t count);
  /// Returns how many are free now.
  absl::StatusOr<std::int64_t> available();

  /// Returns the id of a permit. Waits for up to `wait_ms`, or kForever.
  absl::StatusOr<Permit> acquire(std::int64_t wait_ms, std::int64_t lease_ms = kNoLease);
  /// As acquire(). Returns at once. `done` runs once, as a callback of the backend, or before this
  /// returns.
  void acquire_async(std::int64_t wait_ms, std::int64_t lease_ms, Callback done);

  /// Gives a permit back. kFailedPrecondition: it is not held, or its lease has ended.
  /// kInvalidArgument: it is no id.
  absl::Status release(const std::string& permit);

 private:
  std::shared_ptr<LockCore> core_;
  std::string name_;
};

}  // namespace rushgate
