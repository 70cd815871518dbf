#include "tests/simulation/waiting_users.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "engine/core/base/concat.h"
#include <rushgate/order_rules.h>

namespace rushgate::testing {
namespace {

std::string name_of(const WaitingUsers::Place& place) {
  return concat("user ", place.user.text(), ", who waits for voucher ", place.voucher,
                " with order ", place.order);
}

UserOfVoucher user_of(const WaitingUsers::Place& place) {
  return {place.voucher, place.user.text()};
}

bool is_doubtful(WaitOutcome outcome) {
  return outcome == WaitOutcome::kOverloaded || outcome == WaitOutcome::kUnavailable ||
         outcome == WaitOutcome::kFailed;
}

/// Returns true if both waited on one lane, and the second one came after the first one was there.
bool came_before(const WaitingUsers::Place& first, const WaitingUsers::Place& second) {
  return first.voucher == second.voucher &&
         lane_of_order(first.order) == lane_of_order(second.order) && first.joined < second.began;
}

}  // namespace

WaitingUsers::WaitingUsers(Promises& promises, OrderStore& orders, Promises::Blame blame)
    : promises_(promises), orders_(orders), blame_(std::move(blame)) {}

WaitResult WaitingUsers::wait(Sale& sale, VoucherId voucher, const UserId& user) {
  const Promises::Losses losses = promises_.losses();
  std::int64_t began = ++calls_;
  const WaitResult result = sale.wait_for(voucher, user);
  // A call that seems to have failed may have been executed, then or later.
  const UserOfVoucher who(voucher, user.text());
  const auto doubtful = doubtful_.find(who);
  if (doubtful != doubtful_.end()) began = doubtful->second;
  if (is_doubtful(result.outcome)) doubtful_.emplace(who, began);
  if (result.outcome == WaitOutcome::kNoWaitingList) {
    blame_(concat("voucher ", voucher, " has no waiting list"));
  }
  if (result.outcome != WaitOutcome::kWaiting) return result;
  const auto known = std::ranges::find(places_, result.order, &Place::order);
  if (known !=
      places_.end()) {  // by this call, maybe: one that began later may have returned first
    known->began = std::min(known->began, began);
    return result;
  }
  const auto lane = static_cast<std::size_t>(lane_of_order(result.order));
  places_.push_back({.voucher = voucher,
                     .user = user,
                     .order = result.order,
                     .losses = losses[lane],
                     .began = began,
                     .joined = ++calls_});
  return result;
}

std::optional<WaitingUsers::Place> WaitingUsers::leave(Sale& sale, Random& random) {
  if (places_.empty()) return std::nullopt;
  const UserOfVoucher user = user_of(random.pick(places_));
  const Place place = last_place_of(user);
  const std::int64_t began = ++calls_;
  const auto left = sale.leave_waiting_list(place.voucher, place.user);
  // The user may have come again, or another place may be the last one: its call returned after this one's began.
  const bool is_last = std::ranges::none_of(places_, [&](const Place& other) {
    return user_of(other) == user && other.order != place.order && other.joined > place.began;
  });
  const bool is_certain = is_last && last_place_of(user).order == place.order &&
                          !doubtful_.contains(user) && !may_have_left(place, began);
  note_leave_call(user);
  if (left.ok() && *left && is_certain) left_.push_back({.place = place, .call = calls_});
  return place;
}

void WaitingUsers::note_leave_call(const UserOfVoucher& user) { leave_calls_[user] = ++calls_; }

/// Returns true if a call after the one with the number `since` may have let the user leave, or come back.
bool WaitingUsers::may_have_left(const Place& place, std::int64_t since) const {
  const auto call = leave_calls_.find(user_of(place));
  return call != leave_calls_.end() && call->second > since;
}

/// Returns the place that a user, who has had one, got last.
WaitingUsers::Place WaitingUsers::last_place_of(const UserOfVoucher& user) const {
  return *std::find_if(places_.rbegin(), places_.rend(),
                       [&](const Place& place) { return user_of(place) == user; });
}

std::optional<std::pair<WaitingUsers::Place, bool>> WaitingUsers::look(Sale& sale, Random& random) {
  if (places_.empty()) return std::nullopt;
  const Place place = random.pick(places_);
  return std::pair(place, note_if_served(sale, place));
}

/// Returns true if a user has got the order. It is an accepted one from then on.
bool WaitingUsers::note_if_served(Sale& sale, const Place& place) {
  const Promises::Losses losses = promises_.losses();
  const auto state = sale.status(place.order);
  if (!state.ok() || state->location == OrderLocation::kUnknown) return false;
  // A worker had the order when a master lost it, and it could not be restored.
  if (state->location == OrderLocation::kDeadLetter && has_lost(place)) return false;
  promises_.note_accepted({.voucher = place.voucher, .user = place.user}, place.order, losses);
  return true;
}

bool WaitingUsers::has_lost(const Place& place) const {
  return promises_.losses()[static_cast<std::size_t>(lane_of_order(place.order))] != place.losses;
}

/// Returns true if the user may have been at the limit when it was his turn: all that he ever bought counts.
bool WaitingUsers::may_buy_no_more(const Place& place, const Limits& limits) const {
  std::map<OrderId, std::int64_t> bought;
  for (const auto& [id, accepted] : promises_.accepted()) {
    const BuyRequest& request = accepted.request;
    const bool is_his = request.voucher == place.voucher && request.user == place.user;
    if (is_his) bought[id] = request.quantity;
  }
  const auto stored = orders_.list({.user = place.user, .voucher = place.voucher});
  for (const Order& order : stored.value()) bought[order.id] = order.quantity;
  std::int64_t pieces = 1;
  for (const auto& [id, quantity] : bought) pieces += quantity;
  return (limits.per_user != 0 && pieces > limits.per_user) ||
         (limits.per_user_day != 0 && pieces > limits.per_user_day);
}

void WaitingUsers::check_kept(Sale& sale, const Voucher& voucher,
                              const std::vector<LaneList>& lists) {
  std::set<OrderId> listed;
  for (const LaneList& list : lists) {
    for (const auto& [user, order] : list.users) listed.insert(order);
  }
  for (const Place& place : places_) {
    if (place.voucher != voucher.id || listed.contains(place.order)) continue;
    const bool is_served = note_if_served(sale, place);
    const bool may_be_gone = may_have_left(place, place.began) || has_lost(place);
    if (is_served || may_be_gone || may_buy_no_more(place, voucher.limits)) continue;
    blame_(concat(name_of(place), ", is forgotten"));
  }
  for (const Place& first : places_) {
    if (!listed.contains(first.order) || has_lost(first)) continue;
    for (const Place& second : places_) {
      if (came_before(first, second) && promises_.accepted().contains(second.order)) {
        blame_(concat(name_of(first), ", is overtaken by user ", second.user.text()));
      }
    }
  }
}

void WaitingUsers::check_served(Sale& sale, const Voucher& voucher,
                                const std::vector<LaneList>& before,
                                const std::vector<LaneList>& after) {
  std::size_t served = 0;
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& were = before[i].users;
    const auto& are = after[i].users;
    waiting += were.size();
    served += were.size() - std::min(were.size(), are.size());
    const auto rest = std::min(were.size(), are.size());
    if (!std::equal(are.begin(), are.end(), were.end() - static_cast<std::ptrdiff_t>(rest),
                    were.end())) {
      blame_(concat("voucher ", voucher.id, ": the users that wait on the lane ", before[i].lane,
                    " are not served in the order of their arrival"));
    }
    for (std::size_t k = 0; k + rest < were.size(); ++k) {
      const auto& [user, order] = were[k];
      const int losses = promises_.losses()[static_cast<std::size_t>(before[i].lane)];
      const Place place{.voucher = voucher.id, .user = user, .order = order, .losses = losses};
      if (!note_if_served(sale, place) && !may_buy_no_more(place, voucher.limits)) {
        blame_(concat(name_of(place), ", has left the list, and has no order"));
      }
    }
  }
  if (waiting > 0 && served == 0) {
    blame_(concat("voucher ", voucher.id, ": a piece came back, and nobody of ", waiting,
                  " users was served"));
  }
}

void WaitingUsers::check_left() const {
  for (const auto& [place, call] : left_) {
    const bool is_served =
        promises_.accepted().contains(place.order) || orders_.find(place.order).value().has_value();
    if (!is_served || has_lost(place) || may_have_left(place, call)) continue;
    blame_(concat(name_of(place), ", has left the list, and got it"));
  }
}

void WaitingUsers::check_sequence() const {
  std::map<OrderId, StreamId> entries;  // of the orders of those who were served
  for (const Place& place : places_) {
    const auto order = orders_.find(place.order).value();
    if (order && !has_lost(place)) entries[place.order] = order->entry;
  }
  for (const Place& first : places_) {
    for (const Place& second : places_) {
      const bool are_served = entries.contains(first.order) && entries.contains(second.order);
      if (!are_served || !came_before(first, second)) continue;
      if (entries.at(first.order) < entries.at(second.order)) continue;
      blame_(concat(name_of(first), ", was overtaken by user ", second.user.text()));
    }
  }
}

}  // namespace rushgate::testing
