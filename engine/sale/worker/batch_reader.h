// Reads the order stream as a consumer of its group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/worker/batch.h"
#include "engine/sale/worker/released_entries.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Returns the worker's own pending entries first (after a start, or when a retry is due), then
/// entries of dead consumers, then new entries. Each stays pending until somebody acknowledges it.
/// For one thread. Does not own its arguments, which must outlive it.
class BatchReader {
 public:
  BatchReader(Client& client, const Clock& clock, const SaleStores& stores, const SaleKeys& keys,
              const WorkerOptions& options, KeyspaceOwner& owner, ReleasedEntries& released);

  /// Creates the group, unless this reader has done so and it is there. Reads the state of the
  /// database. Returns true if the group was looked for.
  absl::StatusOr<bool> ensure_group();
  /// Of the database, at the time when the last batch was read.
  [[nodiscard]] const DatabaseState& database() const { return database_; }

  /// Returns the kept batch, unless it is too old: it is read once more before another consumer may
  /// claim its entries.
  std::optional<EntryBatch> take_kept();
  /// Reads the next batch. Waits for new entries for `block_ms` (0: not at all), at most until
  /// `due_ms` (monotonic) or until it has something to do itself.
  absl::StatusOr<EntryBatch> next(std::int64_t block_ms, std::int64_t due_ms);
  /// Puts new entries in front of a batch that failed. If their orders can be stored, the batch is
  /// itself at fault.
  absl::StatusOr<EntryBatch> extend(EntryBatch batch);

  /// Keeps a batch for take_kept().
  void keep(EntryBatch batch) { kept_ = std::move(batch); }
  /// Gives up the kept batch. All pending entries will be read once more, by the next call.
  void read_again();
  /// Schedules another reading of the pending entries.
  void retry_later();
  /// Looks for the group before the next reading: it may be gone.
  void forget_group() { group_exists_ = false; }

  /// True if no entry was pending for this consumer when the last batch was read.
  [[nodiscard]] bool had_none_pending() const { return had_none_pending_; }
  /// True if there are more entries of dead consumers to visit.
  [[nodiscard]] bool is_claiming() const;
  /// Returns the number of entries found deleted while they were pending, since the last call.
  std::size_t take_lost() { return std::exchange(lost_, 0); }

 private:
  using Entries = std::vector<OrderEntry>;

  absl::Status report_foreign_consumers();
  [[nodiscard]] std::int64_t ms_to_wait(std::int64_t block_ms, std::int64_t due_ms) const;
  [[nodiscard]] std::size_t batch_max() const;
  absl::StatusOr<std::optional<EntryBatch>> read_pending();
  absl::StatusOr<Entries> claim_and_report();
  absl::StatusOr<Entries> read_group(std::string_view after, std::size_t batch_max,
                                     std::int64_t block_ms);
  absl::StatusOr<Entries> read_portion(std::string_view after, std::size_t count_max,
                                       std::int64_t block_ms);
  absl::StatusOr<Entries> claim_abandoned();
  absl::Status report_lost(const Reply& ids);
  absl::Status restore_released();

  Client& client_;
  const Clock& clock_;
  const SaleStores stores_;
  const SaleKeys& keys_;
  const WorkerOptions& options_;
  KeyspaceOwner& owner_;
  ReleasedEntries& released_;

  bool group_exists_ = false;
  std::string consumer_;  // its name in the group; known once group_exists_
  DatabaseState database_;
  /// Where reading its own pending entries continues; empty: all were read.
  std::optional<std::string> history_after_;
  bool had_none_pending_ = false;
  std::int64_t retry_at_ms_ = 0;  // monotonic; 0: nothing to retry
  /// False until other entries have had their turn. What is retried may need one of them, and with a slow
  /// database the next retry is due when the last one ends.
  bool may_retry_ = true;
  std::optional<EntryBatch> kept_;  // the batch that the worker paused with
  std::int64_t read_at_ms_ = 0;     // monotonic: when the last batch was read
  std::int64_t claim_at_ms_ = 0;    // monotonic
  std::string claim_from_;          // where claiming continues; kClaimFromStart: at the beginning
  std::size_t lost_ = 0;
  absl::flat_hash_set<std::string> reported_consumers_;
};

}  // namespace rushgate
