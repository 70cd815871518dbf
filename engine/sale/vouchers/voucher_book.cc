#include "engine/sale/vouchers/voucher_book.h"

#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <spdlog/logger.h>

#include "absl/container/flat_hash_map.h"
#include "engine/base/numbers.h"
#include "engine/sale/orders/unstored_orders.h"
#include "engine/sale/reply_status.h"
#include "engine/sale/vouchers/keyspace_run.h"
#include "engine/sale/vouchers/random_name.h"
#include "engine/sale/vouchers/sale_day.h"
#include "engine/sale/vouchers/voucher_scripts.h"

namespace rushgate {
namespace {

/// What one buyer's records are made of.
struct Bought {
  std::int64_t count = 0;
  std::int64_t day = std::numeric_limits<std::int64_t>::min();  // the latest on which he bought
  std::int64_t on_day = 0;
};

/// The terms as the scripts take and answer them.
constexpr std::size_t kTerms = 8;
constexpr std::array<std::string_view, kTerms> kTermNames = {
    "version",     "stock",          "begin (ms)",    "end (ms)",
    "total limit", "limit per user", "limit per day", "UTC offset (minutes)"};

std::array<std::int64_t, kTerms> terms_of(const VoucherVersion& version) {
  const Voucher& voucher = version.voucher;
  return {version.version,
          voucher.stock,
          voucher.begin_ms,
          voucher.end_ms,
          voucher.limits.total,
          voucher.limits.per_user,
          voucher.limits.per_user_day,
          voucher.limits.utc_offset_minutes};
}

void append_terms(std::vector<std::string>& arguments, const VoucherVersion& version) {
  for (const std::int64_t term : terms_of(version)) arguments.push_back(std::to_string(term));
}

/// In which terms a voucher in the keyspace is another than `version`: "stock 5 there, 10 here; …".
/// Empty if it is the same.
std::string differences(const VoucherVersion& version, std::span<const std::int64_t> there) {
  const auto here = terms_of(version);
  std::string text;
  for (std::size_t i = 0; i < kTerms && i < there.size(); ++i) {
    if (there[i] == here[i]) continue;
    if (!text.empty()) text += "; ";
    text += std::string(kTermNames[i]) + ' ' + std::to_string(there[i]) + " there, " +
            std::to_string(here[i]) + " here";
  }
  return text;
}

std::string name_of(VoucherId id) { return "voucher " + std::to_string(id); }

absl::Status being_rebuilt(VoucherId id) {
  return absl::AbortedError(name_of(id) + " is being rebuilt by somebody else");
}

std::vector<std::string_view> views(const std::vector<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

/// A script's answer: an outcome, and numbers that belong to it.
absl::StatusOr<std::vector<std::int64_t>> answer_of(const Reply& reply, std::string_view doing) {
  if (!reply.is_aggregate() || reply.elements().empty()) return to_status(reply, doing);
  std::vector<std::int64_t> answer;
  for (const Reply& element : reply.elements()) {
    const auto number = element.is_integer() ? element.integer()
                        : element.is_text()  ? parse_int64(element.text())
                                             : std::nullopt;
    if (!number) return to_status(reply, doing);
    answer.push_back(*number);
  }
  return answer;
}

absl::StatusOr<std::int64_t> outcome_of(const Reply& reply, std::string_view doing) {
  const auto answer = answer_of(reply, doing);
  if (!answer.ok()) return answer.status();
  return answer->front();
}

}  // namespace

VoucherBook::VoucherBook(Client& client, OrderStore& orders, const SaleKeys& keys,
                         VoucherBookOptions options)
    : client_(client),
      orders_(orders),
      keys_(keys),
      options_(std::move(options)),
      name_(random_name()) {}

// ---- Recovering ----

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
  const absl::Status pending = take_up_pending();
  return pending.ok() ? take_up_rebuilds() : pending;
}

absl::Status VoucherBook::take_up_pending() {
  const auto pending = orders_.pending();
  if (!pending.ok()) return pending.status();
  for (const VoucherVersion& version : *pending) {
    absl::Status applied = apply(version);
    if (absl::IsUnavailable(applied)) return applied;
    log(version, applied);
  }
  return absl::OkStatus();
}

absl::Status VoucherBook::take_up_rebuilds() {
  const auto on_sale = orders_.all_applied();
  if (!on_sale.ok()) return on_sale.status();
  std::vector<Request> requests;
  for (const VoucherVersion& version : *on_sale) {
    requests.push_back(Request::of("HEXISTS", keys_.voucher(version.voucher.id), "closed"));
  }
  const std::vector<Reply> closed = client_.pipeline(std::move(requests));
  for (std::size_t i = 0; i < closed.size(); ++i) {
    if (closed[i] == Reply::integer(0)) continue;
    absl::Status rebuilt = closed[i].is_error() ? to_status(closed[i], "looking at the vouchers")
                                                : rebuild_locked((*on_sale)[i]);
    if (absl::IsUnavailable(rebuilt)) return rebuilt;
    log((*on_sale)[i], rebuilt);
  }
  return absl::OkStatus();
}

void VoucherBook::log(const VoucherVersion& version, const absl::Status& failure) const {
  if (failure.ok() || !options_.logger) return;
  options_.logger->error("version {} of voucher {} is not taken up: {}", version.version,
                         version.voucher.id, std::string(failure.message()));
}

// ---- Publishing ----

absl::Status VoucherBook::publish(const Voucher& voucher) {
  if (const std::string fault = find_fault(voucher); !fault.empty()) {
    return absl::InvalidArgumentError("voucher " + std::to_string(voucher.id) + ": " + fault);
  }
  Change change(changing_);
  if (const absl::Status waited = wait_for(change); !waited.ok()) return waited;
  auto latest = orders_.latest(voucher.id);
  if (latest.ok() && latest->has_value() &&
      (*latest)->state ==
          VoucherVersion::State::kPending) {  // interrupted before: first things first
    const absl::Status applied = apply(**latest);
    latest = orders_.latest(voucher.id);
    const bool is_settled =
        latest.ok() &&
        (*latest)->state != VoucherVersion::State::kPending;  // refused is an end, too
    if (!applied.ok() && !is_settled) return applied;
  }
  if (!latest.ok()) return latest.status();
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

  auto answer = run_apply(version, may_create);
  if (answer.ok() && (answer->front() == voucher_scripts::kMissing ||
                      answer->front() == voucher_scripts::kRebuilding)) {
    const absl::Status rebuilt = rebuild_locked(in_force->has_value() ? **in_force : version);
    if (!rebuilt.ok()) return rebuilt;
    answer = run_apply(version, may_create);
  }
  if (!answer.ok()) return answer.status();

  const auto detail = std::span(*answer).subspan(1);
  const std::string count = detail.empty() ? "?" : std::to_string(detail.front());
  switch (answer->front()) {
    case voucher_scripts::kDone:
      return mark_applied(version);
    case voucher_scripts::kAlreadyDone: {
      const std::string different = differences(version, detail);
      if (different.empty()) return mark_applied(version);
      // Left pending: nothing was decided, and the next version would change somebody else's sale.
      return absl::FailedPreconditionError(
          name_of(id) + ", version " + std::to_string(version.version) +
          ": the keyspace holds another sale's voucher of this id: " + different);
    }
    case voucher_scripts::kRefused:
      return refuse(version, count + " more are sold than a stock of " +
                                 std::to_string(version.voucher.stock) + " allows");
    case voucher_scripts::kTooManyBuyers:
      return refuse(version, "it has " + count + " buyers, and the limit per user can no longer " +
                                 "come up from 1 when there are more than " +
                                 std::to_string(options_.buyers_converted_max));
    default:
      return being_rebuilt(id);
  }
}

absl::StatusOr<VoucherBook::Answer> VoucherBook::run_apply(const VoucherVersion& version,
                                                           bool may_create) {
  const VoucherId id = version.voucher.id;
  const std::vector<std::string> names = {keys_.voucher(id), keys_.stock(id), keys_.buyers(id),
                                          keys_.vouchers()};
  std::vector<std::string> arguments;
  append_terms(arguments, version);
  arguments.emplace_back(may_create ? "1" : "0");
  arguments.push_back(std::to_string(options_.buyers_converted_max));
  arguments.push_back(std::to_string(id));
  return answer_of(client_.run(voucher_scripts::apply(), views(names), views(arguments)),
                   "publishing " + name_of(id));
}

absl::Status VoucherBook::mark_applied(const VoucherVersion& version) {
  // The database must never call in force what a power cut could take out of the log.
  const Reply synced = client_.sync();
  if (synced.is_error()) return to_status(synced, "syncing " + name_of(version.voucher.id));
  return orders_.settle(version.voucher.id, version.version, VoucherVersion::State::kApplied, {});
}

absl::Status VoucherBook::refuse(const VoucherVersion& version, const std::string& why) {
  const std::string reason = name_of(version.voucher.id) + ": " + why;
  const absl::Status settled =
      orders_.settle(version.voucher.id, version.version, VoucherVersion::State::kRefused, reason);
  return settled.ok() ? absl::FailedPreconditionError(reason) : settled;
}

// ---- Rebuilding ----

absl::Status VoucherBook::rebuild(VoucherId voucher) {
  const Change change(changing_);  // buyers come here: they do not wait
  if (!change.is_ours()) return absl::AbortedError(name_of(voucher) + " is being rebuilt");
  const auto in_force = orders_.applied(voucher);
  if (!in_force.ok()) return in_force.status();
  if (!in_force->has_value())
    return absl::NotFoundError("there is no voucher " + std::to_string(voucher));
  return rebuild_locked(**in_force);
}

absl::Status VoucherBook::rebuild_locked(const VoucherVersion& version) {
  const VoucherId id = version.voucher.id;
  const Reply run = client_.run(keyspace_run_script(), {}, {});
  if (run.is_error()) return to_status(run, "asking for the run of the keyspace");
  const std::string token = name_ + ':' + std::to_string(++rebuilds_);
  const std::vector<std::string> names = {keys_.voucher(id), keys_.stock(id), keys_.buyers(id),
                                          keys_.days(id)};
  const std::vector<std::string> arguments = {token, std::string(run.text()),
                                              std::to_string(kRebuildAbandonedMs)};
  const auto begun =
      outcome_of(client_.run(voucher_scripts::begin_rebuild(), views(names), views(arguments)),
                 "closing voucher " + std::to_string(id));
  if (!begun.ok()) return begun.status();
  if (*begun == voucher_scripts::kAlreadyDone) return absl::OkStatus();
  if (*begun == voucher_scripts::kRebuilding) return being_rebuilt(id);
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
    const std::int64_t day = sale_day(order.admitted_at_ms, limits.utc_offset_minutes);
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

  const std::vector<std::string> names = {keys_.voucher(id), keys_.stock(id), keys_.vouchers()};
  arguments = {token, std::to_string(version.voucher.stock - admitted), std::to_string(admitted),
               counted ? "1" : "0"};
  append_terms(arguments, version);
  arguments.push_back(std::to_string(id));
  const auto finished =
      outcome_of(client_.run(voucher_scripts::finish_rebuild(), views(names), views(arguments)),
                 "opening voucher " + std::to_string(id));
  if (!finished.ok()) return finished.status();
  return *finished == voucher_scripts::kDone ? absl::OkStatus() : being_rebuilt(id);
}

}  // namespace rushgate
