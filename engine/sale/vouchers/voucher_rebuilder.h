// Rebuilds a voucher of which the keyspace has lost something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/stream/lost_orders.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

struct RebuiltBuyers;

/// The result of restoring lost orders.
struct RestoredOrders {
  std::size_t appended = 0;  // to the order stream: they are admitted once more
  std::size_t buried = 0;    // as dead letters without stock, with the reason

  RestoredOrders& operator+=(const RestoredOrders& others) {
    appended += others.appended;
    buried += others.buried;
    return *this;
  }
};

/// Orders of one voucher to be restored. Refers to them.
struct LostOrders {
  /// Begins to look for all of them.
  void seek_all() {
    left.clear();
    for (const LostOrder& one : lost) left.emplace(one.order.id, &one);
  }

  /// Returns the pieces of those that are left, and were not buried already.
  [[nodiscard]] std::int64_t pieces() const {
    std::int64_t pieces = 0;
    for (const auto& [id, order] : left)
      pieces += order->letter.empty() ? order->order.quantity : 0;
    return pieces;
  }

  std::span<const LostOrder> lost = {};
  absl::btree_map<OrderId, const LostOrder*> left = {};  // that no store was found to have yet
  RestoredOrders restored = {};
};

/// Closes a voucher, reads its orders in both stores, and opens it again with what they leave free. The
/// caller must have the turn to change vouchers (ChangeTurn). Does not own its arguments, which must
/// outlive it.
class VoucherRebuilder {
 public:
  /// A rebuild that ends with an error gives its claim back. One whose claim was not renewed for longer
  /// than this, by the keyspace's time, counts as interrupted. Another process may then begin one. On
  /// the embedded engine, a rebuild that began before the engine was opened counts as interrupted at
  /// once.
  static constexpr std::int64_t kAbandonedMs = 10'000;

  VoucherRebuilder(Client& client, const SaleStores& stores, KeyspaceOwner& owner,
                   const SaleKeys& keys);

  /// Rebuilds a closed or lost voucher with its version in force, or with a pending one. A pending one with less stock is
  /// refused if more pieces were sold. Of a voucher on several lanes, the first lane decides so, and the others keep the
  /// version in force, until they follow (VoucherBook::follow_here()). kAborted: another process is rebuilding it.
  /// kNotFound: it has no version, or none but refused ones.
  absl::Status rebuild(VoucherId voucher);
  /// As rebuild(), also if nothing is missing. Restores lost orders, as far as stock and limits allow.
  absl::Status rebuild_whole(VoucherId voucher, LostOrders* lost = nullptr);
  /// As rebuild_whole(). Puts this pending version in force also on a lane that would follow.
  absl::Status rebuild_with(const VoucherVersion& pending);

 private:
  /// A rebuild.
  struct Work {
    VoucherId voucher = 0;
    LostOrders* lost = nullptr;        // null: none
    std::int64_t pending_version = 0;  // the pending version of rebuild_with(); 0: none
    std::string token = {};
  };

  absl::Status begin_and_load(Work work, bool even_if_whole);
  absl::StatusOr<std::int64_t> begin_rebuild(VoucherId voucher, const std::string& token,
                                             bool even_if_whole);
  void give_claim_back(const Work& work);
  absl::Status renew(VoucherId voucher, const std::string& token);
  absl::StatusOr<RebuiltBuyers> read_buyers(const VoucherVersion& version, const std::string& token,
                                            LostOrders* lost);
  absl::StatusOr<bool> append(const LostOrder& lost, const std::string& token);
  absl::Status add_lost(const Limits& limits, std::int64_t stock, const std::string& token,
                        RebuiltBuyers& buyers, LostOrders& lost);
  absl::Status give_up(VoucherId voucher, const std::string& token);
  [[nodiscard]] std::optional<VoucherVersion> choose(const std::vector<VoucherVersion>& versions,
                                                     std::int64_t pending_version) const;
  absl::Status refuse(const VoucherVersion& version, std::int64_t missing);
  absl::Status load(const Work& work);
  absl::StatusOr<bool> try_load(const Work& work);
  absl::StatusOr<bool> load_buyers(VoucherId voucher, const std::string& token,
                                   const RebuiltBuyers& buyers);
  absl::StatusOr<bool> load_requests(VoucherId voucher, const std::string& token,
                                     const RebuiltBuyers& buyers);
  absl::StatusOr<bool> load_holds(VoucherId voucher, const std::string& token,
                                  const RebuiltBuyers& buyers);

  Client& client_;
  const SaleStores stores_;
  KeyspaceOwner& owner_;
  const SaleKeys keys_;
  const std::string name_;  // unique over all rebuilders and processes
  std::uint64_t rebuilds_ = 0;
};

}  // namespace rushgate
