#include "engine/sale/audit/repair.h"

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "engine/base/concat.h"
#include "engine/client/reply_status.h"
#include "engine/sale/audit/key_audit.h"
#include "engine/sale/audit/payment_audit.h"
#include "engine/sale/orders/unstored_orders.h"
#include "engine/sale/payments/holds.h"
#include "engine/sale/payments/payment_scripts.h"
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

using Lines = std::vector<std::string>;

/// Returns fields and values of the event of a hold that ended; empty if they are not known.
absl::StatusOr<std::vector<std::string>> event_of(Client& client, const SaleStores& stores,
                                                  const SaleKeys& keys, const EndedHold& ended) {
  const auto space = ended.how.find(' ');
  if (space == ended.how.npos) return std::vector<std::string>{};
  const std::string kind = ended.how.substr(0, space);
  const std::string rest = ended.how.substr(space + 1);
  std::vector<std::string> fields = {"event",     kind,
                                     "id",        concat(ended.order.id),
                                     "userId",    ended.order.user.text(),
                                     "voucherId", concat(ended.order.voucher)};
  if (kind == order_event_name(OrderEvent::Kind::kCancelled)) {
    const auto version = stores.vouchers.applied(ended.order.voucher);
    if (!version.ok()) return version.status();
    if (!version->has_value()) return std::vector<std::string>{};
    const Voucher& terms = (*version)->voucher;
    fields.insert(fields.end(),
                  {"keeps", concat(keeps_of(!terms.restock, !terms.restore_allowance)), "reason",
                   "repaired", "actor", rest});
    return fields;
  }
  const Reply payment = client("HGET", keys.payments(), rest);
  if (payment.is_error()) return to_status(payment, "reading a payment");
  if (!payment.is_text()) return std::vector<std::string>{};
  const std::string text(payment.text());
  const auto begin = text.find(' ') + 1;
  fields.insert(fields.end(),
                {"payment", rest, "amount", text.substr(begin, text.find(' ', begin) - begin)});
  return fields;
}

/// Makes an order unpaid again whose payment was discarded. A discarded cancellation has given the
/// pieces back, so that order stays as it is.
absl::Status hold_again(Client& client, const SaleKeys& keys, const EndedHold& ended,
                        VoucherBook& vouchers, Lines& lines) {
  constexpr std::string_view kPaid = "paid ";
  if (!ended.how.starts_with(kPaid)) return absl::OkStatus();
  const std::string payment = ended.how.substr(kPaid.size());
  const Reply removed = client("HDEL", keys.payments(), payment);
  if (!removed.is_integer()) return to_status(removed, "removing a discarded payment");
  const absl::Status rebuilt = vouchers.rebuild_holds(ended.order.voucher);
  if (!rebuilt.ok()) return rebuilt;
  lines.push_back(
      concat("order ", ended.order.id, ": is unpaid again, payment ", payment, " was discarded"));
  return absl::OkStatus();
}

/// Appends events that were lost and not discarded, and removes ends that are stored.
absl::Status repair_ends(Client& client, const SaleStores& stores, const SaleKeys& keys,
                         VoucherBook& vouchers, Lines& lines) {
  // In this order: an event moves from the stream to the database, and its end is removed then.
  std::vector<EndedHold> ends;
  const absl::Status read = for_each_hold(client, keys, [&](OrderId, const KnownHold& hold) {
    if (hold.ended) ends.push_back(*hold.ended);
  });
  if (!read.ok()) return read;
  const auto unstored = read_unstored_orders(client, keys, std::nullopt);
  if (!unstored.ok()) return unstored.status();
  absl::flat_hash_set<OrderId> known;
  absl::flat_hash_set<OrderId> discarded;
  const auto note = [](const std::vector<OrderEvent>& events,
                       absl::flat_hash_set<OrderId>& orders) {
    for (const OrderEvent& event : events) {
      if (ends_hold(event)) orders.insert(event.order.id);
    }
  };
  note(unstored->events, known);
  note(unstored->dead_events, known);
  note(unstored->discarded_events, discarded);
  for (const EndedHold& ended : ends) {
    const std::string value = ended.value();
    const OrderId id = ended.order.id;
    if (known.contains(id)) continue;
    const auto order = stores.orders.find(id);
    if (!order.ok()) return order.status();
    const bool is_stored = order->has_value() && (*order)->status != OrderStatus::kUnpaid;
    if (is_stored || unstored->discarded.contains(id)) {
      const auto removed = remove_held(client, keys, {&id, 1});
      if (!removed.ok()) return removed.status();
      if (*removed == 1) {
        lines.push_back(concat("order ", id, ": removed its end, ",
                               is_stored ? "which is stored" : "the order was discarded"));
      }
      continue;
    }
    if (discarded.contains(id)) {
      const absl::Status held = hold_again(client, keys, ended, vouchers, lines);
      if (!held.ok()) return held;
      continue;
    }
    auto arguments = event_of(client, stores, keys, ended);
    if (!arguments.ok()) return arguments.status();
    if (arguments->empty()) continue;
    arguments->insert(arguments->begin(), {concat(id), value});
    const std::string held = keys.held();
    const std::string_view names[] = {held, keys.order_stream};
    const std::vector<std::string_view> views(arguments->begin(), arguments->end());
    const Reply appended = client.run(payment_scripts::append_event(), names, views);
    if (!appended.is_integer()) return to_status(appended, "appending a lost event");
    if (appended.integer() == 1) {
      lines.push_back(concat("order ", id, ": appended its lost event: ", value));
    }
  }
  return absl::OkStatus();
}

absl::Status repair_holds(Client& client, const SaleStores& stores, const SaleKeys& keys,
                          VoucherBook& vouchers, Lines& lines) {
  if (stores.orders.payments() == nullptr) return absl::OkStatus();
  const auto wrong = PaymentAuditor(client, stores, keys).find_wrong_holds();
  if (!wrong.ok()) return wrong.status();
  absl::btree_set<VoucherId> incomplete;
  for (const auto& [order, is_held] : *wrong) {
    if (!is_held) {
      incomplete.insert(order.voucher);
      continue;
    }
    const auto removed = remove_held(client, keys, {&order.id, 1});
    if (!removed.ok()) return removed.status();
    lines.push_back(
        concat("order ", order.id, ": removed its hold, it is ", order_status_name(order.status)));
  }
  for (const VoucherId voucher : incomplete) {
    const absl::Status rebuilt = vouchers.rebuild_holds(voucher);
    if (!rebuilt.ok()) return rebuilt;
    lines.push_back(concat("voucher ", voucher, ": rebuilt with its lost holds"));
  }
  return absl::OkStatus();
}

/// Rebuilds the vouchers of orders whose idempotency keys the keyspace has lost.
absl::Status repair_keys(Client& client, const SaleStores& stores, const SaleKeys& keys,
                         VoucherBook& vouchers, Lines& lines) {
  absl::btree_set<VoucherId> incomplete;
  const auto check = [&](std::span<const Order> orders) {
    const auto wrong = find_wrong_keys(client, keys, orders);
    if (!wrong.ok()) return wrong.status();
    for (const WrongKey& key : *wrong) incomplete.insert(key.voucher);
    return absl::OkStatus();
  };
  const auto unstored = read_unstored_orders(client, keys, std::nullopt);
  if (!unstored.ok()) return unstored.status();
  if (absl::Status checked = check(unstored->queued); !checked.ok()) return checked;
  std::vector<Order> portion;
  const auto check_portion = [&] {
    absl::Status checked = check(portion);
    portion.clear();
    return checked;
  };
  const absl::Status read = for_each_order(
      stores.orders, {}, [&](const Order& order) { portion.push_back(order); }, check_portion);
  if (!read.ok()) return read;
  if (absl::Status checked = check_portion(); !checked.ok()) return checked;
  for (const VoucherId voucher : incomplete) {
    const absl::Status rebuilt = vouchers.rebuild_holds(voucher);
    if (absl::IsNotFound(rebuilt)) continue;
    if (!rebuilt.ok()) return rebuilt;
    lines.push_back(concat("voucher ", voucher, ": rebuilt with its lost idempotency keys"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> repair(Client& client, const SaleStores& stores,
                                                const SaleKeys& keys, VoucherBook& vouchers) {
  Lines lines;
  absl::Status repaired = repair_ends(client, stores, keys, vouchers, lines);
  if (repaired.ok()) repaired = repair_holds(client, stores, keys, vouchers, lines);
  if (repaired.ok()) repaired = repair_keys(client, stores, keys, vouchers, lines);
  if (!repaired.ok()) return repaired;
  return lines;
}

}  // namespace rushgate
