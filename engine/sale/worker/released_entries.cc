#include "engine/sale/worker/released_entries.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stream/lost_orders.h"

namespace rushgate {

ReleasedEntries::ReleasedEntries(Client& client, const SaleStores& stores, const SaleKeys& keys,
                                 VoucherBook& vouchers, OrderChanges& changes,
                                 std::shared_ptr<spdlog::logger> logger)
    : client_(client),
      stores_(stores),
      keys_(keys),
      vouchers_(vouchers),
      changes_(changes),
      logger_(std::move(logger)) {}

void ReleasedEntries::add(OrderEntry entry) {
  if (entry.deleted) return;
  const auto [first, last] = entries_.equal_range(entry.id);
  const bool is_known = std::any_of(
      first, last, [&](const auto& known) { return known.second.fields == entry.fields; });
  if (is_known) return;
  std::string id = entry.id;
  entries_.emplace(std::move(id), std::move(entry));
}

void ReleasedEntries::add_all(EntryBatch& batch) {
  for (OrderEntry& entry : batch.entries) add(std::move(entry));
  batch.entries.clear();
}

void ReleasedEntries::take(OrderEntry& entry) {
  const auto [first, last] = entries_.equal_range(entry.id);
  if (first == last) return;
  if (entry.deleted) entry = std::prev(last)->second;
  const auto same = std::find_if(
      first, last, [&](const auto& released) { return released.second.fields == entry.fields; });
  if (same != last) entries_.erase(same);
}

absl::StatusOr<bool> ReleasedEntries::restore() {
  if (entries_.empty()) return false;
  std::vector<OrderEntry> sought;
  sought.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) sought.push_back(entry);
  ASSIGN_OR_RETURN(const auto lost, find_lost_orders(client_, stores_.orders, keys_, sought));
  absl::btree_map<VoucherId, std::vector<LostOrder>> of_voucher;
  for (const LostOrder& order : lost) of_voucher[order.order.voucher].push_back(order);
  for (const auto& [voucher, lost_of_voucher] : of_voucher) {
    LostOrders orders{.lost = lost_of_voucher};
    const absl::Status rebuilt = vouchers_.restore(voucher, orders);
    const RestoredOrders& restored = orders.restored;
    restored_ += restored;
    // After an error, what is restored already is not met again.
    const bool is_news = rebuilt.ok() || restored.appended + restored.buried > 0;
    if (logger_ && is_news) {
      log_error(*logger_,
                concat("the keyspace lost ", lost_of_voucher.size(), " orders of voucher ", voucher,
                       " before they were stored: ", restored.appended, " are queued again, ",
                       restored.buried, " are dead letters without stock"));
    }
    RETURN_IF_ERROR(rebuilt);
  }
  ASSIGN_OR_RETURN(const auto repeated, repeat_changes());
  entries_.clear();
  return !of_voucher.empty() || repeated > 0;
}

/// Repeats the changes of the released events, in the order of the stream. One that is not lost
/// changes nothing. Returns their number.
absl::StatusOr<std::size_t> ReleasedEntries::repeat_changes() {
  absl::btree_multimap<StreamId, OrderEvent> events;
  for (const auto& [id, entry] : entries_) {
    if (!is_event(entry) || stores_.orders.payments() == nullptr) continue;
    auto event = read_event(entry);
    if (!event.ok() || begins_in_database(event->kind)) continue;
    const StreamId position = event->order.entry;
    events.emplace(position, *std::move(event));
  }
  for (const auto& [id, event] : events) {
    RETURN_IF_ERROR(changes_.repeat(event));
  }
  return events.size();
}

}  // namespace rushgate
