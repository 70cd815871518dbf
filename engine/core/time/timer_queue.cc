#include "engine/core/time/timer_queue.h"

namespace rushgate {

Scheduler::TimerId TimerQueue::add(std::int64_t monotonic_ms, Scheduler::Callback callback) {
  const Scheduler::TimerId id = next_id_++;
  timers_.emplace(Key{monotonic_ms, id}, std::move(callback));
  due_by_id_.emplace(id, monotonic_ms);
  return id;
}

bool TimerQueue::remove(Scheduler::TimerId timer) {
  const auto found = due_by_id_.find(timer);
  if (found == due_by_id_.end()) return false;
  timers_.erase(Key{found->second, timer});
  due_by_id_.erase(found);
  return true;
}

std::optional<std::int64_t> TimerQueue::next_due_ms() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

std::optional<Scheduler::Callback> TimerQueue::take_due(std::int64_t monotonic_ms) {
  if (timers_.empty() || timers_.begin()->first.first > monotonic_ms) return std::nullopt;
  auto node = timers_.extract(timers_.begin());
  due_by_id_.erase(node.key().second);
  return std::move(node.mapped());
}

}  // namespace rushgate
