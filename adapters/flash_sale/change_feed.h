// Reports the recorded changes of orders to a function, at least once and in their order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/clock.h>
#include <rushgate/order_worker.h>
#include <rushgate/payment_store.h>

namespace rushgate {

/// Thread-safe. One thread at a time calls the function. Does not own its arguments, which must
/// outlive it.
class ChangeFeed {
 public:
  using Hook = std::function<void(const OrderChange&)>;

  /// Creates a feed of the changes above the position `after`. `options` has its pauses.
  ChangeFeed(PaymentStore& changes, const Clock& clock, const WorkerOptions& options,
             const Hook& hook, std::int64_t after)
      : changes_(changes), clock_(clock), options_(options), hook_(hook), position_(after) {}
  ChangeFeed(const ChangeFeed&) = delete;
  ChangeFeed& operator=(const ChangeFeed&) = delete;

  /// Calls the function for the next changes, at most kPortion. Returns true if there may be more
  /// for the calling thread. Returns false at once if another thread is in this call: that thread
  /// gets true for it. Returns an error if the store or the function failed: the change will be
  /// reported again after a pause.
  absl::StatusOr<bool> report();

  /// Returns true if every recorded change was reported.
  absl::StatusOr<bool> is_complete();
  /// Returns the position of the last change for which the function returned.
  [[nodiscard]] std::int64_t position() const { return position_.load(); }

 private:
  /// A worker stores orders after each portion.
  static constexpr std::size_t kPortion = 256;

  absl::StatusOr<bool> report_portion();
  absl::Status call_hook(const OrderChange& change);
  absl::Status pause(const absl::Status& reason);

  PaymentStore& changes_;
  const Clock& clock_;
  const WorkerOptions& options_;
  const Hook& hook_;
  std::atomic<std::int64_t> position_;
  std::atomic<bool> is_wanted_{false};  // by a thread that found the mutex locked
  std::mutex mutex_;                    // guards the next three members, and calls of the function
  std::int64_t paused_until_ms_ = 0;    // monotonic
  std::int64_t pause_ms_ = 0;           // the last pause; 0: none since the last success
  absl::Status pause_reason_;
};

}  // namespace rushgate
