#include "apps/replay/row_queue.h"

#include <algorithm>

namespace rushgate {

RowQueue::RowQueue(Rows rows, const RowQueueOptions& options) : rows_(rows), options_(options) {}

RowQueue::Rows RowQueue::take() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && next_ < rows_.size()) {
    const Clock::time_point now = Clock::now();
    const Clock::time_point next_due = due(rows_[next_], now);
    if (next_due > now) {
      changed_.wait_until(lock, next_due);
      continue;
    }
    const std::size_t begin = next_;
    const std::size_t end = std::min(rows_.size(), begin + options_.batch_max);
    while (next_ < end && due(rows_[next_], now) <= now) ++next_;
    open_.insert(begin);
    return rows_.subspan(begin, next_ - begin);
  }
  return {};
}

void RowQueue::done(Rows rows) {
  {
    const std::lock_guard lock(mutex_);
    open_.erase(index_of(rows));
  }
  changed_.notify_all();
}

bool RowQueue::wait_for_earlier(Rows rows) {
  std::unique_lock lock(mutex_);
  const auto is_first = [&] { return *open_.begin() == index_of(rows); };
  changed_.wait(lock, [&] { return stopping_ || is_first(); });
  return is_first();
}

void RowQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

RowQueue::Clock::time_point RowQueue::due(const RequestRow& row, Clock::time_point taken) const {
  if (!options_.real_time || row.at_ms < options_.from_at_ms) return taken;
  return started_ + std::chrono::milliseconds(row.at_ms - options_.from_at_ms);
}

std::int64_t RowQueue::completed_up_to_ms() const {
  const std::lock_guard lock(mutex_);
  const std::size_t first = open_.empty() ? next_ : *open_.begin();
  if (first < rows_.size()) return rows_[first].at_ms;
  return rows_.empty() ? 0 : rows_.back().at_ms + 1;
}

}  // namespace rushgate
