// Orders and events that the database refused, written once more.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/orders/order_changes.h"
#include "engine/sale/stream/queued_cancellations.h"
#include "engine/sale/worker/batch.h"
#include "engine/sale/worker/batch_writer.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// Tells a refusal that will stay from one that several workers cause: the database may lack an
/// earlier entry, a cancellation or the end of a refund, which the keyspace knows. For one thread,
/// except forget_cancellations(). Does not own its arguments, which must outlive it.
class LateWrites {
 public:
  LateWrites(Client& client, const Clock& clock, const SaleStores& stores, const SaleKeys& keys,
             OrderChanges& changes, BatchWriter& writer);

  /// Writes entries once more that were refused, or came too early, and notes the new decisions. With
  /// several workers, an entry may be met before an earlier one that it needs, which may have been
  /// applied since. Returns the entries that are stored now. While an earlier entry is pending, an
  /// entry is not written again, and later no fault is counted.
  absl::StatusOr<std::vector<DecidedEntry>> write_again(std::vector<DecidedEntry>& decided,
                                                        const BatchFence& fence);

  /// Reads all queued cancellations anew: a new connection may lead to another keyspace. Callable
  /// from any thread.
  void forget_cancellations() { has_stale_cancellations_ = true; }

 private:
  absl::Status wait_for_other_lane(DecidedEntry& refused);
  absl::StatusOr<StreamId> make_room(std::span<OrderEvent> events, const BatchFence& fence);
  absl::StatusOr<StreamId> find_first_pending_besides(const std::vector<DecidedEntry>& decided);

  Client& client_;
  const Clock& clock_;
  const SaleStores stores_;
  const SaleKeys& keys_;
  OrderChanges& changes_;
  BatchWriter& writer_;
  QueuedCancellations queued_cancellations_;
  QueuedCancellations dead_cancellations_;
  std::atomic<bool> has_stale_cancellations_{false};
};

}  // namespace rushgate
