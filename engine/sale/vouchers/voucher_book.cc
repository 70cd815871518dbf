#include "engine/sale/vouchers/voucher_book.h"

#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/sale/orders/unstored_orders.h"
#include "engine/sale/reply_status.h"
#include "engine/sale/vouchers/voucher_scripts.h"

namespace rushgate {
namespace {

// A rebuild that has taken longer than this was interrupted: somebody else may begin again.
constexpr std::int64_t kRebuildAbandonedMs = 10'000;

/// What one buyer's records are made of.
struct Bought {
  std::int64_t count = 0;
  std::int64_t day = 0;  // the latest on which he bought
  std::int64_t on_day = 0;
};

std::int64_t day_of(std::int64_t ms, const Limits& limits) {
  return (ms + std::int64_t{limits.utc_offset_minutes} * 60'000) / 86'400'000;
}

/// ARGV of a script that takes a voucher's terms.
void append_terms(std::vector<std::string>& arguments, const VoucherVersion& version) {
  const Voucher& voucher = version.voucher;
  for (const std::int64_t term :
       {version.version, voucher.stock, voucher.begin_ms, voucher.end_ms, voucher.limits.total,
        voucher.limits.per_user, voucher.limits.per_user_day,
        std::int64_t{voucher.limits.utc_offset_minutes}}) {
    arguments.push_back(std::to_string(term));
  }
}

std::vector<std::string_view> views(const std::vector<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

absl::StatusOr<int> outcome_of(const Reply& reply, std::string_view doing) {
  if (!reply.is_aggregate() || reply.elements().empty() || !reply.elements()[0].is_integer()) {
    return to_status(reply, doing);
  }
  return static_cast<int>(reply.elements()[0].integer());
}

}  // namespace

VoucherBook::VoucherBook(Client& client, OrderStore& orders, const Clock& clock,
                         const SaleKeys& keys)
    : client_(client), orders_(orders), clock_(clock), keys_(keys) {}

// ---- Publishing ----

/// Waits as the client does: on a fiber, others of its thread go on.
absl::Status VoucherBook::wait_for(Change& change) {
  constexpr int kTries = 1'000;
  constexpr int kPauseMs = 10;
  const std::string nothing_comes = keys_.prefix + "no stream";
  for (int i = 0; i < kTries; ++i) {
    if (change.try_again()) return absl::OkStatus();
    const Reply paused = client_("XREAD", "BLOCK", kPauseMs, "STREAMS", nothing_comes, "$");
    if (paused.is_error()) return to_status(paused, "waiting for another voucher's change");
  }
  return absl::UnavailableError("another change of a voucher is still being made");
}

absl::Status VoucherBook::recover() {
  Change change(changing_);
  if (const absl::Status waited = wait_for(change); !waited.ok()) return waited;
  const auto pending = orders_.pending();
  if (!pending.ok()) return pending.status();
  for (const VoucherVersion& version : *pending) {
    const absl::Status applied = apply(version);
    if (!applied.ok() && !absl::IsFailedPrecondition(applied))
      return applied;  // refused is an end, too
  }
  return absl::OkStatus();
}

absl::Status VoucherBook::publish(const Voucher& voucher) {
  if (const std::string fault = find_fault(voucher); !fault.empty()) {
    return absl::InvalidArgumentError("voucher " + std::to_string(voucher.id) + ": " + fault);
  }
  Change change(changing_);
  if (const absl::Status waited = wait_for(change); !waited.ok()) return waited;
  auto latest = orders_.latest(voucher.id);
  if (!latest.ok()) return latest.status();
  if (latest->has_value() && (*latest)->state == VoucherVersion::State::kPending) {
    const absl::Status applied = apply(**latest);  // interrupted before: first things first
    if (!applied.ok() && !absl::IsFailedPrecondition(applied)) return applied;
  }
  const auto in_force = orders_.applied(voucher.id);
  if (!in_force.ok()) return in_force.status();
  if (in_force->has_value() && (*in_force)->voucher == voucher) return absl::OkStatus();

  VoucherVersion version;
  version.voucher = voucher;
  version.version = latest->has_value() ? (*latest)->version + 1 : 1;
  const absl::Status recorded = orders_.record_pending(version);
  if (!recorded.ok()) return recorded;
  return apply(version);
}

absl::Status VoucherBook::apply(const VoucherVersion& version) {
  const VoucherId id = version.voucher.id;
  const auto in_force = orders_.applied(id);
  if (!in_force.ok()) return in_force.status();
  const auto live = orders_.count_live(id);
  if (!live.ok()) return live.status();
  // Only what was never on sale may start from its full stock.
  const bool may_create = !in_force->has_value() && *live == 0;

  std::string detail;
  auto outcome = run_apply(version, may_create, detail);
  if (outcome.ok() &&
      (*outcome == voucher_scripts::kMissing || *outcome == voucher_scripts::kRebuilding)) {
    const absl::Status rebuilt = rebuild_locked(in_force->has_value() ? **in_force : version);
    if (!rebuilt.ok()) return rebuilt;
    outcome = run_apply(version, may_create, detail);
  }
  if (!outcome.ok()) return outcome.status();

  switch (*outcome) {
    case voucher_scripts::kDone:
    case voucher_scripts::kAlreadyDone: {
      // The database must never call in force what a power cut could take out of the log.
      const Reply synced = client_.sync();
      if (synced.is_error()) return to_status(synced, "syncing voucher " + std::to_string(id));
      return orders_.settle(id, version.version, VoucherVersion::State::kApplied, {});
    }
    case voucher_scripts::kRefused: {
      const std::string reason = "voucher " + std::to_string(id) + ": " + detail +
                                 " more are sold than a stock of " +
                                 std::to_string(version.voucher.stock) + " allows";
      const absl::Status settled =
          orders_.settle(id, version.version, VoucherVersion::State::kRefused, reason);
      return settled.ok() ? absl::FailedPreconditionError(reason) : settled;
    }
    default:
      return absl::UnavailableError("voucher " + std::to_string(id) +
                                    " is being rebuilt by somebody else");
  }
}

absl::StatusOr<int> VoucherBook::run_apply(const VoucherVersion& version, bool may_create,
                                           std::string& detail) {
  const VoucherId id = version.voucher.id;
  const std::vector<std::string> names = {keys_.voucher(id), keys_.stock(id), keys_.buyers(id)};
  std::vector<std::string> arguments;
  append_terms(arguments, version);
  arguments.emplace_back(may_create ? "1" : "0");
  const Reply reply = client_.run(voucher_scripts::apply(), views(names), views(arguments));
  const auto outcome = outcome_of(reply, "publishing voucher " + std::to_string(id));
  if (outcome.ok() && *outcome == voucher_scripts::kRefused && reply.elements().size() == 2) {
    detail = std::to_string(reply.elements()[1].integer());
  }
  return outcome;
}

// ---- Rebuilding ----

absl::Status VoucherBook::rebuild(VoucherId voucher) {
  const Change change(changing_);  // buyers come here: they do not wait
  if (!change.is_ours())
    return absl::UnavailableError("voucher " + std::to_string(voucher) + " is being rebuilt");
  const auto in_force = orders_.applied(voucher);
  if (!in_force.ok()) return in_force.status();
  if (!in_force->has_value())
    return absl::NotFoundError("there is no voucher " + std::to_string(voucher));
  return rebuild_locked(**in_force);
}

absl::Status VoucherBook::rebuild_locked(const VoucherVersion& version) {
  const VoucherId id = version.voucher.id;
  const std::string token = std::to_string(clock_.now_ms()) + ':' + std::to_string(++rebuilds_) +
                            ':' + std::to_string(reinterpret_cast<std::uintptr_t>(this));
  const std::vector<std::string> names = {keys_.voucher(id), keys_.stock(id), keys_.buyers(id),
                                          keys_.days(id)};
  const std::vector<std::string> arguments = {token, std::to_string(kRebuildAbandonedMs)};
  const auto begun =
      outcome_of(client_.run(voucher_scripts::begin_rebuild(), views(names), views(arguments)),
                 "closing voucher " + std::to_string(id));
  if (!begun.ok()) return begun.status();
  if (*begun == voucher_scripts::kAlreadyDone) return absl::OkStatus();
  if (*begun == voucher_scripts::kRebuilding) {
    return absl::UnavailableError("voucher " + std::to_string(id) + " is being rebuilt");
  }
  return load(version, token);
}

absl::Status VoucherBook::load(const VoucherVersion& version, const std::string& token) {
  const VoucherId id = version.voucher.id;
  const Limits& limits = version.voucher.limits;
  std::map<UserId, Bought> buyers;
  std::int64_t admitted = 0;
  const auto count = [&](const Order& order) {
    ++admitted;
    Bought& bought = buyers[order.user];
    ++bought.count;
    const std::int64_t day = day_of(order.admitted_at_ms, limits);
    if (day > bought.day) bought = {bought.count, day, 0};
    if (day == bought.day) ++bought.on_day;
  };

  // The streams first: an order that moves to the database meanwhile is then met there.
  auto unstored = read_unstored_orders(client_, keys_, id);
  if (!unstored.ok()) return unstored.status();
  absl::flat_hash_map<OrderId, Order> not_stored;
  for (const auto* orders : {&unstored->queued, &unstored->dead}) {
    for (const Order& order : *orders) not_stored.emplace(order.id, order);
  }
  OrderFilter filter{.user = {}, .voucher = id, .status = {}, .after = 0, .count_max = 10'000};
  while (true) {
    const auto stored = orders_.list(filter);
    if (!stored.ok()) return stored.status();
    for (const Order& order : *stored) {
      not_stored.erase(order.id);
      count(order);
    }
    if (stored->size() < filter.count_max) break;
    filter.after = stored->back().id;
  }
  for (const auto& [order_id, order] : not_stored) count(order);

  bool counted = limits.per_user != 1;
  for (const auto& [user, bought] : buyers) counted = counted || bought.count > 1;

  constexpr std::size_t kBuyersPerCall = 1'000;
  const std::vector<std::string> load_names = {keys_.voucher(id), keys_.buyers(id), keys_.days(id)};
  std::vector<std::string> arguments;
  for (auto buyer = buyers.begin(); buyer != buyers.end();) {
    arguments = {token, counted ? "1" : "0"};
    for (std::size_t i = 0; i < kBuyersPerCall && buyer != buyers.end(); ++i, ++buyer) {
      arguments.push_back(std::to_string(buyer->first));
      arguments.push_back(std::to_string(buyer->second.count));
      arguments.push_back(limits.per_user_day == 0 ? std::string()
                                                   : std::to_string(buyer->second.day) + ':' +
                                                         std::to_string(buyer->second.on_day));
    }
    const auto loaded =
        outcome_of(client_.run(voucher_scripts::load_buyers(), views(load_names), views(arguments)),
                   "loading the buyers of voucher " + std::to_string(id));
    if (!loaded.ok()) return loaded.status();
    if (*loaded != voucher_scripts::kDone) break;  // finishing says why
  }

  const std::vector<std::string> names = {keys_.voucher(id), keys_.stock(id)};
  arguments = {token, std::to_string(version.voucher.stock - admitted), std::to_string(admitted),
               counted ? "1" : "0"};
  append_terms(arguments, version);
  const auto finished =
      outcome_of(client_.run(voucher_scripts::finish_rebuild(), views(names), views(arguments)),
                 "opening voucher " + std::to_string(id));
  if (!finished.ok()) return finished.status();
  if (*finished == voucher_scripts::kDone) return absl::OkStatus();
  return absl::UnavailableError("voucher " + std::to_string(id) +
                                " is being rebuilt by somebody else");
}

}  // namespace rushgate
