#include "adapters/http/sale_service.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "adapters/flash_sale/decide_safely.h"
#include "adapters/flash_sale/json_text.h"
#include "adapters/flash_sale/sale_json.h"
#include "adapters/flash_sale/utc_time.h"
#include "adapters/http/pages/pages.h"
#include "adapters/http/target.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/letter_case.h"
#include "engine/core/base/log.h"
#include "engine/core/base/random_name.h"
#include <rushgate/maybe_integer.h>

namespace rushgate::http {
namespace {

constexpr int kPurchaseThreads = 2;
constexpr int kDeskThreads = 2;
constexpr int kVisitThreads = 2;
constexpr int kPaymentThreads = 1;
constexpr int kChangeThreads = 2;
constexpr int kReadThreads = 2;
constexpr std::size_t kListMax = 1'000;

bool is_among(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Reads a parameter of the query. Returns its fault.
std::string read_parameter(std::string_view name, const std::string& value, RouteCall& call) {
  if (name == "after") call.after = value;
  if (name == "state") call.state = value;
  if (name == "reference") call.only_reference = value;
  if (name == "sort") {
    call.is_newest_first = value == "newest";
    if (value != "newest" && value != "oldest") return "must be newest or oldest";
  }
  if (name == "user") return read_user(value, call.only_user.emplace());
  if (name == "limit") {
    const auto limit = parse_int64(value);
    if (!limit || *limit < 1 || *limit > static_cast<std::int64_t>(kListMax)) {
      return concat("must be from 1 to ", kListMax);
    }
    call.limit = static_cast<std::size_t>(*limit);
  }
  if (name == "voucher" || name == "order") {
    auto& id = name == "order" ? call.only_order : call.only_voucher;
    id = parse_int64(value);
    if (!id) return "must be a whole number";
  }
  return {};
}

/// Reads the query of a list.
std::optional<HttpAnswer> read_query(const Target& target, const Route& route, RouteCall& call) {
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : target.query) {
    if (!is_among(name, route.query)) {
      return problem(kInvalidRequest, concat("the query's ", name, " is unknown here"));
    }
    if (is_among(name, seen)) {
      return problem(kInvalidRequest, concat("the query's ", name, " is there twice"));
    }
    seen.emplace_back(name);
    const std::string fault = read_parameter(name, value, call);
    if (!fault.empty()) return problem(kInvalidRequest, concat("the query's ", name, " ", fault));
  }
  return std::nullopt;
}

/// Returns true for `application/json`, with any parameters.
bool is_json_type(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return equal_in_any_case(type, "application/json");
}

/// Reads the body of a write.
std::optional<HttpAnswer> read_body(const Route& route, RouteCall& call) {
  call.body = Json::object();
  const std::string& text = call.http.body;
  if (text.empty()) return std::nullopt;
  if (!route.is_write()) return problem(kInvalidRequest, "a GET has no body");
  if (!is_json_type(call.http.content_type)) return problem(kUnsupportedType);
  auto json = parse_json(text);
  if (!json.ok()) return problem_of(json.status());
  if (!json->is_object()) return problem(kInvalidRequest, "the body must be an object");
  call.body = *std::move(json);
  return std::nullopt;
}

}  // namespace

FlashSale& RouteCall::sale() const { return service.sale(); }

// ---- The board of vouchers --------------------------------------------------------------------

absl::StatusOr<std::shared_ptr<const VoucherBoard::Summaries>> VoucherBoard::read() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ms = sale_.clock().monotonic_ms();
  const bool is_fresh = summaries_ != nullptr && now_ms - read_at_ms_ < kAgeMsMax;
  if (!is_expired_.exchange(false) && is_fresh) return summaries_;
  auto summaries = sale_.vouchers();
  if (!summaries.ok()) {
    is_expired_ = true;
    return summaries.status();
  }
  summaries_ = std::make_shared<const Summaries>(*std::move(summaries));
  read_at_ms_ = now_ms;
  return summaries_;
}

// ---- Audits -----------------------------------------------------------------------------------

void AuditDesk::begin(bool repairs) {
  const std::lock_guard lock(mutex_);
  if (is_running_) return;
  is_running_ = thread_.submit([this, repairs] { run(repairs); });
  if (!is_running_) return;
  state_ = {{"state", "running"}, {"began_at", format_utc(sale_.clock().now_ms())}};
}

void AuditDesk::run(bool repairs) {
  absl::StatusOr<AuditReport> report;
  try {
    const auto note = [this](const AuditProgress& progress) { note_progress(progress); };
    report = repairs ? sale_.sale().repair(note) : sale_.audit(note);
  } catch (const std::exception& error) {
    report = absl::UnknownError(error.what());
  } catch (...) {
    report = absl::UnknownError("the order store threw something that is no exception");
  }
  const std::lock_guard lock(mutex_);
  is_running_ = false;
  state_["state"] = report.ok() ? "done" : "failed";
  state_["ended_at"] = format_utc(sale_.clock().now_ms());
  if (report.ok()) {
    state_["report"] = to_json(*report);
  } else {
    const auto message = report.status().message();
    state_["reason"] = std::string(message.data(), message.size());
  }
}

void AuditDesk::note_progress(const AuditProgress& progress) {
  const std::lock_guard lock(mutex_);
  state_["progress"] = to_json(progress);
}

Json AuditDesk::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

// ---- Requests ---------------------------------------------------------------------------------

SaleService::SaleService(FlashSale& sale, const HttpServerOptions& options,
                         std::function<void(HttpFigures& figures)> count_connections)
    : sale_(sale),
      logger_(options.logger),
      guard_(options.operator_token, options.user_key, options.origins),
      facts_(options),
      ids_(random_name() + "-"),
      count_connections_(std::move(count_connections)),
      board_(sale),
      order_counter_(sale.orders(), counting_clock_, {}),
      audits_(sale),
      entrance_(sale, options),
      backups_(sale, options.backups_dir),
      places_(options.event_streams_max),
      order_feed_(sale),
      voucher_feed_(sale, board_),
      payments_(kPaymentThreads, options.waiting_max,
                [&sale](std::span<const PayRequest> requests) {
                  return decide_safely(requests,
                                       ChangeResult{.outcome = ChangeOutcome::kOutcomeUnknown},
                                       [&](auto all) { return sale.pay_all(all); });
                }),
      changes_(kChangeThreads, options.waiting_max),
      reads_(kReadThreads, options.waiting_max),
      desk_(sale.sale(), kDeskThreads, options.waiting_max),
      visits_(kVisitThreads, options.purchases_waiting_max),
      purchases_(kPurchaseThreads, options.purchases_waiting_max,
                 [this](std::span<const BuyRequest> requests) { return desk_.decide(requests); }) {}

void SaleService::handle(HttpCall call, HttpDone done) {
  std::string id = concat(ids_, requests_.fetch_add(1, std::memory_order_relaxed));
  auto pending =
      std::make_unique<Pending>(Pending{.call = {.service = *this, .http = std::move(call)},
                                        .done = std::move(done),
                                        .id = std::move(id),
                                        .began_ns = LatencyRecorder::now_ns()});
  std::optional<HttpAnswer> refused;
  try {
    refused = check(*pending);
  } catch (const std::exception& error) {  // for want of memory
    refused = problem(kFailed, error.what());
  }
  if (refused) return reply(*pending, *std::move(refused));
  dispatch(std::move(pending));
}

/// Finds the route of a request, and reads it. Returns the refusal, if any.
std::optional<HttpAnswer> SaleService::check(Pending& pending) const {
  HttpCall& http = pending.call.http;
  if (http.host.empty()) return problem(kInvalidRequest, "the header field Host is missing");
  if (http.has_field_twice) return problem(kInvalidRequest, "a header field is there twice");
  if (auto page = answer_page(http, facts_.has_test_provider)) return page;
  const auto target = parse_target(http.target);
  if (!target) return problem(kInvalidRequest, "the path is malformed");
  std::string fault;
  const FoundRoute found = find_route(http.method, target->path, pending.call, fault);
  pending.route = found.route;
  if (found.route == nullptr && found.allowed.empty()) return problem(kNotFound);
  if (found.route == nullptr) {
    HttpAnswer answer = problem(kMethodNotAllowed);
    answer.fields.emplace_back("Allow", found.allowed);
    return answer;
  }
  const Route& route = *found.route;
  Caller& caller = pending.call.caller;
  auto refused = guard_.admit(route.access, http, sale_.clock().now_ms(), caller);
  if (!refused && route.is_write()) refused = guard_.refuse_other_site(http);
  if (!refused && !fault.empty()) refused = problem(kInvalidRequest, fault);
  if (!refused) refused = read_query(*target, route, pending.call);
  if (!refused) refused = read_body(route, pending.call);
  return refused;
}

void SaleService::dispatch(std::unique_ptr<Pending> pending) {
  switch (pending->route->lane) {
    case Lane::kNow:
      return run_handler(*pending);
    case Lane::kPurchases:
      return buy(std::move(pending));
    case Lane::kPayments:
      return pay(std::move(pending));
    case Lane::kChanges:
      return run_on(changes_, std::move(pending));
    case Lane::kReads:
      return run_on(reads_, std::move(pending));
    case Lane::kVisits:
      return run_on(visits_, std::move(pending));
  }
}

void SaleService::run_on(WorkPool& pool, std::unique_ptr<Pending> pending) {
  const std::shared_ptr<Pending> shared = std::move(pending);
  if (pool.submit([this, shared] { run_handler(*shared); })) return;
  reply(*shared, problem(kOverloaded, "too many such requests wait"));
}

void SaleService::buy(std::unique_ptr<Pending> pending) {
  BuyRequest request;
  if (auto refused = read_purchase(pending->call, request)) {
    return reply(*pending, *std::move(refused));
  }
  const std::shared_ptr<Pending> shared = std::move(pending);
  const bool is_taken =
      purchases_.submit(request, [this, shared, request](const BuyResult& result) {
        if (!result.is_partial) return reply_to_purchase(*shared, request, result);
        desk_.complete({request}, {result},
                       [this, shared, request](const std::vector<BuyResult>& completed) {
                         reply_to_purchase(*shared, request, completed.front());
                       });
      });
  if (!is_taken) reply(*shared, problem(kOverloaded, "too many purchases wait"));
}

void SaleService::reply_to_purchase(Pending& pending, const BuyRequest& request,
                                    const BuyResult& result) {
  reply(pending, answer_purchase(request, result, sale_.clock().now_ms()));
}

void SaleService::pay(std::unique_ptr<Pending> pending) {
  PayRequest request;
  if (auto refused = read_payment(pending->call, request)) {
    return reply(*pending, *std::move(refused));
  }
  const std::shared_ptr<Pending> shared = std::move(pending);
  const OrderId order = request.order;
  const bool is_taken =
      payments_.submit(std::move(request), [this, shared, order](const ChangeResult& result) {
        reply(*shared, answer_change(order, result));
      });
  if (!is_taken) reply(*shared, problem(kOverloaded, "too many payments wait"));
}

void SaleService::run_handler(Pending& pending) {
  HttpAnswer answer;
  try {
    answer = pending.route->handler(pending.call);
  } catch (const std::exception& error) {  // of a user's order store, or for want of memory
    answer = problem(kFailed, error.what());
  } catch (...) {
    answer = problem(kFailed);
  }
  if (pending.route->is_write()) order_feed_.wake();
  // Not for a buyer, who could make the board look all the time.
  if (pending.route->is_write() && pending.route->access == Access::kOperator) board_.expire();
  reply(pending, std::move(answer));
}

void SaleService::reply(Pending& pending, HttpAnswer answer) {
  // Neither ids nor tokens nor keys: the route, not the path.
  constexpr int kFailedFrom = 500;
  const std::string_view path = pending.route == nullptr ? "?" : pending.route->path;
  const LogLevel level = answer.status == kFailed.status ? LogLevel::kError : LogLevel::kDebug;
  if (logger_ != nullptr && should_log(*logger_, level)) {
    const std::string_view method = pending.route == nullptr ? "?" : pending.route->method;
    log(*logger_, level,
        concat("http: request ", pending.id, ": ", method, " ", path, ": ", answer.status,
               answer.status >= kFailedFrom ? " " + answer.body : std::string()));
  }
  counters_.add(pending.route, answer.status, pending.began_ns);
  answer.fields.emplace_back("X-Request-Id", std::move(pending.id));
  pending.done(std::move(answer));
}

HttpFigures SaleService::figures() {
  HttpFigures figures = counters_.read();
  count_connections_(figures);
  figures.event_streams = places_.taken();
  for (HttpFigures::Lane& lane : figures.lanes) {
    if (lane.name == lane_name(Lane::kPurchases)) lane.waiting = purchases_.waiting();
    if (lane.name == lane_name(Lane::kPayments)) lane.waiting = payments_.waiting();
    if (lane.name == lane_name(Lane::kChanges)) lane.waiting = changes_.waiting();
    if (lane.name == lane_name(Lane::kReads)) lane.waiting = reads_.waiting();
    if (lane.name == lane_name(Lane::kVisits)) lane.waiting = visits_.waiting();
  }
  return figures;
}

}  // namespace rushgate::http
