#include "adapters/redis/callback_thread.h"

#include <chrono>
#include <optional>
#include <utility>

#include "engine/core/base/thread_name.h"

namespace rushgate {
namespace {

thread_local const CallbackThread* current_thread = nullptr;

void run_guarded(Scheduler::Callback& callback) {
  try {
    callback();
  } catch (...) {  // the other callbacks must still run
  }
}

}  // namespace

void CallbackThread::start() {
  thread_ = std::thread([this] { loop(); });
}

void CallbackThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  const TimerQueue dropped = [this] {  // destroying callbacks may call this object
    const std::lock_guard lock(mutex_);
    return std::exchange(timers_, {});
  }();
}

void CallbackThread::run(Callback callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!has_ended_) {
      callbacks_.push_back(std::move(callback));
      if (is_asleep_) changed_.notify_one();
      return;
    }
  }
  run_guarded(callback);
}

bool CallbackThread::is_current() const { return current_thread == this; }

Scheduler::TimerId CallbackThread::at(std::int64_t monotonic_ms, Callback callback) {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return 0;
  const TimerId timer = timers_.add(monotonic_ms, std::move(callback));
  if (is_asleep_) changed_.notify_one();
  return timer;
}

bool CallbackThread::cancel(TimerId timer) {
  const std::lock_guard lock(mutex_);
  return timers_.remove(timer);
}

void CallbackThread::loop() {
  name_this_thread("rg-callbacks");
  current_thread = this;
  std::unique_lock lock(mutex_);
  while (true) {
    std::deque<Callback> due;
    std::swap(due, callbacks_);
    if (due.empty() && !is_stopping_) {
      if (auto timer = timers_.take_due(clock_.monotonic_ms())) due.push_back(std::move(*timer));
    }
    if (!due.empty()) {
      lock.unlock();
      for (Callback& callback : due) run_guarded(callback);
      due.clear();
      lock.lock();
      continue;
    }
    if (is_stopping_) break;
    is_asleep_ = true;
    const std::optional<std::int64_t> next_ms = timers_.next_due_ms();
    if (next_ms) {
      changed_.wait_for(lock, std::chrono::milliseconds(*next_ms - clock_.monotonic_ms()));
    } else {
      changed_.wait(lock);
    }
    is_asleep_ = false;
  }
  has_ended_ = true;
}

}  // namespace rushgate
