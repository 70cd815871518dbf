#include "engine/sale/worker/late_writes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/model/order_entry.h"

namespace rushgate {

LateWrites::LateWrites(Client& client, const Clock& clock, const SaleStores& stores,
                       const SaleKeys& keys, OrderChanges& changes, BatchWriter& writer)
    : client_(client),
      clock_(clock),
      stores_(stores),
      keys_(keys),
      changes_(changes),
      writer_(writer),
      queued_cancellations_(client, keys.order_stream),
      dead_cancellations_(client, keys.dead_letters()) {}

absl::StatusOr<std::vector<DecidedEntry>> LateWrites::write_again(
    std::vector<DecidedEntry>& decided, const BatchFence& fence) {
  std::vector<DecidedEntry> late;
  std::vector<OrderEvent> events;
  std::vector<DecidedEntry*> written;
  if (stores_.orders.payments() == nullptr) return late;
  ASSIGN_OR_RETURN(const auto first_other, find_first_pending_besides(decided));
  for (DecidedEntry& one : decided) {
    if (!one.is_refused()) continue;
    auto event = read_storable(*one.entry, stores_.orders);
    const auto id = StreamId::parse(one.entry->id);
    if (!event.ok() || !id) continue;
    one.may_need_earlier = first_other < *id;
    if (one.may_need_earlier) continue;
    event->order.created_at_ms = clock_.now_ms();
    events.push_back(*std::move(event));
    written.push_back(&one);
  }
  if (written.empty()) return late;
  ASSIGN_OR_RETURN(const auto seen_to, make_room(events, fence));
  EntryWrites writes;
  for (std::size_t i = 0; i < written.size(); ++i) {
    written[i]->seen = SeenEnds{.voucher = events[i].order.voucher, .to = seen_to};
    writes.add(std::move(events[i]), *written[i]->entry);
  }
  // No refusal of the first write counts: it came before make_room().
  std::vector<DecidedEntry> now;
  RETURN_IF_ERROR(writer_.write(writes.all(), fence, now));
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (now[i].lacks_pieces) {
      now[i].seen = written[i]->seen;
      if (now[i].lacks_stock) RETURN_IF_ERROR(wait_for_other_lane(now[i]));
    }
    *written[i] = std::move(now[i]);
    if (written[i]->fate == DecidedEntry::Fate::kStored) late.push_back(*written[i]);
  }
  return late;
}

/// Lets an order wait that lacks pieces of a voucher on several lanes: another lane may have got them back and
/// given them to this one, and not have stored the cancellation when the database refused the order. It may
/// have stored it since, so the stock as it is now says nothing. An order that has waited for too
/// long has a fault instead: it keeps later entries in the stream, and the voucher may be oversold.
absl::Status LateWrites::wait_for_other_lane(DecidedEntry& refused) {
  constexpr std::int64_t kWaitMaxMs = 600'000;
  ASSIGN_OR_RETURN(const auto latest, stores_.vouchers.latest(refused.seen->voucher));
  if (!latest.has_value() || latest->voucher.lanes <= 1) return absl::OkStatus();
  const auto id = StreamId::parse(refused.entry->id);
  // The entry's id has the time of the keyspace's clock, too.
  ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client_));
  const std::int64_t waited_ms = now_ms - static_cast<std::int64_t>(id ? id->ms : 0);
  if (waited_ms <= kWaitMaxMs) {
    refused.may_need_earlier = true;
  } else {
    refused.fate = DecidedEntry::Fate::kFault;
    refused.reason += concat(", and no lane has given any back for ", waited_ms, " ms");
  }
  return absl::OkStatus();
}

/// Frees pieces for refused orders. The keyspace may have given pieces back and sold them again, and
/// the purchase is stored already:
/// - An order whose own cancellation waits behind it becomes cancelled.
/// - Waiting cancellations of stored orders of its voucher are applied now. Later they change
///   nothing.
/// - Refunds that were begun are ended.
///
/// Returns the last entry of the order stream whose cancellation it would have found.
absl::StatusOr<StreamId> LateWrites::make_room(std::span<OrderEvent> events,
                                               const BatchFence& fence) {
  absl::flat_hash_map<OrderId, OrderEvent*> refused;
  absl::flat_hash_set<OrderId> orders;
  absl::flat_hash_set<VoucherId> vouchers;
  for (OrderEvent& event : events) {
    if (event.kind != OrderEvent::Kind::kAdmitted) continue;
    refused.emplace(event.order.id, &event);
    orders.insert(event.order.id);
    vouchers.insert(event.order.voucher);
  }
  if (refused.empty()) return StreamId();
  std::vector<OrderEvent> of_others;
  const auto visit = [&](OrderEvent event) {
    const auto found = refused.find(event.order.id);
    if (found == refused.end()) return of_others.push_back(std::move(event));
    OrderEvent& cancelled = *found->second;
    cancelled.order.status = OrderStatus::kCancelled;
    cancelled.order.keeps_stock = event.order.keeps_stock;
    cancelled.order.keeps_allowance = event.order.keeps_allowance;
    cancelled.at_ms = event.at_ms;
    cancelled.reason = std::move(event.reason);
    cancelled.actor = std::move(event.actor);
  };
  if (has_stale_cancellations_.exchange(false)) {
    queued_cancellations_.clear();
    dead_cancellations_.clear();
  }
  // A letter that is retried meanwhile is behind `seen_to`.
  StreamId seen_to;
  for (QueuedCancellations* const cancellations : {&queued_cancellations_, &dead_cancellations_}) {
    ASSIGN_OR_RETURN(const auto read_to, cancellations->read_on());
    if (cancellations == &queued_cancellations_) seen_to = read_to;
    RETURN_IF_ERROR(cancellations->for_each_of(orders, vouchers, visit));
  }
  if (!of_others.empty()) {
    RETURN_IF_ERROR(stores_.apply(of_others, fence).status());
  }
  RETURN_IF_ERROR(changes_.finish_refunds().status());
  return seen_to;
}

/// Returns the first pending entry of the group that is not one of the refused ones here; the
/// greatest id if there is none before the last of these.
absl::StatusOr<StreamId> LateWrites::find_first_pending_besides(
    const std::vector<DecidedEntry>& decided) {
  absl::btree_set<StreamId> refused;
  StreamId last;
  for (const DecidedEntry& one : decided) {
    const auto id = one.is_refused() ? StreamId::parse(one.entry->id) : std::nullopt;
    if (!id) continue;
    refused.insert(*id);
    last = std::max(last, *id);
  }
  if (refused.empty()) return StreamId::max();
  const Reply pending = client_("XPENDING", keys_.order_stream, keys_.group, "-", last.to_string(),
                                refused.size() + 1);
  if (!pending.is_aggregate()) return to_status(pending, "looking for earlier entries");
  for (const Reply& entry : pending.elements()) {
    const bool has_id =
        entry.is_aggregate() && !entry.elements().empty() && entry.elements()[0].is_text();
    const auto id = has_id ? StreamId::parse(entry.elements()[0].text()) : std::nullopt;
    if (!id) return to_status(entry, "looking for earlier entries");
    if (!refused.contains(*id)) return *id;
  }
  return StreamId::max();
}

}  // namespace rushgate
