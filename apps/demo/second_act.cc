#include "apps/demo/second_act.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "adapters/flash_sale/json_text.h"
#include "apps/audit_text.h"
#include "apps/order_json.h"
#include "apps/patience.h"
#include "apps/signals.h"
#include "apps/text_table.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kStock = 1'000;
constexpr std::size_t kPunctual = kStock * 80 / 100;
constexpr std::size_t kCancelling = kStock * 10 / 100;
constexpr std::size_t kLate = kStock * 5 / 100;
constexpr std::size_t kComingBack = kStock - kPunctual;

constexpr char kRecord[] = "rushgate:demo:second-act";
constexpr char kSaleIsOver[] = "rushgate:demo:sale-is-over";  // only the resale is left

/// Returns the orders that are neither paid in time nor cancelled by their users.
std::span<const OrderId> unpaid_of(std::span<const OrderId> orders) {
  return orders.subspan(kPunctual + kCancelling);
}

Voucher tickets() {
  Voucher voucher{.id = 4, .title = "A ticket, to be paid at once", .stock = kStock};
  voucher.price_cents = 4'500;
  voucher.payment_ms = 1'000;
  return voucher;
}

/// Returns kUnavailable if the act may go on later.
absl::Status unexpected(bool may_pass, const std::string& what) {
  return may_pass ? absl::UnavailableError(what) : absl::InternalError(what);
}

absl::Status unexpected(OrderId order, const ChangeResult& result) {
  return unexpected(
      may_pass(result),
      fmt::format("order {}: {}: {}", order, change_outcome_name(result.outcome), result.detail));
}

}  // namespace

Json to_json(const SecondActReport& report) {
  return {{"sold", report.sold},           {"paid", report.paid},
          {"cancelled", report.cancelled}, {"timed_out", report.timed_out},
          {"paid_late", report.paid_late}, {"resold", report.resold},
          {"audit", to_json(report.audit)}};
}

SecondActReport second_act_from_json(const Json& json) {
  return {.sold = json.at("sold"),
          .paid = json.at("paid"),
          .cancelled = json.at("cancelled"),
          .timed_out = json.at("timed_out"),
          .paid_late = json.at("paid_late"),
          .resold = json.at("resold"),
          .audit = audit_from_json(json.at("audit"))};
}

std::string format_second_act(const SecondActReport& report) {
  TextTable table("lr");
  table.add({"tickets to be paid within a second", count_text(report.sold)});
  table.add({"  paid", count_text(report.paid)});
  table.add({"  cancelled", count_text(report.cancelled)});
  table.add({"  timed out", count_text(report.timed_out)});
  table.add({"    paid too late, due back", count_text(report.paid_late)});
  table.add({"resold to others, and paid", count_text(report.resold)});
  return table.text() + '\n' + format_audit(report.audit);
}

absl::StatusOr<SecondActReport> SecondAct::run() {
  ASSIGN_OR_RETURN(auto known, load());
  if (known.has_value()) return *std::move(known);
  auto report = play();
  if (!report.ok() || !report->audit.passed()) return report;
  RETURN_IF_ERROR(set(kRecord, dump(to_json(*report))));
  return report;
}

absl::StatusOr<std::optional<SecondActReport>> SecondAct::load() {
  const Reply reply = sale_.client()("GET", kRecord);
  if (reply.is_nil()) return std::nullopt;
  if (!reply.is_text()) return absl::UnavailableError(to_debug_string(reply));
  try {
    return second_act_from_json(parse_trusted_json(reply.text()));
  } catch (const Json::exception& error) {
    return absl::DataLossError(fmt::format("{}: {}", kRecord, error.what()));
  }
}

absl::Status SecondAct::set(const char* key, const std::string& value) {
  const Reply reply = sale_.client()("SET", key, value);
  return reply.is_error() ? absl::UnavailableError(reply.text()) : absl::OkStatus();
}

absl::StatusOr<SecondActReport> SecondAct::play() {
  absl::Status done = sale_.publish(tickets());
  if (!done.ok()) return done;
  ASSIGN_OR_RETURN(const auto orders, buy(0, kStock));
  done = play_sale(orders);
  if (!done.ok()) return done;
  ASSIGN_OR_RETURN(const auto resold, buy(kStock, kComingBack));
  done = pay(resold, ChangeOutcome::kDone);
  if (done.ok()) done = sale_.drain();
  if (!done.ok()) return done;
  return make_report(orders, resold.size());
}

/// Plays the sale up to the late payments. A repeated call after that does nothing: it would let
/// the orders of the resale time out.
absl::Status SecondAct::play_sale(std::span<const OrderId> orders) {
  const Reply is_over = sale_.client()("EXISTS", kSaleIsOver);
  if (!is_over.is_integer()) return absl::UnavailableError(to_debug_string(is_over));
  if (is_over.integer() == 1) return absl::OkStatus();
  absl::Status done = pay(orders.first(kPunctual), ChangeOutcome::kDone);
  if (done.ok()) done = cancel(orders.subspan(kPunctual, kCancelling));
  if (done.ok()) done = wait_for_timeouts();
  if (done.ok()) done = pay(unpaid_of(orders).first(kLate), ChangeOutcome::kTooLate);
  return done.ok() ? set(kSaleIsOver, "1") : done;
}

absl::StatusOr<SecondActReport> SecondAct::make_report(std::span<const OrderId> orders,
                                                       std::size_t resold) {
  ASSIGN_OR_RETURN(const auto timed_out, count_cancelled(unpaid_of(orders)));
  ASSIGN_OR_RETURN(auto audit, sale_.audit());
  return SecondActReport{.sold = orders.size(),
                         .paid = kPunctual,
                         .cancelled = kCancelling,
                         .timed_out = timed_out,
                         .paid_late = kLate,
                         .resold = resold,
                         .audit = std::move(audit)};
}

/// Buys one piece for each of `count` users. Returns their orders.
absl::StatusOr<SecondAct::Orders> SecondAct::buy(std::size_t first, std::size_t count) {
  std::vector<BuyRequest> requests;
  for (std::size_t user = first; user < first + count; ++user) {
    requests.push_back({.voucher = tickets().id,
                        .user = static_cast<std::int64_t>(user + 1),
                        .idempotency_key = fmt::format("demo:ticket:{}", user + 1)});
  }
  Orders orders;
  for (const BuyResult& result : sale_.sale().buy_all(requests)) {
    if (result.outcome != Outcome::kAccepted) {
      return unexpected(
          may_pass(result.outcome),
          fmt::format("user {} got no ticket: {} {}", requests[orders.size()].user.text(),
                      outcome_name(result.outcome), result.detail));
    }
    orders.push_back(result.order);
  }
  return orders;
}

absl::Status SecondAct::pay(std::span<const OrderId> orders, ChangeOutcome expected) {
  std::vector<PayRequest> requests;
  for (const OrderId order : orders) {
    requests.push_back({.order = order,
                        .payment = fmt::format("demo:{}", order),
                        .amount_cents = tickets().price_cents});
  }
  const std::vector<ChangeResult> results = sale_.sale().pay_all(requests);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].outcome != expected) return unexpected(orders[i], results[i]);
  }
  return absl::OkStatus();
}

absl::Status SecondAct::cancel(std::span<const OrderId> orders) {
  for (const OrderId order : orders) {
    const ChangeResult result = sale_.sale().cancel(order, "changed their mind");
    if (result.outcome != ChangeOutcome::kDone) return unexpected(order, result);
  }
  return absl::OkStatus();
}

/// Stores orders until none of this voucher is unpaid.
absl::Status SecondAct::wait_for_timeouts() {
  using SteadyClock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{60};
  constexpr std::chrono::milliseconds kLook{10};
  const SteadyClock::time_point end = SteadyClock::now() + kPatience;
  while (SteadyClock::now() < end) {
    if (interrupt_signal() != 0) return absl::CancelledError("interrupted");
    RETURN_IF_ERROR(sale_.drain());
    const auto unpaid = sale_.orders().list(
        {.voucher = tickets().id, .status = OrderStatus::kUnpaid, .count_max = 1});
    if (!unpaid.ok()) return unpaid.status();
    if (unpaid->empty()) return absl::OkStatus();
    std::this_thread::sleep_for(kLook);
  }
  return absl::DeadlineExceededError("orders that were not paid did not time out");
}

absl::StatusOr<std::size_t> SecondAct::count_cancelled(std::span<const OrderId> orders) {
  std::size_t count = 0;
  for (const OrderId id : orders) {
    ASSIGN_OR_RETURN(const auto order, sale_.orders().find(id));
    if (order.has_value() && order->status == OrderStatus::kCancelled) ++count;
  }
  return count;
}

}  // namespace rushgate
