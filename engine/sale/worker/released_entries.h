// Entries that a worker has read and must read once more.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/orders/order_changes.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "engine/sale/worker/batch.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace spdlog {
class logger;
}

namespace rushgate {

/// Remembers each entry until it is read once more: the keyspace may have lost those that it does not
/// return then, and this was the last copy. For one thread. Does not own its arguments, which must
/// outlive it.
class ReleasedEntries {
 public:
  /// `logger` may be null.
  ReleasedEntries(Client& client, const SaleStores& stores, const SaleKeys& keys,
                  VoucherBook& vouchers, OrderChanges& changes,
                  std::shared_ptr<spdlog::logger> logger);

  void add(OrderEntry entry);
  /// Adds all entries of the batch, and leaves it empty.
  void add_all(EntryBatch& batch);
  /// Forgets an entry that was read once more. Restores the fields of one that was deleted from the
  /// stream meanwhile. After a loss, another order may have its id.
  void take(OrderEntry& entry);

  /// Searches the entries that were not among the pending ones. The keyspace may have lost them: then
  /// restores their orders, and does their changes once more. Returns true if it found any. After an
  /// error, all pending entries must be read before it is tried again.
  absl::StatusOr<bool> restore();
  /// Returns what was restored since the last call.
  RestoredOrders take_restored() { return std::exchange(restored_, {}); }

 private:
  absl::StatusOr<std::size_t> repeat_changes();

  Client& client_;
  const SaleStores stores_;
  const SaleKeys& keys_;
  VoucherBook& vouchers_;
  OrderChanges& changes_;
  const std::shared_ptr<spdlog::logger> logger_;
  /// By their ids. After a loss, several may have one id; they are in the order of their additions.
  absl::btree_multimap<std::string, OrderEntry> entries_;
  RestoredOrders restored_;
};

}  // namespace rushgate
