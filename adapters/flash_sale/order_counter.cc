#include "adapters/flash_sale/order_counter.h"

#include <utility>

namespace rushgate {

absl::StatusOr<OrderCounter::Counted> OrderCounter::count(std::optional<VoucherId> voucher) {
  const std::int64_t began_ms = clock_.monotonic_ms();
  {
    const std::lock_guard lock(mutex_);
    Known& known = known_[voucher];
    if (known.counts && (known.is_counting || began_ms < known.due_ms)) return answer(known);
    known.is_counting = true;
  }
  auto counts = orders_.count_by_status(voucher);
  const std::int64_t took_ms = clock_.monotonic_ms() - began_ms;
  const std::lock_guard lock(mutex_);
  Known& known = known_[voucher];
  known.is_counting = false;
  known.due_ms = began_ms + limits_.share * took_ms;
  if (counts.ok() || !known.counts || !known.counts->ok()) {
    known.counts = std::move(counts);
    known.began_ms = began_ms;
  }
  auto counted = answer(known);
  if (took_ms < limits_.quick_ms) known_.erase(voucher);
  return counted;
}

absl::StatusOr<OrderCounter::Counted> OrderCounter::answer(const Known& known) const {
  const absl::StatusOr<OrderCounts>& counts = *known.counts;
  if (!counts.ok()) return counts.status();
  return Counted{.by_status = *counts, .age_ms = clock_.monotonic_ms() - known.began_ms};
}

}  // namespace rushgate
