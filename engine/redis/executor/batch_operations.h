// The operations that have replies in the current commit batch.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "engine/redis/commands/session.h"
#include "engine/redis/executor/executor_errors.h"
#include "engine/redis/executor/operation.h"

namespace rushgate {

/// Belongs to the thread that holds the turn. Does not own the operations. Needs no memory.
class BatchOperations {
 public:
  /// Starts a new batch.
  void begin() { requests_ = 0; }

  /// Adds an operation, unless it was added before. Must be called before its next reply.
  void join(Operation& operation) {
    if (std::exchange(operation.in_batch, true)) return;
    operation.batch_begin = operation.replies.size();
    operations_.push_back(operation);
  }
  /// Removes and returns the first operation; null if there is none.
  Operation* pop() {
    Operation* const operation = operations_.pop_front();
    if (operation != nullptr) operation->in_batch = false;
    return operation;
  }

  /// Counts a request that runs in this batch.
  void count_request() { ++requests_; }
  [[nodiscard]] std::size_t requests() const { return requests_; }

  /// Replaces every reply of the batch with `error`.
  void fail(std::string_view error) {
    operations_.for_each([error](Operation& operation) {
      for (std::size_t i = operation.batch_begin; i < operation.replies.size(); ++i) {
        Reply& reply = operation.replies[i];
        if (!is_no_reply(reply)) reply = executor_errors::reply(error);
      }
    });
  }

 private:
  OperationList<&Operation::next_in_batch> operations_;
  std::size_t requests_ = 0;
};

}  // namespace rushgate
