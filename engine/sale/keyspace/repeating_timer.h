// Calls a function now and then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/core/base/thread_name.h"
#include <rushgate/backend.h>

namespace rushgate {

/// Calls a function again and again until it is destroyed: on a thread of its own, since the function may wait for a
/// server that hangs, and the backend's timers and completions must not. Where the backend has no thread for
/// these, or the system has none to spare, on theirs. Does not own the backend, which must outlive it.
class RepeatingTimer {
 public:
  /// `next_ms` returns when the next call is due, monotonic. A call that is due while `act` runs is left out. An
  /// exception ends that call, not the next ones.
  RepeatingTimer(Backend& backend, ThreadName thread, std::function<std::int64_t()> next_ms,
                 std::function<void()> act);
  /// Waits for a call that is on its way.
  ~RepeatingTimer();
  RepeatingTimer(const RepeatingTimer&) = delete;
  RepeatingTimer& operator=(const RepeatingTimer&) = delete;

 private:
  struct State;
  static void schedule(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
};

}  // namespace rushgate
