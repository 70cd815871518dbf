#include "engine/sale/audit/audit.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/base/numbers.h"
#include "engine/sale/audit/audit_snapshot.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/orders/group_progress.h"
#include "engine/sale/orders/order_entry.h"
#include "engine/sale/orders/unstored_orders.h"
#include "engine/sale/reply_status.h"

namespace rushgate {
namespace {

using Counts = absl::flat_hash_map<UserId, std::int64_t>;

/// The audit of one voucher.
class VoucherAuditor {
 public:
  VoucherAuditor(Client& client, OrderStore& orders, const SaleKeys& keys, VoucherId voucher,
                 AuditReport& report)
      : client_(client), orders_(orders), keys_(keys), report_(report) {
    result_.voucher = voucher;
  }

  absl::Status run() {
    absl::Status read = take_snapshot();
    if (!read.ok()) return read;
    compare_counters();
    // The streams first, then what was acknowledged, the database after them: an order that moves
    // meanwhile is met in one of them, and one that was acknowledged after it was stored is there.
    const auto unstored = read_unstored_orders(client_, keys_, result_.voucher);
    if (!unstored.ok()) return unstored.status();
    const auto acknowledged = AcknowledgedEntries::read(client_, keys_);
    if (!acknowledged.ok()) return acknowledged.status();
    read = meet_stored();
    if (read.ok()) read = meet_unstored(*unstored, *acknowledged);
    if (!read.ok()) return read;
    const bool has_traces = !bought_.empty() || !snapshot_.buyers.empty();
    if (!is_known() && !has_traces) return absl::OkStatus();
    if (is_known() || !snapshot_.buyers.empty()) compare_buyers(snapshot_.buyers);
    report_.vouchers.push_back(result_);
    return absl::OkStatus();
  }

 private:
  struct Bought {
    std::int64_t orders = 0;
    std::int64_t limit = 0;  // the largest under which one of them was admitted; 0: any number
    bool unlimited = false;
  };

  using Ids = absl::flat_hash_set<OrderId>;

  /// An order in the stream.
  struct Waiting {
    Order order;
    StreamId entry;        // under which it stands there
    bool is_open = false;  // the entry is not acknowledged
  };

  [[nodiscard]] std::string name() const { return "voucher " + std::to_string(result_.voucher); }
  void problem(const std::string& what) { report_.problems.push_back(name() + ": " + what); }
  void problem(const Order& order, const std::string& what) {
    problem("order " + std::to_string(order.id) + ' ' + what);
  }

  // ---- Counters ----

  /// Takes the snapshot, and finds the record of the version that it shows in force. A version is
  /// recorded as pending before it is put in force and as applied after that, so a publication
  /// that came in between leaves them apart: then both are looked at again.
  absl::Status take_snapshot() {
    constexpr int kLooksMax = 5;
    for (int look = 0; look < kLooksMax; ++look) {
      auto snapshot = take_audit_snapshot(client_, keys_, result_.voucher);
      if (!snapshot.ok()) return snapshot.status();
      snapshot_ = *std::move(snapshot);
      const absl::Status found = find_recorded();
      if (!found.ok()) return found;
      if (!snapshot_.version || is_in_force(recorded_)) break;
    }
    return absl::OkStatus();
  }

  /// The version in force if it is recorded, otherwise the one that should be.
  absl::Status find_recorded() {
    const auto applied = orders_.applied(result_.voucher);
    if (!applied.ok()) return applied.status();
    recorded_ = *applied;
    if (is_in_force(recorded_)) return absl::OkStatus();
    const auto pending = orders_.pending();
    if (!pending.ok()) return pending.status();
    for (const VoucherVersion& version : *pending) {
      if (version.voucher.id == result_.voucher && is_in_force(version)) recorded_ = version;
    }
    return absl::OkStatus();
  }

  [[nodiscard]] bool is_in_force(const std::optional<VoucherVersion>& version) const {
    return version && snapshot_.version == version->version &&
           snapshot_.published == version->voucher.stock;
  }

  /// False if it never was on sale, or if both the database and the keyspace lost it.
  [[nodiscard]] bool is_known() const { return recorded_ || snapshot_.version; }

  void compare_counters() {
    for (const auto& [user, count] : snapshot_.buyers) result_.admitted += count;
    if (!is_known()) return;
    if (!recorded_) {
      report_.problems.push_back(name() + " is on sale and the database does not know it");
    }
    result_.given_back = snapshot_.given_back;
    result_.published = recorded_ ? recorded_->voucher.stock : snapshot_.published.value_or(0);
    if (!snapshot_.version || !snapshot_.published || !snapshot_.stock) {
      problem("the keyspace has lost it (it is rebuilt when somebody buys)");
      return;
    }
    result_.free = *snapshot_.stock;
    if (recorded_ && !is_in_force(recorded_)) {
      problem("version " + std::to_string(*snapshot_.version) + " with a stock of " +
              std::to_string(*snapshot_.published) + " is in force, version " +
              std::to_string(recorded_->version) + " with " +
              std::to_string(recorded_->voucher.stock) + " is recorded");
    }
    if (result_.free < 0) problem("oversold: the stock is " + std::to_string(result_.free));
    if (result_.published != result_.free + result_.admitted - result_.given_back) {
      problem("published " + std::to_string(result_.published) + " is not free " +
              std::to_string(result_.free) + " + admitted " + std::to_string(result_.admitted) +
              " - given back " + std::to_string(result_.given_back));
    }
  }

  // ---- Orders ----

  absl::Status meet_stored() {
    const OrderFilter filter{
        .user = {}, .voucher = result_.voucher, .status = {}, .after = 0, .count_max = 10'000};
    return for_each_order(orders_, filter, [this](const Order& order) {
      if (!snapshot_.is_before(order.entry)) meet_created(order);
    });
  }

  absl::Status meet_unstored(const UnstoredOrders& unstored,
                             const AcknowledgedEntries& acknowledged) {
    meet_waiting(unstored, acknowledged);
    const Ids dead = meet_dead(unstored);
    for (const auto& [id, waiting] : waiting_) {
      if (stored_.contains(id)) continue;  // not yet acknowledged, or not yet trimmed
      const Order& order = waiting.order;
      if (waiting.is_open) {
        ++result_.queued;
        count(order);
      } else if (!dead.contains(id)) {
        problem(order, "of user " + std::to_string(order.user) + " is acknowledged but not stored" +
                           " (entry " + waiting.entry.to_string() + ")");
      }
    }
    return count_dead(unstored);
  }

  /// Each order in the stream once.
  void meet_waiting(const UnstoredOrders& unstored, const AcknowledgedEntries& acknowledged) {
    for (std::size_t i = 0; i < unstored.queued.size(); ++i) {
      const Order& order = unstored.queued[i];
      if (snapshot_.is_before(order.entry)) continue;
      const StreamId entry = unstored.queued_as[i];
      const bool is_open = !acknowledged.contains(entry);
      const auto [known, is_new] = waiting_.try_emplace(order.id, Waiting{order, entry, is_open});
      if (is_new) continue;
      // What died and was retried stands there twice where another group keeps its first entry.
      Waiting& first = known->second;
      if (first.order.entry != order.entry || (first.is_open && is_open)) {
        problem(order, "is doubled: in the stream as " + first.entry.to_string() + " and as " +
                           entry.to_string());
      }
      if (!first.is_open) first = {order, entry, is_open};
    }
  }

  Ids meet_dead(const UnstoredOrders& unstored) {
    Ids dead;
    for (const Order& order : unstored.dead) {
      if (snapshot_.is_before(order.entry)) continue;
      if (!dead.insert(order.id).second) problem(order, "died twice");
    }
    return dead;
  }

  absl::Status count_dead(const UnstoredOrders& unstored) {
    for (const Order& order : unstored.dead) {
      if (snapshot_.is_before(order.entry)) continue;
      if (stored_.contains(order.id)) {
        const auto still = find_dead_letter(client_, keys_, order.id);
        if (!still.ok()) return still.status();
        if (still->has_value()) problem(order, "is both stored and among the dead letters");
        continue;
      }
      const auto waiting = waiting_.find(order.id);
      if (waiting != waiting_.end() && waiting->second.is_open)
        continue;  // it died, or was retried, while we looked: it counts as queued
      ++result_.dead;
      count(order);
    }
    return absl::OkStatus();
  }

  void meet_created(const Order& order) {
    stored_.insert(order.id);
    ++result_.created;
    count(order);
  }

  void count(const Order& order) {
    if (!is_known()) {
      problem(order, "of user " + std::to_string(order.user) + " is of a voucher nobody knows");
    }
    Bought& bought = bought_[order.user];
    ++bought.orders;
    bought.limit = std::max(bought.limit, order.limit);
    bought.unlimited = bought.unlimited || order.limit == 0;
  }

  // ---- Buyers ----

  void compare_buyers(const Counts& buyers) {
    for (const auto& [user, count] : buyers) {
      const auto found = bought_.find(user);
      const std::int64_t orders = found == bought_.end() ? 0 : found->second.orders;
      if (orders < count) {
        problem("lost: user " + std::to_string(user) + " was admitted " + std::to_string(count) +
                " times and has " + std::to_string(orders) + " orders");
      }
    }
    for (const auto& [user, bought] : bought_) {
      const auto found = buyers.find(user);
      const std::int64_t admitted = found == buyers.end() ? 0 : found->second;
      if (bought.orders > admitted) {
        problem("user " + std::to_string(user) + " has " + std::to_string(bought.orders) +
                " orders and was admitted " + std::to_string(admitted) + " times");
      }
      if (!bought.unlimited && bought.orders > bought.limit) {
        problem("user " + std::to_string(user) + " has " + std::to_string(bought.orders) +
                " orders, above his limit of " + std::to_string(bought.limit));
      }
    }
  }

  Client& client_;
  OrderStore& orders_;
  const SaleKeys& keys_;
  AuditReport& report_;
  VoucherAudit result_;
  AuditSnapshot snapshot_;
  std::optional<VoucherVersion> recorded_;
  Ids stored_;
  absl::btree_map<OrderId, Waiting> waiting_;
  std::map<UserId, Bought> bought_;  // ordered: the same problems in the same order
};

/// What died and was retried while we looked may have been nowhere when we came there. Then all is
/// looked at again: a look during which nothing died and nothing was retried misses none.
absl::Status audit_voucher(Client& client, OrderStore& orders, const SaleKeys& keys,
                           VoucherId voucher, AuditReport& report) {
  constexpr int kLooksMax = 20;
  for (int look = 1;; ++look) {
    const auto before = mark_dead_letters(client, keys);
    if (!before.ok()) return before.status();
    AuditReport seen;
    const absl::Status audited = VoucherAuditor(client, orders, keys, voucher, seen).run();
    if (!audited.ok()) return audited;
    const auto after = mark_dead_letters(client, keys);
    if (!after.ok()) return after.status();
    if (!seen.problems.empty() && *before != *after && look < kLooksMax) continue;
    std::ranges::move(seen.vouchers, std::back_inserter(report.vouchers));
    std::ranges::move(seen.problems, std::back_inserter(report.problems));
    return absl::OkStatus();
  }
}

// ---- What is to be audited ----

using Vouchers = absl::btree_set<VoucherId>;

/// Those on sale, those whose first publication was not yet settled, and those of stored orders.
absl::Status add_recorded(OrderStore& orders, Vouchers& vouchers) {
  const auto pending = orders.pending();
  if (!pending.ok()) return pending.status();
  const auto applied = orders.all_applied();
  if (!applied.ok()) return applied.status();
  for (const auto* versions : {&*pending, &*applied}) {
    for (const VoucherVersion& version : *versions) vouchers.insert(version.voucher.id);
  }
  const auto ordered = orders.vouchers_with_orders();
  if (!ordered.ok()) return ordered.status();
  vouchers.insert(ordered->begin(), ordered->end());
  return absl::OkStatus();
}

/// Those that the keyspace has on sale, whatever the database knows.
absl::Status add_on_sale(Client& client, const SaleKeys& keys, Vouchers& vouchers) {
  const Reply members = client("SMEMBERS", keys.vouchers());
  if (!members.is_aggregate()) return to_status(members, "listing the vouchers on sale");
  for (const Reply& member : members.elements()) {
    const auto id = member.is_text() ? parse_int64(member.text()) : std::nullopt;
    if (!id) return to_status(member, "reading an id in " + keys.vouchers());
    vouchers.insert(*id);
  }
  return absl::OkStatus();
}

/// Those of the orders in the stream and among the dead letters. An entry that no order can be read
/// from belongs to no voucher: it is named, not passed over.
absl::Status add_admitted(Client& client, const SaleKeys& keys, Vouchers& vouchers,
                          std::vector<std::string>& unreadable) {
  for (const std::string& stream : {keys.order_stream, keys.dead_letters()}) {
    const absl::Status read = for_each_entry(
        client, stream, StreamId::min(), StreamId::max(), [&](const OrderEntry& entry) {
          const auto order = read_order(entry);
          if (order.ok()) {
            vouchers.insert(order->voucher);
          } else {
            unreadable.push_back(stream + ": entry " + entry.id +
                                 " is no order: " + std::string(order.status().message()));
          }
          return true;
        });
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AuditReport> audit(Client& client, OrderStore& orders, const SaleKeys& keys) {
  Vouchers vouchers;
  std::vector<std::string> unreadable;
  absl::Status read = add_on_sale(client, keys, vouchers);
  // The streams before the database: an order that moves meanwhile is met there.
  if (read.ok()) read = add_admitted(client, keys, vouchers, unreadable);
  if (read.ok()) read = add_recorded(orders, vouchers);
  if (!read.ok()) return read;
  AuditReport report;
  for (const VoucherId voucher : vouchers) {
    const absl::Status audited = audit_voucher(client, orders, keys, voucher, report);
    if (!audited.ok()) return audited;
  }
  report.problems.insert(report.problems.end(), unreadable.begin(), unreadable.end());
  const absl::Status whole = orders.check_integrity();
  if (absl::IsDataLoss(whole)) {
    report.problems.emplace_back(whole.message());
  } else if (!whole.ok()) {
    return whole;
  }
  return report;
}

}  // namespace rushgate
