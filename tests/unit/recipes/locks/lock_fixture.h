// Parts that the lock tests share.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/recipes/recipe_fixture.h"
#include <rushgate/locks.h>

namespace rushgate {

/// A wait that acquire_async() started.
class PendingLock {
 public:
  PendingLock() : state_(std::make_shared<State>()) {}

  [[nodiscard]] ReentrantLock::Callback callback() {
    return [state = state_](absl::StatusOr<bool> acquired) {
      state->promise.set_value(std::move(acquired));
    };
  }
  [[nodiscard]] bool is_done() const {
    return state_->future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// On a Redis, blocks until the result arrives.
  [[nodiscard]] absl::StatusOr<bool> result() const { return state_->future.get(); }

 private:
  struct State {
    std::promise<absl::StatusOr<bool>> promise;
    std::shared_future<absl::StatusOr<bool>> future{promise.get_future()};
  };
  std::shared_ptr<State> state_;
};

inline PendingLock begin(ReentrantLock lock, std::uint64_t owner,
                         std::int64_t wait_ms = ReentrantLock::kForever,
                         std::int64_t lease_ms = ReentrantLock::kWatchdog) {
  PendingLock pending;
  lock.acquire_async(owner, wait_ms, lease_ms, pending.callback());
  return pending;
}

}  // namespace rushgate
