// Changes of accepted orders: payments, cancellations, use and refunds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/stream/queued_orders.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/purchase.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Thread-safe. Does not own its arguments, which must outlive it.
class OrderChanges {
 public:
  OrderChanges(Client& client, const Clock& clock, const SaleStores& stores, const SaleKeys& keys,
               QueuedOrders& queued, KeyspaceOwner& owner, VoucherBook& vouchers)
      : client_(client),
        clock_(clock),
        stores_(stores),
        keys_(keys),
        queued_(queued),
        owner_(owner),
        vouchers_(vouchers) {}

  // As in Sale:
  std::vector<ChangeResult> pay_all(std::span<const PayRequest> requests);
  ChangeResult cancel(OrderId order, const std::string& reason, const std::string& actor);
  ChangeResult use(OrderId order, const std::string& actor);
  ChangeResult refund(OrderId order, const std::string& reason, const std::string& actor);
  absl::StatusOr<std::size_t> refund_all(VoucherId voucher, const std::string& reason,
                                         const std::string& actor);
  ChangeResult confirm_refund(const std::string& payment);

  /// Returns the present status of an accepted order, even if its last change is not stored yet. Empty
  /// if it is a dead letter, or in neither store any more. Asks the keyspace only about an order that
  /// is unpaid in the database or not there.
  absl::StatusOr<std::optional<OrderStatus>> find_status(OrderId order);
  /// Returns an accepted order: a stored one, or one that is queued.
  absl::StatusOr<std::optional<Order>> find_order(OrderId order);

  /// Ends every refund that was begun and not ended, in portions. Returns their number.
  absl::StatusOr<std::size_t> finish_refunds();
  /// Ends the refund of an order, if it was begun. For a worker that met a refund in the order stream: the
  /// database may have lost its end.
  absl::Status end_refund(OrderId id);

  /// Does a change once more whose event the keyspace may have lost. May be repeated. A payment
  /// without an order is appended to the order stream nevertheless.
  absl::Status repeat(const OrderEvent& event);

 private:
  /// Where an order is, by both stores.
  struct Standing {
    enum class Kind : std::uint8_t {
      kUnknown,  // nowhere: there is no such order
      kHeld,     // it is unpaid, and the keyspace holds it
      kEnding,   // the keyspace has ended its hold, and the database may not know that yet
      kSettled,  // it needs no hold: it demands no payment, or its end is stored
      kDead,     // it could not be stored
      kLost,     // it is unpaid, and the keyspace has lost its hold
    };
    Kind kind = Kind::kUnknown;
    Order order = {};         // of kSettled and kLost
    std::string reason = {};  // of kDead
  };

  /// What makes a second try of a change succeed.
  enum class Cure : std::uint8_t {
    kNone,
    kTryAgain,        // the order was changed meanwhile
    kRebuildVoucher,  // it is closed, perhaps by a process that ended
    kRebuildHolds,    // the keyspace lost the hold
  };
  /// The result of a try of a change; with a cure, of the last try.
  struct Verdict {
    Verdict(ChangeResult its_result)  // NOLINT(google-explicit-constructor)
        : result(std::move(its_result)) {}
    Verdict(ChangeResult its_result, Cure its_cure, VoucherId its_voucher = 0)
        : result(std::move(its_result)), cure(its_cure), voucher(its_voucher) {}

    ChangeResult result;
    Cure cure = Cure::kNone;
    VoucherId voucher = 0;  // to be rebuilt
  };

  [[nodiscard]] absl::Status check_payments() const;
  absl::StatusOr<std::optional<ChangeResult>> find_recorded(const PayRequest& request);
  absl::StatusOr<bool> has_paid(const Payment& payment);
  absl::StatusOr<OrderStatus> present_status(const EndedHold& ended);
  [[nodiscard]] Request make_pay(std::span<const PayRequest* const> requests) const;
  Reply run_pay(const PayRequest& request);
  ChangeResult conclude_payment(const Reply& reply, const PayRequest& request);
  Verdict judge_payment(const Reply& reply, const PayRequest& request);
  // By the outcome of the script:
  Verdict judge_paid(const Reply& reply, const PayRequest& request);
  Verdict judge_repeated(const Reply& reply, const PayRequest& request);
  Verdict judge_reused_id(const Reply& reply, const PayRequest& request);
  Verdict judge_wrong_amount(const Reply& reply, const PayRequest& request);
  Verdict judge_ended_hold(const Reply& reply, const PayRequest& request);
  Verdict judge_without_hold(const Reply& reply, const PayRequest& request);
  Verdict judge_closed_voucher(const Reply& reply, const PayRequest& request);
  Verdict judge_dead_order(const Reply& reply, const PayRequest& request);
  ChangeResult conclude(absl::FunctionRef<Verdict()> judge);
  static Verdict judge_unsettled(OrderId order, const Standing& found);
  ChangeResult record_surplus(const PayRequest& request, const Order& order,
                              const std::string& reason);
  Verdict judge_cancellation(OrderId order, const std::string& reason, const std::string& actor);
  Verdict judge_cancellation_without_hold(OrderId order);
  absl::StatusOr<Standing> look_up(OrderId order);
  absl::StatusOr<Standing> look_up_dead(OrderId order, Standing otherwise);
  absl::StatusOr<OrderResult> store(const OrderEvent& event, const BatchFence& fence);
  absl::StatusOr<OrderResult> apply(const OrderEvent& event);
  absl::StatusOr<OrderResult> try_to_apply(const OrderEvent& event);
  ChangeResult change_stored(const OrderEvent& event, OrderStatus status);
  Verdict judge_stored_change(const OrderEvent& event, OrderStatus status);
  Verdict judge_unpaid(OrderId order, const std::string& reason);
  ChangeResult explain_unstored(OrderId order);
  ChangeResult explain_unknown(const std::string& payment);
  absl::Status finish_refund(OrderId id);
  absl::Status note(const OrderEvent& event, const KeyspaceOwner::Recorded& batch);
  absl::StatusOr<std::optional<std::int64_t>> give_back(const Order& order, std::int64_t epoch);
  absl::Status pass_epoch(VoucherId voucher, const Reply& outdated);
  ChangeResult repeat_payment(const OrderEvent& event);

  [[nodiscard]] std::int64_t now_ms() const { return clock_.now_ms(); }

  Client& client_;
  const Clock& clock_;
  const SaleStores stores_;
  const SaleKeys keys_;
  QueuedOrders& queued_;
  KeyspaceOwner& owner_;
  VoucherBook& vouchers_;
};

}  // namespace rushgate
