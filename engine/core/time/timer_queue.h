// Timers in order of their time, for implementations of Scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <rushgate/clock.h>

namespace rushgate {

/// Not thread-safe.
class TimerQueue {
 public:
  Scheduler::TimerId add(std::int64_t monotonic_ms, Scheduler::Callback callback);

  /// Removes a timer. Returns its callback; empty if it was not waiting.
  bool remove(Scheduler::TimerId timer);

  /// Returns the time of the next timer; empty if there is none.
  [[nodiscard]] std::optional<std::int64_t> next_due_ms() const;

  /// Removes and returns the next callback that is due at `monotonic_ms`; empty if none is.
  std::optional<Scheduler::Callback> take_due(std::int64_t monotonic_ms);

  [[nodiscard]] bool empty() const { return timers_.empty(); }

 private:
  using Key = std::pair<std::int64_t, Scheduler::TimerId>;  // (due, order of scheduling)

  std::map<Key, Scheduler::Callback> timers_;
  std::map<Scheduler::TimerId, std::int64_t> due_by_id_;
  Scheduler::TimerId next_id_ = 1;
};

}  // namespace rushgate
