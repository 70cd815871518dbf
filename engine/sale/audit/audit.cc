#include "engine/sale/audit/audit.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "engine/base/concat.h"
#include "engine/base/numbers.h"
#include "engine/client/reply_status.h"
#include "engine/sale/audit/audit_snapshot.h"
#include "engine/sale/audit/late_changes.h"
#include "engine/sale/audit/payment_audit.h"
#include "engine/sale/audit/voucher_audit.h"
#include "engine/sale/orders/consumers.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/orders/group_progress.h"
#include "engine/sale/orders/unstored_orders.h"

namespace rushgate {
namespace {

using Vouchers = absl::btree_set<VoucherId>;

/// Adds every published voucher, in any state, and the vouchers of stored orders.
absl::Status add_recorded(const SaleStores& stores, Vouchers& vouchers) {
  const auto pending = stores.vouchers.pending();
  if (!pending.ok()) return pending.status();
  const auto applied = stores.vouchers.all_applied();
  if (!applied.ok()) return applied.status();
  for (const auto* versions : {&*pending, &*applied}) {
    for (const VoucherVersion& version : *versions) vouchers.insert(version.voucher.id);
  }
  const auto ordered = stores.orders.vouchers_with_orders();
  if (!ordered.ok()) return ordered.status();
  vouchers.insert(ordered->begin(), ordered->end());
  return absl::OkStatus();
}

/// Adds vouchers that the keyspace has on sale, known to the database or not.
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

/// Reads a voucher in the keyspace, and its versions in the database. A version is recorded as
/// pending before it comes into force, and as applied after that. So a concurrent publication may
/// leave the two apart: then both are read once more.
absl::StatusOr<VoucherEvidence> read_voucher(Client& client, VoucherStore& vouchers,
                                             const SaleKeys& keys, VoucherId voucher) {
  constexpr int kLooksMax = 5;
  for (int look = 1;; ++look) {
    VoucherEvidence evidence;
    auto snapshot = take_voucher_snapshot(client, keys, voucher);
    if (!snapshot.ok()) return snapshot.status();
    evidence.snapshot = *std::move(snapshot);
    auto versions = vouchers.versions(voucher);
    if (!versions.ok()) return versions.status();
    evidence.versions = *std::move(versions);
    std::erase_if(evidence.versions, [](const VoucherVersion& version) {
      return version.state == VoucherVersion::State::kRefused;
    });
    const VoucherCounters& counters = evidence.snapshot.counters;
    const auto in_force = find_version_in_force(evidence.versions, counters);
    if (!counters.version || is_in_force(in_force, counters) || look == kLooksMax) return evidence;
  }
}

/// One pass over the keyspace and the database.
class AuditPass {
 public:
  AuditPass(Client& client, const SaleStores& stores, const SaleKeys& keys)
      : client_(client), stores_(stores), keys_(keys), changes_(stores.orders.payments()) {}

  /// Audits the vouchers that the keyspace or the database knows, and `vouchers`. Adds to
  /// `vouchers` the others whose orders it met: they need another pass.
  absl::StatusOr<AuditReport> run(Vouchers& vouchers) {
    AuditReport report;
    absl::Status read = changes_.begin();
    if (read.ok()) read = add_on_sale(client_, keys_, vouchers);
    if (read.ok()) read = add_recorded(stores_, vouchers);
    if (!read.ok()) return read;
    const std::size_t known = vouchers.size();
    // The buyers first, then the streams and the acknowledged entries, the database last. An order
    // that moves meanwhile is met in one of them. An entry that was acknowledged after its order
    // was stored is in the database.
    for (const VoucherId voucher : vouchers) {
      auto evidence = read_voucher(client_, stores_.vouchers, keys_, voucher);
      if (!evidence.ok()) return evidence.status();
      evidence_.emplace(voucher, *std::move(evidence));
    }
    read = add_unstored(vouchers);
    met_others_ = vouchers.size() != known;
    if (read.ok()) read = PaymentAuditor(client_, stores_, keys_).run(report);
    for (auto it = evidence_.begin(); it != evidence_.end() && read.ok(); ++it) {
      VoucherAuditor auditor(it->first, it->second, changes_, client_, stores_.orders, keys_);
      read = auditor.run(report);
      it->second = {};
    }
    if (!read.ok()) return read;
    std::ranges::move(unreadable_, std::back_inserter(report.problems));
    for (const auto& [voucher, count] : without_stock_) {
      report.warnings.push_back(absl::StrCat("voucher ", voucher, ": ", count,
                                             " dead letters are without stock: the keyspace lost "
                                             "their orders, and others bought meanwhile"));
    }
    return report;
  }

  [[nodiscard]] bool met_others() const { return met_others_; }
  /// Returns true if orders changed during the pass, which may explain a problem.
  [[nodiscard]] bool has_late_changes() const { return !changes_.empty(); }

 private:
  /// Adds the orders of the order stream and the dead letters, read once for all vouchers.
  absl::Status add_unstored(Vouchers& vouchers) {
    auto unstored = read_unstored_orders(client_, keys_, std::nullopt);
    if (!unstored.ok()) return unstored.status();
    const auto acknowledged = AcknowledgedEntries::read(client_, keys_);
    if (!acknowledged.ok()) return acknowledged.status();
    for (std::size_t i = 0; i < unstored->queued.size(); ++i) {
      const Order& order = unstored->queued[i];
      const StreamId entry = unstored->queued_as[i];
      vouchers.insert(order.voucher);
      evidence_[order.voucher].queued.push_back(
          {.order = order, .entry = entry, .is_acknowledged = acknowledged->contains(entry)});
    }
    for (OrderEvent& event : unstored->events) {
      const VoucherId voucher = event.order.voucher;
      vouchers.insert(voucher);
      evidence_[voucher].events.push_back(std::move(event));
    }
    unreadable_ = std::move(unstored->unreadable);
    for (OrderEvent& event : unstored->dead_events) {
      const VoucherId voucher = event.order.voucher;
      unreadable_.push_back(
          concat("voucher ", voucher, ": order ", event.order.id,
                 " has an event among the dead letters: ", order_event_name(event.kind)));
      vouchers.insert(voucher);
      evidence_[voucher].events.push_back(std::move(event));
    }
    for (const Order& order : unstored->dead) {
      vouchers.insert(order.voucher);
      VoucherEvidence& evidence = evidence_[order.voucher];
      const bool is_discarded = unstored->discarded.contains(order.id);
      (is_discarded ? evidence.discarded : evidence.dead).push_back(order);
    }
    for (const Order& order : unstored->without_stock) ++without_stock_[order.voucher];
    return absl::OkStatus();
  }

  Client& client_;
  const SaleStores& stores_;
  const SaleKeys& keys_;
  LateChanges changes_;
  absl::btree_map<VoucherId, VoucherEvidence> evidence_;
  std::vector<std::string> unreadable_;
  absl::btree_map<VoucherId, std::size_t> without_stock_;  // dead letters
  bool met_others_ = false;
};

absl::StatusOr<AuditReport> audit_orders(Client& client, const SaleStores& stores,
                                         const SaleKeys& keys) {
  constexpr int kPassesMax = 20;
  Vouchers vouchers;
  for (int pass = 1; pass <= kPassesMax; ++pass) {
    const auto before = dead_letters_position(client, keys);
    if (!before.ok()) return before.status();
    AuditPass look(client, stores, keys);
    auto report = look.run(vouchers);
    if (!report.ok()) return report.status();
    const auto after = dead_letters_position(client, keys);
    if (!after.ok()) return after.status();
    // A pass may miss an order that died and was retried during it. If none died and none was
    // retried, it misses none.
    const bool has_moved = *before != *after || look.has_late_changes();
    const bool may_err = has_moved && pass < kPassesMax;
    if (!look.met_others() && (report->passed() || !may_err)) return report;
  }
  return absl::AbortedError("auditing: orders of ever more vouchers appeared");
}

}  // namespace

absl::StatusOr<AuditReport> audit(Client& client, const SaleStores& stores, const SaleKeys& keys) {
  auto report = audit_orders(client, stores, keys);
  if (!report.ok()) return report;
  const auto state = stores.orders.state();
  if (!state.ok()) return state.status();
  const auto foreign = find_foreign_consumers(client, keys, state->identity);
  if (!foreign.ok()) return foreign.status();
  for (const GroupConsumer& consumer : *foreign) {
    report->warnings.push_back(consumer.description(keys));
  }
  const absl::Status whole = stores.orders.check_integrity();
  if (absl::IsDataLoss(whole)) {
    report->problems.emplace_back(whole.message());
  } else if (!whole.ok()) {
    return whole;
  }
  return report;
}

std::ostream& operator<<(std::ostream& out, const AuditReport& report) {
  for (const std::string& repair : report.repairs) out << "repaired: " << repair << '\n';
  out << (report.passed() ? "audit passed" : "audit failed") << '\n';
  for (const std::string& problem : report.problems) out << problem << '\n';
  for (const std::string& warning : report.warnings) out << "warning: " << warning << '\n';
  return out;
}

}  // namespace rushgate
