// A bound on the number of concurrent holders, among all processes: RPermitExpirableSemaphore of
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

/// Thread-safe; copies are the same semaphore. A permit has an id and, optionally, a lease: the
/// permit of a dead holder becomes free when the lease ends. Any process can release it by its id.
/// Permits are given in no order.
///
/// **Keys**, as RedissonPermitExpirableSemaphore's. The number of free permits is a string at the
/// name itself. A sorted set {<name>}:timeout has the held permits (16 bytes each) by their end, ms
/// since 1970. The channel redisson_sc:{<name>} gets a message when permits become free. Times are
/// the server's; Redisson uses the clients'. A permit whose lease has ended becomes free at the
/// next request for one.
///
/// Waiting sends nothing. Waits in callbacks and in manual mode, and errors, are as in
/// ReentrantLock. After an error the permit is released without waiting for the reply.
class Semaphore {
 public:
  static constexpr std::int64_t kForever = -1;
  static constexpr std::int64_t kNoLease = 0;
  /// 32 hexadecimal digits; nothing: timed out.
  using Permit = std::optional<std::string>;
  using Callback = absl::AnyInvocable<void(absl::StatusOr<Permit>)>;

  Semaphore(LockManager& manager, std::string name);

  /// Sets the number of permits, if it was never set. Returns false if it was.
  absl::StatusOr<bool> try_set_permits(std::int64_t count);
  /// Returns the number of free permits.
  absl::StatusOr<std::int64_t> available();

  /// Returns the id of a permit. Waits for up to `wait_ms`, or kForever.
  absl::StatusOr<Permit> acquire(std::int64_t wait_ms, std::int64_t lease_ms = kNoLease);
  /// As acquire(), but returns at once. `done` runs once: as a callback of the backend, or before
  /// this returns.
  void acquire_async(std::int64_t wait_ms, std::int64_t lease_ms, Callback done);

  /// Releases a permit. kFailedPrecondition: it is not held, or its lease has ended.
  /// kInvalidArgument: it is no id.
  absl::Status release(const std::string& permit);

 private:
  std::shared_ptr<LockCore> core_;
  std::string name_;
};

}  // namespace rushgate
