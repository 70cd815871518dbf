// The rules of a sale, applied to all evidence about one voucher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "engine/sale/audit/audit.h"
#include "engine/sale/audit/audit_snapshot.h"
#include "engine/sale/audit/late_changes.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// An order in the order stream.
struct StreamOrder {
  Order order;
  StreamId entry;  // its present entry: not Order::entry if the order was dead and retried
  bool is_acknowledged = false;
};

/// The state of one voucher in the keyspace and its streams.
struct VoucherEvidence {
  VoucherSnapshot snapshot = {};
  std::vector<VoucherVersion> versions = {};  // recorded, without those refused; ascending
  /// One of these may have been in force, and its keyspace lost it before it was recorded.
  std::vector<VoucherVersion> refused_versions = {};
  std::string version_fault = {};   // as find_fault() says of all of them
  std::int64_t database_epoch = 0;  // read after the snapshot
  bool knows_refunding = true;  // the snapshot has the refunds of all orders that were refunding
  std::vector<StreamOrder> queued = {};
  std::vector<OrderEvent> events = {};  // in the order stream, applied or not
  std::vector<Order> dead = {};
  std::vector<Order> discarded = {};
};

/// Compares the evidence with the database, and each order with the rules of admission. Not
/// thread-safe. Does not own its arguments, which must outlive it.
class VoucherAuditor {
 public:
  /// Calls `on_orders` with the size of each portion of stored orders.
  using OnOrders = std::function<void(std::size_t count)>;
  VoucherAuditor(VoucherId voucher, const VoucherEvidence& evidence, LateChanges& late_changes,
                 Client& client, OrderStore& orders, const SaleKeys& keys, OnOrders on_orders);

  /// Adds the voucher and its problems to `report`. Leaves out a voucher without version, buyers
  /// and orders.
  absl::Status run(AuditReport& report);

 private:
  /// The pieces of one user.
  struct Bought {
    std::int64_t orders = 0;      // admitted before the counters were taken
    std::int64_t later = 0;       // and while the buyers were read
    bool was_given_back = false;  // some, while the buyers were read: their record is uncertain
    std::int64_t limit = 0;       // the largest that one of them was admitted under; 0: any number
    bool unlimited = false;
    bool was_adopted = false;  // one of them: its day is unknown

    [[nodiscard]] std::int64_t all() const { return orders + later; }
  };
  using Ids = absl::flat_hash_set<OrderId>;
  using UserDay = std::pair<UserId, std::int64_t>;

  void problem(const std::string& description);
  void problem(const Order& order, const std::string& description);
  [[nodiscard]] bool is_known() const;
  [[nodiscard]] const VoucherCounters& counters() const { return evidence_.snapshot.counters; }
  [[nodiscard]] bool is_after_audit(const Order& order) const;

  [[nodiscard]] Order at_counters(Order order);
  void find_day_rule();
  absl::Status count_stored();
  /// Compares idempotency keys with the keyspace, and with those of orders before.
  absl::Status check_keys(std::span<const Order> orders);
  void collect_waiting();
  Ids find_dead();
  absl::Status count_queued(const Ids& dead);
  absl::Status count_dead();
  absl::Status check_index();
  void count_discarded();
  /// Counts an order as its user's. Also counts it in `place` if it was admitted before the
  /// counters were taken.
  void count(const Order& order, std::int64_t& place);
  void check_window(const Order& order);
  [[nodiscard]] const VoucherVersion* find_version(std::int64_t number) const;
  void check_terms(const Order& order);

  void compare_version();
  void compare_buyers();
  [[nodiscard]] Bought bought_by(const UserId& user) const;
  void compare_orders(const UserId& user, const Bought& bought);
  [[nodiscard]] bool count_admitted(const UserId& user, std::int64_t admitted);
  void compare_counters();
  void compare_pieces();
  void compare_rebuild();
  void compare_limits();
  void compare_days();
  absl::Status compare_refunds();

  const VoucherEvidence& evidence_;
  LateChanges& late_changes_;
  Client& client_;
  OrderStore& orders_;
  const OnOrders on_orders_;
  const SaleKeys& keys_;
  VoucherAudit result_;
  std::vector<std::string> problems_;
  std::optional<VoucherVersion> recorded_;  // the version in force, or the one that should be
  absl::flat_hash_map<OrderId, const OrderEvent*> ended_;        // by an event in the stream …
  absl::flat_hash_map<OrderId, const OrderEvent*> ended_later_;  // … after the counters were taken
  // Of orders admitted before the counters were taken, in pieces:
  std::int64_t taken_ = 0;       // from the stock
  std::int64_t given_back_ = 0;  // in the stock, and a user's
  std::int64_t withheld_ = 0;    // neither in the stock nor a user's
  std::int64_t uncertain_ = 0;   // of orders that ended about then
  Ids refunded_;                 // stored orders that are refunding or refunded
  Ids stored_;
  absl::btree_map<OrderId, StreamOrder> waiting_;  // each order of the stream once
  // Ordered, so that the same problems come in the same order.
  absl::btree_map<UserId, Bought> bought_;
  absl::flat_hash_map<UserId, std::int64_t> discarded_;  // orders
  std::int64_t discarded_pieces_ = 0;
  absl::flat_hash_set<UserId> later_buyers_;  // with orders admitted after the counters were taken
  /// The order with a key that keeps it longest.
  struct KeyOwner {
    OrderId order = 0;
    std::int64_t admitted_at_ms = 0;
    std::int64_t expires_at_ms = 0;
  };
  absl::flat_hash_map<std::string, KeyOwner> key_owners_;  // by idempotency key
  std::optional<Limits> day_rule_;  // the loosest limit per user and day, if every version has one
  absl::btree_map<UserDay, std::int64_t> bought_on_day_;
};

/// Returns the version in force according to `counters` if it is among `versions`; otherwise the
/// latest applied one.
std::optional<VoucherVersion> find_version_in_force(const std::vector<VoucherVersion>& versions,
                                                    const VoucherCounters& counters);
/// Returns the fault of a voucher's versions: their numbers have no gap, and only the last one may be
/// pending. Empty if there is none.
std::string find_fault(const std::vector<VoucherVersion>& versions);
/// Returns true if the keyspace has `version` on sale.
bool is_in_force(const std::optional<VoucherVersion>& version, const VoucherCounters& counters);

}  // namespace rushgate
