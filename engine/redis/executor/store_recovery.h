// Makes a failed store work again where the cause can pass: a full disk, a quota, a read-only
// remount, a file system that vanished for a while.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/redis/executor/store_guard.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Reopens the store after a failure, again and again until that succeeds or never can. Thread-safe,
/// except in manual mode.
class StoreRecovery {
 public:
  /// Runs a function in the turn.
  using RunInTurn = std::function<void(absl::FunctionRef<void()> run)>;

  /// `ended` is called in the turn when the store works again, or will not. `is_manual`:
  /// run_if_due() does the work of the thread.
  StoreRecovery(StoreGuard& store, const Clock& clock, bool is_manual, RunInTurn run_in_turn,
                std::function<void()> ended);
  ~StoreRecovery() { stop(); }

  /// Starts the thread, if the store can be reopened.
  void start();
  /// Ends the thread after its current attempt, and returns when it has ended, on each thread that
  /// calls it. The turn must not be taken for good before.
  void stop();

  /// Returns when the next attempt is due (monotonic ms), or ServiceThread::kNever. Manual mode.
  [[nodiscard]] std::int64_t due_ms();
  /// Makes an attempt if one is due. Manual mode.
  void run_if_due(std::int64_t monotonic_ms);

 private:
  void loop();
  void attempt();
  absl::Status reopen();
  [[nodiscard]] std::int64_t next_wait_ms(std::int64_t took_ms);

  StoreGuard& store_;
  const Clock& clock_;
  const bool is_manual_;
  const RunInTurn run_in_turn_;
  const std::function<void()> ended_;
  int attempts_ = 0;     // since the failure. Used by the thread alone
  std::int64_t due_ms_;  // manual mode
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  std::mutex joining_;
  std::thread thread_;  // guarded by joining_, after start()
};

}  // namespace rushgate
