// The thread that runs completions, messages and timers of a RedisBackend. Private to this module.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "engine/time/clock.h"
#include "engine/time/scheduler.h"
#include "engine/time/timer_queue.h"

namespace rushgate {

/// Thread-safe. Runs callbacks one at a time, in the order in which they were handed over. A
/// callback that throws is ended, and it alone.
class CallbackThread final : public Scheduler {
 public:
  explicit CallbackThread(const Clock& clock) : clock_(clock) {}
  ~CallbackThread() override { stop(); }

  void start();
  /// Runs the callbacks that are left, drops the timers, then ends. Not from a callback.
  void stop();

  /// Runs `callback` as soon as those before it have run; after stop(), at once on this thread.
  void run(Callback callback);
  /// Returns true if the calling thread is this one: a callback calls.
  [[nodiscard]] bool is_current() const;

  TimerId at(std::int64_t monotonic_ms, Callback callback) override;
  bool cancel(TimerId timer) override;

 private:
  void loop();

  const Clock& clock_;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Callback> callbacks_;  // guarded by mutex_
  TimerQueue timers_;               // guarded by mutex_
  bool is_asleep_ = false;          // guarded by mutex_
  bool is_stopping_ = false;        // guarded by mutex_
  bool has_ended_ = false;          // guarded by mutex_
};

}  // namespace rushgate
