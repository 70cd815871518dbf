// The time at which the workers last stored an order.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include <rushgate/flash_sale.h>

namespace rushgate {

/// The time of the last stored order. Its precision is the interval between calls of look().
class LastStored {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LastStored(const FlashSale& sale) : sale_(sale), stored_(sale.stored()) {}

  void look() {
    const std::size_t stored = sale_.stored();
    if (stored == stored_) return;
    stored_ = stored;
    when_ = Clock::now();
  }

  /// Returns nothing if no order was stored.
  [[nodiscard]] std::optional<Clock::time_point> when() const { return when_; }

 private:
  const FlashSale& sale_;
  std::size_t stored_;
  std::optional<Clock::time_point> when_;
};

}  // namespace rushgate
