#include "engine/sale/holds/holds.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_number.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/waiting_list.h"
#include "engine/sale/scripts/held_orders.h"
#include "engine/sale/scripts/hold_forged_closing.lua.h"
#include "engine/sale/scripts/payment_scripts.h"

namespace rushgate {
namespace {

// The beginnings of EndedHold::how.
constexpr std::string_view kEndPaid = "paid ";
constexpr std::string_view kEndCancelled = "cancelled ";

/// Returns the voucher in a description, or 0.
VoucherId voucher_in(std::string_view description) {
  return parse_int64(description.substr(0, description.find(' '))).value_or(0);
}

KnownHold read_hold(OrderId order, std::string_view text) {
  return {.voucher = voucher_in(text),
          .ended = EndedHold::read(order, text),
          .text = std::string(text)};
}

absl::Status malformed(const SaleKeys& keys, std::string_view block) {
  return absl::DataLossError(concat("field ", block, " of ", keys.held(), " has no held orders"));
}

/// Returns true if more waiting users could be served than one script may serve.
bool may_serve_more(const Reply& replies) {
  if (!replies.is_aggregate()) return false;
  return std::ranges::any_of(replies.elements(), [](const Reply& reply) {
    return reply.is_aggregate() && reply.elements().size() == 2 &&
           reply.elements()[1] == Reply::integer(1);
  });
}

/// Visits the orders of deadlines that were read with their scores.
void visit_deadlines(const Reply& page,
                     absl::FunctionRef<void(OrderId order, std::int64_t due_ms)> visit) {
  const auto& pairs = page.elements();
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const auto due_ms = number_in(pairs[i + 1]);
    std::string_view member = pairs[i].is_text() ? pairs[i].text() : std::string_view();
    while (due_ms && !member.empty()) {
      const DeadlineBlock block = DeadlineBlock::take(member);
      for (const char digit : block.digits) {
        const auto order = parse_int64(concat(block.name, std::string_view(&digit, 1)));
        if (order) visit(*order, *due_ms);
      }
    }
  }
}

const Script& forged_closing_script() {
  static const Script* const kScript = new Script(lua::kHoldForgedClosing);
  return *kScript;
}

// Holds that one script ends, if their deadlines have few enough.
constexpr std::size_t kHoldsPerScript = 256;

/// Holds that are due.
struct DueHolds {
  /// The holds of one deadline.
  struct Deadline {
    VoucherId voucher;
    std::vector<OrderId> orders = {};
  };
  std::vector<Deadline> deadlines = {};
  std::int64_t now_ms = 0;
  std::optional<std::int64_t> next_ms = {};
};

absl::StatusOr<DueHolds> find_due_holds(Client& client, const SaleKeys& keys, std::size_t skip) {
  constexpr std::string_view kDoing = "looking for holds that are due";
  constexpr std::size_t kFirstDeadline = 2;
  const std::string deadlines = keys.deadlines();
  const std::string held = keys.held();
  const std::string_view names[] = {deadlines, held};
  const DecimalText skipped(static_cast<std::int64_t>(skip));
  const DecimalText enough(static_cast<std::int64_t>(kHoldsPerScript));
  const std::string_view arguments[] = {skipped, enough};
  const Reply reply = client.run(payment_scripts::find_due(), names, arguments);
  if (!reply.is_aggregate() || reply.elements().size() < kFirstDeadline) {
    return to_status(reply, kDoing);
  }
  const auto now_ms = number_in(reply.elements()[0]);
  if (!now_ms) return to_status(reply.elements()[0], kDoing);
  DueHolds due{.now_ms = *now_ms, .next_ms = number_in(reply.elements()[1])};
  for (const Reply& found : std::span(reply.elements()).subspan(kFirstDeadline)) {
    if (!found.is_aggregate() || found.elements().empty()) return to_status(found, kDoing);
    DueHolds::Deadline deadline{.voucher = number_in(found.elements()[0]).value_or(0)};
    for (const Reply& order : std::span(found.elements()).subspan(1)) {
      const auto id = number_in(order);
      if (!id) return to_status(order, kDoing);
      deadline.orders.push_back(*id);
    }
    due.deadlines.push_back(std::move(deadline));
  }
  return due;
}

/// Returns the end of the deadlines whose holds one script can end with those of the one at `begin`.
std::size_t end_of_call(std::span<const DueHolds::Deadline> deadlines, std::size_t begin) {
  std::size_t holds = deadlines[begin].orders.size();
  std::size_t end = begin + 1;
  for (; end < deadlines.size() && deadlines[end].voucher == deadlines[begin].voucher; ++end) {
    holds += deadlines[end].orders.size();
    if (holds > kHoldsPerScript) break;
  }
  return end;
}

/// Ends the holds of one voucher.
absl::Status expire(Client& client, const SaleKeys& keys,
                    std::span<const DueHolds::Deadline> deadlines, ExpiredHolds& expired) {
  const VoucherId voucher = deadlines.front().voucher;
  std::vector<OrderId> orders;
  for (const auto& deadline : deadlines) {
    orders.insert(orders.end(), deadline.orders.begin(), deadline.orders.end());
  }
  const Reply replies =
      cancel_holds(client, keys, voucher, orders,
                   {.reason = "not paid in time", .actor = "timeout", .only_due = true});
  if (!replies.is_aggregate() || replies.elements().size() != orders.size()) {
    return to_status(replies, "cancelling orders");
  }
  auto reply = replies.elements().begin();
  for (const auto& deadline : deadlines) {
    bool is_left = false;
    for (std::size_t i = 0; i < deadline.orders.size(); ++i, ++reply) {
      if (!reply->is_aggregate() || reply->elements().empty() ||
          !reply->elements()[0].is_integer()) {
        return to_status(*reply, "cancelling an order");
      }
      const std::int64_t outcome = reply->elements()[0].integer();
      if (outcome == payment_scripts::kDone) ++expired.ended;
      const bool is_closed = outcome == payment_scripts::kVoucherClosed;
      if (is_closed && (expired.closed.empty() || expired.closed.back() != voucher)) {
        expired.closed.push_back(voucher);
      }
      if (is_closed || outcome == payment_scripts::kNotDue) is_left = true;
    }
    if (is_left) ++expired.left;
  }
  return absl::OkStatus();
}

}  // namespace

Reply cancel_holds(Client& client, const SaleKeys& keys, VoucherId voucher,
                   std::span<const OrderId> orders, const HoldEnd& end) {
  const lua::VoucherKeys names = payment_scripts::keys_of(keys, voucher);
  const auto views = names.in_order();
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

absl::StatusOr<ExpiredHolds> expire_holds(Client& client, const SaleKeys& keys, std::size_t skip) {
  ASSIGN_OR_RETURN(const auto due, find_due_holds(client, keys, skip));
  ExpiredHolds expired{.now_ms = due.now_ms, .next_ms = due.next_ms};
  const auto& deadlines = due.deadlines;
  for (std::size_t begin = 0; begin < deadlines.size();) {
    const std::size_t end = end_of_call(deadlines, begin);
    const auto one_call = std::span(deadlines).subspan(begin, end - begin);
    RETURN_IF_ERROR(expire(client, keys, one_call, expired));
    begin = end;
  }
  return expired;
}

absl::Status remove_ended_deadlines(Client& client, const SaleKeys& keys) {
  constexpr std::int64_t kPortion = 16;
  const std::string deadlines = keys.deadlines();
  const std::string held = keys.held();
  const std::string_view names[] = {deadlines, held};
  const DecimalText most(kPortion);
  std::int64_t rank = 0;
  std::int64_t found = kPortion;
  while (found == kPortion) {
    const DecimalText first(rank);
    const std::string_view arguments[] = {first, most};
    const Reply reply = client.run(payment_scripts::remove_ended(), names, arguments);
    const bool is_pair = reply.is_aggregate() && reply.elements().size() == 2 &&
                         reply.elements()[0].is_integer() && reply.elements()[1].is_integer();
    if (!is_pair) return to_status(reply, "removing deadlines");
    found = reply.elements()[0].integer();
    rank += found - reply.elements()[1].integer();
  }
  return absl::OkStatus();
}

std::string describe_hold(const Order& order) {
  return concat(order.voucher, " ", order.user.text(), " ", order.quantity, " ", amount_of(order),
                " ", order.admitted_at_ms, " ", order.due_at_ms);
}

std::string describe_end(const Order& order, const OrderEvent& event) {
  const bool is_paid = event.kind == OrderEvent::Kind::kPaid;
  return concat(order.voucher, " ", order.user.text(), " ", is_paid ? kEndPaid : kEndCancelled,
                is_paid ? event.payment.id : event.actor);
}

std::optional<EndedHold> EndedHold::read(OrderId order, std::string_view value) {
  const auto first = value.find(' ');
  const auto second = first == value.npos ? value.npos : value.find(' ', first + 1);
  if (second == value.npos) return std::nullopt;
  const auto voucher = parse_int64(value.substr(0, first));
  if (!voucher) return std::nullopt;
  EndedHold ended;
  ended.how = std::string(value.substr(second + 1));
  const bool is_paid = ended.payment().has_value();
  if (!is_paid && !ended.how.starts_with(kEndCancelled)) return std::nullopt;
  ended.order.id = order;
  ended.order.voucher = *voucher;
  ended.order.user = UserId(value.substr(first + 1, second - first - 1));
  ended.order.status = is_paid ? OrderStatus::kPaid : OrderStatus::kCancelled;
  return ended;
}

std::string EndedHold::value() const {
  return concat(order.voucher, " ", order.user.text(), " ", how);
}

std::optional<std::string_view> EndedHold::payment() const {
  if (!how.starts_with(kEndPaid)) return std::nullopt;
  return std::string_view(how).substr(kEndPaid.size());
}

absl::StatusOr<std::optional<KnownHold>> find_hold(Client& client, const SaleKeys& keys,
                                                   OrderId order) {
  const DecimalText id(order);
  const std::string_view name = HeldBlock::name_of(id);
  const Reply value = client("HGET", keys.held(), name);
  if (value.is_nil()) return std::nullopt;
  if (!value.is_text()) return to_status(value, concat("looking for the hold of order ", order));
  HeldBlock block;
  if (!block.read(value.text())) return malformed(keys, name);
  const std::string& text = block.holds[HeldBlock::place_of(id)];
  return text.empty() ? std::nullopt : std::optional(read_hold(order, text));
}

absl::StatusOr<std::size_t> remove_held(Client& client, const SaleKeys& keys,
                                        std::span<const OrderId> orders) {
  constexpr std::size_t kPortion = 1'000;
  const std::string held = keys.held();
  const std::string_view names[] = {held};
  std::size_t removed = 0;
  for (std::span<const OrderId> left = orders; !left.empty();) {
    const auto portion = left.first(std::min(left.size(), kPortion));
    const Reply reply = client.run(payment_scripts::remove_held(), [&] {
      Request call = client.script_request(payment_scripts::remove_held(), names, {});
      for (const OrderId order : portion) call.add(order);
      return call;
    });
    if (!reply.is_integer()) return to_status(reply, "removing held orders");
    removed += static_cast<std::size_t>(reply.integer());
    left = left.subspan(portion.size());
  }
  return removed;
}

absl::StatusOr<bool> find_forged_closing(Client& client, const SaleKeys& keys, VoucherId voucher,
                                         bool removes) {
  const std::string held = keys.held();
  const std::string terms = keys.voucher(voucher);
  const std::string field = concat(kClosedField, voucher);
  const std::string_view names[] = {held, terms};
  const std::string_view arguments[] = {field, removes ? "1" : "0"};
  const Reply found = client.run(forged_closing_script(), names, arguments);
  if (!found.is_integer()) return to_status(found, "looking at the mark of a rebuild");
  return found.integer() == 1;
}

absl::Status for_each_hold(Client& client, const SaleKeys& keys,
                           absl::FunctionRef<void(OrderId order, const KnownHold& hold)> visit,
                           absl::FunctionRef<void(std::string_view voucher)> visit_closed) {
  constexpr int kPortion = 200;  // blocks
  HeldBlock block;
  std::string cursor = "0";
  do {
    const Reply page = client("HSCAN", keys.held(), cursor, "COUNT", kPortion);
    const bool is_page = page.is_aggregate() && page.elements().size() == 2 &&
                         page.elements()[0].is_text() && page.elements()[1].is_aggregate();
    if (!is_page) return to_status(page, "reading the holds");
    cursor = page.elements()[0].text();
    const auto& pairs = page.elements()[1].elements();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (!pairs[i].is_text() || !pairs[i + 1].is_text()) continue;
      const std::string_view name = pairs[i].text();
      if (name.starts_with(kClosedField)) {
        visit_closed(name.substr(kClosedField.size()));
        continue;
      }
      if (!block.read(pairs[i + 1].text())) return malformed(keys, name);
      for (std::size_t place = 0; place < HeldBlock::kOrders; ++place) {
        if (block.holds[place].empty()) continue;
        const auto order = parse_int64(concat(name, place));
        if (!order) return malformed(keys, name);
        visit(*order, read_hold(*order, block.holds[place]));
      }
    }
  } while (cursor != "0");
  return absl::OkStatus();
}

absl::Status for_each_deadline(Client& client, const SaleKeys& keys,
                               absl::FunctionRef<void(OrderId order, std::int64_t due_ms)> visit) {
  constexpr std::size_t kDeadlinesPerRead = 100;  // each of up to 256 orders
  for (std::size_t rank = 0;; rank += kDeadlinesPerRead) {
    const Reply page =
        client("ZRANGE", keys.deadlines(), rank, rank + kDeadlinesPerRead - 1, "WITHSCORES");
    if (!page.is_aggregate()) return to_status(page, "reading the deadlines");
    visit_deadlines(page, visit);
    if (page.elements().size() < 2 * kDeadlinesPerRead) return absl::OkStatus();
  }
}

absl::StatusOr<bool> has_deadline_at(Client& client, const SaleKeys& keys, OrderId order,
                                     std::int64_t due_ms) {
  bool has_one = false;
  const auto look = [&](OrderId one, std::int64_t at_ms) {
    has_one = has_one || (one == order && at_ms == due_ms);
  };
  const Reply same = client("ZRANGEBYSCORE", keys.deadlines(), due_ms, due_ms, "WITHSCORES");
  if (!same.is_aggregate()) return to_status(same, "looking for a deadline");
  visit_deadlines(same, look);
  return has_one;
}

}  // namespace rushgate
