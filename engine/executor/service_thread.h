// The thread that serves timers, completions, and requests whose submitters do not run them
// themselves. It sleeps when there is nothing to do.
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
#include "engine/executor/operation.h"
#include "engine/time/clock.h"
#include "engine/time/scheduler.h"
#include "engine/time/timer_queue.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace rushgate {

/// Thread-safe. In manual mode it is never started, and run_pending() does its work on the calling
/// thread.
class ServiceThread final : public Scheduler {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// Does what is due inside the turn; when (monotonic ms) it next has something to do, if nobody
  /// kicks before.
  using Duty = absl::AnyInvocable<std::int64_t()>;

  /// `logger`, which may be null, is told of callbacks that throw: the thread goes on.
  ServiceThread(const Clock& clock, Duty duty, std::shared_ptr<spdlog::logger> logger)
      : clock_(clock), duty_(std::move(duty)), logger_(std::move(logger)) {}
  ~ServiceThread() override { stop(); }

  void start();
  /// Runs the completions that are left, then ends. To be called from another thread.
  void stop();

  /// There is something to do. Costs a system call only if the thread sleeps.
  void kick();
  /// As kick(), if the thread would otherwise sleep past `monotonic_ms`.
  void wake_by(std::int64_t monotonic_ms) {
    if (monotonic_ms < planned_wake_ms_.load(std::memory_order_relaxed)) kick();
  }

  /// Calls the operation's completion, after those handed over before it. Needs no memory.
  void complete(std::unique_ptr<Operation> operation);

  TimerId at(std::int64_t monotonic_ms, Callback callback) override;
  bool cancel(TimerId timer) override;
  [[nodiscard]] std::int64_t next_timer_ms() const;

  /// Runs completions and due timers until there are none. Nested calls (from a callback) return at
  /// once.
  void run_pending();

  /// Does the calling thread run one of this service's completions or timers? Whoever waits there
  /// for what this thread alone would do has to do it himself.
  [[nodiscard]] bool inside_callback() const;

  // ---- Sleeping without missing a kick: on the service thread ----

  /// To be called before looking at what there is to do; sleep() takes the result.
  [[nodiscard]] std::uint32_t begin_look();
  /// Sleeps until `monotonic_ms`, but not past a kick that came after the look began. May return
  /// early: look again.
  void sleep(std::uint32_t look, std::int64_t monotonic_ms);

 private:
  void loop();
  bool run_completions();
  bool run_due_timer();
  /// Calls a callback. An exception ends it, and it alone.
  void run_guarded(absl::FunctionRef<void()> callback);
  void run_completion(Operation& operation);

  const Clock& clock_;
  Duty duty_;
  const std::shared_ptr<spdlog::logger> logger_;
  std::thread thread_;
  std::thread::id thread_id_;  // constant once it is started; none in manual mode

  std::atomic<std::uint32_t> signal_{0};  // counts kicks; slept on
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> planned_wake_ms_{kNever};

  mutable std::mutex mutex_;
  OperationList<&Operation::next> completed_;  // guarded by mutex_; owned
  TimerQueue timers_;                          // guarded by mutex_
  bool ended_ = false;                         // guarded by mutex_
  bool running_pending_ = false;               // for the one thread that runs callbacks
};

}  // namespace rushgate
