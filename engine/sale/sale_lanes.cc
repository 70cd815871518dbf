#include "engine/sale/sale_lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/keyspace/server_check.h"
#include "engine/sale/model/failure.h"
#include <rushgate/payment_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {
namespace {

absl::Status check_for_lanes(const SaleStores& stores, const SaleOptions& options) {
  const bool keeps_all =
      stores.orders.lanes() != nullptr && stores.orders.vouchers() == &stores.vouchers;
  if (!keeps_all) {
    return absl::FailedPreconditionError(
        "lanes: the order store keeps none, or keeps the vouchers elsewhere");
  }
  if (options.admission) {
    return absl::InvalidArgumentError(
        "lanes: a sale with a custom admission script has only one, since the script names its "
        "keys");
  }
  if (options.adopt) {
    return absl::InvalidArgumentError("lanes: adopt the other system's data with one lane first");
  }
  return absl::OkStatus();
}

/// Lets each lane decide on its requests, by decide(lane, requests), and returns the results in the order
/// of the requests.
template <class Request, class LaneOf, class Decide>
auto decide_by_lane(std::span<const Request> requests, std::size_t lanes, LaneOf lane_of,
                    Decide decide) -> decltype(decide(0, requests)) {
  decltype(decide(0, requests)) results(requests.size());
  using Result = typename decltype(results)::value_type;
  std::vector<std::vector<std::size_t>> places(lanes);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const absl::StatusOr<int> lane = lane_of(requests[i]);
    if (lane.ok()) {
      places[static_cast<std::size_t>(*lane)].push_back(i);
    } else {
      results[i] = failure_of<Result>(lane.status());
    }
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (places[lane].empty()) continue;
    std::vector<Request> of_lane;
    for (const std::size_t place : places[lane]) of_lane.push_back(requests[place]);
    auto decided = decide(static_cast<int>(lane), std::span<const Request>(of_lane));
    for (std::size_t i = 0; i < decided.size(); ++i) {
      results[places[lane][i]] = std::move(decided[i]);
    }
  }
  return results;
}

/// Returns the results of requests that fail all for one reason.
template <class Result>
std::vector<Result> all_failed(std::size_t count, const absl::Status& status) {
  return std::vector<Result>(count, failure_of<Result>(status));
}

/// In the order of Sale::orders_of().
int rank_of(const OrderState& state) {
  switch (state.location) {
    case OrderLocation::kStored:
      return 0;
    case OrderLocation::kQueued:
      return 1;
    case OrderLocation::kDeadLetter:
    case OrderLocation::kUnknown:
      return 2;
  }
  return 2;
}

void add_counts(const PurchaseCounts& lane, PurchaseCounts& counts) {
  for (std::size_t i = 0; i < counts.outcomes.size(); ++i) counts.outcomes[i] += lane.outcomes[i];
  counts.repeated += lane.repeated;
}

}  // namespace

absl::Status Sale::Lanes::fit_to_cluster(const SaleStores& stores, SaleOptions& options) {
  if (options.adopt || options.admission || options.keys.have_common_tag()) return absl::OkStatus();
  options.keys = options.keys.on_cluster();
  if (options.lanes != 0 || !check_for_lanes(stores, options).ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int count, stores.orders.lanes()->count_lanes());
  ASSIGN_OR_RETURN(const auto versions, stores.vouchers.all_versions());
  if (count == 1 && versions.empty()) options.lanes = kLanesOnCluster;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Sale::Lanes>> Sale::Lanes::open(Backend& backend,
                                                               const SaleStores& stores,
                                                               SaleOptions options) {
  if (options.lanes > 1) {
    RETURN_IF_ERROR(check_for_lanes(stores, options));
    RETURN_IF_ERROR(stores.orders.lanes()->add_lanes(options.lanes));
  }
  ASSIGN_OR_RETURN(auto views, LaneViews::open(stores, options.keys));
  options.lanes = static_cast<int>(views->all().size());
  if (options.lanes > 1) RETURN_IF_ERROR(check_for_lanes(stores, options));
  std::unique_ptr<Lanes> lanes(new Lanes(backend, std::move(views), options));
  RETURN_IF_ERROR(lanes->open_all());
  return lanes;
}

Sale::Lanes::Lanes(Backend& backend, std::unique_ptr<LaneViews> views, const SaleOptions& options)
    : backend_(backend), views_(std::move(views)), openings_(views_->all().size()) {
  for (const SaleLane& lane : views_->all()) {
    SaleOptions of_lane = options;
    of_lane.keys = lane.keys;
    parts_.push_back(std::make_unique<Parts>(backend, lane.stores, std::move(of_lane)));
  }
}

/// Opens all lanes that can be opened.
absl::Status Sale::Lanes::open_all() {
  absl::Status away;
  std::size_t open = 0;
  for (std::size_t lane = 0; lane < parts_.size(); ++lane) {
    absl::Status opened = open_lane(lane);
    if (!opened.ok() && !absl::IsUnavailable(opened)) return opened;
    if (opened.ok()) {
      ++open;
    } else {
      away = std::move(opened);
    }
  }
  return open > 0 ? absl::OkStatus() : away;
}

absl::Status Sale::Lanes::open_lane(std::size_t lane) {
  Parts& parts = *parts_[lane];
  const auto& logger = parts.options.logger;
  Opening& opening = openings_[lane];
  const bool is_checked = only() != nullptr || backend_.capabilities().runs_native_scripts;
  if (!is_checked) {
    opening.why = check_server(*parts.client, parts.options.keys, backend_.capabilities().has_slots,
                               /*logger=*/nullptr);
  }
  if (opening.why.ok()) opening.why = parts.open(backend_);
  if (opening.why.ok()) {
    opening.is_open = true;
  } else if (only() == nullptr && logger) {
    log_error(*logger, concat("the lane ", lane,
                              " is not open, and sells nothing: ", opening.why.message()));
  }
  return opening.why;
}

/// Opens a lane whose server was away.
absl::Status Sale::Lanes::open_late(std::size_t lane) {
  constexpr std::int64_t kEveryMs = 200;
  Opening& opening = openings_[lane];
  const std::unique_lock lock(opening.mutex, std::try_to_lock);
  if (!lock) return absl::UnavailableError(concat("the lane ", lane, " is being opened"));
  if (opening.is_open) return absl::OkStatus();
  const std::int64_t now_ms = backend_.clock().monotonic_ms();
  if (now_ms < opening.next_ms) return opening.why;
  opening.why = absl::OkStatus();
  absl::Status opened = open_lane(lane);
  opening.next_ms = backend_.clock().monotonic_ms() + kEveryMs;
  return opened;
}

absl::StatusOr<Sale::Parts*> Sale::Lanes::at(int lane) {
  const auto index = static_cast<std::size_t>(lane);
  if (lane < 0 || index >= parts_.size()) {
    return absl::NotFoundError(concat("there is no lane ", lane));
  }
  if (!openings_[index].is_open) RETURN_IF_ERROR(open_late(index));
  return parts_[index].get();
}

absl::StatusOr<Sale::Parts*> Sale::Lanes::of_voucher(VoucherId voucher) {
  ASSIGN_OR_RETURN(const int lane, views_->of_voucher(voucher));
  return at(lane);
}

absl::StatusOr<Sale::Parts*> Sale::Lanes::of_order(OrderId order) {
  ASSIGN_OR_RETURN(const int lane, views_->of_order(order));
  return at(lane);
}

/// As of_voucher(), for somebody who wants to buy: the order database is not asked again about a voucher that
/// it does not know.
absl::StatusOr<Sale::Parts*> Sale::Lanes::of_asked_voucher(VoucherId voucher) {
  const std::int64_t now_ms = backend_.clock().monotonic_ms();
  if (unknown_.contains(voucher, now_ms)) return at(views_->likely_of_voucher(voucher));
  ASSIGN_OR_RETURN(const int lane, views_->of_voucher(voucher));
  if (!views_->remembers(voucher)) unknown_.add(voucher, now_ms);
  return at(lane);
}

absl::StatusOr<SaleLane> Sale::Lanes::view_of(VoucherId voucher) {
  ASSIGN_OR_RETURN(const int lane, views_->of_voucher(voucher));
  return views()[static_cast<std::size_t>(lane)];
}

// ---- Buying -----------------------------------------------------------------------------------

BuyResult Sale::Lanes::buy(const BuyRequest& request) {
  const auto likely = at(views_->likely_of_voucher(request.voucher));
  if (!likely.ok()) return failure_of<BuyResult>(likely.status());
  BuyResult result = (*likely)->purchases.buy(request);
  if (result.outcome != Outcome::kUnknownVoucher) return result;
  const auto lane = of_asked_voucher(request.voucher);
  if (!lane.ok()) return failure_of<BuyResult>(lane.status());
  return *lane == *likely ? result : (*lane)->purchases.buy(request);
}

std::vector<BuyResult> Sale::Lanes::buy_all(std::span<const BuyRequest> requests) {
  auto results = decide_by_lane(
      requests, parts_.size(),
      [this](const BuyRequest& request) { return views_->likely_of_voucher(request.voucher); },
      [this](int lane, std::span<const BuyRequest> of_lane) {
        const auto parts = at(lane);
        return parts.ok() ? (*parts)->purchases.buy_all(of_lane)
                          : all_failed<BuyResult>(of_lane.size(), parts.status());
      });
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool may_be_elsewhere = results[i].outcome == Outcome::kUnknownVoucher;
    if (may_be_elsewhere) results[i] = buy(requests[i]);
  }
  return results;
}

std::vector<BuyResult> Sale::Lanes::decide_all(std::span<const BuyRequest> requests) {
  return decide_by_lane(
      requests, parts_.size(),
      [this](const BuyRequest& request) { return views_->likely_of_voucher(request.voucher); },
      [this](int lane, std::span<const BuyRequest> of_lane) {
        const auto parts = at(lane);
        return parts.ok() ? (*parts)->purchases.decide_all(of_lane)
                          : all_failed<BuyResult>(of_lane.size(), parts.status());
      });
}

void Sale::Lanes::complete(const BuyRequest& request, BuyResult& result) {
  const auto lane = of_asked_voucher(request.voucher);
  if (lane.ok()) return (*lane)->purchases.complete(request, result);
  const bool was_decided = result.is_repeated || result.outcome != Outcome::kOverloaded;
  result.is_partial = false;
  if (!was_decided) result = failure_of<BuyResult>(lane.status());
}

WaitResult Sale::Lanes::wait_for(VoucherId voucher, const UserId& user) {
  const auto lane = of_asked_voucher(voucher);
  return lane.ok() ? (*lane)->purchases.wait_for(voucher, user)
                   : failure_of<WaitResult>(lane.status());
}

// ---- Orders -----------------------------------------------------------------------------------

std::vector<ChangeResult> Sale::Lanes::pay_all(std::span<const PayRequest> requests) {
  return decide_by_lane(
      requests, parts_.size(),
      [this](const PayRequest& request) { return views_->of_order(request.order); },
      [this](int lane, std::span<const PayRequest> of_lane) {
        const auto parts = at(lane);
        return parts.ok() ? (*parts)->changes.pay_all(of_lane)
                          : all_failed<ChangeResult>(of_lane.size(), parts.status());
      });
}

ChangeResult Sale::Lanes::confirm_refund(const std::string& payment) {
  OrderId order = 0;
  if (PaymentStore* const payments = stores().orders.payments()) {
    const auto known = payments->find_payment(payment);
    if (known.ok() && known->has_value()) order = (*known)->order;
  }
  const auto parts = of_order(order);
  return parts.ok() ? (*parts)->changes.confirm_refund(payment)
                    : failure_of<ChangeResult>(parts.status());
}

absl::StatusOr<std::vector<OrderState>> Sale::Lanes::orders_of(const UserId& user) {
  std::vector<OrderState> states;
  for (const SaleLane& lane : views()) {
    ASSIGN_OR_RETURN(Parts* const parts, at(lane.number));
    ASSIGN_OR_RETURN(auto of_lane, parts->lookup.list(user));
    std::ranges::move(of_lane, std::back_inserter(states));
  }
  std::ranges::stable_sort(states, [](const OrderState& a, const OrderState& b) {
    return std::pair(rank_of(a), a.order->id) < std::pair(rank_of(b), b.order->id);
  });
  return states;
}

// ---- Results put together ---------------------------------------------------------------------

void add_purchases(const PurchaseStatistics& lane, PurchaseStatistics& statistics) {
  for (const auto& [voucher, counts] : lane.vouchers) {
    const bool is_counted_apart = statistics.vouchers.contains(voucher) ||
                                  statistics.vouchers.size() < PurchaseStatistics::kVouchersMax;
    add_counts(counts, is_counted_apart ? statistics.vouchers[voucher] : statistics.others);
  }
  add_counts(lane.others, statistics.others);
  LatencyFigures& latency = statistics.latency;
  latency.count += lane.latency.count;
  latency.sum_s += lane.latency.sum_s;
  for (std::size_t i = 0; i < latency.within.size(); ++i) {
    latency.within[i] += lane.latency.within[i];
  }
  LatencyFigures::Recent& recent = latency.recent;
  const LatencyFigures::Recent& other = lane.latency.recent;
  recent.count += other.count;
  recent.p50_ns = std::max(recent.p50_ns, other.p50_ns);
  recent.p90_ns = std::max(recent.p90_ns, other.p90_ns);
  recent.p99_ns = std::max(recent.p99_ns, other.p99_ns);
  recent.p999_ns = std::max(recent.p999_ns, other.p999_ns);
}

}  // namespace rushgate
