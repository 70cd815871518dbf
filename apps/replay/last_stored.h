// When the workers stored something last.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "adapters/flash_sale/flash_sale.h"

namespace rushgate {

/// The time of the last stored order, as precise as the calls of look() are frequent.
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

  /// Nothing if none was.
  [[nodiscard]] std::optional<Clock::time_point> when() const { return when_; }

 private:
  const FlashSale& sale_;
  std::size_t stored_;
  std::optional<Clock::time_point> when_;
};

}  // namespace rushgate
