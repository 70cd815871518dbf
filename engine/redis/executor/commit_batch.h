// Runs operations as one batch: all their changes are committed together, before any reply is sent.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string_view>

#include "engine/redis/commands/channels.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/executor/batch_operations.h"
#include "engine/redis/executor/due_work.h"
#include "engine/redis/executor/operation.h"
#include "engine/redis/executor/operation_queue.h"
#include "engine/redis/executor/reply_sender.h"
#include "engine/redis/executor/store_guard.h"
#include "engine/redis/executor/turn_share.h"
#include "engine/redis/executor/unblocker.h"
#include "engine/redis/keyspace/keyspace.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>

namespace rushgate {

/// Group commit. Belongs to the thread that holds the turn, except where noted.
class CommitBatch {
 public:
  /// Not owned.
  struct Parts {
    const EngineOptions& options;
    const Clock& clock;
    StoreGuard& store;
    CommandServices& services;
    OperationQueue& queue;
    BatchOperations& operations;
    Unblocker& unblocker;
    DueWork& due_work;
    ReplySender& sender;
  };
  explicit CommitBatch(const Parts& parts);

  /// Runs operations in the order of OperationQueue::next() until the batch is full, `share` is
  /// over, or none is left. Then commits and sends the replies. Throws nothing: an exception
  /// outside a request ends this batch alone.
  void run(Operation*& own, TurnShare& share);

  /// Returns true if the last batch ended with an fsync.
  [[nodiscard]] bool had_fsync() const { return had_fsync_; }
  /// Returns the memory of the keyspace after the last batch, without removed values that are not
  /// freed yet. Any thread may call it.
  [[nodiscard]] std::size_t kept_bytes() const {
    return kept_bytes_.load(std::memory_order_relaxed);
  }

  /// Ends all blocked operations with the reply `error`.
  void refuse_blocked(std::string_view error);

  /// Prefetches the memory of the keys of all operations with one request.
  void prefetch(std::span<const Operation* const> operations);

 private:
  void fill(Operation*& own, TurnShare& share);
  void run_due_work();
  void run_operation(Operation& operation, TurnShare& share);
  void run_requests(Operation& operation, TurnShare& share);
  void run_request(Operation& operation, const Request& request);
  /// Blocks the operation on its current request. Returns false if no thread could unblock it.
  bool block(Operation& operation, BlockRequest& request);
  /// Delays the operation until the end of CLIENT PAUSE. Returns false if no thread could end it.
  bool pause(Operation& operation);
  [[nodiscard]] bool may_wait(const Operation& operation) const;
  void prefetch(const Session& session, std::span<const Request> requests);

  void commit();
  /// Commits the changes, or rolls them back and fails the batch.
  void commit_changes();
  /// Syncs the store for SAVE, or fails the batch.
  void save();
  /// Ends a batch in which code outside its requests has thrown. The turn continues.
  void abandon(Operation*& own);
  void send_replies();

  const EngineOptions& options_;
  const Clock& clock_;
  StoreGuard& store_;
  CommandServices& services_;
  Keyspace& keyspace_;
  OperationQueue& queue_;
  BatchOperations& operations_;
  Unblocker& unblocker_;
  DueWork& due_work_;
  ReplySender& sender_;

  Changes::Savepoint after_expiry_{};  // before it, the batch only removed expired keys
  bool is_final_ = false;              // nothing of the batch is rolled back any more
  bool had_fsync_ = false;
  std::atomic<std::size_t> kept_bytes_{0};
};

}  // namespace rushgate
