#include "engine/sale/sale_lanes.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/holds/waiting_list.h"
#include "engine/sale/keyspace/server_check.h"
#include "engine/sale/model/failure.h"
#include "engine/sale/scripts/waiting_users.h"
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
/// of the requests. place(request, result) returns a request's lane, or has set the result if there is none.
template <class Request, class Place, class Decide>
auto decide_by_lane(std::span<const Request> requests, std::size_t lanes, Place place,
                    Decide decide) -> decltype(decide(0, requests)) {
  struct OfLane {
    std::vector<Request> requests = {};
    std::vector<std::size_t> places = {};
  };
  decltype(decide(0, requests)) results(requests.size());
  std::vector<OfLane> of_lanes(lanes);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::optional<int> lane = place(requests[i], results[i]);
    if (!lane) continue;
    OfLane& its = of_lanes[static_cast<std::size_t>(*lane)];
    its.requests.push_back(requests[i]);
    its.places.push_back(i);
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const OfLane& its = of_lanes[lane];
    if (its.requests.empty()) continue;
    auto decided = decide(static_cast<int>(lane), std::span(its.requests));
    for (std::size_t i = 0; i < decided.size(); ++i) {
      results[its.places[i]] = std::move(decided[i]);
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
  ASSIGN_OR_RETURN(const auto state, stores.orders.state());
  ASSIGN_OR_RETURN(const auto versions, stores.vouchers.all_versions());
  const bool was_opened = state.epoch > 1;  // and fenced: with one lane, so it keeps that
  if (count == 1 && !was_opened && versions.empty()) options.lanes = kLanesOnCluster;
  return absl::OkStatus();
}

absl::StatusOr<bool> Sale::Lanes::are_several(const SaleStores& stores,
                                              const SaleOptions& options) {
  if (options.lanes > 1) return true;
  LaneStore* const lanes = stores.orders.lanes();
  if (lanes == nullptr) return false;
  ASSIGN_OR_RETURN(const int count, lanes->count_lanes());
  return count > 1;
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
  if (lanes->mover_ != nullptr) {
    constexpr std::int64_t kServeEveryMs = 1'000;
    lanes->serving_timer_ = std::make_unique<RepeatingTimer>(
        backend, "rg-lists",
        [&clock = backend.clock()] { return clock.monotonic_ms() + kServeEveryMs; },
        [its = lanes.get()] { its->serve_now_and_then(); });
  }
  return lanes;
}

Sale::Lanes::Lanes(Backend& backend, std::unique_ptr<LaneViews> views, const SaleOptions& options)
    : backend_(backend), views_(std::move(views)), openings_(views_->all().size()) {
  for (const SaleLane& lane : views_->all()) {
    SaleOptions of_lane = options;
    of_lane.keys = lane.keys;
    parts_.push_back(std::make_unique<Parts>(backend, lane.stores, std::move(of_lane),
                                             KeyspaceRole::kSale, other_lanes()));
  }
  if (parts_.size() == 1) return;
  std::vector<PieceMover::Lane> lanes;
  for (const SaleLane& lane : views_->all()) {
    Parts& parts = *parts_[static_cast<std::size_t>(lane.number)];
    lanes.push_back({.client = *parts.client,
                     .owner = parts.owner,
                     .rebuild = [this, number = lane.number](VoucherId voucher) {
                       return rebuild_on(number, voucher);
                     }});
  }
  mover_ = std::make_unique<PieceMover>(std::move(lanes), views_->all(),
                                        *views_->stores().orders.lanes(), backend.clock(),
                                        options.client.wait);
}

/// Returns how the first lane, which publishes vouchers on several, reaches the others.
OtherLanes Sale::Lanes::other_lanes() {
  const auto check = [this](VoucherId voucher, int lanes) -> absl::Status {
    if (static_cast<std::size_t>(lanes) <= parts_.size()) return absl::OkStatus();
    return absl::UnavailableError(concat("voucher ", voucher, " is on ", lanes,
                                         " lanes, and this process has opened the sale with ",
                                         parts_.size(), " lanes: open it again"));
  };
  const auto for_each = [=, this](VoucherId voucher, int lanes, auto call) -> absl::Status {
    RETURN_IF_ERROR(check(voucher, lanes));
    for (int lane = 1; lane < lanes; ++lane) {
      ASSIGN_OR_RETURN(Parts* const parts, at(lane));
      RETURN_IF_ERROR(call(parts->vouchers));
    }
    return absl::OkStatus();
  };
  return {
      .check_places =
          [=](const Voucher& voucher, const Voucher* before) {
            return for_each(voucher.id, voucher.lanes,
                            [&](VoucherBook& book) { return book.check_place(voucher, before); });
          },
      .put_in_force =
          [=, this](const VoucherVersion& version) {
            const Voucher& voucher = version.voucher;
            absl::Status done = for_each(voucher.id, voucher.lanes, [&](VoucherBook& book) {
              return book.put_in_force_here(version);
            });
            if (done.ok()) note_stock(voucher.id);
            return done;
          },
      .follow = [=, this](const Voucher& voucher) -> absl::Status {
        RETURN_IF_ERROR(check(voucher.id, voucher.lanes));
        absl::Status followed;
        for (int lane = 1; lane < voucher.lanes; ++lane) {
          const auto parts = at(lane);
          followed.Update(parts.ok() ? (*parts)->vouchers.follow_here(voucher.id) : parts.status());
        }
        return followed;
      },
      .gather = [=, this](const Voucher& voucher, std::int64_t wanted,
                          std::int64_t spare) -> absl::StatusOr<std::int64_t> {
        RETURN_IF_ERROR(check(voucher.id, voucher.lanes));
        return mover_->gather(voucher.id, voucher.lanes, 0, wanted, spare);
      }};
}

absl::Status Sale::Lanes::rebuild_on(int lane, VoucherId voucher) {
  ASSIGN_OR_RETURN(Parts* const parts, at(lane));
  return parts->vouchers.rebuild(voucher);
}

void Sale::Lanes::note_stock(VoucherId voucher) {
  const bool is_known = views_->of_voucher(voucher).ok();  // remembers it
  if (!is_known || views_->count_of_voucher(voucher) == 1) return;
  mover_->forget(voucher);
  serve_waiting_lists(voucher);
}

/// Opens all lanes that can be opened.
absl::Status Sale::Lanes::open_all() {
  absl::Status away;
  std::size_t open = 0;
  // The first one last: it publishes what the others need for vouchers on several lanes.
  for (std::size_t lane = parts_.size(); lane-- > 0;) {
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
  } else if (only() == nullptr && logger && opening.logged != opening.why.message()) {
    opening.logged = std::string(opening.why.message());
    log_error(*logger,
              concat("the lane ", lane, " is not open, and sells nothing: ", opening.logged));
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

absl::StatusOr<Sale::Parts*> Sale::Lanes::publisher_of(const Voucher& voucher) {
  if (voucher.lanes <= 1) return of_voucher(voucher.id);
  const std::size_t lanes = parts_.size();
  if (static_cast<std::size_t>(voucher.lanes) <= lanes) return at(0);
  return absl::InvalidArgumentError(
      concat("voucher ", voucher.id, ": lanes is ", voucher.lanes, ", and the sale has ", lanes));
}

absl::StatusOr<std::vector<Sale::Parts*>> Sale::Lanes::all_of_voucher(VoucherId voucher) {
  ASSIGN_OR_RETURN(Parts* const first, of_voucher(voucher));
  std::vector<Parts*> all = {first};
  for (int lane = 1; lane < views_->count_of_voucher(voucher); ++lane) {
    ASSIGN_OR_RETURN(Parts* const parts, at(lane));
    all.push_back(parts);
  }
  return all;
}

absl::StatusOr<SaleLane> Sale::Lanes::view_of_buyer(VoucherId voucher, const UserId& user) {
  ASSIGN_OR_RETURN(const auto lane, views_->of_buyer(voucher, user));
  return lane ? views()[static_cast<std::size_t>(*lane)] : view_of(voucher);
}

absl::StatusOr<SaleLane> Sale::Lanes::view_of(VoucherId voucher) {
  ASSIGN_OR_RETURN(const int lane, views_->of_voucher(voucher));
  return views()[static_cast<std::size_t>(lane)];
}

// ---- Buying -----------------------------------------------------------------------------------

/// Returns the lane on which a user buys a voucher; empty if nobody has published it. The order database is
/// not asked again about a voucher that it does not know.
absl::StatusOr<std::optional<int>> Sale::Lanes::lane_of_buyer(VoucherId voucher,
                                                              const UserId& user) {
  if (const auto known = views_->known_of_buyer(voucher, user)) return known;
  const std::int64_t now_ms = backend_.clock().monotonic_ms();
  if (unknown_.contains(voucher, now_ms)) return std::nullopt;
  ASSIGN_OR_RETURN(const auto lane, views_->of_buyer(voucher, user));
  if (!lane) unknown_.add(voucher, now_ms);
  return lane;
}

BuyResult Sale::Lanes::buy_on(int lane, const BuyRequest& request) {
  const auto parts = at(lane);
  return parts.ok() ? (*parts)->purchases.buy(request) : failure_of<BuyResult>(parts.status());
}

BuyResult Sale::Lanes::buy(const BuyRequest& request) {
  const auto lane = lane_of_buyer(request.voucher, request.user);
  if (!lane.ok()) return failure_of<BuyResult>(lane.status());
  if (!lane->has_value()) return refuse_unknown(request);
  BuyResult result = buy_on(**lane, request);
  return may_be_elsewhere(request, result) ? buy_with_moved(request, std::move(result)) : result;
}

/// Counts the purchase of a voucher that was never published, and returns its result.
BuyResult Sale::Lanes::refuse_unknown(const BuyRequest& request) {
  BuyResult result{.outcome = Outcome::kUnknownVoucher};
  parts_.front()->purchases.counters().begin(1).add(request.voucher, result);
  return result;
}

/// Returns true if the buyer's lane is sold out, and another lane of the voucher may not be.
bool Sale::Lanes::may_be_elsewhere(const BuyRequest& request, const BuyResult& result) {
  return result.outcome == Outcome::kSoldOut && views_->count_of_voucher(request.voucher) > 1 &&
         !mover_->is_sold_out(request.voucher);
}

/// Brings pieces of other lanes to the buyer's, and buys. `sold_out` is the lane's result without them.
BuyResult Sale::Lanes::buy_with_moved(const BuyRequest& request, BuyResult sold_out) {
  constexpr int kTriesMax = 16;  // each fails only because others bought what was brought
  const int lanes = views_->count_of_voucher(request.voucher);
  const int lane = views_->known_of_buyer(request.voucher, request.user).value_or(0);
  for (int i = 0; i < kTriesMax; ++i) {
    const auto is_there = mover_->fetch(request.voucher, lanes, lane, request.quantity);
    if (!is_there.ok()) return failure_of<BuyResult>(is_there.status());
    if (!*is_there) return sold_out;
    BuyResult result = buy_on(lane, request);
    if (result.outcome != Outcome::kSoldOut) return result;
  }
  return {.outcome = Outcome::kOverloaded,
          .detail = "others bought the pieces that came from other lanes: try again"};
}

/// Lets each lane decide on requests of known vouchers. The others are left undecided.
template <class Decide>
std::vector<BuyResult> Sale::Lanes::decide_known(std::span<const BuyRequest> requests,
                                                 Decide decide) {
  return decide_by_lane(
      requests, parts_.size(),
      [this](const BuyRequest& request, BuyResult& result) {
        const auto lane = views_->known_of_buyer(request.voucher, request.user);
        if (!lane) result = {.outcome = Outcome::kOverloaded, .is_partial = true};
        return lane;
      },
      [&](int lane, std::span<const BuyRequest> of_lane) {
        const auto parts = at(lane);
        return parts.ok() ? decide((*parts)->purchases, of_lane)
                          : all_failed<BuyResult>(of_lane.size(), parts.status());
      });
}

std::vector<BuyResult> Sale::Lanes::buy_all(std::span<const BuyRequest> requests) {
  auto results =
      decide_known(requests, [](Purchases& purchases, std::span<const BuyRequest> of_lane) {
        return purchases.buy_all(of_lane);
      });
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].is_partial) {
      results[i] = buy(requests[i]);
    } else if (may_be_elsewhere(requests[i], results[i])) {
      results[i] = buy_with_moved(requests[i], std::move(results[i]));
    }
  }
  return results;
}

std::vector<BuyResult> Sale::Lanes::decide_all(std::span<const BuyRequest> requests) {
  auto results =
      decide_known(requests, [](Purchases& purchases, std::span<const BuyRequest> of_lane) {
        return purchases.decide_all(of_lane);
      });
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (may_be_elsewhere(requests[i], results[i])) results[i].is_partial = true;
  }
  return results;
}

void Sale::Lanes::complete(const BuyRequest& request, BuyResult& result) {
  if (!result.is_partial) return;
  const auto lane = views_->known_of_buyer(request.voucher, request.user);
  if (!lane) {
    result = buy(request);
  } else if (result.outcome == Outcome::kSoldOut) {
    result.is_partial = false;
    result = buy_with_moved(request, std::move(result));
  } else if (const auto parts = at(*lane); parts.ok()) {
    (*parts)->purchases.complete(request, result);
    if (may_be_elsewhere(request, result)) result = buy_with_moved(request, std::move(result));
  } else {
    const bool was_decided = result.is_repeated || result.outcome != Outcome::kOverloaded;
    result.is_partial = false;
    if (!was_decided) result = failure_of<BuyResult>(parts.status());
  }
}

// ---- Waiting ----------------------------------------------------------------------------------

WaitResult Sale::Lanes::wait_for(VoucherId voucher, const UserId& user) {
  const auto lane = lane_of_buyer(voucher, user);
  if (!lane.ok()) return failure_of<WaitResult>(lane.status());
  if (!lane->has_value()) return {.outcome = WaitOutcome::kUnknownVoucher};
  const auto parts = at(**lane);
  if (!parts.ok()) return failure_of<WaitResult>(parts.status());
  const int lanes = views_->count_of_voucher(voucher);
  if (lanes > 1 && mover_->may_have_waiting(voucher)) {
    // A piece of another lane is to be bought, or sold to those who wait already. Whoever gets none waits.
    mover_->fetch(voucher, lanes, **lane, 1).IgnoreError();
  }
  WaitResult result = (*parts)->purchases.wait_for(voucher, user);
  // One that came back since is seen by its call, or by this one.
  if (lanes > 1 && result.outcome == WaitOutcome::kWaiting) {
    mover_->note_waiting(voucher);  // another process may have published the list
    serve_waiting_lists(voucher);
  }
  return result;
}

absl::StatusOr<bool> Sale::Lanes::leave_waiting_list(VoucherId voucher, const UserId& user) {
  ASSIGN_OR_RETURN(const SaleLane lane, view_of_buyer(voucher, user));
  ASSIGN_OR_RETURN(Parts* const parts, at(lane.number));
  return rushgate::leave_waiting_list(*parts->client, lane.keys, voucher, user);
}

absl::StatusOr<std::vector<UserId>> Sale::Lanes::waiting_list(VoucherId voucher) {
  return read_waiting_list([&](std::int64_t after, std::size_t count_max) {
    return waiting_users(voucher, after, count_max);
  });
}

/// The arrivals of each list are numbered from 1 on: the numbers of several alternate.
absl::StatusOr<std::vector<WaitingUser>> Sale::Lanes::waiting_users(VoucherId voucher,
                                                                    std::int64_t after,
                                                                    std::size_t count_max) {
  ASSIGN_OR_RETURN(const auto lanes, all_of_voucher(voucher));
  const auto count = static_cast<std::int64_t>(lanes.size());
  std::vector<WaitingUser> users;
  for (std::int64_t lane = 0; lane < count; ++lane) {
    const Parts& parts = *lanes[static_cast<std::size_t>(lane)];
    const std::int64_t number_of_first = lane + 1;
    const std::int64_t after_here =
        after < number_of_first ? 0 : (after - number_of_first) / count + 1;
    ASSIGN_OR_RETURN(const auto of_lane, read_waiting_users(*parts.client, parts.options.keys,
                                                            voucher, after_here, count_max));
    for (const WaitingUser& one : of_lane) {
      users.push_back({.user = one.user, .arrival = (one.arrival - 1) * count + number_of_first});
    }
  }
  std::ranges::sort(users, {}, &WaitingUser::arrival);
  if (users.size() > count_max) users.resize(count_max);
  return users;
}

void Sale::Lanes::serve_waiting_lists(VoucherId voucher) {
  const bool is_split = views_->count_of_voucher(voucher) > 1;
  if (is_split && mover_->may_have_waiting(voucher)) serve_once(voucher, PieceMover::kPatience);
}

void Sale::Lanes::serve_waiting_lists(Parts& parts, OrderId order, const ChangeResult& change) {
  if (mover_ == nullptr || change.outcome != ChangeOutcome::kDone) return;
  const bool may_have_waiting =
      std::ranges::any_of(views_->split_vouchers(),
                          [this](VoucherId voucher) { return mover_->may_have_waiting(voucher); });
  if (!may_have_waiting) return;
  const auto found = parts.changes.find_order(order);
  if (found.ok() && found->has_value()) serve_waiting_lists((*found)->voucher);
}

/// Looks at the vouchers that have waiting lists, and now and then at the others: another process may publish one.
void Sale::Lanes::serve_now_and_then() {
  constexpr std::int64_t kLookForListsEveryMs = 10'000;
  const std::int64_t now_ms = backend_.clock().monotonic_ms();
  const bool looks_for_lists = now_ms >= next_look_for_lists_ms_;
  if (looks_for_lists) next_look_for_lists_ms_ = now_ms + kLookForListsEveryMs;
  for (const VoucherId voucher : views_->split_vouchers()) {
    if (is_closing_) return;
    const bool is_looked_at = looks_for_lists || mover_->may_have_waiting(voucher);
    if (is_looked_at) serve_once(voucher, std::chrono::milliseconds(0));
  }
}

void Sale::Lanes::serve_once(VoucherId voucher, std::chrono::milliseconds patience) {
  const absl::Status served =
      mover_->serve_waiting(voucher, views_->count_of_voucher(voucher), patience);
  // Another process may have archived it. The timer's next call tries again what fails.
  if (absl::IsNotFound(served)) views_->note_if_archived(voucher).IgnoreError();
}

// ---- Orders -----------------------------------------------------------------------------------

std::vector<ChangeResult> Sale::Lanes::pay_all(std::span<const PayRequest> requests) {
  return decide_by_lane(
      requests, parts_.size(),
      [this](const PayRequest& request, ChangeResult& result) -> std::optional<int> {
        const auto lane = views_->of_order(request.order);
        if (lane.ok()) return *lane;
        result = failure_of<ChangeResult>(lane.status());
        return std::nullopt;
      },
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
