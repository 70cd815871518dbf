#include "engine/sale/audit/record_audit.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stores/archived_vouchers.h"
#include <rushgate/archive_store.h>

namespace rushgate {
namespace {

// Rows in one read of the database.
constexpr std::size_t kRecordsPerRead = 10'000;

std::string_view name_of(OrderStatus status) { return order_status_name(status); }

/// Returns the state in which an order begins.
OrderStatus first_status(const Order& order) {
  return order.due_at_ms > 0 ? OrderStatus::kUnpaid : OrderStatus::kCreated;
}

/// Returns true if the order must have a kept payment.
bool needs_payment(const Order& order) { return is_settled(order.status) && order.due_at_ms > 0; }

/// Adds an amount to a sum. Returns false, with the sum unchanged, if it would be too large.
bool add_cents(std::int64_t amount, std::int64_t& sum) {
  std::int64_t greater = 0;
  if (__builtin_add_overflow(sum, amount, &greater)) return false;
  sum = greater;
  return true;
}

/// Returns the sum of the payments in this state.
std::int64_t& sum_of(Payment::State state, MoneyAudit& money) {
  switch (state) {
    case Payment::State::kKept:
      return money.kept;
    case Payment::State::kDue:
      return money.due;
    case Payment::State::kRefunded:
      break;
  }
  return money.refunded;
}

/// Returns true if the payment of the order must be due or refunded.
bool has_returned_payment(const Order& order) {
  return is_refund(order.status) && order.due_at_ms > 0;
}

}  // namespace

std::string find_fault(const Payment& payment) {
  using State = Payment::State;
  if (payment.id.empty() || payment.id.size() > Payment::kIdBytesMax) {
    return concat("has an id of ", payment.id.size(), " bytes");
  }
  if (payment.amount_cents <= 0) return concat("has an amount of ", payment.amount_cents, " cents");
  switch (payment.state) {
    case State::kKept:
      if (!payment.reason.empty()) {
        return concat("is kept, but has a reason for a refund: ", payment.reason);
      }
      [[fallthrough]];
    case State::kDue:
      if (payment.refunded_at_ms != 0) {
        return concat("is ", payment_state_name(payment.state), " and was refunded at ",
                      payment.refunded_at_ms, " ms");
      }
      return {};
    case State::kRefunded:
      return payment.refunded_at_ms > 0 ? "" : "is refunded, but has no time of the refund";
  }
  return concat("has the unknown state ", static_cast<int>(payment.state));
}

std::string find_fault(const Order& order) {
  if (!is_order_status(order.status)) {
    return concat("has the unknown status ", static_cast<int>(order.status));
  }
  if (order.quantity < 1 || order.quantity > Order::kQuantityMax) {
    return concat("has a quantity of ", order.quantity);
  }
  if (order.limit < 0) return concat("has a limit of ", order.limit);
  if (order.idempotency_key.empty() && order.key_expires_at_ms != 0) {
    return concat("has an expiry (", order.key_expires_at_ms, " ms) but no idempotency key");
  }
  if (is_live(order) && (order.keeps_stock || order.keeps_allowance)) {
    return concat("is ", name_of(order.status), " and keeps pieces as if it had ended");
  }
  const bool was_adopted = order.entry == StreamId{} && order.version == 0;
  if (!was_adopted && static_cast<std::uint64_t>(order.admitted_at_ms) != order.entry.ms) {
    return concat("was admitted at ", order.admitted_at_ms, " ms, and as entry ",
                  order.entry.to_string());
  }
  return {};
}

// ---- The records of one order ----

void OrderRecords::add(const OrderChange& change) {
  if (!has_history_) first_ = change.from;
  const bool follows =
      (!has_history_ || change.from == last_) && may_become(change.from, change.to);
  if (!follows && break_.empty()) {
    break_ = concat(name_of(has_history_ ? last_ : change.from), ", then ", name_of(change.from),
                    " to ", name_of(change.to));
  }
  has_history_ = true;
  last_ = change.to;
  if (change.to == OrderStatus::kPaid) {
    paid_at_ms_ = change.at_ms;
    paid_by_ = change.reason;
  }
  if (change.to == OrderStatus::kRefunding) refund_reason_ = change.reason;
}

void OrderRecords::add(const Payment& payment) {
  if (payment.state == Payment::State::kKept) {
    ++kept_;
    kept_id_ = payment.id;
    kept_cents_ = payment.amount_cents;
    kept_at_ms_ = payment.received_at_ms;
    return;
  }
  const bool is_its = paid_by_.empty() || paid_by_ == paid_by(payment.id);
  const bool has_paid =
      is_its && payment.received_at_ms == paid_at_ms_ && payment.reason == refund_reason_;
  if (!has_paid) return;
  ++returned_;
  returned_cents_ = payment.amount_cents;
}

std::vector<std::string> OrderRecords::find_problems(const Order& order,
                                                     bool knows_payments) const {
  std::vector<std::string> problems;
  if (std::string fault = find_fault(order); !fault.empty()) problems.push_back(std::move(fault));
  compare_history(order, problems);
  if (knows_payments) compare_payments(order, problems);
  return problems;
}

void OrderRecords::compare_history(const Order& order, std::vector<std::string>& problems) const {
  if (!break_.empty()) {
    problems.push_back(concat("has an impossible history: ", break_));
    return;
  }
  const OrderStatus first = has_history_ ? first_ : order.status;
  const OrderStatus last = has_history_ ? last_ : first_status(order);
  if (first != first_status(order)) {
    problems.push_back(
        concat("began as ", name_of(first_status(order)), ", and its history as ", name_of(first)));
  } else if (last != order.status) {
    problems.push_back(
        concat("is ", name_of(order.status), ", and its history ends with ", name_of(last)));
  }
}

void OrderRecords::compare_payments(const Order& order, std::vector<std::string>& problems) const {
  const std::int64_t costs = amount_of(order);
  if (kept_ > 1) problems.push_back(concat("has ", kept_, " kept payments"));
  if (kept_ > 0 && !needs_payment(order)) {
    problems.push_back(concat("is ", name_of(order.status), " and keeps payment ", kept_id_));
  }
  if (needs_payment(order)) {
    if (kept_ == 0) {
      problems.push_back(concat("is ", name_of(order.status), " without a payment"));
    } else if (kept_cents_ != costs) {
      problems.push_back(concat("costs ", costs, " cents and has a payment of ", kept_cents_));
    } else if (has_history_ && kept_at_ms_ != paid_at_ms_) {
      problems.push_back(concat("was paid at ", paid_at_ms_, " ms, and payment ", kept_id_,
                                " was received at ", kept_at_ms_));
    } else if (!paid_by_.empty() && paid_by_ != paid_by(kept_id_)) {
      problems.push_back(concat("was paid by ", paid_by_, ", and keeps payment ", kept_id_));
    }
  }
  if (has_returned_payment(order)) {
    if (returned_ == 0) {
      problems.push_back(concat("is ", name_of(order.status), ", and the payment of ", costs,
                                " cents that paid it is missing"));
    } else if (returned_ == 1 && returned_cents_ != costs) {
      problems.push_back(
          concat("cost ", costs, " cents and was paid with a payment of ", returned_cents_));
    }
  }
}

// ---- The records of all orders ----

namespace {

/// One pass over the three tables, and over the archive.
class RecordPass {
 public:
  RecordPass(OrderStore& orders, AuditReport& report)
      : orders_(orders), payments_(*orders.payments()), report_(report) {}

  absl::Status run() {
    absl::Status read = read_changes();
    if (read.ok()) read = read_payments();
    if (read.ok()) {
      read = for_each_order(orders_, {.count_max = kRecordsPerRead},
                            [&](const Order& order) { compare(order, true); });
    }
    if (read.ok()) read = read_archive();
    if (!read.ok()) return read;
    for (const auto& [order, records] : records_) suspects_.insert(order);
    for (const OrderId suspect : suspects_) {
      if (read = compare_again(suspect); !read.ok()) return read;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status read_changes() {
    std::int64_t after = 0;
    while (true) {
      const auto portion = payments_.changes(after, kRecordsPerRead, {});
      if (!portion.ok()) return portion.status();
      for (const OrderChange& change : *portion) records_[change.order].add(change);
      if (portion->size() < kRecordsPerRead) return absl::OkStatus();
      after = portion->back().position;
    }
  }

  absl::Status read_payments() {
    return for_each_payment(payments_, {.count_max = kRecordsPerRead}, [&](const Payment& payment) {
      if (!add_cents(payment.amount_cents, report_.money.received) ||
          !add_cents(payment.amount_cents, sum_of(payment.state, report_.money))) {
        report_.problems.push_back(concat("payment ", payment.id, " of ", payment.amount_cents,
                                          " cents makes a sum of money too large to count"));
      }
      records_[payment.order].add(payment);
      const std::string fault = find_fault(payment);
      if (!fault.empty()) {
        report_.problems.push_back(
            concat("payment ", payment.id, " of order ", payment.order, " ", fault));
      }
    });
  }

  /// The payments of archived orders are in no list: they are read for a suspect alone.
  absl::Status read_archive() {
    ASSIGN_OR_RETURN(const auto vouchers, read_archived(orders_));
    has_archive_ = !vouchers.empty();
    OrderFilter filter{.count_max = kRecordsPerRead};
    while (has_archive_) {
      ASSIGN_OR_RETURN(const auto portion, orders_.archive()->list_archived(filter));
      for (const Order& order : portion) compare(order, false);
      if (portion.size() < filter.count_max) break;
      filter.after = portion.back().id;
    }
    return absl::OkStatus();
  }

  void compare(const Order& order, bool knows_payments) {
    static const OrderRecords kNone;
    const auto found = records_.find(order.id);
    const OrderRecords& records = found == records_.end() ? kNone : found->second;
    if (!records.find_problems(order, knows_payments).empty()) suspects_.insert(order.id);
    if (found != records_.end()) records_.erase(found);
  }

  /// Compares one order, which may have changed or moved to the archive meanwhile. Between two equal
  /// looks at the order its other records did not change either.
  absl::Status compare_again(OrderId id) {
    constexpr int kLooksMax = 100;
    for (int look = 1;; ++look) {
      ASSIGN_OR_RETURN(const auto before, orders_.find(id));
      OrderRecords records;
      ASSIGN_OR_RETURN(const auto changes, payments_.changes(0, kRecordsPerRead, id));
      for (const OrderChange& change : changes) records.add(change);
      std::vector<Payment> its_payments;
      const absl::Status read =
          for_each_payment(payments_, {.order = id, .count_max = kRecordsPerRead},
                           [&](const Payment& payment) { its_payments.push_back(payment); });
      if (!read.ok()) return read;
      ASSIGN_OR_RETURN(const auto after, orders_.find(id));
      if (before != after && look < kLooksMax) continue;
      report(id, after, std::move(records), its_payments);
      return absl::OkStatus();
    }
  }

  void report(OrderId id, const std::optional<Order>& order, OrderRecords records,
              const std::vector<Payment>& its_payments) {
    if (!order) {
      for (const Payment& payment : its_payments) {
        // One that is due outlives its order, which was archived and deleted.
        if (has_archive_ && payment.state != Payment::State::kKept) continue;
        report_.problems.push_back(
            concat("payment ", payment.id, " is of order ", id, ", which is not stored"));
      }
      if (its_payments.empty() && records.has_history()) {
        report_.problems.push_back(concat("order ", id, " has a history and is not stored"));
      }
      return;
    }
    for (const Payment& payment : its_payments) records.add(payment);
    for (const std::string& problem : records.find_problems(*order, true)) {
      report_.problems.push_back(concat("voucher ", order->voucher, ": order ", id, " ", problem));
    }
  }

  OrderStore& orders_;
  PaymentStore& payments_;
  AuditReport& report_;
  absl::flat_hash_map<OrderId, OrderRecords> records_;  // of orders not met yet
  absl::btree_set<OrderId> suspects_;
  bool has_archive_ = false;
};

}  // namespace

absl::Status audit_records(OrderStore& orders, AuditReport& report) {
  return orders.payments() == nullptr ? absl::OkStatus() : RecordPass(orders, report).run();
}

}  // namespace rushgate
