// The thread that runs completions, messages and timers of a RedisBackend. Private to this module.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "engine/core/time/timer_queue.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Runs callbacks one at a time, in the order of submission. An exception ends only the callback
/// that threw it. Thread-safe.
class CallbackThread final : public Scheduler {
 public:
  explicit CallbackThread(const Clock& clock) : clock_(clock) {}
  ~CallbackThread() override { stop(); }

  void start();
  /// Runs the remaining callbacks, drops the timers, then ends. Must not be called by a callback.
  void stop();

  /// Runs `callback` after the earlier ones. After stop(), runs it at once on the calling thread.
  void run(Callback callback);
  /// Returns true if a callback is calling.
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
