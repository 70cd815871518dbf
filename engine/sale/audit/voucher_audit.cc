#include "engine/sale/audit/voucher_audit.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/audit/key_audit.h"
#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/stream/dead_letters.h"

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
  return concat("user ", user.text(), " has ", count, " pieces");
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

std::string find_fault(const std::vector<VoucherVersion>& versions) {
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const VoucherVersion& version = versions[i];
    const auto number = static_cast<std::int64_t>(i) + 1;
    if (version.version != number) {
      return concat("its version ", number, " is missing");
    }
    if (version.state > VoucherVersion::State::kRefused) {
      return concat("its version ", number, " has the unknown state ",
                    static_cast<int>(version.state));
    }
    // The keyspace does not say that a voucher is on one lane.
    if (version.voucher.lanes < 1) {
      return concat("its version ", number, " is on ", version.voucher.lanes, " lanes");
    }
    const bool is_last = i + 1 == versions.size();
    if (version.state == VoucherVersion::State::kPending && !is_last) {
      return concat("its version ", number, " is pending, and a later one follows it");
    }
  }
  return {};
}

VoucherAuditor::VoucherAuditor(VoucherId voucher, const VoucherEvidence& evidence,
                               LateChanges& late_changes, Client& client, OrderStore& orders,
                               const SaleKeys& keys, OnOrders on_orders)
    : evidence_(evidence),
      late_changes_(late_changes),
      client_(client),
      orders_(orders),
      on_orders_(std::move(on_orders)),
      keys_(keys) {
  result_.voucher = voucher;
  for (const OrderEvent& event : evidence.events) {
    if (event.kind == OrderEvent::Kind::kSurplusPayment) continue;
    const bool is_later = counters().taken_at.precedes(event.order.entry);
    (is_later ? ended_later_ : ended_).emplace(event.order.id, &event);
  }
}

/// Returns an order as it was when the counters were taken. Its state may be that of an event which
/// is not stored yet. An end that came later is undone. If the moment is not known, the order
/// counts as live, and its pieces as uncertain.
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
  const OrderChange* const late = late_changes_.find(order.id);
  if (is_live(order)) {
    const bool ended_later = ended_later_.contains(order.id);
    if (ended_later || order.status == OrderStatus::kRefunding) {
      bought_[order.user].was_given_back = true;
    }
    const bool is_unknown = late != nullptr || !evidence_.knows_refunding;
    if (order.status == OrderStatus::kRefunding && is_unknown) uncertain_ += order.quantity;
    return order;
  }
  const bool has_event = order.status == OrderStatus::kCancelled && ended_.contains(order.id);
  if (late == nullptr || has_event) return order;
  bought_[order.user].was_given_back = true;
  uncertain_ += order.quantity;
  end_as(late->from, 0);
  return order;
}

void VoucherAuditor::problem(const std::string& description) {
  problems_.push_back(concat("voucher ", result_.voucher, ": ", description));
}

void VoucherAuditor::problem(const Order& order, const std::string& description) {
  problem(concat("order ", order.id, " ", description));
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
  if (!evidence_.version_fault.empty()) problem(evidence_.version_fault);
  for (const std::string& fault : evidence_.snapshot.faults) problem(fault);
  absl::Status read = count_stored();
  if (!read.ok()) return read;
  collect_waiting();
  read = count_queued(find_dead());
  if (!read.ok()) return read;
  read = count_dead();
  if (read.ok()) read = check_index();
  if (!read.ok()) return read;
  count_discarded();

  const bool has_buyers = !evidence_.snapshot.buyers.empty();
  if (!is_known() && !has_buyers && bought_.empty()) return absl::OkStatus();
  if (counters().is_being_rebuilt()) {
    report.warnings.push_back(
        concat("voucher ", result_.voucher,
               " is being rebuilt: its stock and its buyers were not compared"));
  } else {
    if (is_known() || has_buyers) compare_buyers();
    compare_counters();
    compare_limits();
    compare_days();
  }
  if (read = compare_refunds(); !read.ok()) return read;
  report.vouchers.push_back(result_);
  std::ranges::move(problems_, std::back_inserter(report.problems));
  return absl::OkStatus();
}

// ---- Orders ----

absl::Status VoucherAuditor::count_stored() {
  OrderFilter filter{.voucher = result_.voucher, .count_max = 10'000};
  while (true) {
    ASSIGN_OR_RETURN(const auto portion, orders_.list(filter));
    RETURN_IF_ERROR(late_changes_.refresh());
    for (const Order& order : portion) {
      if (is_refund(order.status)) refunded_.insert(order.id);
      if (is_after_audit(order)) {
        later_buyers_.insert(order.user);
        continue;
      }
      stored_.insert(order.id);
      count(order, result_.created);
    }
    RETURN_IF_ERROR(check_keys(portion));
    on_orders_(portion.size());
    if (portion.size() < filter.count_max) return absl::OkStatus();
    filter.after = portion.back().id;
  }
}

absl::Status VoucherAuditor::check_keys(std::span<const Order> orders) {
  // The keys are lost with the voucher, and a rebuild restores them.
  if (!counters().version || counters().is_being_rebuilt()) return absl::OkStatus();
  for (const Order& order : orders) {
    if (order.idempotency_key.empty()) continue;
    const KeyOwner owner{order.id, order.admitted_at_ms, order.key_expires_at_ms};
    const auto [known, is_new] = key_owners_.try_emplace(order.idempotency_key, owner);
    if (is_new) continue;
    const Order other{.id = known->second.order,
                      .admitted_at_ms = known->second.admitted_at_ms,
                      .idempotency_key = order.idempotency_key,
                      .key_expires_at_ms = known->second.expires_at_ms};
    if (shares_key(order, other)) {
      problem(order, concat("has the idempotency key of order ", other.id));
    } else if (owner.expires_at_ms > other.key_expires_at_ms) {
      known->second = owner;
    }
  }
  ASSIGN_OR_RETURN(const auto wrong, find_wrong_keys(client_, keys_, orders));
  for (const WrongKey& key : wrong) {
    problem(concat("order ", key.order, " ", key.fault));
  }
  return absl::OkStatus();
}

/// Collects each order in the stream once.
void VoucherAuditor::collect_waiting() {
  for (const StreamOrder& queued : evidence_.queued) {
    if (is_after_audit(queued.order)) {
      later_buyers_.insert(queued.order.user);
      continue;
    }
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
      ASSIGN_OR_RETURN(const auto still, find_dead_letter(client_, keys_, order.id));
      if (still.has_value()) problem(order, "is both stored and among the dead letters");
      continue;
    }
    const auto waiting = waiting_.find(order.id);
    const bool is_queued = waiting != waiting_.end() && !waiting->second.is_acknowledged;
    if (is_queued) continue;  // it died, or was retried, during the audit
    count(order, result_.dead);
  }
  return absl::OkStatus();
}

/// Compares the index of the dead letters with them. An earlier version kept none, so a letter that is
/// not there is looked up first.
absl::Status VoucherAuditor::check_index() {
  constexpr std::size_t kLettersPerRead = 1'000;
  for (std::size_t begin = 0; begin < evidence_.dead.size(); begin += kLettersPerRead) {
    const std::size_t end = std::min(begin + kLettersPerRead, evidence_.dead.size());
    Request request = Request::of("HMGET", keys_.dead_letter_orders());
    for (std::size_t i = begin; i < end; ++i) request.add(evidence_.dead[i].id);
    const Reply places = client_.call(std::move(request));
    if (!places.is_aggregate() || places.elements().size() != end - begin) {
      return to_status(places, "reading the index of the dead letters");
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (!places.elements()[i - begin].is_nil()) continue;
      const Order& order = evidence_.dead[i];
      ASSIGN_OR_RETURN(const auto letter, find_dead_letter(client_, keys_, order.id));
      if (letter.has_value()) continue;
      problem(order, "is a dead letter that " + keys_.dead_letter_orders() + " does not have");
    }
  }
  return absl::OkStatus();
}

/// Counts discarded orders: each explains why its user has one less than was admitted. It may never
/// have been admitted at all.
void VoucherAuditor::count_discarded() {
  for (const Order& order : evidence_.discarded) {
    if (is_after_audit(order)) continue;
    ++result_.discarded;
    discarded_pieces_ += order.quantity;
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
  if (is_later) later_buyers_.insert(order.user);
  bought.was_adopted = bought.was_adopted || order.entry == StreamId{};
  if (!is_later) {
    place += pieces;
    const std::int64_t of_stock = pieces_taken(order);
    taken_ += of_stock;
    given_back_ += std::max<std::int64_t>(pieces - of_stock, 0);
    withheld_ += std::max<std::int64_t>(of_stock - pieces, 0);
    if (!is_live(order)) ++result_.ended;
    if (order.status == OrderStatus::kUnpaid) result_.unpaid += pieces;
  }
  bought.limit = std::max(bought.limit, order.limit);
  bought.unlimited = bought.unlimited || order.limit == 0;
  check_terms(order);
  if (order.entry == StreamId{}) return;  // adopted from another system: its time is unknown
  check_window(order);
  if (day_rule_) {
    const std::int64_t day = sale_day(order.admitted_at_ms, day_rule_->utc_offset_minutes);
    bought_on_day_[{order.user, day}] += pieces;
  }
}

void VoucherAuditor::check_window(const Order& order) {
  const auto is_recorded = [&](const VoucherVersion& version) {
    return version.version == order.version;
  };
  const bool is_known_version = std::ranges::any_of(evidence_.versions, is_recorded);
  const auto allows = [&](const VoucherVersion& version) {
    const bool is_its = !is_known_version || version.version == order.version;
    return is_its && is_in_window(version, order.entry);
  };
  if (evidence_.versions.empty() || std::ranges::any_of(evidence_.versions, allows)) return;
  problem(order, concat("of user ", order.user.text(), " was admitted at ", order.admitted_at_ms,
                        " ms, outside the window of the sale"));
}

/// Returns null if the version is not recorded.
const VoucherVersion* VoucherAuditor::find_version(std::int64_t number) const {
  for (const auto* const versions : {&evidence_.versions, &evidence_.refused_versions}) {
    const auto found = std::ranges::find(*versions, number, &VoucherVersion::version);
    if (found != versions->end()) return &*found;
  }
  return nullptr;
}

/// Compares an order with the version under which it was admitted. Other producers name none.
void VoucherAuditor::check_terms(const Order& order) {
  if (order.version == 0 && order.due_at_ms != 0)
    problem(order, "demands payment under no version");
  if (order.version == 0 || evidence_.versions.empty()) return;
  const std::string name = concat("version ", order.version);
  const VoucherVersion* const version = find_version(order.version);
  if (version == nullptr) {
    problem(order, "was admitted under " + name + ", which is not recorded");
    return;
  }
  const Voucher& terms = version->voucher;
  const auto differ = [&](std::string_view field, std::int64_t here, std::int64_t there) {
    if (here == there) return;
    problem(order, concat("has the ", field, " ", here, ", and ", name, " ", there));
  };
  // A voucher that an older version put in force has no price in the keyspace.
  const bool has_price = order.price_cents != 0 || order.due_at_ms != 0;
  if (has_price) differ("price", order.price_cents, terms.price_cents);
  differ("limit per user", order.limit, terms.limits.per_user);
  // A clock that was set back gives a deadline earlier than that.
  const bool has_deadline = order.due_at_ms != 0;
  const bool is_in_time =
      order.due_at_ms > 0 && order.due_at_ms <= order.admitted_at_ms + terms.payment_ms;
  if (has_deadline != (terms.payment_ms > 0) || (has_deadline && !is_in_time)) {
    problem(order, concat("is due at ", order.due_at_ms, " ms, and ", name, " gives ",
                          terms.payment_ms, " ms"));
  }
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
    problems_.push_back(
        concat("voucher ", result_.voucher, " is on sale and the database does not know it"));
    return;
  }
  if (!counters().version || !counters().published) return;
  if (is_in_force(recorded_, counters())) {
    const std::string different = find_differences(*recorded_, evidence_.snapshot.terms);
    if (!different.empty()) {
      problem(concat("version ", recorded_->version,
                     " is in force with other terms than the recorded ones: ", different));
    }
    return;
  }
  problem(concat("version ", *counters().version, " with a stock of ", *counters().published,
                 " is in force, version ", recorded_->version, " with ", recorded_->voucher.stock,
                 " is recorded"));
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
    problem(concat("lost: user ", user.text(), " was admitted ", admitted, " times and has ",
                   bought_by(user).all(), " pieces"));
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
    problem(concat(orders_of(user, bought.orders), " and was admitted ", admitted, " times"));
  }
  if (!bought.unlimited && bought.all() > bought.limit) {
    problem(
        concat(orders_of(user, bought.all()), ", above the limit of ", bought.limit, " per user"));
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
  const std::int64_t stock = result_.published + counters().moved;  // of this lane
  if (taken_ > stock) {
    problem(concat("oversold: ", taken_, " pieces of a stock of ", stock));
  }
  if (!counters().version || !counters().published || !counters().stock) {
    problem("the keyspace has lost it (it is rebuilt with the next purchase)");
    return;
  }
  result_.free = *counters().stock;
  if (result_.free < 0) problem(concat("oversold: the stock is ", result_.free));
  const std::int64_t sum = result_.free + result_.admitted - result_.given_back + result_.withheld;
  if (stock != sum) {
    problem(concat("published ", stock, " is not free ", result_.free, " + admitted ",
                   result_.admitted, " - given back ", result_.given_back, " + withheld ",
                   result_.withheld));
  }
  compare_pieces();
  compare_rebuild();
}

/// Compares the counters with the orders. Of orders that were discarded some were never admitted. A
/// difference that follows from one that is named is not named twice.
void VoucherAuditor::compare_pieces() {
  const std::int64_t sold = result_.published + counters().moved - result_.free;
  const bool is_right = sold >= taken_ - uncertain_ && sold <= taken_ + discarded_pieces_;
  if (!is_right && problems_.empty()) {
    problem(concat("its orders take ", taken_, " pieces, and the stock lacks ", sold));
  }
  const bool is_exact = uncertain_ == 0 && result_.discarded == 0;
  const auto compare = [&](const char* name, std::int64_t here, std::int64_t there) {
    if (!is_exact || here == there) return;
    problem(concat(name, " counts ", here, " pieces, and its orders have ", there));
  };
  compare("given_back", result_.given_back, given_back_);
  compare("withheld", result_.withheld, withheld_);
}

/// Compares what a rebuild sets: the type of the buyers, and the epoch.
void VoucherAuditor::compare_rebuild() {
  const bool is_hash = counters().buyers_type == "hash";
  if (counters().buyers_type != "none" && is_hash != counters().is_counted) {
    problem("its buyers are a " + counters().buyers_type + ", and the field counted says a " +
            (counters().is_counted ? "hash" : "set"));
  }
  if (counters().epoch > evidence_.database_epoch) {
    problem(concat("was rebuilt in epoch ", counters().epoch, ", and the database is in ",
                   evidence_.database_epoch));
  }
}

/// Compares the limits of the sale and per day. A limit that was changed counts at its loosest.
void VoucherAuditor::compare_limits() {
  const bool counts_admitted = recorded_ && recorded_->voucher.limits.total > 0;
  const std::int64_t sold = result_.admitted - result_.given_back + result_.withheld;
  if (counts_admitted && is_in_force(recorded_, counters()) && counters().admitted != sold) {
    problem(concat("the count for the limit of the sale is ",
                   (counters().admitted ? std::to_string(*counters().admitted) : "missing"),
                   ", and ", sold, " pieces are sold"));
  }
  const std::int64_t total = loosest_total(evidence_.versions);
  if (total > 0 && taken_ > total) {
    problem(concat(taken_, " pieces are above the limit of ", total, " for the whole sale"));
  }
  for (const auto& [user_day, count] : bought_on_day_) {
    if (count <= day_rule_->per_user_day) continue;
    problem(concat(orders_of(user_day.first, count), " of one day, above the limit of ",
                   day_rule_->per_user_day, " per day"));
  }
}

/// Compares the users' records of the limit per day. Users whose orders came or went meanwhile are left
/// out. A record that is missing, or of an earlier day, limits nothing today.
void VoucherAuditor::compare_days() {
  const bool has_rule = recorded_ && recorded_->voucher.limits.per_user_day > 0 && day_rule_;
  if (!has_rule || !is_in_force(recorded_, counters())) return;
  const auto is_certain = [&](const UserId& user) {
    const auto found = bought_.find(user);
    const bool has_moved =
        found != bought_.end() && (found->second.was_given_back || found->second.was_adopted);
    return !has_moved && !later_buyers_.contains(user) && !discarded_.contains(user);
  };
  const auto pieces_on = [&](const UserId& user, std::int64_t day) {
    const auto found = bought_on_day_.find({user, day});
    return found == bought_on_day_.end() ? 0 : found->second;
  };
  const auto name = [](const UserId& user, std::int64_t day) {
    return concat("user ", user.text(), " has bought on day ", day, " ");
  };
  for (const auto& [user, record] : evidence_.snapshot.days) {
    const std::int64_t pieces = pieces_on(user, record.day);
    if (!is_certain(user) || pieces == record.count) continue;
    problem(concat(name(user, record.day), pieces, " pieces, and the record says ", record.count));
  }
  const std::int64_t today = sale_day(counters().taken_at.time_ms, day_rule_->utc_offset_minutes);
  for (const auto& [user_day, pieces] : bought_on_day_) {
    const auto& [user, day] = user_day;
    const auto record = evidence_.snapshot.days.find(user);
    const bool is_recorded = record != evidence_.snapshot.days.end() && record->second.day >= day;
    if (pieces == 0 || day < today || is_recorded || !is_certain(user)) continue;
    problem(concat(name(user, day), pieces, " pieces, and has no record of it"));
  }
}

/// Checks that the database has begun the refund of each order that was given back as one.
absl::Status VoucherAuditor::compare_refunds() {
  for (const OrderId id : evidence_.snapshot.refunds) {
    if (refunded_.contains(id)) continue;
    ASSIGN_OR_RETURN(const auto order, orders_.find(id));
    const bool is_right =
        order.has_value() && order->voucher == result_.voucher && is_refund(order->status);
    if (is_right) continue;
    problem(concat("order ", id, " was given back as a refund, and ",
                   (order.has_value() ? "is " + std::string(order_status_name(order->status))
                                      : std::string("is not stored"))));
  }
  return absl::OkStatus();
}

}  // namespace rushgate
