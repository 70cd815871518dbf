#include "adapters/testing/rush_ledger.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rushgate::testing {

RushLedger::RushLedger(const RushOptions& rush) {
  for (const RushVoucher& voucher : rush.vouchers) vouchers_.emplace(voucher.id, voucher);
  report_.seed = rush.seed;
  report_.requests = rush.requests;
}

std::int64_t RushLedger::begin_ms(std::int64_t voucher) const {
  const auto known = vouchers_.find(voucher);
  return known == vouchers_.end() ? 0 : known->second.begin_ms;
}

void RushLedger::add_reply(const RushRequest& request, RushResult result, std::int64_t at_ms) {
  const std::int64_t begins_ms = begin_ms(request.voucher);
  Account& account = accounts_[{request.user, request.voucher}];
  switch (result) {
    case RushResult::kAccepted:
      ++report_.accepted;
      ++account.accepted;
      if (in_doubt_.erase(request.number) > 0) --account.in_doubt;
      if (at_ms < begins_ms) ++account.too_early;
      return;
    case RushResult::kRefused:
      ++report_.refused;
      if (request.at_ms >= begins_ms) ++account.refused_on_sale;
      return;
    case RushResult::kFailed:
      ++report_.failed;
      return;
  }
}

void RushLedger::add_reply(RushResult result, std::string reply) {
  constexpr std::size_t kDifferentMax = 1'000;  // a sale may reply with the order's number
  auto& times = replies_[result];
  const auto known = times.find(reply);
  if (known != times.end()) {
    ++known->second;
  } else if (times.size() < kDifferentMax) {
    times.emplace(std::move(reply), 1);
  }
}

void RushLedger::add_lost_answer(const RushRequest& request) {
  ++report_.replies_lost;
  if (in_doubt_.insert(request.number).second) {
    ++accounts_[{request.user, request.voucher}].in_doubt;
  }
}

void RushLedger::add_error(std::string error) {
  constexpr std::size_t kErrorsMax = 5;
  auto& errors = report_.errors;
  if (errors.size() == kErrorsMax || std::ranges::count(errors, error) > 0) return;
  errors.push_back(std::move(error));
}

void RushLedger::set_orders(const std::vector<RushOrder>& orders) {
  knows_orders_ = true;
  for (auto& [whose, account] : accounts_) account.orders = 0;
  for (const RushOrder& order : orders) ++accounts_[order].orders;
}

void RushLedger::set_buyers(const std::vector<RushOrder>& buyers) {
  knows_buyers_ = true;
  for (const RushOrder& buyer : buyers) ++accounts_[buyer].recorded;
}

std::map<std::int64_t, RushLedger::Total> RushLedger::totals() const {
  std::map<std::int64_t, Total> totals;
  for (const auto& [id, voucher] : vouchers_) totals[id];
  for (const auto& [whose, account] : accounts_) {
    Total& total = totals[whose.voucher];
    total.accepted += account.accepted;
    total.orders += account.orders;
    total.maybe_sold += knows_orders_ ? std::max(account.accepted, account.orders)
                                      : account.accepted + account.in_doubt;
    const auto voucher = vouchers_.find(whose.voucher);
    if (voucher == vouchers_.end()) continue;
    const std::int64_t limit = voucher->second.per_user;
    const bool might_have_more =
        limit == 0 || std::max(account.accepted, account.orders) + account.in_doubt < limit;
    if (account.refused_on_sale > 0 && might_have_more) total.refused.push_back(whose.user);
  }
  return totals;
}

std::vector<RushLedger::Restock> RushLedger::restock(bool find_withheld) {
  judge_vouchers(find_withheld);
  std::vector<Restock> restocks;
  for (auto& [id, total] : totals()) {
    const auto voucher = vouchers_.find(id);
    if (voucher == vouchers_.end() || total.refused.empty()) continue;
    const auto refused = static_cast<std::int64_t>(total.refused.size());
    std::int64_t& stock = voucher->second.stock;
    const std::int64_t pieces = std::min((refused + 1) / 2, std::max<std::int64_t>(stock, 1));
    restocks.push_back({.voucher = id, .pieces = pieces, .users = std::move(total.refused)});
    stock += pieces;
    report_.restocked += pieces;
    report_.requests += restocks.back().users.size();
  }
  for (auto& [whose, account] : accounts_) account.refused_on_sale = 0;
  return restocks;
}

/// A fault of an earlier part is not repeated.
void RushLedger::judge_vouchers(bool find_withheld) {
  const auto note = [](std::vector<RushReport::VoucherFault>& faults,
                       const RushReport::VoucherFault& fault) {
    const auto is_same = [&](const auto& noted) { return noted.voucher == fault.voucher; };
    if (std::ranges::none_of(faults, is_same)) faults.push_back(fault);
  };
  for (const auto& [id, total] : totals()) {
    const auto voucher = vouchers_.find(id);
    const std::int64_t stock = voucher == vouchers_.end() ? 0 : voucher->second.stock;
    const RushReport::VoucherFault fault{
        .voucher = id, .stock = stock, .accepted = total.accepted, .orders = total.orders};
    if (std::max(total.accepted, total.orders) > stock) note(report_.oversold, fault);
    if (find_withheld && !total.refused.empty() && total.maybe_sold < stock) {
      note(report_.withheld, fault);
    }
  }
}

void RushLedger::judge_account(const RushOrder& whose, const Account& account) {
  const RushReport::UserFault fault{.user = whose.user,
                                    .voucher = whose.voucher,
                                    .accepted = account.accepted,
                                    .orders = account.orders,
                                    .in_doubt = account.in_doubt,
                                    .recorded = account.recorded};
  const auto voucher = vouchers_.find(whose.voucher);
  const std::int64_t limit = voucher == vouchers_.end() ? 0 : voucher->second.per_user;
  if (limit > 0 && std::max(account.accepted, account.orders) > limit) {
    report_.doubled.push_back(fault);
  }
  if (account.too_early > 0) report_.too_early.push_back(fault);
  if (knows_buyers_) judge_record(fault, limit);
  if (!knows_orders_) return;
  if (account.accepted > account.orders) report_.lost.push_back(fault);
  if (account.orders > account.accepted + account.in_doubt) report_.unfounded.push_back(fault);
}

/// Compares a record with the orders, or, if they are unknown, with the replies.
void RushLedger::judge_record(const RushReport::UserFault& fault, std::int64_t limit) {
  const std::int64_t least = knows_orders_ ? fault.orders : fault.accepted;
  const std::int64_t most = knows_orders_ ? fault.orders : fault.accepted + fault.in_doubt;
  if (fault.recorded > most) report_.blocked.push_back(fault);
  if (limit > 0 && fault.recorded < least) report_.unrecorded.push_back(fault);
}

RushReport RushLedger::judge(bool find_withheld) {
  for (const auto& [result, replies] : replies_) {
    for (const auto& [reply, times] : replies) {
      report_.replies.push_back({.reply = reply, .result = result, .times = times});
    }
  }
  std::ranges::stable_sort(report_.replies, std::ranges::greater(),
                           &RushReport::FrequentReply::times);
  constexpr std::size_t kRepliesMax = 5;
  if (report_.replies.size() > kRepliesMax) report_.replies.resize(kRepliesMax);
  for (const auto& [whose, account] : accounts_) judge_account(whose, account);
  judge_vouchers(find_withheld);
  return std::move(report_);
}

}  // namespace rushgate::testing
