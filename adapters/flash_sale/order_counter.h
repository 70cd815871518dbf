// Counts of stored orders for those who ask again and again.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Counting reads each order: a second for some millions. So a count is used again until counting takes
/// only its share of the time. Thread-safe. Does not own its arguments, which must outlive it.
class OrderCounter {
 public:
  struct Limits {
    std::int64_t share = 10;      // of `share` ms, one is spent on counting
    std::int64_t quick_ms = 100;  // a count that takes less is always made anew
  };
  struct Counted {
    OrderCounts by_status = {};
    std::int64_t age_ms = 0;  // since it was begun
  };

  OrderCounter(OrderStore& orders, const Clock& clock, const Limits& limits)
      : orders_(orders), clock_(clock), limits_(limits) {}

  /// Counts the orders of a voucher, or of all. May block. An error is the store's; after one, a count that
  /// was made before is used on.
  absl::StatusOr<Counted> count(std::optional<VoucherId> voucher);

 private:
  struct Known {
    std::optional<absl::StatusOr<OrderCounts>> counts =
        {};                     // empty: being counted for the first time
    std::int64_t began_ms = 0;  // monotonic
    std::int64_t due_ms = 0;    // monotonic: when to count again
    bool is_counting = false;   // a thread counts anew
  };
  /// Returns counts that are not empty.
  [[nodiscard]] absl::StatusOr<Counted> answer(const Known& known) const;

  OrderStore& orders_;
  const Clock& clock_;
  const Limits limits_;
  std::mutex mutex_;                                 // guards the next member
  std::map<std::optional<VoucherId>, Known> known_;  // those that are counted, or took long
};

}  // namespace rushgate
