// Which lane each voucher of a sale is on.
#pragma once

#include <optional>
#include <shared_mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Remembers the lanes of vouchers, which never change. Thread-safe. Does not own the store, which must
/// outlive it.
class VoucherLanes {
 public:
  /// `count`: how many lanes the sale has in this process.
  VoucherLanes(LaneStore& store, int count) : store_(store), count_(count) {}

  /// Reads all lanes.
  absl::Status load();
  /// Returns the lane of a voucher if it is remembered. Asks nobody.
  [[nodiscard]] std::optional<int> remembered(VoucherId voucher) const;
  /// Returns the lane of a voucher; empty if it was never recorded. Asks the store about one that is not
  /// remembered. kUnavailable: the lane is new, and the sale was opened before it was added.
  absl::StatusOr<std::optional<int>> find(VoucherId voucher);
  /// Puts a voucher on a lane, unless it has one. Returns the one that it has then. Errors: as find().
  absl::StatusOr<int> put(VoucherId voucher, int lane);

 private:
  absl::StatusOr<int> remember(VoucherId voucher, int lane);

  LaneStore& store_;
  const int count_;
  mutable std::shared_mutex mutex_;
  absl::flat_hash_map<VoucherId, int> lanes_;  // guarded by mutex_
};

}  // namespace rushgate
