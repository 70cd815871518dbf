#include "apps/service/sale_at_service.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "adapters/flash_sale/sale_json.h"
#include "adapters/flash_sale/utc_time.h"
#include "apps/audit_text.h"
#include "apps/signals.h"
#include "engine/core/base/numbers.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the number; of a string, the number in it. 0 for others.
std::int64_t number_of(const Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return json.is_string() ? parse_int64(json.get<std::string>()).value_or(0) : 0;
}

std::int64_t time_of(const Json& json) {
  return json.is_string() ? parse_time(json.get<std::string>()).value_or(0) : 0;
}

std::string text_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> count_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return number_of(json);
}

absl::StatusOr<VoucherSummary> summary_of(Json json) {
  VoucherSummary summary{.voucher = {},
                         .version = number_of(json.at("version")),
                         .free = count_of(json.at("free")),
                         .admitted = count_of(json.at("admitted"))};
  for (const char* const name : {"version", "free", "admitted"}) json.erase(std::string(name));
  std::string fault;
  summary.voucher = read_voucher(json, "", fault);
  if (fault.empty()) return summary;
  return absl::UnknownError("the service has a voucher that this program does not know: " + fault);
}

/// Returns true if the outcome is that of the problem: "sold out" is that of "sold-out".
bool is_problem_of(std::string_view outcome, std::string problem) {
  std::ranges::replace(problem, '-', ' ');
  return outcome == problem || (problem == "key reused" && outcome == "request key reused");
}

/// Returns the outcome of a problem; kFailed for those of no outcome.
template <class Result>
Result outcome_of(const std::string& problem, Result last, std::string_view (*name)(Result)) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto outcome = static_cast<Result>(i);
    if (is_problem_of(name(outcome), problem)) return outcome;
  }
  return last;
}

std::string status_text(const absl::Status& status) { return std::string(status.message()); }

std::optional<OrderStatus> status_in(const Json& json) {
  return find_order_status(text_in(json, "state"));
}

/// Returns all pages of a list.
absl::StatusOr<std::vector<Json>> read_pages(const ServiceClient& service,
                                             const std::string& target, const char* name) {
  std::vector<Json> items;
  std::string after;
  do {
    const auto page = service.get(target + "?limit=1000" + after);
    if (!page.ok()) return page.status();
    for (const Json& item : page->at(name)) items.push_back(item);
    const Json& next = page->at("next");
    after = next.is_null() ? ""
                           : "&after=" + (next.is_string() ? next.get<std::string>() : next.dump());
  } while (!after.empty());
  return items;
}

/// Escapes a name in a path.
std::string escaped(std::string_view text) {
  std::string path;
  for (const char c : text) {
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    path += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path;
}

}  // namespace

// ---- Vouchers ---------------------------------------------------------------------------------

absl::StatusOr<std::vector<VoucherSummary>> vouchers_at(const ServiceClient& service) {
  const auto list = read_pages(service, "/v1/vouchers", "vouchers");
  if (!list.ok()) return list.status();
  std::vector<VoucherSummary> summaries;
  for (const Json& json : *list) {
    auto summary = summary_of(json);
    if (!summary.ok()) return summary.status();
    summaries.push_back(*std::move(summary));
  }
  return summaries;
}

absl::StatusOr<std::optional<VoucherSummary>> voucher_at(const ServiceClient& service,
                                                         VoucherId voucher) {
  const auto answer = service.call("GET", fmt::format("/v1/vouchers/{}", voucher));
  if (!answer.ok()) return answer.status();
  if (answer->problem() == "unknown-voucher") return std::nullopt;
  if (!answer->is_success()) return service.error_of(*answer);
  auto summary = summary_of(answer->json);
  if (!summary.ok()) return summary.status();
  return std::optional(*std::move(summary));
}

absl::Status publish_at(const ServiceClient& service, const Voucher& voucher, bool only_new) {
  ServiceClient::Fields fields;
  if (only_new) fields.emplace_back("If-None-Match", "*");
  const auto answer =
      service.call("PUT", fmt::format("/v1/vouchers/{}", voucher.id), to_json(voucher), fields);
  if (!answer.ok()) return answer.status();
  return answer->is_success() ? absl::OkStatus() : service.error_of(*answer);
}

// ---- Orders -----------------------------------------------------------------------------------

BuyResult buy_at(const ServiceClient& service, const BuyRequest& request) {
  const Json body = {{"user", user_json(request.user)},
                     {"quantity", request.quantity},
                     {"reference", request.reference}};
  const auto answer = service.call("POST", fmt::format("/v1/vouchers/{}/orders", request.voucher),
                                   body, {{"Idempotency-Key", request.idempotency_key}});
  // The connection may have been lost after the purchase.
  if (!answer.ok()) {
    return {.outcome = Outcome::kOutcomeUnknown, .detail = status_text(answer.status())};
  }
  BuyResult result{.outcome = Outcome::kAccepted};
  if (const auto order = answer->json.find("order"); order != answer->json.end()) {
    result.order = number_of(*order);
  }
  if (answer->is_success()) {
    result.is_repeated = answer->json.value("repeated", false);
    result.status = status_in(answer->json);
    return result;
  }
  result.outcome = outcome_of(answer->problem(), Outcome::kFailed, outcome_name);
  result.detail = text_in(answer->json, "detail");
  if (result.outcome == Outcome::kFailed) result.detail = status_text(service.error_of(*answer));
  return result;
}

ChangeResult change_at(const ServiceClient& service, OrderId order, const std::string& route,
                       const Json& body) {
  const auto answer = service.call("POST", fmt::format("/v1/orders/{}/{}", order, route), body);
  if (!answer.ok()) {
    return {.outcome = ChangeOutcome::kOutcomeUnknown, .detail = status_text(answer.status())};
  }
  ChangeResult result{.outcome = ChangeOutcome::kDone, .detail = text_in(answer->json, "detail")};
  result.is_repeated = answer->json.value("repeated", false);
  result.status = status_in(answer->json).value_or(OrderStatus::kUnpaid);
  if (answer->is_success()) return result;
  result.outcome = outcome_of(answer->problem(), ChangeOutcome::kFailed, change_outcome_name);
  if (result.outcome == ChangeOutcome::kFailed) {
    result.detail = status_text(service.error_of(*answer));
  }
  return result;
}

absl::StatusOr<std::optional<Json>> order_at(const ServiceClient& service, OrderId order) {
  auto answer = service.call("GET", fmt::format("/v1/orders/{}", order));
  if (!answer.ok()) return answer.status();
  if (answer->problem() == "unknown-order") return std::nullopt;
  if (!answer->is_success()) return service.error_of(*answer);
  return std::optional(std::move(answer->json));
}

absl::StatusOr<std::vector<Json>> orders_at(const ServiceClient& service, const UserId& user) {
  return read_pages(service, "/v1/users/" + escaped(user.text()) + "/orders", "orders");
}

// ---- Audits -----------------------------------------------------------------------------------

absl::StatusOr<AuditReport> audit_at(const ServiceClient& service, bool repairs) {
  constexpr std::chrono::milliseconds kLook{50};
  const auto begun = service.call("POST", "/v1/audit", {{"repair", repairs}});
  if (!begun.ok()) return begun.status();
  if (!begun->is_success()) return service.error_of(*begun);
  while (true) {
    const auto state = service.get("/v1/audit");
    if (!state.ok()) return state.status();
    const std::string name = text_in(*state, "state");
    if (name == "done") return audit_from_json(state->at("report"));
    if (name == "failed") return absl::UnknownError(text_in(*state, "reason"));
    if (interrupt_signal() != 0) return absl::UnknownError("interrupted: the audit goes on");
    std::this_thread::sleep_for(kLook);
  }
}

// ---- The inverse of to_json() -----------------------------------------------------------------

Order order_from_json(const Json& json) {
  Order order;
  order.id = number_of(json.at("order"));
  const Json& user = json.at("user");
  order.user = user.is_string() ? UserId(user.get<std::string>()) : UserId(number_of(user));
  order.voucher = number_of(json.at("voucher"));
  order.status = status_in(json).value_or(OrderStatus::kCreated);
  order.quantity = number_of(json.at("quantity"));
  order.price_cents = number_of(json.at("price_cents"));
  order.admitted_at_ms = time_of(json.at("admitted_at"));
  order.created_at_ms = time_of(json.at("created_at"));
  order.due_at_ms = time_of(json.at("due_at"));
  order.reference = text_in(json, "reference");
  order.version = number_of(json.at("version"));
  order.keeps_stock = json.at("keeps_stock");
  order.keeps_allowance = json.at("keeps_allowance");
  order.idempotency_key = text_in(json, "idempotency_key");
  return order;
}

Payment payment_from_json(const Json& json) {
  Payment payment;
  payment.id = text_in(json, "payment");
  payment.order = number_of(json.at("order"));
  payment.amount_cents = number_of(json.at("amount_cents"));
  using enum Payment::State;
  for (const Payment::State state : {kKept, kDue, kRefunded}) {
    if (payment_state_name(state) == text_in(json, "state")) payment.state = state;
  }
  payment.received_at_ms = time_of(json.at("received_at"));
  payment.refunded_at_ms = time_of(json.at("refunded_at"));
  payment.reason = text_in(json, "reason");
  return payment;
}

OrderChange change_from_json(const Json& json) {
  OrderChange change;
  change.position = number_of(json.at("position"));
  change.order = number_of(json.at("order"));
  change.from = find_order_status(text_in(json, "from")).value_or(OrderStatus::kCreated);
  change.to = find_order_status(text_in(json, "to")).value_or(OrderStatus::kCreated);
  change.at_ms = time_of(json.at("at"));
  change.reason = text_in(json, "reason");
  change.actor = text_in(json, "actor");
  return change;
}

}  // namespace rushgate
