// The thread that runs timers, completions, and requests without a waiting caller. It sleeps when
// there is no work.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "engine/core/time/timer_queue.h"
#include "engine/redis/executor/operation.h"
#include <rushgate/clock.h>

namespace spdlog {
class logger;
}  // namespace spdlog

namespace rushgate {

/// Thread-safe. In manual mode the thread is not started; run_pending() does its work on the
/// calling thread.
class ServiceThread final : public Scheduler {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// Does the due work inside the turn. Returns the time (monotonic ms) of the next
  /// work.
  using Duty = absl::AnyInvocable<std::int64_t()>;

  /// `logger`, which may be null, gets the exceptions of callbacks; the thread continues.
  ServiceThread(const Clock& clock, Duty duty, std::shared_ptr<spdlog::logger> logger)
      : clock_(clock), duty_(std::move(duty)), logger_(std::move(logger)) {}
  ~ServiceThread() override { stop(); }

  void start();
  /// Runs the remaining completions, then ends the thread. Must be called from another thread.
  void stop();

  /// Wakes the thread. Costs a system call only if it sleeps.
  void kick();
  /// As kick(), only if the thread would sleep past `monotonic_ms`.
  void wake_by(std::int64_t monotonic_ms) {
    if (monotonic_ms < planned_wake_ms_.load(std::memory_order_relaxed)) kick();
  }

  /// Calls the operation's completion, after all completions passed before it. Needs no memory.
  void complete(std::unique_ptr<Operation> operation);

  TimerId at(std::int64_t monotonic_ms, Callback callback) override;
  bool cancel(TimerId timer) override;
  [[nodiscard]] std::int64_t next_timer_ms() const;

  /// Runs completions and due timers until none is left. Nested calls (from a callback) return at
  /// once.
  void run_pending();

  /// Returns true if the calling thread runs a completion or timer of this service. Work that only
  /// this thread does must then be done by the caller itself.
  [[nodiscard]] bool inside_callback() const;

  // ---- Sleeping without missing a kick: on the service thread ----

  /// Returns the number of kicks so far. Must be called before a check for work; sleep() takes the
  /// result.
  [[nodiscard]] std::uint32_t kicks() const { return kicks_.load(); }
  /// Sleeps until `monotonic_ms`, unless there was a kick after `kicks` was read. May return early;
  /// check for work again.
  void sleep(std::uint32_t kicks, std::int64_t monotonic_ms);

 private:
  void loop();
  bool run_completions();
  bool run_due_timer();
  /// Calls a callback. An exception ends only this callback.
  void run_guarded(absl::FunctionRef<void()> callback);
  void run_completion(Operation& operation);

  const Clock& clock_;
  Duty duty_;
  const std::shared_ptr<spdlog::logger> logger_;
  std::thread thread_;
  std::thread::id thread_id_;  // constant after the start; none in manual mode

  std::atomic<std::uint32_t> kicks_{0};  // slept on
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> planned_wake_ms_{kNever};

  mutable std::mutex mutex_;
  OperationList<&Operation::next> completed_;  // guarded by mutex_; owned
  TimerQueue timers_;                          // guarded by mutex_
  bool ended_ = false;                         // guarded by mutex_
  bool running_pending_ = false;               // limits the callbacks to one thread
};

}  // namespace rushgate
