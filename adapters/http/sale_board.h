// What many clients look at, read once for all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/flash_sale.h>

namespace rushgate::http {

/// The summaries of all vouchers, at most kAgeMsMax old: reading them costs a request for each voucher,
/// however many clients look. Thread-safe.
class VoucherBoard {
 public:
  using Summaries = std::vector<VoucherSummary>;
  static constexpr std::int64_t kAgeMsMax = 250;

  explicit VoucherBoard(FlashSale& sale) : sale_(sale) {}
  /// May block.
  absl::StatusOr<std::shared_ptr<const Summaries>> read();
  /// Makes read() look again, after a change.
  void expire() { is_expired_ = true; }
  [[nodiscard]] bool is_expired() const { return is_expired_; }

 private:
  FlashSale& sale_;
  std::atomic<bool> is_expired_{true};
  std::mutex mutex_;  // guards the next two members
  std::shared_ptr<const Summaries> summaries_;
  std::int64_t read_at_ms_ = 0;  // monotonic
};

}  // namespace rushgate::http
