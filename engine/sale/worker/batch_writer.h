// Writes the orders of a batch, and finds the ones at fault.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/worker/batch.h"
#include <rushgate/order_store.h>

namespace rushgate {

/// Writes a batch in one transaction while it can. An order at fault is isolated:
/// - If the store names one (kInvalidArgument), the batch is halved until that order is alone.
/// - After several failures in a row, which may be outages, the batch is written in pieces. An order
///   that fails alone is at fault only if others are stored meanwhile. It is a suspect then, and is
///   written alone from now on.
///
/// For one thread. Does not own its arguments, which must outlive it.
class BatchWriter {
 public:
  /// `isolate_after` is that of WorkerOptions.
  BatchWriter(const SaleStores& stores, int isolate_after);

  /// Writes `writes`, and then each of `suspects` alone. Appends the decisions; what is not decided
  /// is to be written again later. kAborted: another epoch has begun, which is no failure. Other
  /// errors are outages, and are counted.
  absl::Status write_all(const EntryWrites& writes, const EntryWrites& suspects,
                         const BatchFence& fence, std::vector<DecidedEntry>& decided);
  /// Writes a batch and isolates the orders that the store names. Counts no outage.
  absl::Status write(const WriteSpan& writes, const BatchFence& fence,
                     std::vector<DecidedEntry>& decided);

  /// Returns true if the next batch is written in pieces.
  [[nodiscard]] bool is_isolating() const { return failed_writes_ >= isolate_after_; }
  /// Moves the entries that failed alone in the last attempt, which are in front, to the back of an
  /// undecided batch. So other orders are tried first.
  void put_failed_last(std::vector<OrderEntry>& entries);
  /// The same for a batch that was read once more: all that have failed alone.
  void put_tried_last(std::vector<OrderEntry>& entries) const;

  // Suspects, by the ids of their entries:
  [[nodiscard]] bool is_suspect(const std::string& id) const { return suspects_.contains(id); }
  void clear_suspect(const std::string& id) { suspects_.erase(id); }
  void clear_suspects() { suspects_.clear(); }

 private:
  absl::StatusOr<std::vector<OrderResult>> try_write(const WriteSpan& writes,
                                                     const BatchFence& fence);
  absl::Status isolate(WriteSpan writes, const BatchFence& fence,
                       std::vector<DecidedEntry>& decided);
  absl::Status write_suspect(const WriteSpan& suspect, const BatchFence& fence,
                             std::vector<DecidedEntry>& decided);

  const SaleStores stores_;
  const int isolate_after_;
  int failed_writes_ = 0;         // consecutive calls of write_all() with an outage
  std::size_t failed_alone_ = 0;  // orders at its front that failed alone in the last attempt
  std::size_t tried_alone_ = 0;   // orders that failed alone since failed_writes_ was 0
  absl::flat_hash_set<std::string> suspects_;
};

}  // namespace rushgate
