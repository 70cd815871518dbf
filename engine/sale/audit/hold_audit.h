// The holds and payments in the keyspace, compared with the orders and events of both stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/holds/received_payments.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/unstored_orders.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// A contradiction about a hold or a payment in the keyspace.
struct HoldFault {
  enum class Kind : std::uint8_t {
    kNotHeld,          // an unpaid order has no hold
    kHeld,             // an order that is not unpaid is held
    kOtherHold,        // the hold says something else than its order, or has no deadline
    kLostEnd,          // a hold has ended, and the event of that is lost
    kLostPayment,      // a payment was acknowledged, and the event of that is lost
    kOtherPayment,     // a payment is stored, and the keyspace says something else of it
    kUnqueuedPayment,  // an event has a payment that the keyspace does not know so
    kWithoutOrder,     // a hold or an event has no order in any store, or one that is not its own
    kForgedClosing,    // the holds of a voucher are closed, and no rebuild closed them
  };

  Kind kind = Kind::kNotHeld;
  /// All of it with kNotHeld, kHeld, kOtherHold and kLostEnd. With kLostPayment too, if a store has it;
  /// otherwise its id is 0.
  Order order = {};
  std::optional<KnownHold> hold = {};
  std::optional<ReceivedPayment> payment = {};
  std::string description;  // a line for the audit
};

/// Finds such contradictions, also during the sale. Not thread-safe. Does not own its arguments, which
/// must outlive it.
///
/// Call read() before the streams are read, and find_faults() after that: a hold ends by an event in
/// the order stream, which moves to the database. Memory: some hundred bytes for each hold.
class HoldAuditor {
 public:
  HoldAuditor(Client& client, OrderStore& orders, const SaleKeys& keys)
      : client_(client), orders_(orders), keys_(keys) {}

  /// Reads the keyspace in bounded portions. Does nothing if the store keeps no payments.
  absl::Status read();

  /// Returns the faults of the holds and payments that read() has read. `unstored` and `acknowledged`
  /// were read after that.
  absl::StatusOr<std::vector<HoldFault>> find_faults(const UnstoredOrders& unstored,
                                                     const AcknowledgedEntries& acknowledged);

  /// The ends of holds that read() has read, by order.
  [[nodiscard]] std::vector<EndedHold> ends() const;

 private:
  struct Held {
    KnownHold hold;
    std::int64_t deadline_ms = 0;  // the first one; 0: none
    bool is_met = false;           // its order was found

    /// Returns true if it has a deadline not after the order's.
    [[nodiscard]] bool is_in_time(const Order& order) const {
      return deadline_ms > 0 && deadline_ms <= order.due_at_ms;
    }
    /// Returns true if it is the hold of this unpaid order, and is in time.
    [[nodiscard]] bool is_of(const Order& order) const {
      return !hold.ended && hold.text == describe_hold(order) && is_in_time(order);
    }
  };
  /// An order and its hold that stayed the same between two looks.
  struct Look {
    std::optional<KnownHold> hold;
    std::optional<Order> order;
  };

  void collect(const UnstoredOrders& unstored, const AcknowledgedEntries& acknowledged);
  absl::Status compare_orders();
  void compare(const Order& order);
  absl::StatusOr<Look> look_at(OrderId order);
  absl::Status examine(OrderId order);
  absl::Status examine_hold(const Order& order, const KnownHold& hold);
  absl::Status examine_events();
  absl::Status examine_payments();
  absl::StatusOr<bool> examine_payment(const ReceivedPayment& payment);
  absl::StatusOr<bool> is_closed(VoucherId voucher);
  absl::Status examine_closings();
  [[nodiscard]] bool is_unheld(const Order& order) const;
  void meet_events(const Order& order);
  void compare_event(const OrderEvent& event, const Order& order);
  absl::Status examine_lost(std::span<const ReceivedPayment* const> lost);
  absl::StatusOr<bool> is_there_still(const ReceivedPayment& payment);
  void add_lost(const ReceivedPayment& payment, const Order& order);
  void add(HoldFault::Kind kind, const Order& order, std::string_view problem,
           std::optional<KnownHold> hold = {});
  void add(HoldFault::Kind kind, const ReceivedPayment& payment, std::string_view problem);

  Client& client_;
  OrderStore& orders_;
  const SaleKeys& keys_;
  // Read from the keyspace:
  absl::flat_hash_map<OrderId, Held> held_;
  std::vector<VoucherId> closed_;
  std::vector<ReceivedPayment> payments_;
  // From the streams:
  absl::flat_hash_map<OrderId, Order> unstored_;  // queued, dead or discarded
  absl::flat_hash_set<OrderId> queued_;           // of them, not acknowledged
  absl::flat_hash_set<OrderId> discarded_;
  absl::flat_hash_set<OrderId> ended_;     // by an event that is on its way, or was given up
  std::vector<OrderEvent> queued_events_;  // not acknowledged
  absl::flat_hash_map<OrderId, std::vector<std::size_t>> events_of_order_;  // in queued_events_
  absl::flat_hash_map<std::string, OrderEvent> payment_events_;  // all of them, by payment
  absl::btree_set<OrderId> suspects_;
  std::vector<HoldFault> faults_;
};

}  // namespace rushgate
