#include "engine/sale/audit/payment_audit.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/base/concat.h"
#include "engine/client/reply_status.h"
#include "engine/sale/orders/unstored_orders.h"
#include "engine/sale/payments/holds.h"
#include "engine/sale/payments/waiting_list.h"

namespace rushgate {
namespace {

// Rows in one read of the database.
constexpr std::size_t kRowsPerRead = 10'000;

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

/// Returns true if the order must have a kept payment.
bool needs_payment(const Order& order) {
  const bool is_settled = order.status == OrderStatus::kPaid || order.status == OrderStatus::kUsed;
  return is_settled && order.due_at_ms > 0;
}

}  // namespace

absl::Status PaymentAuditor::run(AuditReport& report) {
  if (orders_.payments() == nullptr) return absl::OkStatus();
  for (const auto check : {&PaymentAuditor::check_payments, &PaymentAuditor::check_holds,
                           &PaymentAuditor::check_waiting}) {
    if (absl::Status checked = (this->*check)(report); !checked.ok()) return checked;
  }
  return absl::OkStatus();
}

absl::Status PaymentAuditor::check_payments(AuditReport& report) {
  absl::flat_hash_map<OrderId, std::vector<Payment>> kept;
  const auto add = [&](const Payment& payment) {
    if (payment.state == Payment::State::kKept) kept[payment.order].push_back(payment);
    if (!add_cents(payment.amount_cents, report.money.received) ||
        !add_cents(payment.amount_cents, sum_of(payment.state, report.money))) {
      report.problems.push_back(concat("payment ", payment.id, " of ", payment.amount_cents,
                                       " cents makes a sum of money too large to count"));
    }
  };
  absl::Status read = for_each_payment(*orders_.payments(), {.count_max = kRowsPerRead}, add);
  if (!read.ok()) return read;
  std::vector<Order> without;
  const auto check = [&](const Order& order) {
    const auto payments = kept.find(order.id);
    if (payments == kept.end()) {
      if (needs_payment(order)) without.push_back(order);
      return;
    }
    const Payment& payment = payments->second.front();
    if (payments->second.size() > 1) {
      report.problems.push_back(
          concat("order ", order.id, " has ", payments->second.size(), " kept payments"));
    }
    if (needs_payment(order) && payment.amount_cents != amount_of(order)) {
      report.problems.push_back(concat("order ", order.id, " costs ", amount_of(order),
                                       " cents and has a payment of ", payment.amount_cents));
    }
    if (order.status == OrderStatus::kUnpaid || order.status == OrderStatus::kCancelled) {
      report.problems.push_back(concat("order ", order.id, " is ", order_status_name(order.status),
                                       " and keeps payment ", payment.id));
    }
    kept.erase(payments);
  };
  read = for_each_order(orders_, {.count_max = kRowsPerRead}, check);
  if (!read.ok()) return read;
  for (const auto& [order, payments] : kept) {
    report.problems.push_back(
        concat("payment ", payments.front().id, " is of order ", order, ", which is not stored"));
  }
  for (const Order& order : without) {  // it may have been paid after the payments were read
    const auto payments = orders_.payments()->list_payments(
        {.order = order.id, .state = Payment::State::kKept, .count_max = 1});
    if (!payments.ok()) return payments.status();
    if (!payments->empty()) continue;
    const auto now = orders_.find(order.id);
    if (!now.ok()) return now.status();
    if (now->has_value() && needs_payment(**now)) {
      report.problems.push_back(concat("order ", order.id, " is ", order_status_name(order.status),
                                       " without a payment"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PaymentAuditor::WrongHold>> PaymentAuditor::find_wrong_holds() {
  absl::flat_hash_map<OrderId, VoucherId> held;
  absl::Status read = for_each_hold(client_, keys_, [&](OrderId order, const KnownHold& hold) {
    if (!hold.ended) held.emplace(order, hold.voucher);
  });
  if (!read.ok()) return read;
  std::vector<Order> suspects;
  const auto check = [&](const Order& order) {
    const bool is_held = held.erase(order.id) > 0;
    if (is_held != (order.status == OrderStatus::kUnpaid)) suspects.push_back(order);
  };
  read = for_each_order(orders_, {.count_max = kRowsPerRead}, check);
  if (!read.ok()) return read;
  std::vector<WrongHold> wrong;
  if (suspects.empty()) return wrong;
  // In this order: the end of a hold moves from the keyspace to the database. If the keyspace lost the
  // holds, the stream still has the ends.
  const auto unstored = read_unstored_orders(client_, keys_, std::nullopt);
  if (!unstored.ok()) return unstored.status();
  absl::flat_hash_set<OrderId> queued;
  for (const auto* events : {&unstored->events, &unstored->dead_events}) {
    for (const OrderEvent& event : *events) {
      if (ends_hold(event)) queued.insert(event.order.id);
    }
  }
  for (const Order& suspect : suspects) {
    const auto hold = find_hold(client_, keys_, suspect.id);
    if (!hold.ok()) return hold.status();
    const auto now = orders_.find(suspect.id);
    if (!now.ok()) return now.status();
    const bool is_held = hold->has_value();
    if (!now->has_value() || (is_held && (*hold)->ended)) continue;
    if (!is_held && queued.contains(suspect.id)) continue;
    const bool is_unpaid = (*now)->status == OrderStatus::kUnpaid;
    if (is_held != is_unpaid) wrong.push_back({.order = **now, .is_held = is_held});
  }
  return wrong;
}

absl::Status PaymentAuditor::check_holds(AuditReport& report) {
  const auto wrong = find_wrong_holds();
  if (!wrong.ok()) return wrong.status();
  for (const auto& [order, is_held] : *wrong) {
    report.problems.push_back(concat("voucher ", order.voucher, ": order ", order.id, " is ",
                                     order_status_name(order.status),
                                     is_held ? " and is held" : " and is not held"));
  }
  return absl::OkStatus();
}

absl::Status PaymentAuditor::check_waiting(AuditReport& report) {
  const auto vouchers = stores_.vouchers.all_applied();
  if (!vouchers.ok()) return vouchers.status();
  for (const VoucherVersion& version : *vouchers) {
    if (version.voucher.waiting_max == 0) continue;
    const auto list = look_at_waiting_list(client_, keys_, version.voucher.id);
    if (!list.ok()) return list.status();
    if (list->users != list->orders) {
      report.problems.push_back(concat("voucher ", version.voucher.id, ": ", list->users,
                                       " users wait, with ", list->orders, " orders"));
    }
    if (list->could_be_served) {
      report.problems.push_back(concat("voucher ", version.voucher.id, ": ", list->users,
                                       " users wait, and pieces are free"));
    }
  }
  return absl::OkStatus();
}

}  // namespace rushgate
