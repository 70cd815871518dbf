#include "engine/sale/audit/voucher_audit.h"

#include <algorithm>
#include <iterator>

#include "engine/sale/audit/key_audit.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/payments/payment_scripts.h"
#include "engine/sale/vouchers/sale_day.h"
#include "engine/sale/vouchers/voucher_terms.h"

namespace rushgate {
namespace {

/// Returns true if an order admitted under `version` can have this entry. The ids of a stream never
/// go back, even if the clock does. So only the first id of a millisecond surely has the time of
/// its admission.
bool is_in_window(const VoucherVersion& version, StreamId entry) {
  const auto admitted_at_ms = static_cast<std::int64_t>(entry.ms);
  const bool has_ended = admitted_at_ms >= version.voucher.end_ms && entry.seq == 0;
  return admitted_at_ms >= version.voucher.begin_ms && !has_ended;
}

/// Returns the loosest limit of all versions on the number of orders in all; 0: none.
std::int64_t loosest_total(const std::vector<VoucherVersion>& versions) {
  std::int64_t total = 0;
  for (const VoucherVersion& version : versions) {
    if (version.voucher.limits.total == 0) return 0;
    total = std::max(total, version.voucher.limits.total);
  }
  return total;
}

std::string orders_of(const UserId& user, std::int64_t count) {
  return "user " + user.text() + " has " + std::to_string(count) + " pieces";
}

}  // namespace

bool is_in_force(const std::optional<VoucherVersion>& version, const VoucherCounters& counters) {
  return version && counters.version == version->version &&
         counters.published == version->voucher.stock;
}

std::optional<VoucherVersion> find_version_in_force(const std::vector<VoucherVersion>& versions,
                                                    const VoucherCounters& counters) {
  std::optional<VoucherVersion> latest_applied;
  for (const VoucherVersion& version : versions) {
    if (is_in_force(version, counters)) return version;
    if (version.state == VoucherVersion::State::kApplied) latest_applied = version;
  }
  return latest_applied;
}

VoucherAuditor::VoucherAuditor(VoucherId voucher, const VoucherEvidence& evidence,
                               LateChanges& late_changes, Client& client, OrderStore& orders,
                               const SaleKeys& keys)
    : evidence_(evidence),
      late_changes_(late_changes),
      client_(client),
      orders_(orders),
      keys_(keys) {
  result_.voucher = voucher;
  for (const OrderEvent& event : evidence.events) {
    if (event.kind == OrderEvent::Kind::kSurplusPayment) continue;
    const bool is_later = counters().taken_at.precedes(event.order.entry);
    (is_later ? ended_later_ : ended_).emplace(event.order.id, &event);
  }
}

/// Returns an order as it was when the counters were taken. Its state may be that of an event which
/// is not stored yet. An end that came later is undone.
Order VoucherAuditor::at_counters(Order order) {
  const auto end_as = [&](OrderStatus status, std::int64_t keeps) {
    order.status = status;
    set_keeps(keeps, order);
  };
  if (const auto refund = counters().refunds.find(order.id); refund != counters().refunds.end()) {
    end_as(OrderStatus::kRefunded, refund->second);
    return order;
  }
  if (const auto ended = ended_.find(order.id);
      ended != ended_.end() && order.status == OrderStatus::kUnpaid) {
    const OrderEvent& event = *ended->second;
    const bool is_paid = event.kind == OrderEvent::Kind::kPaid;
    end_as(is_paid ? OrderStatus::kPaid : OrderStatus::kCancelled,
           keeps_of(event.order.keeps_stock, event.order.keeps_allowance));
    return order;
  }
  if (is_live(order)) {
    const auto ended = ended_later_.find(order.id);
    if (ended != ended_later_.end()) bought_[order.user].was_given_back = true;
    return order;
  }
  const OrderChange* const late = late_changes_.find(order.id);
  if (late == nullptr || late->at_ms < counters().taken_at.time_ms) return order;
  bought_[order.user].was_given_back = true;
  end_as(late->from, 0);
  return order;
}

void VoucherAuditor::problem(const std::string& description) {
  problems_.push_back("voucher " + std::to_string(result_.voucher) + ": " + description);
}

void VoucherAuditor::problem(const Order& order, const std::string& description) {
  problem("order " + std::to_string(order.id) + ' ' + description);
}

/// Returns false if the voucher never was on sale, or if both the database and the keyspace lost
/// it.
bool VoucherAuditor::is_known() const { return recorded_ || counters().version; }

bool VoucherAuditor::is_after_audit(const Order& order) const {
  return evidence_.snapshot.buyers_read_at.precedes(order.entry);
}

absl::Status VoucherAuditor::run(AuditReport& report) {
  recorded_ = find_version_in_force(evidence_.versions, counters());
  find_day_rule();
  compare_version();
  absl::Status read = count_stored();
  if (!read.ok()) return read;
  collect_waiting();
  read = count_queued(find_dead());
  if (!read.ok()) return read;
  read = count_dead();
  if (!read.ok()) return read;
  count_discarded();

  const bool has_buyers = !evidence_.snapshot.buyers.empty();
  if (!is_known() && !has_buyers && bought_.empty()) return absl::OkStatus();
  if (is_known() || has_buyers) compare_buyers();
  compare_counters();
  compare_limits();
  report.vouchers.push_back(result_);
  std::ranges::move(problems_, std::back_inserter(report.problems));
  return absl::OkStatus();
}

// ---- Orders ----

absl::Status VoucherAuditor::count_stored() {
  OrderFilter filter{.voucher = result_.voucher, .count_max = 10'000};
  while (true) {
    const auto portion = orders_.list(filter);
    if (!portion.ok()) return portion.status();
    if (absl::Status read = late_changes_.refresh(); !read.ok()) return read;
    for (const Order& order : *portion) {
      if (is_after_audit(order)) continue;
      stored_.insert(order.id);
      count(order, result_.created);
    }
    if (absl::Status checked = check_keys(*portion); !checked.ok()) return checked;
    if (portion->size() < filter.count_max) return absl::OkStatus();
    filter.after = portion->back().id;
  }
}

absl::Status VoucherAuditor::check_keys(std::span<const Order> orders) {
  if (!counters().version) return absl::OkStatus();  // the keys are lost with the voucher
  for (const Order& order : orders) {
    if (order.idempotency_key.empty()) continue;
    const KeyOwner owner{order.id, order.admitted_at_ms, order.key_expires_at_ms};
    const auto [known, is_new] = key_owners_.try_emplace(order.idempotency_key, owner);
    if (is_new) continue;
    const Order other{.id = known->second.order,
                      .voucher = order.voucher,
                      .admitted_at_ms = known->second.admitted_at_ms,
                      .idempotency_key = order.idempotency_key,
                      .key_expires_at_ms = known->second.expires_at_ms};
    if (shares_key(order, other)) {
      problem(order, "has the idempotency key of order " + std::to_string(other.id));
    } else if (owner.expires_at_ms > other.key_expires_at_ms) {
      known->second = owner;
    }
  }
  const auto wrong = find_wrong_keys(client_, keys_, orders);
  if (!wrong.ok()) return wrong.status();
  for (const WrongKey& key : *wrong) {
    problem("order " + std::to_string(key.order) + ' ' + key.fault);
  }
  return absl::OkStatus();
}

/// Collects each order in the stream once.
void VoucherAuditor::collect_waiting() {
  for (const StreamOrder& queued : evidence_.queued) {
    if (is_after_audit(queued.order)) continue;
    const auto [known, is_new] = waiting_.try_emplace(queued.order.id, queued);
    if (is_new) continue;
    // An order that died and was retried has two entries if another group keeps the first.
    StreamOrder& first = known->second;
    const bool are_both_open = !first.is_acknowledged && !queued.is_acknowledged;
    if (first.order.entry != queued.order.entry || are_both_open) {
      problem(queued.order, "is doubled: in the stream as " + first.entry.to_string() + " and as " +
                                queued.entry.to_string());
    }
    if (first.is_acknowledged) first = queued;
  }
}

absl::Status VoucherAuditor::count_queued(const Ids& dead) {
  std::vector<Order> queued;
  for (const auto& [id, waiting] : waiting_) {
    if (stored_.contains(id)) continue;  // not yet acknowledged, or not yet trimmed
    const Order& order = waiting.order;
    if (!waiting.is_acknowledged) {
      count(order, result_.queued);
      queued.push_back(order);
    } else if (!dead.contains(id)) {
      problem(order, "of user " + order.user.text() + " is acknowledged but not stored (entry " +
                         waiting.entry.to_string() + ")");
    }
  }
  return check_keys(queued);
}

VoucherAuditor::Ids VoucherAuditor::find_dead() {
  Ids dead;
  for (const Order& order : evidence_.dead) {
    if (is_after_audit(order)) continue;
    if (!dead.insert(order.id).second) problem(order, "died twice");
  }
  for (const Order& order : evidence_.discarded) dead.insert(order.id);
  return dead;
}

absl::Status VoucherAuditor::count_dead() {
  for (const Order& order : evidence_.dead) {
    if (is_after_audit(order)) continue;
    if (stored_.contains(order.id)) {
      const auto still = find_dead_letter(client_, keys_, order.id);
      if (!still.ok()) return still.status();
      if (still->has_value()) problem(order, "is both stored and among the dead letters");
      continue;
    }
    const auto waiting = waiting_.find(order.id);
    const bool is_queued = waiting != waiting_.end() && !waiting->second.is_acknowledged;
    if (is_queued) continue;  // it died, or was retried, during the audit
    count(order, result_.dead);
  }
  return absl::OkStatus();
}

/// Counts discarded orders: each explains why its user has one less than was admitted. It may never
/// have been admitted at all.
void VoucherAuditor::count_discarded() {
  for (const Order& order : evidence_.discarded) {
    if (is_after_audit(order)) continue;
    ++result_.discarded;
    ++discarded_[order.user];
    if (stored_.contains(order.id)) problem(order, "is both stored and discarded");
  }
}

void VoucherAuditor::count(const Order& now, std::int64_t& place) {
  if (!is_known()) {
    problem(now, "of user " + now.user.text() + " is of an unknown voucher");
  }
  const Order order = at_counters(now);
  const bool is_later = counters().taken_at.precedes(order.entry);
  const std::int64_t pieces = pieces_of_user(order);
  Bought& bought = bought_[order.user];
  (is_later ? bought.later : bought.orders) += pieces;
  if (!is_later) {
    place += pieces;
    taken_ += pieces_taken(order);
    if (!is_live(order)) ++result_.ended;
    if (order.status == OrderStatus::kUnpaid) result_.unpaid += pieces;
  }
  bought.limit = std::max(bought.limit, order.limit);
  bought.unlimited = bought.unlimited || order.limit == 0;
  if (order.entry == StreamId{}) return;  // adopted from another system: its time is unknown
  check_window(order);
  if (day_rule_) {
    const std::int64_t day = sale_day(order.admitted_at_ms, day_rule_->utc_offset_minutes);
    bought_on_day_[{order.user, day}] += pieces;
  }
}

void VoucherAuditor::check_window(const Order& order) {
  const auto allows = [&](const VoucherVersion& version) {
    return is_in_window(version, order.entry);
  };
  if (evidence_.versions.empty() || std::ranges::any_of(evidence_.versions, allows)) return;
  problem(order, "of user " + order.user.text() + " was admitted at " +
                     std::to_string(order.admitted_at_ms) + " ms, outside the window of the sale");
}

/// Finds the limit per day. Older orders do not name their version, so the loosest one counts.
void VoucherAuditor::find_day_rule() {
  for (const VoucherVersion& version : evidence_.versions) {
    const Limits& limits = version.voucher.limits;
    const bool is_same_day =
        !day_rule_ || day_rule_->utc_offset_minutes == limits.utc_offset_minutes;
    if (limits.per_user_day == 0 || !is_same_day) {
      day_rule_.reset();
      return;
    }
    if (!day_rule_ || day_rule_->per_user_day < limits.per_user_day) day_rule_ = limits;
  }
}

// ---- Comparing ----

void VoucherAuditor::compare_version() {
  if (!is_known()) return;
  if (!recorded_) {
    problems_.push_back("voucher " + std::to_string(result_.voucher) +
                        " is on sale and the database does not know it");
    return;
  }
  if (!counters().version || !counters().published) return;
  if (is_in_force(recorded_, counters())) {
    const std::string different = find_differences(*recorded_, evidence_.snapshot.terms);
    if (!different.empty()) {
      problem("version " + std::to_string(recorded_->version) +
              " is in force with other terms than the recorded ones: " + different);
    }
    return;
  }
  problem("version " + std::to_string(*counters().version) + " with a stock of " +
          std::to_string(*counters().published) + " is in force, version " +
          std::to_string(recorded_->version) + " with " + std::to_string(recorded_->voucher.stock) +
          " is recorded");
}

void VoucherAuditor::compare_buyers() {
  for (const auto& [user, bought] : bought_) compare_orders(user, bought);
  std::vector<std::pair<UserId, std::int64_t>> lost;
  for (const auto& [user, admitted] : evidence_.snapshot.buyers) {
    if (!count_admitted(user, admitted)) lost.emplace_back(user, admitted);
  }
  for (const auto& [user, bought] : bought_) {
    const bool has_record = evidence_.snapshot.buyers.contains(user);
    if (bought.was_given_back && !has_record) result_.admitted += bought.orders;
  }
  std::ranges::sort(lost);
  for (const auto& [user, admitted] : lost) {
    problem("lost: user " + user.text() + " was admitted " + std::to_string(admitted) +
            " times and has " + std::to_string(bought_by(user).all()) + " pieces");
  }
}

VoucherAuditor::Bought VoucherAuditor::bought_by(const UserId& user) const {
  const auto found = bought_.find(user);
  return found == bought_.end() ? Bought{} : found->second;
}

/// Finds orders of a user beyond the number admitted, or beyond the user's limit.
void VoucherAuditor::compare_orders(const UserId& user, const Bought& bought) {
  const auto found = evidence_.snapshot.buyers.find(user);
  const std::int64_t admitted = found == evidence_.snapshot.buyers.end() ? 0 : found->second;
  if (bought.orders > admitted && !bought.was_given_back) {
    problem(orders_of(user, bought.orders) + " and was admitted " + std::to_string(admitted) +
            " times");
  }
  if (!bought.unlimited && bought.all() > bought.limit) {
    problem(orders_of(user, bought.all()) + ", above the limit of " + std::to_string(bought.limit) +
            " per user");
  }
}

/// Counts how often a user was admitted. Returns false if there are fewer orders.
bool VoucherAuditor::count_admitted(const UserId& user, std::int64_t admitted) {
  const Bought bought = bought_by(user);
  if (bought.was_given_back) {
    result_.admitted += bought.orders;
    return true;
  }
  // The buyers' records may include some of the later orders.
  result_.admitted += bought.later > 0 ? std::min(bought.orders, admitted) : admitted;
  const auto discarded = discarded_.find(user);
  const std::int64_t given_up = discarded == discarded_.end() ? 0 : discarded->second;
  return bought.all() + given_up >= admitted;
}

void VoucherAuditor::compare_counters() {
  if (!is_known()) return;
  result_.given_back = counters().given_back;
  result_.published = recorded_ ? recorded_->voucher.stock : counters().published.value_or(0);
  result_.withheld = counters().withheld;
  if (taken_ > result_.published) {
    problem("oversold: " + std::to_string(taken_) + " pieces of a stock of " +
            std::to_string(result_.published));
  }
  if (!counters().version || !counters().published || !counters().stock) {
    problem("the keyspace has lost it (it is rebuilt with the next purchase)");
    return;
  }
  result_.free = *counters().stock;
  if (result_.free < 0) problem("oversold: the stock is " + std::to_string(result_.free));
  const std::int64_t sum = result_.free + result_.admitted - result_.given_back + result_.withheld;
  if (result_.published != sum) {
    problem("published " + std::to_string(result_.published) + " is not free " +
            std::to_string(result_.free) + " + admitted " + std::to_string(result_.admitted) +
            " - given back " + std::to_string(result_.given_back) + " + withheld " +
            std::to_string(result_.withheld));
  }
}

/// Compares the limits of the sale and per day. A limit that was changed counts at its loosest.
void VoucherAuditor::compare_limits() {
  const bool counts_admitted = recorded_ && recorded_->voucher.limits.total > 0;
  const std::int64_t sold = result_.admitted - result_.given_back + result_.withheld;
  if (counts_admitted && is_in_force(recorded_, counters()) && counters().admitted != sold) {
    problem("the count for the limit of the sale is " +
            (counters().admitted ? std::to_string(*counters().admitted) : "missing") + ", and " +
            std::to_string(sold) + " pieces are sold");
  }
  const std::int64_t total = loosest_total(evidence_.versions);
  if (total > 0 && taken_ > total) {
    problem(std::to_string(taken_) + " pieces are above the limit of " + std::to_string(total) +
            " for the whole sale");
  }
  for (const auto& [user_day, count] : bought_on_day_) {
    if (count <= day_rule_->per_user_day) continue;
    problem(orders_of(user_day.first, count) + " of one day, above the limit of " +
            std::to_string(day_rule_->per_user_day) + " per day");
  }
}

}  // namespace rushgate
