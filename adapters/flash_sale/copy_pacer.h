// The pace of a backup: it leaves the disk and the processors to the sale.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include <rushgate/copy_portion.h>

namespace rushgate {

/// Returns how long a copy waits after a portion that took `work`: it works for a thirtieth of the time.
/// It waits for less if it would otherwise not end in `time_left`, which is counted from the end of the
/// portion.
std::chrono::nanoseconds pause_after(std::chrono::nanoseconds work,
                                     std::chrono::nanoseconds time_left,
                                     const CopyPortion& portion);

/// Waits after each portion of a copy while the sale sells. For one thread at a time.
class CopyPacer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `count_sales` returns a number that grows whenever the sale decides or stores something.
  CopyPacer(std::function<std::uint64_t()> count_sales, std::stop_token stop);

  /// Begins a part of the copy, which should end by then.
  void begin_part(Clock::time_point end);
  /// As AfterPortion. kAborted: the copy was told to stop.
  absl::Status after(const CopyPortion& portion);

  /// Returns the bytes of the part that are copied.
  [[nodiscard]] std::uint64_t copied() const { return copied_; }

 private:
  /// Returns true if something was sold within the last second.
  bool is_selling(Clock::time_point now);

  const std::function<std::uint64_t()> count_sales_;
  const std::stop_token stop_;
  Clock::time_point part_ends_ = {};
  Clock::time_point portion_began_ = {};
  Clock::time_point sold_at_ = {};  // when sales_ last changed
  std::uint64_t sales_;
  std::uint64_t copied_ = 0;
};

}  // namespace rushgate
