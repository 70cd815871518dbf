// What buyers ask for: purchases, and places in a waiting list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/orders/admission_groups.h"
#include "engine/sale/orders/order_changes.h"
#include "engine/sale/orders/purchase_counters.h"
#include "engine/sale/orders/recent_orders.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/custom_admission_requests.h"
#include "engine/sale/stream/queued_orders.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/client.h>
#include <rushgate/ids.h>
#include <rushgate/order_store.h>
#include <rushgate/purchase.h>
#include <rushgate/sale_keys.h>
#include <rushgate/script.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// As in SaleOptions, which must be valid.
struct PurchaseOptions {
  std::int64_t request_ttl_ms = 0;
  bool names_order_at_limit = false;
  std::optional<CustomAdmission> admission = {};
  /// The keyspace is behind a network, so that callers may share a request.
  bool is_remote = false;
  ClientOptions client = {};
};

/// Thread-safe after load(). Does not own the parts, which must outlive it.
class Purchases {
 public:
  struct Parts {
    Client& client;
    const SaleStores& stores;
    const SaleKeys& keys;
    IdGenerator& ids;
    QueuedOrders& queued;
    KeyspaceOwner& owner;
    VoucherBook& vouchers;
    OrderChanges& changes;
  };
  Purchases(const Parts& parts, const PurchaseOptions& options);

  /// Loads a custom admission script. kInvalidArgument: it is not valid Lua.
  absl::Status load();
  /// Returns why a custom admission script cannot sell this voucher; OK if it can.
  [[nodiscard]] absl::Status check(const Voucher& voucher) const;
  /// Forgets the newest orders: the keyspace may have lost them.
  void forget_recent();

  // As in Sale:
  BuyResult buy(const BuyRequest& request);
  std::vector<BuyResult> buy_all(std::span<const BuyRequest> requests);
  std::vector<BuyResult> decide_all(std::span<const BuyRequest> requests);
  void complete(const BuyRequest& request, BuyResult& result);
  WaitResult wait_for(VoucherId voucher, const UserId& user);

  [[nodiscard]] PurchaseCounters& counters() { return counters_; }

 private:
  /// The requests of one call of buy() or buy_all().
  struct Call {
    bool may_serve = true;             // a portion of a waiting list
    bool reads_database = true;        // for a voucher that the keyspace lacks
    bool may_be_partial = false;       // some results may be, of decide_all() with this call
    std::vector<OrderId> unused = {};  // the outcomes of their requests alone do not show it
  };

  Reply admit(const BuyRequest& request, OrderId order);
  [[nodiscard]] bool has_fault(const BuyRequest& request) const;
  [[nodiscard]] bool leaves_id_unused(const BuyResult& result) const;
  [[nodiscard]] std::string find_fault(const UserId& user) const;
  [[nodiscard]] std::string describe_fault(const BuyRequest& request) const;
  BuyResult decide(const BuyRequest& request, Call& call);
  std::vector<BuyResult> decide_each(std::span<const BuyRequest> requests, Call& call);
  std::vector<BuyResult> decide_all(std::span<const BuyRequest> requests, Call& call);
  std::vector<Request> make_calls(std::span<const BuyRequest> requests,
                                  std::span<const AdmissionRequests::Buyer> buyers,
                                  std::vector<std::size_t>& begins) const;
  [[nodiscard]] const Script& script() const;
  [[nodiscard]] std::optional<AdmissionReply> read_admission(const Reply& reply,
                                                             OrderId order) const {
    return custom_ ? CustomAdmissionRequests::read_own(reply, order)
                   : AdmissionReply::read(reply, order);
  }
  [[nodiscard]] BuyResult read_result(const Reply& reply, OrderId order) const;
  bool read_usual(const Reply& reply, OrderId order, BuyResult& result) const;
  void conclude(const Reply& reply, const BuyRequest& request, OrderId order, Call& call,
                BuyResult& result);
  BuyResult conclude_other(const Reply& reply, const BuyRequest& request, OrderId order,
                           Call& call);
  BuyResult refuse(BuyResult result, OrderId order, Call& call) const;
  BuyResult buy_again(const BuyRequest& request, OrderId order, Call& call);
  BuyResult buy_after_waiting(const BuyRequest& request, OrderId order, Call& call);
  absl::StatusOr<WaitResult> join_or_rebuild(VoucherId voucher, const UserId& user, OrderId order,
                                             bool& may_be_known);
  BuyResult buy_after_rebuild(AdmissionCode lacks, const BuyRequest& request, OrderId order,
                              Call& call);
  void note_order(const BuyRequest& request, BuyResult& result);
  void name_order(VoucherId voucher, const UserId& user, BuyResult& result);

  Client& client_;
  const SaleStores stores_;
  const SaleKeys keys_;
  IdGenerator& ids_;
  QueuedOrders& queued_;
  KeyspaceOwner& owner_;
  VoucherBook& vouchers_;
  OrderChanges& changes_;
  AdmissionRequests requests_;
  const std::unique_ptr<CustomAdmissionRequests> custom_;  // null: the sale's own script decides
  std::optional<AdmissionGroups> groups_;                  // on a keyspace behind a network
  std::unique_ptr<RecentOrders> recent_;                   // null without names_order_at_limit
  PurchaseCounters counters_;
};

}  // namespace rushgate
