// Ends holds whose orders were not paid in time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Cancels orders that are due, when it is time to look for them. Rebuilds vouchers whose holds are
/// lost, and serves waiting lists whose window has opened. Times are monotonic, in ms. For one thread.
/// Does not own its arguments, which must outlive it.
class HoldTimeouts {
 public:
  HoldTimeouts(Client& client, const Clock& clock, const SaleKeys& keys, VoucherBook& vouchers);

  /// Returns when to look next.
  [[nodiscard]] std::int64_t next_ms() const { return next_ms_; }
  /// Looks at the latest when this much time has passed: an order is due then.
  void expect_in(std::int64_t ms);
  /// Cancels orders in bounded portions, and adds their number to `expired`. next_ms() stays in the
  /// past if more are due. After an error it looks again a second later.
  absl::Status expire(std::size_t& expired);

 private:
  absl::Status look_for_lost(std::int64_t now_ms);
  absl::Status forget_payments();
  absl::Status end_due(std::int64_t now_ms, std::size_t& expired);
  absl::Status rebuild(const std::vector<VoucherId>& closed);

  Client& client_;
  const Clock& clock_;
  const SaleKeys& keys_;
  VoucherBook& vouchers_;
  std::int64_t next_ms_ = 0;
  std::int64_t look_for_lost_at_ms_ = 0;  // for lost holds and opened windows
};

}  // namespace rushgate
