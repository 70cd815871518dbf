#include "engine/sale/audit/repair.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "engine/base/concat.h"
#include "engine/base/numbers.h"
#include "engine/client/reply_status.h"
#include "engine/sale/audit/payment_audit.h"
#include "engine/sale/orders/unstored_orders.h"
#include "engine/sale/payments/payment_scripts.h"
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

using Lines = std::vector<std::string>;
using EndedHold = std::pair<OrderId, std::string>;

absl::StatusOr<std::vector<EndedHold>> read_ended(Client& client, const SaleKeys& keys) {
  constexpr int kPortion = 1'000;
  std::vector<EndedHold> ended;
  std::string cursor = "0";
  do {
    const Reply page = client("HSCAN", keys.ended(), cursor, "COUNT", kPortion);
    const bool is_page = page.is_aggregate() && page.elements().size() == 2 &&
                         page.elements()[0].is_text() && page.elements()[1].is_aggregate();
    if (!is_page) return to_status(page, "reading the ends of holds");
    cursor = page.elements()[0].text();
    const auto& pairs = page.elements()[1].elements();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const auto order = pairs[i].is_text() ? parse_int64(pairs[i].text()) : std::nullopt;
      if (order && pairs[i + 1].is_text()) ended.emplace_back(*order, pairs[i + 1].text());
    }
  } while (cursor != "0");
  return ended;
}

/// Returns fields and values of the event of a hold that ended; empty if they are not known.
absl::StatusOr<std::vector<std::string>> event_of(Client& client, const SaleKeys& keys,
                                                  const VoucherBook& vouchers,
                                                  const EndedHold& ended) {
  const std::string& how = ended.second;
  const auto first = how.find(' ');
  const auto second = how.find(' ', first + 1);
  const auto third = how.find(' ', second + 1);
  if (third == how.npos) return std::vector<std::string>{};
  const std::string voucher = how.substr(0, first);
  const std::string kind = how.substr(second + 1, third - second - 1);
  const std::string rest = how.substr(third + 1);
  std::vector<std::string> fields = {"event",     kind,
                                     "id",        concat(ended.first),
                                     "userId",    how.substr(first + 1, second - first - 1),
                                     "voucherId", voucher};
  if (kind == order_event_name(OrderEvent::Kind::kCancelled)) {
    const auto version = vouchers.in_force(parse_int64(voucher).value_or(0));
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

/// Appends events that were lost, and removes ends that are stored.
absl::Status repair_ends(Client& client, const SaleStores& stores, const SaleKeys& keys,
                         const VoucherBook& vouchers, Lines& lines) {
  // In this order: an event moves from the stream to the database, and its end is removed then.
  const auto ended = read_ended(client, keys);
  if (!ended.ok()) return ended.status();
  const auto unstored = read_unstored_orders(client, keys, std::nullopt);
  if (!unstored.ok()) return unstored.status();
  absl::flat_hash_set<OrderId> queued;
  for (const auto* events : {&unstored->events, &unstored->dead_events}) {
    for (const OrderEvent& event : *events) queued.insert(event.order.id);
  }
  for (const EndedHold& one : *ended) {
    if (queued.contains(one.first)) continue;
    const auto order = stores.orders.find(one.first);
    if (!order.ok()) return order.status();
    const bool is_stored = order->has_value() && (*order)->status != OrderStatus::kUnpaid;
    if (is_stored) {
      const Reply removed = client("HDEL", keys.ended(), one.first);
      if (!removed.is_integer()) return to_status(removed, "removing the end of a hold");
      if (removed.integer() == 1) {
        lines.push_back(concat("order ", one.first, ": removed its end, which is stored"));
      }
      continue;
    }
    auto arguments = event_of(client, keys, vouchers, one);
    if (!arguments.ok()) return arguments.status();
    if (arguments->empty()) continue;
    arguments->insert(arguments->begin(), {concat(one.first), one.second});
    const std::string ended_key = keys.ended();
    const std::string_view names[] = {ended_key, keys.order_stream};
    const std::vector<std::string_view> views(arguments->begin(), arguments->end());
    const Reply appended = client.run(payment_scripts::append_event(), names, views);
    if (!appended.is_integer()) return to_status(appended, "appending a lost event");
    if (appended.integer() == 1) {
      lines.push_back(concat("order ", one.first, ": appended its lost event: ", one.second));
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
    for (const Request& request : {Request::of("HDEL", keys.held(), order.id),
                                   Request::of("ZREM", keys.holds(), order.id)}) {
      const Reply removed = client.call(request);
      if (!removed.is_integer()) return to_status(removed, "removing a hold");
    }
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

}  // namespace

absl::StatusOr<std::vector<std::string>> repair(Client& client, const SaleStores& stores,
                                                const SaleKeys& keys, VoucherBook& vouchers) {
  Lines lines;
  absl::Status repaired = repair_ends(client, stores, keys, vouchers, lines);
  if (repaired.ok()) repaired = repair_holds(client, stores, keys, vouchers, lines);
  if (!repaired.ok()) return repaired;
  return lines;
}

}  // namespace rushgate
