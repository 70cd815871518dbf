// Which lanes each voucher of a sale is on.
#pragma once

#include <optional>
#include <shared_mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order_rules.h>
#include <rushgate/order_store.h>
#include <rushgate/user_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Where a voucher is.
struct VoucherPlace {
  int home = 0;   // the lane that publishes it; 0 if it is on several
  int lanes = 1;  // on how many it is: Voucher::lanes

  [[nodiscard]] int of_buyer(const UserId& user) const {
    return lanes > 1 ? lane_of_user(user, lanes) : home;
  }
  [[nodiscard]] bool is_on(int lane) const { return lanes > 1 ? lane < lanes : lane == home; }
};

/// Remembers the places of vouchers, also of archived ones, which never change. Thread-safe. Does not own the
/// stores, which must outlive it.
class VoucherLanes {
 public:
  /// `count`: how many lanes the sale has in this process.
  VoucherLanes(const SaleStores& stores, int count) : stores_(stores), count_(count) {}

  /// Reads all places.
  absl::Status load();
  /// Returns the place of a voucher if it is remembered. Asks nobody.
  [[nodiscard]] std::optional<VoucherPlace> remembered(VoucherId voucher) const;
  /// Returns the vouchers on several lanes that are remembered, but for those that are known to be archived. Asks
  /// nobody.
  [[nodiscard]] std::vector<VoucherId> remembered_on_several() const;
  /// Looks whether a voucher is archived now.
  absl::Status note_if_archived(VoucherId voucher);
  /// Returns the place of a voucher; empty if it was never recorded. Asks the stores about one that is not
  /// remembered. kUnavailable: the lane is new, and the sale was opened before it was added.
  absl::StatusOr<std::optional<VoucherPlace>> find(VoucherId voucher);
  /// Puts a voucher on a lane, unless it has one. Returns the one that it has then. Errors: as find().
  absl::StatusOr<int> put(VoucherId voucher, int lane);

 private:
  absl::StatusOr<VoucherPlace> remember(VoucherId voucher, VoucherPlace place, bool is_archived);
  absl::Status check_known(VoucherId voucher, const VoucherPlace& place) const;

  LaneStore& store() { return *stores_.orders.lanes(); }

  const SaleStores stores_;
  const int count_;
  mutable std::shared_mutex mutex_;
  absl::flat_hash_map<VoucherId, VoucherPlace> places_;  // guarded by mutex_
  std::vector<VoucherId> on_several_;  // of these, unless known to be archived; guarded by mutex_
};

/// Returns true if the lane of these stores decides whether a version of the voucher is in force or refused. For a voucher
/// on several lanes only the first does.
bool is_decided_here(const SaleStores& stores, const Voucher& voucher);
/// Returns a version as the lane of these stores has it (on_lane()).
absl::StatusOr<VoucherVersion> read_on_lane(const SaleStores& stores,
                                            const VoucherVersion& version);

}  // namespace rushgate
