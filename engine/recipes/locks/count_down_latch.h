// Waits until other processes have done their parts: RCountDownLatch of Redisson 3.27.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/recipes/locks/lock_manager.h"

namespace rushgate {

/// Thread-safe; copies are the same latch. A latch without a count is open.
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
  /// Lowers the count by one; does nothing if there is none. Not idempotent: after kUnavailable the
  /// count may be lowered.
  absl::Status count_down();
  /// Returns the count; 0 if there is none.
  absl::StatusOr<std::int64_t> count();

  /// Waits for up to `wait_ms`, or kForever. Returns true if the latch is open.
  absl::StatusOr<bool> wait(std::int64_t wait_ms);
  /// As wait(), but returns at once. `done` runs once: as a callback of the backend, or before this
  /// returns.
  void wait_async(std::int64_t wait_ms, Callback done);

 private:
  std::shared_ptr<LockCore> core_;
  std::string name_;
};

}  // namespace rushgate
