// Calls a function now and then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <rushgate/backend.h>

namespace rushgate {

/// Calls a function again and again until it is destroyed, on the thread of the backend's timers. Does not own the
/// backend, which must outlive it.
class RepeatingTimer {
 public:
  /// `next_ms` returns when the next call is due, monotonic. It is called before `act`: an exception ends that
  /// call, not the next ones.
  RepeatingTimer(Backend& backend, std::function<std::int64_t()> next_ms,
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
