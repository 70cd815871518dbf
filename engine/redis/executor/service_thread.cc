#include "engine/redis/executor/service_thread.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/futex.h"
#include "engine/core/base/log.h"
#include "engine/core/base/thread_name.h"

namespace rushgate {

void ServiceThread::start() {
  thread_ = std::thread([this] { loop(); });
  thread_id_ = thread_.get_id();
}

void ServiceThread::stop() {
  stopping_ = true;
  kick();
  if (thread_.joinable()) thread_.join();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  run_completions();
}

void ServiceThread::kick() {
  kicks_.fetch_add(1);
  if (sleeping_.load()) futex_wake(&kicks_);
}

void ServiceThread::complete(std::unique_ptr<Operation> operation) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) completed_.push_back(*operation.release());
  }
  if (operation == nullptr) return kick();
  run_completion(*operation);  // no other thread will do it
}

void ServiceThread::run_completion(Operation& operation) {
  run_guarded([&] { operation.completion(std::move(operation.replies), operation.protocol); });
}

void ServiceThread::run_guarded(absl::FunctionRef<void()> callback) {
  const auto report = [this](const char* what) {
    if (logger_ != nullptr) log_error(*logger_, concat("a callback of the engine threw: ", what));
  };
  try {
    callback();
  } catch (const std::exception& failure) {
    report(failure.what());
  } catch (...) {
    report("unknown exception");
  }
}

Scheduler::TimerId ServiceThread::at(std::int64_t monotonic_ms, Callback callback) {
  TimerId timer = 0;
  {
    const std::lock_guard lock(mutex_);
    timer = timers_.add(monotonic_ms, std::move(callback));
  }
  wake_by(monotonic_ms);
  return timer;
}

bool ServiceThread::cancel(TimerId timer) {
  const std::lock_guard lock(mutex_);
  return timers_.remove(timer);
}

std::int64_t ServiceThread::next_timer_ms() const {
  const std::lock_guard lock(mutex_);
  return timers_.next_due_ms().value_or(kNever);
}

void ServiceThread::run_pending() {
  if (running_pending_) return;
  running_pending_ = true;
  while (run_completions() || run_due_timer()) {
  }
  running_pending_ = false;
}

bool ServiceThread::inside_callback() const {
  const bool is_manual = thread_id_ == std::thread::id();
  return (is_manual || thread_id_ == std::this_thread::get_id()) && running_pending_;
}

bool ServiceThread::run_completions() {
  OperationList<&Operation::next> completed;
  {
    const std::lock_guard lock(mutex_);
    std::swap(completed, completed_);
  }
  const bool any = !completed.empty();
  while (const std::unique_ptr<Operation> operation{completed.pop_front()}) {
    run_completion(*operation);
  }
  return any;
}

bool ServiceThread::run_due_timer() {
  std::optional<Callback> callback;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;  // the clock may be gone, too
    callback = timers_.take_due(clock_.monotonic_ms());
  }
  if (callback) run_guarded([&] { (*callback)(); });
  return callback.has_value();
}

void ServiceThread::sleep(std::uint32_t kicks, std::int64_t monotonic_ms) {
  planned_wake_ms_ = monotonic_ms;
  sleeping_ = true;
  if (kicks_.load() == kicks) {
    const std::int64_t sleep_ms =
        monotonic_ms == kNever ? -1
                               : std::max<std::int64_t>(0, monotonic_ms - clock_.monotonic_ms());
    if (sleep_ms != 0) futex_wait(kicks_, kicks, sleep_ms);
  }
  sleeping_ = false;
  planned_wake_ms_ = kNever;  // awake: each due time needs a kick
}

void ServiceThread::loop() {
  name_this_thread("rg-service");
  while (true) {
    const std::uint32_t kicks_before = kicks();
    run_pending();
    const std::int64_t next_ms = std::min(duty_(), next_timer_ms());
    if (stopping_) return;
    sleep(kicks_before, next_ms);
  }
}

}  // namespace rushgate
