// Purchases, orders, payments, and their changes.
#include <algorithm>
#include <cctype>
#include <utility>

#include "adapters/flash_sale/sale_json.h"
#include "adapters/flash_sale/stored_records.h"
#include "adapters/flash_sale/utc_time.h"
#include "adapters/http/json_body.h"
#include "adapters/http/object_text.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"
#include "engine/core/base/concat.h"
#include <rushgate/maybe_integer.h>

namespace rushgate::http {
namespace {

std::string location_of(OrderId order) { return concat("/v1/orders/", order); }

HttpAnswer unknown_order() { return problem(kUnknownOrder); }

/// Visible characters of ASCII alone, as in other header fields.
bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

const ProblemType* problem_type_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAccepted:
      return nullptr;
    case Outcome::kSoldOut:
      return &kSoldOut;
    case Outcome::kLimitReached:
      return &kLimitReached;
    case Outcome::kDayLimitReached:
      return &kDayLimitReached;
    case Outcome::kTokenRefused:
      return &kTokenRefused;
    case Outcome::kNotStarted:
      return &kNotStarted;
    case Outcome::kEnded:
      return &kEnded;
    case Outcome::kUnknownVoucher:
      return &kUnknownVoucher;
    case Outcome::kOverloaded:
      return &kOverloaded;
    case Outcome::kUnavailable:
      return &kUnavailable;
    case Outcome::kOutcomeUnknown:
      return &kOutcomeUnknown;
    case Outcome::kKeyReused:
      return &kKeyReused;
    case Outcome::kRefused:
      return &kRefused;
    case Outcome::kFailed:
      return &kFailed;
  }
  return &kFailed;
}

const ProblemType* problem_type_of(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kDone:
      return nullptr;
    case ChangeOutcome::kTooLate:
      return &kTooLate;
    case ChangeOutcome::kRefused:
      return &kRefused;
    case ChangeOutcome::kUnknownOrder:
      return &kUnknownOrder;
    case ChangeOutcome::kOverloaded:
      return &kOverloaded;
    case ChangeOutcome::kUnavailable:
      return &kUnavailable;
    case ChangeOutcome::kOutcomeUnknown:
      return &kOutcomeUnknown;
    case ChangeOutcome::kFailed:
      return &kFailed;
  }
  return &kFailed;
}

/// Returns the state of an order if the caller may see it.
absl::StatusOr<OrderState> find_order(const RouteCall& call) {
  auto state = call.sale().status(call.order);
  if (!state.ok() || !state->order || call.caller.may_act_for(state->order->user)) return state;
  return OrderState{};  // as if there were none
}

/// Returns the refusal if a user's token is for the order of another user. An order that is not
/// stored yet is nobody's.
std::optional<HttpAnswer> refuse_other_user(const RouteCall& call) {
  if (!call.caller.user) return std::nullopt;
  const auto state = find_order(call);
  if (!state.ok()) return problem_of(state.status());
  if (state->location == OrderLocation::kQueued) {
    return problem(kUnavailable, "the order is not stored yet");
  }
  return state->order ? std::nullopt : std::optional(unknown_order());
}

}  // namespace

// ---- Purchases --------------------------------------------------------------------------------

std::optional<HttpAnswer> read_purchase(const RouteCall& call, BuyRequest& request) {
  request.voucher = call.voucher;
  request.idempotency_key = call.http.idempotency_key;
  BodyReader body(call.body);
  body->require("user", body->read("user", request.user));
  body->read("quantity", request.quantity);
  body->read("reference", request.reference);
  body->read("purchase_token", request.purchase_token);
  if (request.quantity < 1 || request.quantity > BuyRequest::kQuantityMax) {
    body->note("quantity", concat("must be from 1 to ", BuyRequest::kQuantityMax));
  }
  if (request.reference.size() > Order::kReferenceBytesMax) {
    body->note("reference", concat("must have at most ", Order::kReferenceBytesMax, " bytes"));
  }
  if (request.purchase_token.size() > BuyRequest::kPurchaseTokenBytesMax) {
    body->note("purchase_token",
               concat("must have at most ", BuyRequest::kPurchaseTokenBytesMax, " bytes"));
  }
  if (request.idempotency_key.size() > Order::kIdempotencyKeyBytesMax ||
      !is_printable(request.idempotency_key)) {
    body->note("the header field Idempotency-Key",
               concat("must have at most ", Order::kIdempotencyKeyBytesMax,
                      " printable characters, without spaces"));
  }
  if (auto wrong = body.finish()) return wrong;
  if (call.caller.may_act_for(request.user)) return std::nullopt;
  return problem(kForbidden, "the token is another user's");
}

HttpAnswer answer_purchase(const BuyRequest& request, const BuyResult& result,
                           std::int64_t now_ms) {
  if (const ProblemType* const type = problem_type_of(result.outcome)) {
    Json more = Json::object();
    if (result.order != 0) more["order"] = std::to_string(result.order);
    if (result.outcome == Outcome::kNotStarted) more["now"] = format_utc(now_ms);
    return problem(*type, result.detail, more);
  }
  ObjectText text;
  text.add_text("order", std::to_string(result.order));
  if (request.user.is_number()) {
    text.add_number("user", request.user.number());
  } else {
    text.add_text("user", request.user.name());
  }
  text.add_number("voucher", request.voucher);
  if (!result.is_repeated) {
    text.add_text("state", "queued");
  } else if (result.status) {
    text.add_text("state", order_status_name(*result.status));
  } else {
    text.add_json("state", nullptr);
  }
  text.add_number("quantity", request.quantity).add_json("repeated", result.is_repeated);
  if (!result.is_repeated) text.add_text("reference", request.reference);
  constexpr int kOk = 200;
  constexpr int kCreated = 201;
  HttpAnswer answer;
  answer.status = result.is_repeated ? kOk : kCreated;
  answer.body = std::move(text).finish();
  answer.fields.emplace_back("Location", location_of(result.order));
  return answer;
}

// ---- Orders -----------------------------------------------------------------------------------

HttpAnswer get_order(RouteCall& call) {
  const auto state = find_order(call);
  if (!state.ok()) return problem_of(state.status());
  if (state->location == OrderLocation::kUnknown) return unknown_order();
  Json json = state->order
                  ? to_json(*state->order)
                  : Json{{"order", std::to_string(call.order)}, {"state", state_name(*state)}};
  // The reason may name others, and whose order it is, is unknown.
  const bool may_see_reason = !call.caller.user;
  if (state->location == OrderLocation::kDeadLetter && may_see_reason)
    json["reason"] = state->reason;
  Json payments = Json::array();
  Json history = Json::array();
  if (PaymentStore* const store = call.sale().orders().payments(); store != nullptr) {
    constexpr std::size_t kMost = 1'000;  // an order has a few at most
    const auto paid = store->list_payments({.order = call.order, .count_max = kMost});
    if (!paid.ok()) return problem_of(paid.status());
    for (const Payment& payment : *paid) payments.push_back(to_json(payment));
    const auto changes = store->changes(0, kMost, call.order);
    if (!changes.ok()) return problem_of(changes.status());
    for (const OrderChange& change : *changes) history.push_back(to_json(change));
  }
  json["payments"] = std::move(payments);
  json["history"] = std::move(history);
  return json_answer(json);
}

namespace {

HttpAnswer page_of_orders(Json orders, std::optional<OrderId> next) {
  return json_answer({{"orders", std::move(orders)},
                      {"next", next ? Json(std::to_string(*next)) : Json(nullptr)}});
}

/// Returns a page of the orders that `search` selects, the newest first.
HttpAnswer newest_page(RouteCall& call, OrderSearch search) {
  search.count_max = call.limit;
  search.reference = call.only_reference;
  const auto found = call.sale().orders().search(search);
  if (!found.ok()) return problem_of(found.status());
  Json list = Json::array();
  for (const Order& order : found->orders) list.push_back(to_json(order));
  return page_of_orders(std::move(list), found->next);
}

/// Returns a page of the orders that `filter` selects, the oldest first. With a reference or a state, a
/// page is what was found among the next kLookedAtMax orders, so that a request takes some 10 ms.
HttpAnswer oldest_page(RouteCall& call, OrderFilter filter) {
  constexpr std::size_t kLookedAtMax = 10'000;
  const auto status = std::exchange(filter.status, std::nullopt);
  const bool looks_at_more = status || call.only_reference;
  filter.count_max = looks_at_more ? kLookedAtMax : call.limit;
  const auto orders = call.sale().orders().list(filter);
  if (!orders.ok()) return problem_of(orders.status());
  Json list = Json::array();
  std::optional<OrderId> next;
  if (orders->size() == filter.count_max) next = orders->back().id;
  for (const Order& order : *orders) {
    if (status && order.status != *status) continue;
    if (call.only_reference && *call.only_reference != order.reference) continue;
    list.push_back(to_json(order));
    if (list.size() < call.limit || order.id == orders->back().id) continue;
    next = order.id;
    break;
  }
  return page_of_orders(std::move(list), next);
}

HttpAnswer order_page(RouteCall& call, const OrderFilter& filter) {
  if (!call.after.empty() && !parse_int64(call.after)) {
    return problem(kInvalidRequest, "the query's after must be the id of an order");
  }
  const auto after = parse_int64(call.after);
  if (!call.is_newest_first) {
    OrderFilter page = filter;
    page.after = after.value_or(0);
    return oldest_page(call, page);
  }
  OrderSearch search{.user = filter.user, .voucher = filter.voucher, .status = filter.status};
  if (after) search.before = *after;
  return newest_page(call, search);
}

/// Returns a page of payments or changes: those of the query's voucher. The next one begins behind the
/// last record that was read, wanted or not.
template <class Record, class Position>
HttpAnswer record_page(RouteCall& call, const char* name,
                       const absl::StatusOr<std::vector<Record>>& records,
                       Position Record::*position) {
  if (!records.ok()) return problem_of(records.status());
  const bool has_more = records->size() == call.limit;
  Json next = has_more ? Json(records->back().*position) : Json(nullptr);
  const auto wanted = those_of(call.sale().orders(), *records, call.only_voucher);
  if (!wanted.ok()) return problem_of(wanted.status());
  Json list = Json::array();
  for (const Record& record : *wanted) list.push_back(to_json(record));
  return json_answer({{name, std::move(list)}, {"next", std::move(next)}});
}

HttpAnswer no_payments() { return problem(kFailed, "the order store keeps no payments"); }

}  // namespace

HttpAnswer list_orders_of_user(RouteCall& call) {
  if (!call.caller.may_act_for(call.user)) {
    return problem(kForbidden, "the token is another user's");
  }
  return order_page(call, {.user = call.user});
}

HttpAnswer list_orders(RouteCall& call) {
  OrderFilter filter{.user = call.only_user, .voucher = call.only_voucher};
  if (!call.state.empty()) {
    filter.status = find_order_status(call.state);
    if (!filter.status) {
      return problem(kInvalidRequest, "the query's state must be one of a stored order");
    }
  }
  return order_page(call, filter);
}

HttpAnswer list_changes(RouteCall& call) {
  PaymentStore* const store = call.sale().orders().payments();
  if (store == nullptr) return no_payments();
  const auto after = call.after.empty() ? 0 : parse_int64(call.after);
  if (!after || *after < 0) {
    return problem(kInvalidRequest, "the query's after must be the position of a change");
  }
  return record_page(call, "changes", store->changes(*after, call.limit, call.only_order),
                     &OrderChange::position);
}

HttpAnswer count_orders(RouteCall& call) {
  const auto counted = call.service.order_counter().count(call.only_voucher);
  if (!counted.ok()) return problem_of(counted.status());
  SaleCounts counts{.age_ms = counted->age_ms};
  add_stored(counts, counted->by_status);
  const auto board = call.service.board().read();
  if (!board.ok()) return problem_of(board.status());
  for (const VoucherSummary& summary : **board) {
    const bool is_counted = !call.only_voucher || *call.only_voucher == summary.voucher.id;
    if (is_counted) counts.stock += summary.free.value_or(0);
  }
  return json_answer({{"stock", counts.stock},
                      {"holds", counts.holds},
                      {"paid", counts.paid},
                      {"stored", counts.stored},
                      {"age_ms", counts.age_ms}});
}

// ---- Changes ----------------------------------------------------------------------------------

std::optional<HttpAnswer> read_change(const RouteCall& call, OrderChangeNote& note) {
  BodyReader body(call.body);
  body->read("reason", note.reason);
  // A user's token says who the author is.
  if (!call.caller.user) body->read("actor", note.actor);
  return body.finish();
}

std::optional<HttpAnswer> read_payment(const RouteCall& call, PayRequest& request) {
  request.order = call.order;
  BodyReader body(call.body);
  body->require("payment", body->read("payment", request.payment));
  body->require("amount_cents", body->read("amount_cents", request.amount_cents));
  return body.finish();
}

HttpAnswer answer_change(OrderId order, const ChangeResult& result) {
  Json more = {{"order", std::to_string(order)}};
  const ProblemType* const type = problem_type_of(result.outcome);
  if (type == nullptr || result.outcome == ChangeOutcome::kTooLate) {
    more["state"] = order_status_name(result.status);
    more["repeated"] = result.is_repeated;
  }
  return type == nullptr ? json_answer(more) : problem(*type, result.detail, more);
}

HttpAnswer cancel_order(RouteCall& call) {
  OrderChangeNote change{.reason = "cancelled", .actor = "user"};
  if (auto wrong = read_change(call, change)) return *std::move(wrong);
  if (auto refused = refuse_other_user(call)) return *std::move(refused);
  return answer_change(call.order, call.sale().cancel(call.order, change.reason, change.actor));
}

HttpAnswer use_order(RouteCall& call) {
  OrderChangeNote change{.actor = "operator"};
  BodyReader body(call.body);
  body->read("actor", change.actor);
  if (auto wrong = body.finish()) return *std::move(wrong);
  return answer_change(call.order, call.sale().use(call.order, change.actor));
}

HttpAnswer refund_order(RouteCall& call) {
  OrderChangeNote change{.reason = "refunded", .actor = "operator"};
  if (auto wrong = read_change(call, change)) return *std::move(wrong);
  return answer_change(call.order, call.sale().refund(call.order, change.reason, change.actor));
}

// ---- Payments ---------------------------------------------------------------------------------

HttpAnswer list_payments(RouteCall& call) {
  PaymentStore* const store = call.sale().orders().payments();
  if (store == nullptr) return no_payments();
  PaymentFilter filter{.order = call.only_order, .after = call.after, .count_max = call.limit};
  using enum Payment::State;
  for (const Payment::State state : {kKept, kDue, kRefunded}) {
    if (call.state == payment_state_name(state)) filter.state = state;
  }
  if (!call.state.empty() && !filter.state) {
    return problem(kInvalidRequest, "the query's state must be kept, due or refunded");
  }
  return record_page(call, "payments", store->list_payments(filter), &Payment::id);
}

HttpAnswer confirm_refund(RouteCall& call) {
  const ChangeResult result = call.sale().confirm_refund(call.name);
  const ProblemType* const type = problem_type_of(result.outcome);
  Json more = {{"payment", call.name}};
  if (type != nullptr) return problem(*type, result.detail, more);
  more["state"] = "refunded";
  more["repeated"] = result.is_repeated;
  return json_answer(more);
}

}  // namespace rushgate::http
