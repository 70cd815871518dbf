// The work of an order worker.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/client/connection_check.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/orders/order_changes.h"
#include "engine/sale/stream/queued_orders.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "engine/sale/worker/acknowledger.h"
#include "engine/sale/worker/batch.h"
#include "engine/sale/worker/batch_reader.h"
#include "engine/sale/worker/batch_writer.h"
#include "engine/sale/worker/hold_timeouts.h"
#include "engine/sale/worker/late_writes.h"
#include "engine/sale/worker/released_entries.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/dead_letter.h>
#include <rushgate/order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Takes batches from the reader through the writer to the acknowledger, and pauses when one of them
/// meets an outage. For one thread, except interrupt(). Does not own its arguments, which must outlive
/// it.
class OrderWorker::Impl {
 public:
  /// A worker of a move ends no holds.
  Impl(Backend& backend, const SaleStores& stores, const SaleKeys& keys, WorkerOptions options,
       KeyspaceRole role = KeyspaceRole::kSale);

  /// As OrderWorker::step(), with `block_ms` in place of the option.
  Step step(std::int64_t block_ms);
  /// Waits until its pause ends, at most `wait_ms_max`, or until interrupt().
  void wait_for_end_of_pause(std::int64_t wait_ms_max);
  void interrupt();
  [[nodiscard]] const WorkerOptions& options() const { return options_; }

 private:
  Step work(std::int64_t block_ms);
  absl::Status look_for_new_session();
  absl::Status prepare();
  absl::Status renew_lease();
  absl::StatusOr<EntryBatch> take_batch(std::int64_t block_ms);
  Step process(EntryBatch batch);
  void give_back(EntryBatch& batch);
  absl::Status trim();
  Step process_held(EntryBatch& batch);
  void read_all(const EntryBatch& batch, EntryWrites& writes, EntryWrites& suspects,
                std::vector<DecidedEntry>& decided);
  absl::Status prepare_write();
  absl::StatusOr<BatchFence> draw_fence();
  absl::Status conclude(std::vector<DecidedEntry>& decided, bool is_redelivery, Step& step);
  absl::Status end_refunds(const std::vector<DecidedEntry>& decided);
  absl::Status conclude_unstored(std::vector<DecidedEntry>& decided, Step& step);
  void report_stored(const std::vector<DecidedEntry>& decided) const;
  void keep_undecided(EntryBatch batch, const std::vector<DecidedEntry>& decided);
  [[nodiscard]] bool ends_holds() const {
    return role_ == KeyspaceRole::kSale && stores_.orders.payments() != nullptr;
  }
  Step pause(const absl::Status& reason);

  const std::unique_ptr<Client> client_;
  const SaleStores stores_;
  const Clock& clock_;
  const SaleKeys keys_;
  const WorkerOptions options_;
  const KeyspaceRole role_;
  KeyspaceOwner owner_;
  VoucherBook vouchers_;
  QueuedOrders queued_;
  OrderChanges changes_;
  ReleasedEntries released_;
  BatchReader reader_;
  BatchWriter writer_;
  LateWrites late_writes_;
  Acknowledger acknowledger_;
  HoldTimeouts timeouts_;
  const OwnedConnectionCheck connection_check_;

  BatchFence fence_;              // of the batch now written
  std::int64_t renew_at_ms_ = 0;  // monotonic: when to renew the lease of the database
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::int64_t session_at_ms_ =
      kNever;                         // monotonic: when to look for a new session of the database
  std::int64_t trim_at_ms_ = kNever;  // monotonic: when retained entries are to be removed

  int pauses_ = 0;                    // consecutive
  std::int64_t paused_until_ms_ = 0;  // monotonic
  std::string pause_reason_;
  std::mutex pause_mutex_;
  std::condition_variable interrupted_;
  bool is_interrupted_ = false;  // guarded by pause_mutex_
};

}  // namespace rushgate
