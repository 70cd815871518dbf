#include <chrono>
#include <limits>
#include <utility>

#include "engine/core/base/thread_name.h"
#include <rushgate/order_worker_thread.h>

namespace rushgate {

void WorkerCounts::add(const OrderWorker::Step& step) {
  using Kind = OrderWorker::Step::Kind;
  batches += step.kind == Kind::kWorked ? 1 : 0;
  pauses += step.kind == Kind::kPaused ? 1 : 0;
  stored += step.stored;
  changed += step.changed;
  expired += step.expired;
  buried += step.buried;
  restored += step.restored;
  faulted += step.faulted;
  lost += step.lost;
}

void WorkerCounts::add(const WorkerCounts& other) {
  batches += other.batches;
  pauses += other.pauses;
  stored += other.stored;
  changed += other.changed;
  expired += other.expired;
  buried += other.buried;
  restored += other.restored;
  faulted += other.faulted;
  lost += other.lost;
}

OrderWorkerThread::OrderWorkerThread(std::unique_ptr<OrderWorker> worker, std::int64_t pause_ms,
                                     AfterStep after_step)
    : worker_(std::move(worker)),
      pause_ms_(pause_ms),
      after_step_(std::move(after_step)),
      thread_([this] { loop(); }) {}

OrderWorkerThread::~OrderWorkerThread() { stop(); }

/// The interval for interrupting once more: the thread may have been about to wait.
constexpr std::chrono::milliseconds kInterruptAgain{10};

void OrderWorkerThread::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  while (!has_ended_) {
    lock.unlock();
    worker_->interrupt();
    lock.lock();
    changed_.wait_for(lock, kInterruptAgain, [this] { return has_ended_; });
  }
  lock.unlock();
  if (thread_.joinable()) thread_.join();
}

void OrderWorkerThread::update_counts() {
  std::unique_lock lock(mutex_);
  const auto is_counted = [this, before = steps_] {
    return steps_ != before || is_pausing_ || has_ended_;
  };
  while (!is_counted()) {
    lock.unlock();
    worker_->interrupt();
    lock.lock();
    changed_.wait_for(lock, kInterruptAgain, is_counted);
  }
}

WorkerCounts OrderWorkerThread::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string OrderWorkerThread::pause_reason() const {
  const std::lock_guard lock(mutex_);
  return pause_reason_;
}

/// Returns true if the next step may wait for orders.
bool OrderWorkerThread::run_after_step(OrderWorker::Step& step) {
  using Kind = OrderWorker::Step::Kind;
  if (!after_step_) return true;
  const auto has_more = after_step_();
  if (has_more.ok()) return !*has_more;
  if (step.kind == Kind::kIdle) step.kind = Kind::kPaused;
  if (step.reason.empty()) step.reason = std::string(has_more.status().message());
  return false;
}

void OrderWorkerThread::loop() {
  name_this_thread("rg-worker");
  bool may_wait = !after_step_;
  while (true) {
    OrderWorker::Step step =
        worker_->wait_and_step(may_wait ? std::numeric_limits<std::int64_t>::max() : 0);
    {
      const std::lock_guard lock(mutex_);
      counts_.add(step);
    }
    may_wait = run_after_step(step);

    std::unique_lock lock(mutex_);
    ++steps_;
    changed_.notify_all();
    pause_reason_ = std::move(step.reason);
    if (step.kind == OrderWorker::Step::Kind::kPaused) {
      is_pausing_ = true;
      changed_.wait_for(lock, std::chrono::milliseconds(pause_ms_), [this] { return stopping_; });
      is_pausing_ = false;
    }
    if (!stopping_) continue;
    has_ended_ = true;
    changed_.notify_all();
    return;
  }
}

}  // namespace rushgate
