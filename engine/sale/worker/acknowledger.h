// Ends the entries of a batch in the keyspace, after the database has decided on them.
#pragma once

#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/worker/batch.h"
#include <rushgate/client.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Acknowledges what is stored, and buries what never can be. For one thread. Does not own its
/// arguments, which must outlive it.
class Acknowledger {
 public:
  Acknowledger(Client& client, const SaleKeys& keys, const WorkerOptions& options,
               KeyspaceOwner& owner);

  /// Acknowledges the entries that were stored with this fence, and counts them in `step`. A redelivery
  /// may have faults, which are forgotten. kAborted: the database may have lost them.
  absl::Status acknowledge_stored(const std::vector<DecidedEntry>& decided, bool is_redelivery,
                                  const BatchFence& fence, OrderWorker::Step& step);
  /// Buries an entry that is not stored, if its refusal is final. Returns false if it is to be
  /// written again later: then its order is added to `waiting`. `waiting` has the orders of this
  /// batch that wait for something; orders come before their events.
  absl::StatusOr<bool> bury_if_final(DecidedEntry& one, absl::flat_hash_set<OrderId>& waiting,
                                     OrderWorker::Step& step);
  /// Removes entries that every group has acknowledged, as WorkerOptions say. Returns true if others are
  /// to be removed later.
  absl::StatusOr<bool> trim();

 private:
  absl::Status acknowledge(std::span<const OrderEntry* const> entries, bool is_redelivery,
                           const KeyspaceOwner::Recorded& batch);
  absl::Status forget_ends(std::span<const OrderEntry* const> entries);
  absl::StatusOr<bool> is_final(DecidedEntry& decided, const absl::flat_hash_set<OrderId>& waiting);
  absl::StatusOr<bool> has_ended_since(SeenEnds& seen);
  absl::StatusOr<bool> is_fault_final(const OrderEntry& entry);

  Client& client_;
  const SaleKeys& keys_;
  const WorkerOptions& options_;
  KeyspaceOwner& owner_;
};

}  // namespace rushgate
