#include "engine/redis/executor/operation_queue.h"

#include <utility>

#include "engine/core/base/futex.h"
#include "engine/redis/executor/executor_errors.h"

namespace rushgate {

void OperationQueue::refuse_all(std::string_view error) {
  Operation* operation = nullptr;
  while (queued_.pop(operation)) {
    if (begin(*operation)) sender_.refuse(*operation, error);
  }
}

void OperationQueue::wait_for_capacity(std::uint32_t times_freed, std::int64_t sleep_ms) {
  ++waiting_for_capacity_;
  futex_wait(times_freed_, times_freed, sleep_ms);
  --waiting_for_capacity_;
}

Operation* OperationQueue::next(Operation*& own) {
  if (unfinished_ != nullptr) return std::exchange(unfinished_, nullptr);
  if (!resumed_.empty()) return resumed_.pop_front();
  if (own != nullptr) {
    Operation* const operation = std::exchange(own, nullptr);
    if (begin(*operation)) return operation;
  }
  return pop();
}

Operation* OperationQueue::pop() {
  Operation* operation = nullptr;
  while (queued_.pop(operation)) {
    has_freed_ = true;
    if (begin(*operation)) return operation;
  }
  return nullptr;
}

bool OperationQueue::begin(Operation& operation) {
  if (operation.deadline_ms == 0) return true;
  if (!operation.state.begin()) {
    delete &operation;
    return false;
  }
  if (clock_.monotonic_ms() < operation.deadline_ms) return true;
  sender_.refuse(operation, executor_errors::kTimedOutText);
  return false;
}

void OperationQueue::report_freed_capacity() {
  if (!std::exchange(has_freed_, false)) return;
  times_freed_.fetch_add(1);
  if (waiting_for_capacity_.load() != 0) futex_wake(&times_freed_);
}

}  // namespace rushgate
