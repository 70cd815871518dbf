#include "engine/sale/payments/holds.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/concat.h"
#include "engine/base/numbers.h"
#include "engine/client/reply_status.h"
#include "engine/sale/payments/payment_scripts.h"
#include "engine/sale/payments/waiting_list.h"

namespace rushgate {
namespace {

std::optional<std::int64_t> number_in(const Reply& reply) {
  return reply.is_text() ? parse_int64(reply.text()) : std::nullopt;
}

/// Returns the voucher in a description, or 0.
VoucherId voucher_in(std::string_view description) {
  return parse_int64(description.substr(0, description.find(' '))).value_or(0);
}

/// Returns true if more waiting users could be served than one script may serve.
bool may_serve_more(const Reply& replies) {
  if (!replies.is_aggregate()) return false;
  return std::ranges::any_of(replies.elements(), [](const Reply& reply) {
    return reply.is_aggregate() && reply.elements().size() == 2 &&
           reply.elements()[1] == Reply::integer(1);
  });
}

/// Visits the fields of a hash that are orders, with their values. Skips fields such as
/// `closed:<voucher>`.
absl::Status for_each_order_in(
    Client& client, const std::string& key, std::string_view doing,
    absl::FunctionRef<void(OrderId order, std::string_view value)> visit) {
  constexpr int kPortion = 1'000;
  std::string cursor = "0";
  do {
    const Reply page = client("HSCAN", key, cursor, "COUNT", kPortion);
    const bool is_page = page.is_aggregate() && page.elements().size() == 2 &&
                         page.elements()[0].is_text() && page.elements()[1].is_aggregate();
    if (!is_page) return to_status(page, doing);
    cursor = page.elements()[0].text();
    const auto& pairs = page.elements()[1].elements();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const auto order = number_in(pairs[i]);
      if (order && pairs[i + 1].is_text()) visit(*order, pairs[i + 1].text());
    }
  } while (cursor != "0");
  return absl::OkStatus();
}

}  // namespace

Reply cancel_holds(Client& client, const SaleKeys& keys, VoucherId voucher,
                   std::span<const OrderId> orders, const HoldEnd& end) {
  const std::array<std::string, 10> names = {keys.voucher(voucher), keys.stock(voucher),
                                             keys.buyers(voucher),  keys.days(voucher),
                                             keys.holds(),          keys.held(),
                                             keys.ended(),          keys.order_stream,
                                             keys.waiting(voucher), keys.waiting_orders(voucher)};
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::vector<std::string> arguments = {concat(voucher), end.only_due ? "1" : "0",
                                        std::string(end.reason), std::string(end.actor)};
  for (const OrderId order : orders) arguments.push_back(concat(order));
  const std::vector<std::string_view> texts(arguments.begin(), arguments.end());
  Reply reply = client.run(payment_scripts::cancel(), views, texts);
  const bool serves = reply.is_aggregate() && !reply.elements().empty() &&
                      reply.elements()[0] == Reply::integer(payment_scripts::kServes);
  if (serves) reply = client.run(payment_scripts::cancel_serving(), views, texts);
  // Users that this fails to serve are served by the next piece that comes back.
  if (may_serve_more(reply)) serve_waiting_list(client, keys, voucher).IgnoreError();
  return reply;
}

absl::StatusOr<DueHolds> find_due_holds(Client& client, const SaleKeys& keys, std::size_t skip,
                                        std::size_t count_max) {
  constexpr std::string_view kDoing = "looking for holds that are due";
  constexpr std::size_t kFirstHold = 2;
  const std::string holds = keys.holds();
  const std::string held = keys.held();
  const std::string_view names[] = {holds, held};
  const DecimalText skipped(static_cast<std::int64_t>(skip));
  const DecimalText most(static_cast<std::int64_t>(count_max));
  const std::string_view arguments[] = {skipped, most};
  const Reply reply = client.run(payment_scripts::find_due(), names, arguments);
  if (!reply.is_aggregate() || reply.elements().size() < kFirstHold) {
    return to_status(reply, kDoing);
  }
  const auto now_ms = number_in(reply.elements()[0]);
  if (!now_ms) return to_status(reply.elements()[0], kDoing);
  DueHolds due{.now_ms = *now_ms, .next_ms = number_in(reply.elements()[1])};
  for (std::size_t i = kFirstHold; i + 1 < reply.elements().size(); i += 2) {
    const auto order = number_in(reply.elements()[i]);
    if (!order) return to_status(reply.elements()[i], kDoing);
    due.holds.push_back({*order, number_in(reply.elements()[i + 1]).value_or(0)});
  }
  return due;
}

std::string describe_hold(const Order& order) {
  return concat(order.voucher, " ", order.user, " ", order.quantity, " ", amount_of(order), " ",
                order.admitted_at_ms);
}

std::optional<EndedHold> EndedHold::read(OrderId order, std::string_view value) {
  const auto first = value.find(' ');
  const auto second = first == value.npos ? value.npos : value.find(' ', first + 1);
  if (second == value.npos) return std::nullopt;
  const auto voucher = parse_int64(value.substr(0, first));
  const auto user = parse_int64(value.substr(first + 1, second - first - 1));
  if (!voucher || !user) return std::nullopt;
  EndedHold ended;
  ended.how = std::string(value.substr(second + 1));
  ended.order.id = order;
  ended.order.voucher = *voucher;
  ended.order.user = *user;
  ended.order.status =
      ended.how.starts_with("paid ") ? OrderStatus::kPaid : OrderStatus::kCancelled;
  return ended;
}

absl::Status for_each_ended_hold(
    Client& client, const SaleKeys& keys,
    absl::FunctionRef<void(OrderId order, std::string_view value)> visit) {
  return for_each_order_in(client, keys.ended(), "reading the ends of holds", visit);
}

absl::Status for_each_hold(Client& client, const SaleKeys& keys,
                           absl::FunctionRef<void(OrderId order, VoucherId voucher)> visit) {
  return for_each_order_in(
      client, keys.held(), "reading the holds",
      [&](OrderId order, std::string_view description) { visit(order, voucher_in(description)); });
}

}  // namespace rushgate
