// Vouchers that were looked for in vain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include <rushgate/voucher.h>

namespace rushgate {

/// Remembers for a while that the order database does not know a voucher: requests for vouchers that were
/// never published must not each cost it a query. Thread-safe.
class UnknownVouchers {
 public:
  /// A voucher that another process publishes meanwhile is found after this time at the latest.
  static constexpr std::int64_t kRememberedMs = 500;
  static constexpr std::size_t kVouchersMax = 10'000;  // more are forgotten at once

  [[nodiscard]] bool contains(VoucherId voucher, std::int64_t now_ms) const {
    const std::lock_guard lock(mutex_);
    const auto found = until_ms_.find(voucher);
    return found != until_ms_.end() && now_ms < found->second;
  }
  void add(VoucherId voucher, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    if (until_ms_.size() == kVouchersMax) until_ms_.clear();
    until_ms_[voucher] = now_ms + kRememberedMs;
  }

 private:
  mutable std::mutex mutex_;
  absl::flat_hash_map<VoucherId, std::int64_t> until_ms_;  // guarded by mutex_
};

}  // namespace rushgate
