// The payments and the history of orders, compared with the orders themselves: three tables of one
// database that have to agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include <rushgate/audit_report.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate {

/// The payments and the changes of one order, as far as its state follows from them. The changes come
/// first, in ascending order: they say which payment paid the order.
class OrderRecords {
 public:
  void add(const OrderChange& change);
  void add(const Payment& payment);

  /// Returns the contradictions between the records and the order, each after the order's id. Without
  /// `knows_payments`, only those of the history.
  [[nodiscard]] std::vector<std::string> find_problems(const Order& order,
                                                       bool knows_payments) const;
  [[nodiscard]] bool has_history() const { return has_history_; }

 private:
  void compare_history(const Order& order, std::vector<std::string>& problems) const;
  void compare_payments(const Order& order, std::vector<std::string>& problems) const;

  bool has_history_ = false;
  OrderStatus first_ = OrderStatus::kCreated;
  OrderStatus last_ = OrderStatus::kCreated;
  std::string break_ = {};       // the first change that is impossible after the one before
  std::int64_t paid_at_ms_ = 0;  // 0: it was never paid
  std::string paid_by_ = {};     // as paid_by() says; empty: an older version recorded it
  std::string refund_reason_ = {};
  std::size_t kept_ = 0;  // payments that pay it; one of them:
  std::string kept_id_ = {};
  std::int64_t kept_cents_ = 0;
  std::int64_t kept_at_ms_ = 0;
  std::size_t returned_ = 0;  // payments that paid it before it was refunded
  std::int64_t returned_cents_ = 0;
};

/// Returns the fault of a payment's own fields; empty if it has none.
std::string find_fault(const Payment& payment);
/// Returns the fault of an order's own fields; empty if it has none.
std::string find_fault(const Order& order);

/// Adds the money to `report`, and a problem for each contradiction:
/// - a history is a chain of possible changes, from the first state of its order to the present one;
/// - a paid or used order that demanded payment has one kept payment, of its amount and of the time
///   when it was paid, and a refunding or refunded one has that payment due or refunded;
/// - no other order keeps a payment, and no payment or change is without an order.
///
/// Orders change meanwhile: a contradiction counts if the records of the order, read once more, have
/// it too. Reads everything in portions. Does nothing if the store keeps no payments. Memory: some
/// hundred bytes for each order with payments or changes.
absl::Status audit_records(OrderStore& orders, AuditReport& report);

}  // namespace rushgate
