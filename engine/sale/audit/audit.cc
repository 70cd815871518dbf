#include "engine/sale/audit/audit.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/base/numbers.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/orders/order_entry.h"
#include "engine/sale/orders/unstored_orders.h"
#include "engine/sale/reply_status.h"

namespace rushgate {
namespace {

using Counts = absl::flat_hash_map<UserId, std::int64_t>;

/// A voucher's part of the keyspace at one moment.
struct Snapshot {
  std::optional<std::int64_t> version;
  std::optional<std::int64_t> published;
  std::optional<std::int64_t> stock;
  std::int64_t given_back = 0;
  Counts buyers;
  StreamId last;  // the last order admitted before this moment has no greater id
};

std::optional<std::int64_t> number_in(const Reply& reply) {
  if (reply.is_integer()) return reply.integer();
  return reply.is_text() ? parse_int64(reply.text()) : std::nullopt;
}

absl::StatusOr<Snapshot> take_snapshot(Client& client, const SaleKeys& keys, VoucherId voucher) {
  const std::string names[] = {keys.voucher(voucher), keys.stock(voucher), keys.buyers(voucher),
                               keys.order_stream};
  const std::vector<std::string_view> views(std::begin(names), std::end(names));
  const Reply reply = client.run(audit_snapshot_script(), views, {});
  constexpr std::size_t kParts = 7;
  const std::string doing = "taking stock of voucher " + std::to_string(voucher);
  if (reply.kind() != Reply::Kind::kArray || reply.elements().size() != kParts)
    return to_status(reply, doing);

  const std::vector<Reply>& parts = reply.elements();
  Snapshot snapshot;
  snapshot.version = number_in(parts[0]);
  snapshot.published = number_in(parts[1]);
  snapshot.given_back = number_in(parts[2]).value_or(0);
  snapshot.stock = number_in(parts[4]);
  const bool counted = number_in(parts[3]) == 1;
  const std::vector<Reply>& buyers = parts[5].elements();
  for (std::size_t i = 0; i < buyers.size(); i += counted ? 2 : 1) {
    const auto user = number_in(buyers[i]);
    const auto count = counted ? number_in(buyers[i + 1]) : 1;
    if (!user || !count) return to_status(buyers[i], doing);
    snapshot.buyers[*user] += *count;
  }
  const auto last = StreamId::parse(parts[6].text());
  if (!last) return to_status(parts[6], doing);
  snapshot.last = *last;
  return snapshot;
}

/// The audit of one voucher.
class VoucherAuditor {
 public:
  VoucherAuditor(Client& client, OrderStore& orders, const SaleKeys& keys,
                 const VoucherVersion& version, AuditReport& report)
      : client_(client), orders_(orders), keys_(keys), version_(version), report_(report) {
    result_.voucher = version.voucher.id;
    result_.published = version.voucher.stock;
  }

  absl::Status run() {
    const auto snapshot = take_snapshot(client_, keys_, result_.voucher);
    if (!snapshot.ok()) return snapshot.status();
    compare_counters(*snapshot);
    // The streams first, the database after them: an order that moves meanwhile is met in one of
    // them.
    const auto unstored = read_unstored_orders(client_, keys_, result_.voucher, snapshot->last);
    if (!unstored.ok()) return unstored.status();
    absl::Status read = meet_stored(snapshot->last);
    if (read.ok()) read = meet_unstored(*unstored);
    if (!read.ok()) return read;
    compare_buyers(snapshot->buyers);
    report_.vouchers.push_back(result_);
    return absl::OkStatus();
  }

 private:
  struct Bought {
    std::int64_t orders = 0;
    std::int64_t limit = 0;  // the largest under which one of them was admitted; 0: any number
    bool unlimited = false;
  };

  void problem(const std::string& what) {
    report_.problems.push_back("voucher " + std::to_string(result_.voucher) + ": " + what);
  }

  void compare_counters(const Snapshot& snapshot) {
    for (const auto& [user, count] : snapshot.buyers) result_.admitted += count;
    result_.given_back = snapshot.given_back;
    if (!snapshot.version || !snapshot.published || !snapshot.stock) {
      problem("the keyspace has lost it (it is rebuilt when somebody buys)");
      return;
    }
    result_.free = *snapshot.stock;
    if (*snapshot.version != version_.version || *snapshot.published != version_.voucher.stock) {
      problem("version " + std::to_string(*snapshot.version) + " with a stock of " +
              std::to_string(*snapshot.published) + " is in force, version " +
              std::to_string(version_.version) + " with " + std::to_string(version_.voucher.stock) +
              " is recorded");
    }
    if (result_.free < 0) problem("oversold: the stock is " + std::to_string(result_.free));
    if (result_.published != result_.free + result_.admitted - result_.given_back) {
      problem("published " + std::to_string(result_.published) + " is not free " +
              std::to_string(result_.free) + " + admitted " + std::to_string(result_.admitted) +
              " - given back " + std::to_string(result_.given_back));
    }
  }

  absl::Status meet_stored(StreamId last) {
    OrderFilter filter{
        .user = {}, .voucher = result_.voucher, .status = {}, .after = 0, .count_max = 10'000};
    while (true) {
      const auto portion = orders_.list(filter);
      if (!portion.ok()) return portion.status();
      for (const Order& order : *portion) {
        if (order.entry > last) continue;
        stored_.insert(order.id);
        ++result_.created;
        count(order);
      }
      if (portion->size() < filter.count_max) return absl::OkStatus();
      filter.after = portion->back().id;
    }
  }

  absl::Status meet_unstored(const UnstoredOrders& unstored) {
    absl::flat_hash_map<OrderId, StreamId> queued;
    for (const Order& order : unstored.queued) {
      const auto [known, is_new] = queued.emplace(order.id, order.entry);
      if (!is_new) {
        problem("order " + std::to_string(order.id) + " is doubled: admitted as " +
                known->second.to_string() + " and as " + order.entry.to_string());
      }
      if (!is_new || stored_.contains(order.id))
        continue;  // stored, and not yet acknowledged or trimmed
      ++result_.queued;
      count(order);
    }
    absl::flat_hash_set<OrderId> dead;
    for (const Order& order : unstored.dead) {
      if (!dead.insert(order.id).second)
        problem("order " + std::to_string(order.id) + " died twice");
      if (queued.contains(order.id) && !stored_.contains(order.id))
        continue;  // it died, or was retried, while we looked
      if (stored_.contains(order.id)) {
        if (const auto still = is_dead(order.id); !still.ok()) {
          return still.status();
        } else if (*still) {
          problem("order " + std::to_string(order.id) +
                  " is both stored and among the dead letters");
        }
        continue;
      }
      ++result_.dead;
      count(order);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> is_dead(OrderId order) {
    const auto letters = list_dead_letters(client_, keys_);
    if (!letters.ok()) return letters.status();
    for (const DeadLetter& letter : *letters) {
      if (letter.order.field("id") == std::to_string(order)) return true;
    }
    return false;
  }

  void count(const Order& order) {
    Bought& bought = bought_[order.user];
    ++bought.orders;
    bought.limit = std::max(bought.limit, order.limit);
    bought.unlimited = bought.unlimited || order.limit == 0;
  }

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
  const VoucherVersion& version_;
  AuditReport& report_;
  VoucherAudit result_;
  absl::flat_hash_set<OrderId> stored_;
  std::map<UserId, Bought> bought_;  // ordered: the same problems in the same order
};

/// An entry that no order can be read from belongs to no voucher: it is named, not passed over.
absl::Status name_unreadable(Client& client, const SaleKeys& keys, AuditReport& report) {
  for (const std::string& stream : {keys.order_stream, keys.dead_letters()}) {
    const absl::Status read = for_each_entry(
        client, stream, StreamId::min(), StreamId::max(), [&](const OrderEntry& entry) {
          const auto order = read_order(entry);
          if (!order.ok()) {
            report.problems.push_back(stream + ": entry " + entry.id +
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
  const auto versions = orders.all_applied();
  if (!versions.ok()) return versions.status();
  AuditReport report;
  for (const VoucherVersion& version : *versions) {
    const absl::Status audited = VoucherAuditor(client, orders, keys, version, report).run();
    if (!audited.ok()) return audited;
  }
  const absl::Status named = name_unreadable(client, keys, report);
  if (!named.ok()) return named;
  return report;
}

}  // namespace rushgate
