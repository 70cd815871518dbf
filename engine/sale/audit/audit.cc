#include "engine/sale/audit/audit.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/audit/audit_snapshot.h"
#include "engine/sale/audit/hold_audit.h"
#include "engine/sale/audit/key_audit.h"
#include "engine/sale/audit/late_changes.h"
#include "engine/sale/audit/moved_audit.h"
#include "engine/sale/audit/record_audit.h"
#include "engine/sale/audit/voucher_audit.h"
#include "engine/sale/audit/waiting_audit.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stream/consumers.h"
#include "engine/sale/stream/dead_letters.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/unstored_orders.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_rules.h>

namespace rushgate {
namespace {

using Vouchers = absl::btree_set<VoucherId>;

/// Adds every published voucher, in any state, and the vouchers of stored orders.
absl::Status add_recorded(const SaleStores& stores, Vouchers& vouchers) {
  ASSIGN_OR_RETURN(const auto pending, stores.vouchers.pending());
  ASSIGN_OR_RETURN(const auto applied, stores.vouchers.all_applied());
  for (const auto* versions : {&pending, &applied}) {
    for (const VoucherVersion& version : *versions) vouchers.insert(version.voucher.id);
  }
  ASSIGN_OR_RETURN(const auto ordered, stores.orders.vouchers_with_orders());
  vouchers.insert(ordered.begin(), ordered.end());
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

/// Returns the orders of a voucher whose refund was begun, a bounded number of them.
absl::StatusOr<std::vector<OrderId>> find_refunding(OrderStore& orders, VoucherId voucher,
                                                    bool& are_all) {
  constexpr std::size_t kOrdersMax = 1'000;  // one script looks them up
  std::vector<OrderId> ids;
  if (orders.payments() == nullptr) return ids;
  const auto refunding =
      orders.list({.voucher = voucher, .status = OrderStatus::kRefunding, .count_max = kOrdersMax});
  if (!refunding.ok()) return refunding.status();
  for (const Order& order : *refunding) ids.push_back(order.id);
  are_all = ids.size() < kOrdersMax;
  return ids;
}

/// Reads a voucher in the keyspace, and its versions in the database. A version is recorded as
/// pending before it comes into force, and as applied after that. So a concurrent publication may
/// leave the two apart: then both are read once more.
absl::StatusOr<VoucherEvidence> read_voucher(Client& client, const SaleStores& stores,
                                             const SaleKeys& keys, VoucherId voucher) {
  constexpr int kLooksMax = 5;
  for (int look = 1;; ++look) {
    VoucherEvidence evidence;
    ASSIGN_OR_RETURN(const auto refunding,
                     find_refunding(stores.orders, voucher, evidence.knows_refunding));
    ASSIGN_OR_RETURN(evidence.snapshot, take_voucher_snapshot(client, keys, voucher, refunding));
    ASSIGN_OR_RETURN(const auto state, stores.orders.state());
    evidence.database_epoch = state.epoch;
    ASSIGN_OR_RETURN(evidence.versions, stores.vouchers.versions(voucher));
    const std::vector<VoucherVersion> whole = evidence.versions;
    for (VoucherVersion& version : evidence.versions) {
      version = on_lane(std::move(version), stores.orders.lane(), whole);
    }
    evidence.version_fault = find_fault(evidence.versions);
    auto& versions = evidence.versions;
    const auto refused =
        std::stable_partition(versions.begin(), versions.end(), [](const VoucherVersion& version) {
          return version.state != VoucherVersion::State::kRefused;
        });
    evidence.refused_versions.assign(refused, versions.end());
    versions.erase(refused, versions.end());
    const VoucherCounters& counters = evidence.snapshot.counters;
    const auto in_force = find_version_in_force(evidence.versions, counters);
    if (!counters.version || is_in_force(in_force, counters) || look == kLooksMax) return evidence;
  }
}

/// One pass over the keyspace and the database.
class AuditPass {
 public:
  AuditPass(Client& client, const SaleStores& stores, const SaleKeys& keys, int number,
            const OnAuditProgress& on_progress, const RefreshKeyspace& refresh)
      : client_(client),
        stores_(stores),
        keys_(keys),
        changes_(stores.orders.payments()),
        on_progress_(on_progress),
        refresh_(refresh) {
    progress_.pass = number;
  }

  /// Audits the vouchers that the keyspace or the database knows, and `vouchers`. Adds to
  /// `vouchers` the others whose orders it met: they need another pass.
  absl::StatusOr<AuditReport> run(Vouchers& vouchers) {
    AuditReport report;
    ASSIGN_OR_RETURN(archived_, read_archived(stores_.orders));
    absl::Status read = changes_.begin();
    if (read.ok()) read = refresh();
    if (read.ok()) read = add_on_sale(client_, keys_, vouchers);
    if (read.ok()) read = add_recorded(stores_, vouchers);
    if (!read.ok()) return read;
    const std::size_t known = vouchers.size();
    // The buyers and holds first, then the streams and the acknowledged entries, the database last. An order
    // that moves meanwhile is met in one of them. An entry that was acknowledged after its order
    // was stored is in the database.
    for (const VoucherId voucher : vouchers) {
      if (is_archived(archived_, voucher)) continue;
      ASSIGN_OR_RETURN(auto evidence, read_voucher(client_, stores_, keys_, voucher));
      sales_.emplace(voucher, evidence.snapshot.counters);
      // One that is not listed would not be rebuilt if the keyspace lost it.
      if (evidence.snapshot.counters.is_unlisted) {
        report.problems.push_back(
            concat("voucher ", voucher, " is on sale and missing in ", keys_.vouchers()));
      }
      evidence_.emplace(voucher, std::move(evidence));
    }
    read = audit_streams(vouchers, report);
    met_others_ = vouchers.size() != known;
    if (read.ok()) read = audit_waiting_lists(client_, stores_, keys_, report);
    if (read.ok()) read = audit_archived(report);
    if (read.ok()) read = audit_archived_keys(report);
    if (read.ok()) read = audit_vouchers(report);
    if (!read.ok()) return read;
    std::ranges::move(unreadable_, std::back_inserter(report.problems));
    for (const auto& [voucher, count] : without_stock_) {
      report.warnings.push_back(concat("voucher ", voucher, ": ", count,
                                       " dead letters are without stock: the keyspace lost "
                                       "their orders, and others bought meanwhile"));
    }
    return report;
  }

  [[nodiscard]] bool met_others() const { return met_others_; }
  /// Returns true if orders changed during the pass, a voucher was archived, or a rebuild began or ended.
  /// Each may explain a problem.
  absl::StatusOr<bool> has_changes() {
    if (!changes_.empty()) return true;
    RETURN_IF_ERROR(refresh());
    ASSIGN_OR_RETURN(const auto archived, read_archived(stores_.orders));
    const auto is_same = [](const ArchivedVoucher& before, const ArchivedVoucher& after) {
      return before.last.voucher.id == after.last.voucher.id &&
             before.has_unmoved_orders == after.has_unmoved_orders;
    };
    if (!std::ranges::equal(archived_, archived, is_same)) return true;
    for (const auto& [voucher, before] : sales_) {
      ASSIGN_OR_RETURN(const auto after, read_voucher_counters(client_, keys_, voucher));
      if (!before.is_same_sale(after)) return true;
    }
    return false;
  }

 private:
  absl::Status refresh() { return refresh_ ? refresh_() : absl::OkStatus(); }

  absl::Status audit_vouchers(AuditReport& report) {
    count_work();
    const auto add_orders = [this](std::size_t count) {
      progress_.orders_checked += static_cast<std::int64_t>(count);
      report_progress();
    };
    absl::Status read;
    for (auto it = evidence_.begin(); it != evidence_.end() && read.ok(); ++it) {
      if (is_archived(archived_, it->first)) continue;
      const bool counts = counts_here(it->second);
      VoucherAuditor auditor(it->first, it->second, changes_, client_, stores_.orders, keys_,
                             add_orders);
      read = auditor.run(report);
      it->second = {};
      if (counts) ++progress_.vouchers_checked;
      report_progress();
    }
    return read;
  }

  /// A voucher on several lanes is one: it counts on the first.
  [[nodiscard]] bool counts_here(const VoucherEvidence& evidence) const {
    const auto& versions = evidence.versions;
    return stores_.orders.lane() == 0 || versions.empty() || versions.back().voucher.lanes == 1;
  }

  void count_work() {
    for (const auto& [voucher, evidence] : evidence_) {
      if (is_archived(archived_, voucher)) continue;
      if (counts_here(evidence)) ++progress_.vouchers;
      const VoucherCounters& counters = evidence.snapshot.counters;
      if (!counters.published || !counters.stock) continue;
      progress_.orders +=
          *counters.published + counters.moved - *counters.stock + counters.given_back;
    }
    report_progress();
  }

  void report_progress() const {
    if (on_progress_) on_progress_(progress_);
  }

  /// An archived voucher leaves the keyspace before its orders move. An interrupted move is no fault: it
  /// is finished by a repetition.
  absl::Status audit_archived(AuditReport& report) {
    for (const ArchivedVoucher& one : archived_) {
      const VoucherId id = one.last.voucher.id;
      if (one.has_unmoved_orders) {
        report.warnings.push_back(concat("voucher ", id, " is being archived: archive it again if ",
                                         "no process does that"));
        continue;
      }
      ASSIGN_OR_RETURN(const auto counters, read_voucher_counters(client_, keys_, id));
      if (!counters.version && !counters.stock) continue;
      report.problems.push_back(concat(
          "voucher ", id, " is archived, and the keyspace has it on sale: archive it again"));
    }
    return absl::OkStatus();
  }

  /// An order keeps its key when its voucher is archived.
  absl::Status audit_archived_keys(AuditReport& report) {
    const auto add = [&](const Order& order, const WrongKey& key) {
      report.problems.push_back(
          concat("voucher ", order.voucher, ": order ", order.id, " ", key.fault));
      return absl::OkStatus();
    };
    return for_each_wrong_key_of_archived(client_, stores_.orders, keys_, archived_, add);
  }

  /// Reads the order stream and the dead letters, once for all vouchers. Audits the holds with them.
  absl::Status audit_streams(Vouchers& vouchers, AuditReport& report) {
    HoldAuditor holds(client_, stores_.orders, keys_);
    RETURN_IF_ERROR(holds.read());
    ASSIGN_OR_RETURN(auto unstored, read_unstored_orders(client_, keys_, std::nullopt));
    ASSIGN_OR_RETURN(const auto acknowledged, AcknowledgedEntries::read(client_, keys_));
    ASSIGN_OR_RETURN(auto faults, holds.find_faults(unstored, acknowledged));
    for (HoldFault& fault : faults) report.problems.push_back(std::move(fault.description));
    add_unstored(std::move(unstored), acknowledged, vouchers);
    return absl::OkStatus();
  }

  /// Adds the orders of the order stream and the dead letters to the evidence of their vouchers.
  void add_unstored(UnstoredOrders unstored, const AcknowledgedEntries& acknowledged,
                    Vouchers& vouchers) {
    for (std::size_t i = 0; i < unstored.queued.size(); ++i) {
      const Order& order = unstored.queued[i];
      const StreamId entry = unstored.queued_as[i];
      vouchers.insert(order.voucher);
      evidence_[order.voucher].queued.push_back(
          {.order = order, .entry = entry, .is_acknowledged = acknowledged.contains(entry)});
    }
    for (OrderEvent& event : unstored.events) {
      const VoucherId voucher = event.order.voucher;
      vouchers.insert(voucher);
      evidence_[voucher].events.push_back(std::move(event));
    }
    unreadable_ = std::move(unstored.unreadable);
    for (OrderEvent& event : unstored.dead_events) {
      const VoucherId voucher = event.order.voucher;
      unreadable_.push_back(
          concat("voucher ", voucher, ": order ", event.order.id,
                 " has an event among the dead letters: ", order_event_name(event.kind)));
      vouchers.insert(voucher);
      evidence_[voucher].events.push_back(std::move(event));
    }
    for (const Order& order : unstored.dead) {
      vouchers.insert(order.voucher);
      VoucherEvidence& evidence = evidence_[order.voucher];
      const bool is_discarded = unstored.discarded.contains(order.id);
      (is_discarded ? evidence.discarded : evidence.dead).push_back(order);
    }
    for (const Order& order : unstored.without_stock) ++without_stock_[order.voucher];
  }

  Client& client_;
  const SaleStores& stores_;
  const SaleKeys& keys_;
  LateChanges changes_;
  std::vector<ArchivedVoucher> archived_;              // when the pass began
  absl::btree_map<VoucherId, VoucherCounters> sales_;  // as they were read
  absl::btree_map<VoucherId, VoucherEvidence> evidence_;
  std::vector<std::string> unreadable_;
  absl::btree_map<VoucherId, std::size_t> without_stock_;  // dead letters
  bool met_others_ = false;
  const OnAuditProgress& on_progress_;
  const RefreshKeyspace& refresh_;
  AuditProgress progress_;
};

absl::StatusOr<AuditReport> audit_orders(Client& client, const SaleStores& stores,
                                         const SaleKeys& keys, const OnAuditProgress& on_progress,
                                         const RefreshKeyspace& refresh) {
  constexpr int kPassesMax = 20;
  Vouchers vouchers;
  for (int pass = 1; pass <= kPassesMax; ++pass) {
    ASSIGN_OR_RETURN(const auto before, dead_letters_position(client, keys));
    AuditPass look(client, stores, keys, pass, on_progress, refresh);
    ASSIGN_OR_RETURN(auto report, look.run(vouchers));
    if (!look.met_others() && report.passed()) return report;
    // A pass may miss an order that died and was retried during it. If none died and none was
    // retried, it misses none.
    ASSIGN_OR_RETURN(const auto has_changes, look.has_changes());
    ASSIGN_OR_RETURN(const auto after, dead_letters_position(client, keys));
    const bool may_err = (before != after || has_changes) && pass < kPassesMax;
    if (!look.met_others() && !may_err) return report;
  }
  return absl::AbortedError("auditing: orders of ever more vouchers appeared");
}

/// Compares the owner in the keyspace with the database, whose state was read before.
absl::Status audit_owner(Client& client, const SaleKeys& keys, const DatabaseState& state,
                         AuditReport& report) {
  const Request requests[] = {Request::of("HGET", keys.stream_owner(), "identity"),
                              Request::of("GET", keys.prefix_owner()),
                              Request::of("HGET", keys.stream_owner(), "checkpoint"),
                              Request::of("EXISTS", keys.vouchers())};
  const std::vector<Reply> replies = client.pipeline(requests);
  for (const Reply& reply : replies) {
    if (reply.is_error()) return to_status(reply, "reading the owner of the keyspace");
  }
  for (const std::size_t owner : {std::size_t{0}, std::size_t{1}}) {
    const Reply& identity = replies[owner];
    const std::string key = owner == 0 ? keys.stream_owner() : keys.prefix_owner();
    if (identity.is_nil() && replies[3] == Reply::integer(1)) {
      report.problems.push_back(concat("the keyspace has vouchers and no owner (", key, ")"));
    }
    if (identity.is_nil() || identity.text() == state.identity) continue;
    report.problems.push_back(concat("the keyspace belongs to the database ", identity.text(), " (",
                                     key, "), and this one is ", state.identity));
  }
  const auto checkpoint = parse_int64(replies[2].is_nil() ? "0" : replies[2].text());
  if (checkpoint && *checkpoint >= state.checkpoint) return absl::OkStatus();
  report.problems.push_back(concat("the keyspace has checkpoint ",
                                   replies[2].is_nil() ? "0" : replies[2].text(), " (",
                                   keys.stream_owner(), "), and the database ", state.checkpoint,
                                   ": the keyspace has lost writes"));
  return absl::OkStatus();
}

/// Compares what the database has recorded with what it has, which is read last.
absl::Status audit_revision(Client& client, const SaleStores& stores, const SaleKeys& keys,
                            AuditReport& report) {
  const Reply recorded = client("HGET", keys.stream_owner(), "recorded");
  if (recorded.is_error()) return to_status(recorded, "reading the owner of the keyspace");
  const auto revision = parse_int64(recorded.is_nil() ? "0" : recorded.text()).value_or(0);
  ASSIGN_OR_RETURN(const auto state, stores.orders.state());
  if (revision <= state.recorded()) return absl::OkStatus();
  report.problems.push_back(concat("the order database has revision ", state.recorded(),
                                   ", and had ", revision, " (", keys.stream_owner(),
                                   "): it has lost orders"));
  return absl::OkStatus();
}

/// Audits one lane, without what the database has for itself.
absl::StatusOr<AuditReport> audit_lane(Client& client, const SaleStores& stores,
                                       const SaleKeys& keys, const OnAuditProgress& on_progress,
                                       const RefreshKeyspace& refresh) {
  ASSIGN_OR_RETURN(const auto state, stores.orders.state());
  auto report = audit_orders(client, stores, keys, on_progress, refresh);
  if (!report.ok()) return report;
  RETURN_IF_ERROR(audit_owner(client, keys, state, *report));
  RETURN_IF_ERROR(audit_revision(client, stores, keys, *report));
  ASSIGN_OR_RETURN(const auto foreign, find_foreign_consumers(client, keys, state.identity));
  for (const GroupConsumer& consumer : foreign) {
    report->warnings.push_back(consumer.description(keys));
  }
  return report;
}

/// Adds what one lane has of a voucher that is on several.
void add_voucher(const VoucherAudit& lane, VoucherAudit& sum) {
  for (const auto count : {&VoucherAudit::published, &VoucherAudit::free, &VoucherAudit::admitted,
                           &VoucherAudit::given_back, &VoucherAudit::created, &VoucherAudit::queued,
                           &VoucherAudit::dead, &VoucherAudit::discarded, &VoucherAudit::withheld,
                           &VoucherAudit::unpaid, &VoucherAudit::ended}) {
    sum.*count += lane.*count;
  }
}

/// Adds the report of a lane.
void add_report(AuditReport lane, AuditReport& report) {
  for (const VoucherAudit& one : lane.vouchers) {
    const auto known = std::ranges::find(report.vouchers, one.voucher, &VoucherAudit::voucher);
    if (known == report.vouchers.end()) {
      report.vouchers.push_back(one);
    } else {
      add_voucher(one, *known);
    }
  }
  std::ranges::move(lane.problems, std::back_inserter(report.problems));
  std::ranges::move(lane.warnings, std::back_inserter(report.warnings));
}

/// Compares orders with their payments and changes, and asks the database whether it is whole.
absl::Status audit_database(OrderStore& orders, AuditReport& report) {
  RETURN_IF_ERROR(audit_records(orders, report));
  const absl::Status whole = orders.check_integrity();
  if (!absl::IsDataLoss(whole)) return whole;
  report.problems.emplace_back(whole.message());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AuditReport> audit_lanes(Client& client, const SaleStores& stores,
                                        std::span<const SaleLane> lanes,
                                        const OnAuditProgress& on_progress,
                                        const RefreshKeyspace& refresh) {
  AuditReport report;
  AuditProgress before;  // of the lanes that were audited
  AuditProgress so_far;
  const OnAuditProgress on_lane = [&](const AuditProgress& progress) {
    so_far = {.pass = progress.pass,
              .vouchers = before.vouchers + progress.vouchers,
              .vouchers_checked = before.vouchers_checked + progress.vouchers_checked,
              .orders = before.orders + progress.orders,
              .orders_checked = before.orders_checked + progress.orders_checked};
    on_progress(so_far);
  };
  std::size_t unread = 0;
  for (const SaleLane& lane : lanes) {
    auto of_lane = audit_lane(client, lane.stores, lane.keys,
                              on_progress ? on_lane : OnAuditProgress{}, refresh);
    const bool is_away = absl::IsUnavailable(of_lane.status());
    if (is_away && ++unread < lanes.size()) {
      report.problems.push_back(
          concat("the lane ", lane.number, " was not audited: ", of_lane.status().message()));
      continue;
    }
    if (!of_lane.ok()) return of_lane;
    add_report(*std::move(of_lane), report);
    before = so_far;
  }
  RETURN_IF_ERROR(audit_database(stores.orders, report));
  if (unread == 0) RETURN_IF_ERROR(audit_moved_pieces(client, lanes, report));
  std::ranges::sort(report.vouchers, {}, &VoucherAudit::voucher);
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
