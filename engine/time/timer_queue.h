// Timers in order of their time: what a Scheduler keeps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "engine/time/scheduler.h"

namespace rushgate {

/// Not thread-safe: its owner guards it.
class TimerQueue {
 public:
  Scheduler::TimerId add(std::int64_t monotonic_ms, Scheduler::Callback callback);

  /// The callback, if it was still waiting.
  bool remove(Scheduler::TimerId timer);

  /// When the next one is due.
  [[nodiscard]] std::optional<std::int64_t> next_due_ms() const;

  /// Takes the next callback that is due at `monotonic_ms`, if any.
  std::optional<Scheduler::Callback> take_due(std::int64_t monotonic_ms);

  [[nodiscard]] bool empty() const { return timers_.empty(); }

 private:
  using Key = std::pair<std::int64_t, Scheduler::TimerId>;  // (due, order of scheduling)

  std::map<Key, Scheduler::Callback> timers_;
  std::map<Scheduler::TimerId, std::int64_t> due_by_id_;
  Scheduler::TimerId next_id_ = 1;
};

}  // namespace rushgate
