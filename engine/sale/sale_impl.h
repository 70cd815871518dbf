// The parts of a sale, and the work that needs several of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/client/connection_check.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/keyspace/lease_timer.h"
#include "engine/sale/keyspace/server_run.h"
#include "engine/sale/orders/admission_groups.h"
#include "engine/sale/orders/order_changes.h"
#include "engine/sale/orders/recent_orders.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/custom_admission_requests.h"
#include "engine/sale/stores/order_ids.h"
#include "engine/sale/stream/queued_orders.h"
#include "engine/sale/vouchers/archiving.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "engine/sale/vouchers/voucher_cache.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/ids.h>
#include <rushgate/order_store.h>
#include <rushgate/sale.h>
#include <rushgate/script.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Thread-safe after open(). Does not own its arguments, which must outlive it.
class Sale::Impl {
 public:
  /// The options must be valid.
  Impl(Backend& backend, const SaleStores& stores, SaleOptions options);

  /// Finishes Sale::open(); to be called once, before all others.
  absl::Status open(Backend& backend);

  // As in Sale:
  absl::Status publish(const Voucher& voucher, std::optional<std::int64_t> expected_version);
  absl::StatusOr<bool> publish_if_new(const Voucher& voucher);
  absl::Status add_stock(VoucherId voucher, std::int64_t delta) {
    return vouchers_.add_stock(voucher, delta);
  }
  absl::Status close(VoucherId voucher) { return vouchers_.close(voucher); }
  absl::StatusOr<std::optional<VoucherVersion>> voucher(VoucherId voucher) {
    return voucher_cache_ ? voucher_cache_->find(voucher) : stores_.vouchers.applied(voucher);
  }
  absl::StatusOr<std::optional<VoucherSummary>> summary(VoucherId voucher);
  absl::StatusOr<std::vector<VoucherSummary>> summaries();
  BuyResult buy(const BuyRequest& request);
  std::vector<BuyResult> buy_all(std::span<const BuyRequest> requests);
  std::vector<BuyResult> decide_all(std::span<const BuyRequest> requests);
  void complete(const BuyRequest& request, BuyResult& result);
  WaitResult wait_for(VoucherId voucher, const UserId& user);
  absl::StatusOr<bool> leave_waiting_list(VoucherId voucher, const UserId& user);
  absl::StatusOr<std::vector<UserId>> waiting_list(VoucherId voucher);
  absl::StatusOr<OrderState> status(OrderId order);
  absl::StatusOr<std::vector<OrderState>> orders_of(const UserId& user);
  absl::StatusOr<std::vector<DeadLetter>> dead_letters();
  absl::StatusOr<bool> retry_dead_letter(const std::string& id);
  absl::StatusOr<bool> discard_dead_letter(const std::string& id, const std::string& why);
  absl::StatusOr<std::vector<DiscardedLetter>> discarded_letters();
  absl::StatusOr<AuditReport> audit(const OnAuditProgress& on_progress);
  absl::StatusOr<AuditReport> repair(const OnAuditProgress& on_progress);
  [[nodiscard]] const SaleOptions& options() const { return options_; }
  [[nodiscard]] OrderChanges& changes() { return changes_; }
  absl::Status archive(VoucherId voucher, const ArchiveOptions& options);
  absl::StatusOr<std::size_t> delete_archived(VoucherId voucher);

 private:
  /// The requests of one call of buy() or buy_all().
  struct Call {
    bool may_serve = true;             // a portion of a waiting list
    bool reads_database = true;        // for a voucher that the keyspace lacks
    std::vector<OrderId> unused = {};  // the outcomes of their requests alone do not show it
  };

  void remove_returned_keys(Client& connection);
  Reply admit(const BuyRequest& request, OrderId order);
  [[nodiscard]] bool has_fault(const BuyRequest& request) const;
  [[nodiscard]] bool leaves_id_unused(const BuyResult& result) const;
  [[nodiscard]] std::string find_fault(const UserId& user) const;
  [[nodiscard]] std::string describe_fault(const BuyRequest& request) const;
  BuyResult decide(const BuyRequest& request, Call& call);
  std::vector<BuyResult> decide_each(std::span<const BuyRequest> requests, Call& call);
  std::vector<BuyResult> decide_all(std::span<const BuyRequest> requests, Call call);
  std::vector<Request> make_calls(std::span<const BuyRequest> requests,
                                  std::span<const AdmissionRequests::Buyer> buyers,
                                  std::vector<std::size_t>& begins) const;
  [[nodiscard]] const Script& script() const;
  [[nodiscard]] std::optional<AdmissionReply> read_admission(const Reply& reply,
                                                             OrderId order) const;
  [[nodiscard]] BuyResult read_result(const Reply& reply, OrderId order) const;
  BuyResult conclude(const Reply& reply, const BuyRequest& request, OrderId order, Call& call);
  BuyResult refuse(BuyResult result, OrderId order, Call& call) const;
  BuyResult buy_again(const BuyRequest& request, OrderId order, Call& call);
  BuyResult buy_after_waiting(const BuyRequest& request, OrderId order, Call& call);
  absl::StatusOr<WaitResult> join_or_rebuild(VoucherId voucher, const UserId& user, OrderId order,
                                             bool& may_be_known);
  BuyResult buy_after_rebuild(AdmissionCode lacks, const BuyRequest& request, OrderId order,
                              Call& call);
  absl::StatusOr<std::optional<OrderState>> final_state(OrderId order);
  absl::StatusOr<std::optional<OrderState>> state_of_queued(const Order& order, StreamId entry);
  absl::StatusOr<bool> restore(const std::string& letter);
  void note_order(const BuyRequest& request, BuyResult& result);
  void name_order(VoucherId voucher, const UserId& user, BuyResult& result);
  absl::StatusOr<VoucherSummary> summarize(VoucherVersion version);

  const SaleStores stores_;
  const SaleOptions options_;
  const std::unique_ptr<Client> client_;
  AdmissionRequests requests_;
  const std::unique_ptr<CustomAdmissionRequests> custom_;  // null: the sale's own script decides
  std::optional<AdmissionGroups> groups_;                  // on a keyspace behind a network
  OrderIdReservations reservations_;
  IdGenerator ids_;
  QueuedOrders queued_;
  std::unique_ptr<RecentOrders> recent_;  // null without names_order_at_limit
  KeyspaceOwner owner_;
  ServerRun server_run_;
  std::unique_ptr<VoucherCache> voucher_cache_;  // null: none
  VoucherBook vouchers_;
  OrderChanges changes_;
  std::unique_ptr<LeaseTimer> lease_timer_;  // null without a lease
  Archiving archiving_;
  std::atomic<bool> may_have_archived_keys_ = false;  // an older keyspace has them again
  const OwnedConnectionCheck connection_check_;
};

}  // namespace rushgate
