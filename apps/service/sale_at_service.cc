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
#include "engine/core/base/status_macros.h"

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

/// Returns all items of a list.
absl::StatusOr<std::vector<Json>> read_list(const ServiceClient& service, const std::string& target,
                                            const char* name) {
  std::vector<Json> items;
  const absl::Status read = for_each_at(service, Patience::none(), target, name,
                                        [&](const Json& item) { items.push_back(item); });
  if (!read.ok()) return read;
  return items;
}

/// Sends a request. Any refusal is an error.
absl::StatusOr<Json> post(const ServiceClient& service, const std::string& target, const Json& body,
                          std::chrono::seconds patience = ServiceClient::kPatience) {
  auto answer = service.call("POST", target, body, {}, patience);
  if (!answer.ok()) return answer.status();
  if (!answer->is_success()) return service.error_of(*answer);
  return std::move(answer->json);
}

}  // namespace

absl::StatusOr<ServiceClient> service_of(const SaleArguments& arguments) {
  return ServiceClient::of_url(arguments.server, arguments.tls_ca, arguments.server_token);
}

std::string with_query(std::string target, std::string_view name, std::string_view value) {
  const char separator = target.find('?') == std::string::npos ? '?' : '&';
  return fmt::format("{}{}{}={}", target, separator, name, escaped(value));
}

absl::Status for_each_at(const ServiceClient& service, const Patience& patience, std::string target,
                         const char* name, absl::FunctionRef<void(const Json& item)> visit) {
  target = with_query(std::move(target), "limit", "1000");
  std::string page_target = target;
  while (true) {
    const auto page = patiently(patience, [&] { return service.get(page_target); });
    if (!page.ok()) return page.status();
    for (const Json& item : page->at(name)) visit(item);
    const Json& next = page->at("next");
    if (next.is_null()) return absl::OkStatus();
    page_target =
        with_query(target, "after", next.is_string() ? next.get<std::string>() : next.dump());
  }
}

// ---- Vouchers ---------------------------------------------------------------------------------

absl::StatusOr<std::vector<VoucherSummary>> vouchers_at(const ServiceClient& service) {
  ASSIGN_OR_RETURN(const auto list, read_list(service, "/v1/vouchers", "vouchers"));
  std::vector<VoucherSummary> summaries;
  for (const Json& json : list) {
    ASSIGN_OR_RETURN(auto summary, summary_of(json));
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

absl::StatusOr<std::optional<VoucherSummary>> voucher_at(const ServiceClient& service,
                                                         VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto answer, service.call("GET", fmt::format("/v1/vouchers/{}", voucher)));
  if (answer.problem() == "unknown-voucher") return std::nullopt;
  if (!answer.is_success()) return service.error_of(answer);
  ASSIGN_OR_RETURN(auto summary, summary_of(answer.json));
  return std::optional(std::move(summary));
}

absl::Status publish_at(const ServiceClient& service, const Voucher& voucher, bool only_new) {
  ServiceClient::Fields fields;
  if (only_new) fields.emplace_back("If-None-Match", "*");
  ASSIGN_OR_RETURN(
      const auto answer,
      service.call("PUT", fmt::format("/v1/vouchers/{}", voucher.id), to_json(voucher), fields));
  return answer.is_success() ? absl::OkStatus() : service.error_of(answer);
}

absl::StatusOr<std::string> why_not_on_sale_at(const ServiceClient& service, VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto answer, service.call("GET", fmt::format("/v1/vouchers/{}", voucher)));
  if (answer.is_success()) return std::string();
  return answer.problem() == "unknown-voucher" ? absl::StatusOr<std::string>(answer.detail())
                                               : service.error_of(answer);
}

absl::StatusOr<VoucherVersion> close_at(const ServiceClient& service, VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto closed,
                   post(service, fmt::format("/v1/vouchers/{}/close", voucher), Json::object()));
  ASSIGN_OR_RETURN(auto summary, summary_of(closed));
  return VoucherVersion{.voucher = std::move(summary.voucher), .version = summary.version};
}

absl::StatusOr<std::optional<std::size_t>> archive_at(const ServiceClient& service,
                                                      VoucherId voucher,
                                                      const std::string& discard_reason,
                                                      bool deletes) {
  const auto archived = post(service, fmt::format("/v1/vouchers/{}/archive", voucher),
                             {{"discard_dead_letters", discard_reason}, {"delete", deletes}},
                             ServiceClient::kLongPatience);
  if (!archived.ok()) return archived.status();
  std::optional<std::size_t> deleted;
  if (deletes) deleted = archived->at("deleted").get<std::size_t>();
  return deleted;
}

absl::StatusOr<std::size_t> refund_all_at(const ServiceClient& service, VoucherId voucher,
                                          const std::string& reason, const std::string& actor) {
  const auto refunded = post(service, fmt::format("/v1/vouchers/{}/refund", voucher),
                             {{"reason", reason}, {"actor", actor}}, ServiceClient::kLongPatience);
  if (!refunded.ok()) return refunded.status();
  return refunded->at("changed").get<std::size_t>();
}

// ---- Orders -----------------------------------------------------------------------------------

BuyResult buy_at(const ServiceClient& service, const BuyRequest& request) {
  const Json body = {{"user", user_json(request.user)},
                     {"quantity", request.quantity},
                     {"reference", request.reference},
                     {"purchase_token", request.purchase_token}};
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

absl::StatusOr<EntranceVisit> visit_entrance_at(const ServiceClient& service, VoucherId voucher,
                                                const UserId& user) {
  const auto visit =
      post(service, fmt::format("/v1/vouchers/{}/entrance", voucher), {{"user", user_json(user)}});
  if (!visit.ok()) return visit.status();
  if (visit->contains("purchase_token")) {
    return EntranceVisit{.token = text_in(*visit, "purchase_token")};
  }
  return EntranceVisit{.token = {},
                       .position = number_of(visit->at("position")),
                       .wait_ms = number_of(visit->at("wait_ms"))};
}

namespace {

ChangeResult send_change(const ServiceClient& service, const std::string& target,
                         const Json& body) {
  const auto answer = service.call("POST", target, body);
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

}  // namespace

ChangeResult change_at(const ServiceClient& service, OrderId order, const std::string& route,
                       const Json& body) {
  return send_change(service, fmt::format("/v1/orders/{}/{}", order, route), body);
}

ChangeResult confirm_refund_at(const ServiceClient& service, const std::string& payment) {
  return send_change(service, "/v1/payments/" + escaped(payment) + "/confirm-refund",
                     Json::object());
}

absl::StatusOr<std::optional<Json>> order_at(const ServiceClient& service, OrderId order) {
  ASSIGN_OR_RETURN(auto answer, service.call("GET", fmt::format("/v1/orders/{}", order)));
  if (answer.problem() == "unknown-order") return std::nullopt;
  if (!answer.is_success()) return service.error_of(answer);
  return std::optional(std::move(answer.json));
}

std::string user_orders_target(const UserId& user) {
  return "/v1/users/" + escaped(user.text()) + "/orders";
}

absl::StatusOr<SaleCounts> counts_at(const ServiceClient& service,
                                     std::optional<VoucherId> voucher) {
  std::string target = "/v1/counts";
  if (voucher) target = with_query(target, "voucher", std::to_string(*voucher));
  ASSIGN_OR_RETURN(const auto counts, service.get(target));
  return SaleCounts{.stock = number_of(counts.at("stock")),
                    .holds = number_of(counts.at("holds")),
                    .paid = number_of(counts.at("paid")),
                    .stored = number_of(counts.at("stored")),
                    .age_ms = number_of(counts.at("age_ms"))};
}

// ---- Dead letters -----------------------------------------------------------------------------

namespace {

DeadLetter letter_from_json(const Json& json) {
  DeadLetter letter;
  letter.id = text_in(json, "id");
  letter.entry = text_in(json, "entry");
  letter.reason = text_in(json, "reason");
  letter.order.id = letter.entry;
  for (const auto& [name, value] : json.at("order").items()) {
    letter.order.fields.emplace_back(name, value.get<std::string>());
  }
  return letter;
}

}  // namespace

absl::StatusOr<std::vector<DeadLetter>> dead_letters_at(const ServiceClient& service) {
  ASSIGN_OR_RETURN(const auto list, read_list(service, "/v1/dead-letters", "dead_letters"));
  std::vector<DeadLetter> letters;
  for (const Json& json : list) letters.push_back(letter_from_json(json));
  return letters;
}

absl::StatusOr<std::vector<DiscardedLetter>> discarded_letters_at(const ServiceClient& service) {
  ASSIGN_OR_RETURN(const auto list, read_list(service, "/v1/dead-letters/discarded", "discarded"));
  std::vector<DiscardedLetter> letters;
  for (const Json& json : list) {
    letters.push_back({.id = text_in(json, "id"),
                       .discarded_at_ms = time_of(json.at("discarded_at")),
                       .why = text_in(json, "why"),
                       .letter = letter_from_json(json)});
  }
  return letters;
}

absl::StatusOr<bool> retry_dead_letter_at(const ServiceClient& service, const std::string& id) {
  ASSIGN_OR_RETURN(const auto retried,
                   post(service, "/v1/dead-letters/" + escaped(id) + "/retry", Json::object()));
  return retried.at("retried").get<bool>();
}

absl::StatusOr<bool> discard_dead_letter_at(const ServiceClient& service, const std::string& id,
                                            const std::string& why) {
  const auto discarded =
      post(service, "/v1/dead-letters/" + escaped(id) + "/discard", {{"reason", why}});
  if (!discarded.ok()) return discarded.status();
  return discarded->at("discarded").get<bool>();
}

// ---- Audits -----------------------------------------------------------------------------------

namespace {

AuditProgress progress_from_json(const Json& json) {
  AuditProgress progress;
  progress.pass = static_cast<int>(number_of(json.at("pass")));
  progress.vouchers = number_of(json.at("vouchers"));
  progress.vouchers_checked = number_of(json.at("vouchers_checked"));
  progress.orders = number_of(json.at("orders"));
  progress.orders_checked = number_of(json.at("orders_checked"));
  return progress;
}

}  // namespace

namespace {

/// Returns the state of the last backup of a service once none is being made; null if there was none.
absl::StatusOr<Json> ended_backup_at(const ServiceClient& service) {
  constexpr std::chrono::milliseconds kLook{50};
  while (true) {
    const auto answer = service.call("GET", "/v1/backup");
    if (!answer.ok()) return answer.status();
    if (answer->problem() == "not-found") return Json(nullptr);
    if (!answer->is_success()) return service.error_of(*answer);
    if (text_in(answer->json, "state") != "running") return answer->json;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

absl::StatusOr<BackupReport> back_up_at(const ServiceClient& service,
                                        const std::filesystem::path& directory,
                                        const BackupOptions& options) {
  Json body = {{"keep", options.keep}, {"within_ms", options.within.count()}};
  if (!directory.empty()) body["directory"] = std::filesystem::absolute(directory).string();
  RETURN_IF_ERROR(ended_backup_at(service).status());
  RETURN_IF_ERROR(post(service, "/v1/backup", body).status());
  ASSIGN_OR_RETURN(const auto state, ended_backup_at(service));
  if (text_in(state, "state") != "done") return absl::UnknownError(text_in(state, "reason"));
  return BackupReport{
      .path = std::filesystem::path(text_in(state, "directory")) / text_in(state, "name"),
      .has_keyspace = state.at("has_keyspace"),
      .bytes = state.at("bytes"),
      .took_ms = state.at("took_ms")};
}

absl::StatusOr<AuditReport> audit_at(const ServiceClient& service, bool repairs,
                                     const OnAuditProgress& on_progress) {
  constexpr std::chrono::milliseconds kLook{50};
  const auto begun = service.call("POST", "/v1/audit", {{"repair", repairs}});
  if (!begun.ok()) return begun.status();
  if (!begun->is_success()) return service.error_of(*begun);
  while (true) {
    ASSIGN_OR_RETURN(const auto state, service.get("/v1/audit"));
    const std::string name = text_in(state, "state");
    if (name == "done") return audit_from_json(state.at("report"));
    if (name == "failed") return absl::UnknownError(text_in(state, "reason"));
    if (state.contains("progress")) on_progress(progress_from_json(state.at("progress")));
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
