#include "engine/sale/worker/acknowledger.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/holds/received_payments.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/stream/stream_entries.h"

namespace rushgate {
namespace {

// The most entries of one request: buyers wait until it ends.
constexpr std::size_t kAcknowledgedPerCall = 1'000;
static_assert(kAcknowledgedPerCall <= payment_scripts::kStoredBatchMax);

}  // namespace

Acknowledger::Acknowledger(Client& client, const SaleKeys& keys, const WorkerOptions& options,
                           KeyspaceOwner& owner)
    : client_(client), keys_(keys), options_(options), owner_(owner) {}

absl::Status Acknowledger::acknowledge_stored(const std::vector<DecidedEntry>& decided,
                                              bool is_redelivery, const BatchFence& fence,
                                              OrderWorker::Step& step) {
  std::vector<const OrderEntry*> stored;
  stored.reserve(decided.size());
  for (const DecidedEntry& one : decided) {
    if (one.fate == DecidedEntry::Fate::kStored) stored.push_back(one.entry);
  }
  if (stored.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto batch, owner_.recorded_with(fence));
  std::span<const OrderEntry* const> left = stored;
  while (!left.empty()) {
    const auto portion = left.first(std::min(left.size(), kAcknowledgedPerCall));
    RETURN_IF_ERROR(acknowledge(portion, is_redelivery, batch));
    const auto events =
        std::ranges::count_if(portion, [](const auto* entry) { return is_event(*entry); });
    step.changed += static_cast<std::size_t>(events);
    step.stored += portion.size() - static_cast<std::size_t>(events);
    left = left.subspan(portion.size());
  }
  return absl::OkStatus();
}

/// Forgets the ends of holds that are in the database now. Notes the payments that are.
absl::Status Acknowledger::forget_ends(std::span<const OrderEntry* const> entries) {
  std::vector<OrderId> ends;
  std::string payments;
  for (const OrderEntry* entry : entries) {
    const auto event = is_event(*entry) ? read_event(*entry) : absl::NotFoundError("");
    if (!event.ok()) continue;
    if (ends_hold(*event)) ends.push_back(event->order.id);
    if (event->payment.id.empty() || begins_in_database(event->kind)) continue;
    if (!payments.empty()) payments += ' ';
    payments += event->payment.id;
  }
  if (!ends.empty()) {
    RETURN_IF_ERROR(remove_held(client_, keys_, ends).status());
  }
  return payments.empty() ? absl::OkStatus()
                          : note_stored_payments(client_, keys_, payments).status();
}

absl::Status Acknowledger::acknowledge(std::span<const OrderEntry* const> entries,
                                       bool is_redelivery, const KeyspaceOwner::Recorded& batch) {
  RETURN_IF_ERROR(forget_ends(entries));
  std::vector<std::string_view> ids;
  ids.reserve(entries.size());
  Request forget = Request::of("HDEL", keys_.faults());
  for (const OrderEntry* entry : entries) {
    ids.emplace_back(entry->id);
    if (is_redelivery) forget.add(entry->id);
  }
  // Only a redelivery can have faults. They are removed first: acknowledged entries are never met
  // again.
  if (is_redelivery) {
    const Reply forgotten = client_.call(std::move(forget));
    if (!forgotten.is_integer()) return to_status(forgotten, "forgetting faults");
  }
  return owner_.acknowledge(client_, batch, ids);
}

absl::StatusOr<bool> Acknowledger::bury_if_final(DecidedEntry& one,
                                                 absl::flat_hash_set<OrderId>& waiting,
                                                 OrderWorker::Step& step) {
  ASSIGN_OR_RETURN(const auto decided_finally, is_final(one, waiting));
  if (decided_finally) {
    // A retained entry of a dead letter would be delivered again to a database that is caught up.
    const bool is_removed = options_.trim && options_.retain_ms > 0;
    ASSIGN_OR_RETURN(const auto buried,
                     bury(client_, keys_, *one.entry, one.reason, one.seen, is_removed));
    if (buried) {
      ++step.buried;
      if (options_.logger) {
        log_error(*options_.logger,
                  concat("order entry ", one.entry->id, " is buried: ", one.reason));
      }
      return true;
    }
  } else {
    ++step.faulted;
  }
  // Not final, or another worker has decided, or the keyspace lost it, or a piece came back just now.
  if (const auto order = read_event(*one.entry); order.ok()) waiting.insert(order->order.id);
  return false;
}

/// Returns true if the entry becomes a dead letter. Counts a fault of its own.
///
/// That is not undone, so the reason must be one that stays. The database may lack decisions of the
/// keyspace: an earlier entry, a cancellation, the end of a refund. `waiting` has the orders of this
/// batch that wait for such.
absl::StatusOr<bool> Acknowledger::is_final(DecidedEntry& decided,
                                            const absl::flat_hash_set<OrderId>& waiting) {
  if (decided.may_need_earlier) return false;
  if (decided.fate == DecidedEntry::Fate::kRefused) {
    if (!decided.seen) return true;
    ASSIGN_OR_RETURN(const auto has_ended, has_ended_since(*decided.seen));
    return !has_ended;
  }
  if (decided.fate == DecidedEntry::Fate::kTooEarly) {
    if (!is_event(*decided.entry)) return false;  // a refund has begun
    const auto event = read_event(*decided.entry);
    if (event.ok() && waiting.contains(event->order.id)) return false;
  }
  return is_fault_final(*decided.entry);
}

/// Returns true if an order of the voucher was cancelled since the database refused another one: then
/// its piece may have been sold again, and that purchase be stored already. Otherwise moves `seen` on.
absl::StatusOr<bool> Acknowledger::has_ended_since(SeenEnds& seen) {
  bool has_ended = false;
  const absl::Status read = for_each_entry(
      client_, keys_.order_stream, seen.to, StreamId::max(), [&](const OrderEntry& entry) {
        const auto event = is_event(entry) ? read_event(entry) : absl::NotFoundError("");
        has_ended = event.ok() && event->kind == OrderEvent::Kind::kCancelled &&
                    event->order.voucher == seen.voucher;
        if (!has_ended) seen.to = StreamId::parse(entry.id).value_or(seen.to);
        return !has_ended;
      });
  if (!read.ok()) return read;
  return has_ended;
}

/// Counts a fault of this entry. Returns true if it was the last one allowed. Delivery counts are
/// no substitute: they rise with every restart.
absl::StatusOr<bool> Acknowledger::is_fault_final(const OrderEntry& entry) {
  const Reply faults = client_("HINCRBY", keys_.faults(), entry.id, 1);
  if (!faults.is_integer()) return to_status(faults, "counting a fault");
  return faults.integer() >= options_.attempts_max;
}

absl::StatusOr<bool> Acknowledger::trim() {
  if (!options_.trim) return false;
  return owner_.trim(client_, options_.retain_ms, options_.retain_max);
}

}  // namespace rushgate
