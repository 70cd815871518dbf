// The figures of a running sale, for dashboards: one reading of everything that can be counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rushgate/order_status.h>
#include <rushgate/order_worker_thread.h>
#include <rushgate/purchase_statistics.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// The workers of a FlashSale.
struct WorkerStatistics {
  std::size_t running = 0;                      // threads
  std::vector<std::string> pause_reasons = {};  // one of each worker that makes no progress
  WorkerCounts counts = {};                     // of all, since the sale was opened
};

/// Accepted orders, payments and cancellations that are not stored yet.
struct QueueStatistics {
  std::int64_t pending = 0;                  // a worker has them
  std::optional<std::int64_t> waiting = {};  // no worker has them; empty: the server cannot say
  std::int64_t oldest_age_ms = 0;            // since the oldest of all was accepted
};

/// Stored orders that are not archived.
struct OrderStatistics {
  std::array<std::int64_t, kOrderStatuses.size()> by_status = {};  // as kOrderStatuses
  std::int64_t age_ms = 0;                                         // since they were counted
};

/// The keyspace, as its INFO reports it. What a server does not report is empty.
struct KeyspaceStatistics {
  bool is_embedded = false;
  std::string version = {};     // of the server
  std::string durability = {};  // embedded: "memory", "os", "everysec" or "sync"
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> memory_bytes_max = {};  // 0: no limit
  std::optional<std::uint64_t> clients = {};           // sessions
  std::optional<std::uint64_t> commands = {};          // executed
  std::optional<std::uint64_t> stream_cache_bytes = {};
  // Embedded:
  std::optional<std::uint64_t> commits = {};  // batches of requests with changes
  std::optional<std::uint64_t> syncs = {};    // fsyncs, of commits and beside them
  // On RocksDB:
  std::optional<std::uint64_t> flushes = {};
  std::optional<std::uint64_t> compactions = {};
  std::optional<std::uint64_t> stalls =
      {};  // times that commits began to wait for its background work
  // On a server:
  std::optional<std::uint64_t> evicted_keys = {};
  std::optional<std::uint64_t> delayed_syncs = {};
  std::optional<std::uint64_t> replicas = {};
  std::optional<bool> last_write_ok = {};  // of the append-only file, and of the last snapshot
};

/// The figures of a sale. Counts begin with the opening of the sale in this process. A part that could
/// not be read is empty. A value type.
struct SaleStatistics {
  std::int64_t at_ms = 0;         // since 1970 UTC
  std::int64_t opened_at_ms = 0;  // since 1970 UTC
  std::string fault = {};         // why the keyspace is unusable; empty: it is usable

  PurchaseStatistics purchases = {};
  /// At most PurchaseStatistics::kVouchersMax vouchers: those with purchases, then others that are on
  /// sale, in ascending order of ids.
  std::vector<VoucherSummary> vouchers = {};
  std::optional<std::size_t> vouchers_published = {};  // all of them, except archived ones
  std::optional<std::size_t> vouchers_on_sale = {};    // within their window
  std::optional<QueueStatistics> queue = {};
  std::optional<std::int64_t> dead_letters = {};
  std::optional<OrderStatistics> orders = {};
  WorkerStatistics workers = {};
  std::optional<KeyspaceStatistics> keyspace = {};
};

}  // namespace rushgate
