#include "engine/sale/sale_lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/keyspace/server_check.h"
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
  std::vector<std::vector<std::size_t>> places(lanes);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    places[static_cast<std::size_t>(lane_of(requests[i]))].push_back(i);
  }
  decltype(decide(0, requests)) results(requests.size());
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
  RETURN_IF_ERROR(lanes->open_all(backend));
  return lanes;
}

Sale::Lanes::Lanes(Backend& backend, std::unique_ptr<LaneViews> views, const SaleOptions& options)
    : views_(std::move(views)) {
  for (const SaleLane& lane : views_->all()) {
    SaleOptions of_lane = options;
    of_lane.keys = lane.keys;
    parts_.push_back(std::make_unique<Parts>(backend, lane.stores, std::move(of_lane)));
  }
}

absl::Status Sale::Lanes::open_all(Backend& backend) {
  for (const auto& parts : parts_) {
    const bool is_checked = parts == parts_.front() || backend.capabilities().runs_native_scripts;
    if (!is_checked) {
      RETURN_IF_ERROR(check_server(*parts->client, parts->options.keys,
                                   backend.capabilities().has_slots, /*logger=*/nullptr));
    }
    RETURN_IF_ERROR(parts->open(backend));
  }
  return absl::OkStatus();
}

absl::StatusOr<Sale::Parts*> Sale::Lanes::of_voucher(VoucherId voucher) {
  ASSIGN_OR_RETURN(const int lane, views_->of_voucher(voucher));
  return at(lane);
}

absl::StatusOr<SaleLane> Sale::Lanes::view_of(VoucherId voucher) {
  ASSIGN_OR_RETURN(const int lane, views_->of_voucher(voucher));
  return views()[static_cast<std::size_t>(lane)];
}

// ---- Buying -----------------------------------------------------------------------------------

BuyResult Sale::Lanes::buy(const BuyRequest& request) {
  Parts& likely = *at(views_->likely_of_voucher(request.voucher));
  BuyResult result = likely.purchases.buy(request);
  if (result.outcome != Outcome::kUnknownVoucher) return result;
  const auto lane = of_voucher(request.voucher);
  if (!lane.ok()) {
    return {.outcome = Outcome::kOverloaded, .detail = std::string(lane.status().message())};
  }
  return *lane == &likely ? result : (*lane)->purchases.buy(request);
}

std::vector<BuyResult> Sale::Lanes::buy_all(std::span<const BuyRequest> requests) {
  auto results = decide_by_lane(
      requests, parts_.size(),
      [this](const BuyRequest& request) { return views_->likely_of_voucher(request.voucher); },
      [this](int lane, std::span<const BuyRequest> of_lane) {
        return at(lane)->purchases.buy_all(of_lane);
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
        return at(lane)->purchases.decide_all(of_lane);
      });
}

void Sale::Lanes::complete(const BuyRequest& request, BuyResult& result) {
  const auto lane = of_voucher(request.voucher);
  Parts& parts = lane.ok() ? **lane : *at(views_->likely_of_voucher(request.voucher));
  parts.purchases.complete(request, result);
}

WaitResult Sale::Lanes::wait_for(VoucherId voucher, const UserId& user) {
  const auto lane = of_voucher(voucher);
  if (lane.ok()) return (*lane)->purchases.wait_for(voucher, user);
  return {.outcome = WaitOutcome::kOverloaded, .detail = std::string(lane.status().message())};
}

// ---- Orders -----------------------------------------------------------------------------------

std::vector<ChangeResult> Sale::Lanes::pay_all(std::span<const PayRequest> requests) {
  return decide_by_lane(
      requests, parts_.size(),
      [this](const PayRequest& request) { return views_->of_order(request.order); },
      [this](int lane, std::span<const PayRequest> of_lane) {
        return at(lane)->changes.pay_all(of_lane);
      });
}

ChangeResult Sale::Lanes::confirm_refund(const std::string& payment) {
  OrderId order = 0;
  if (PaymentStore* const payments = stores().orders.payments()) {
    const auto known = payments->find_payment(payment);
    if (known.ok() && known->has_value()) order = (*known)->order;
  }
  return of_order(order).changes.confirm_refund(payment);
}

absl::StatusOr<std::vector<OrderState>> Sale::Lanes::orders_of(const UserId& user) {
  std::vector<OrderState> states;
  for (const auto& parts : parts_) {
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
