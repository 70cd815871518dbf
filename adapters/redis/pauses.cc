#include "adapters/redis/pauses.h"

#include <chrono>
#include <limits>
#include <utility>

#include <boost/asio/post.hpp>

namespace rushgate {

std::optional<Pauses::Action> Pauses::after(std::int64_t pause_ms, Action action) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return action;
    actions_.add(clock_.monotonic_ms() + pause_ms, std::move(action));
  }
  boost::asio::post(timer_.get_executor(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->run_due();
  });
  return std::nullopt;
}

void Pauses::run_due() {
  std::optional<std::int64_t> next_ms;
  while (true) {
    std::optional<Action> due;
    {
      const std::lock_guard lock(mutex_);
      due = actions_.take_due(clock_.monotonic_ms());
      next_ms = actions_.next_due_ms();
    }
    if (!due) break;
    (*due)();
  }
  if (!next_ms) return;
  timer_.expires_after(std::chrono::milliseconds(*next_ms - clock_.monotonic_ms()));
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!error && self != nullptr) self->run_due();
  });
}

std::vector<Pauses::Action> Pauses::close() {
  timer_.cancel();
  std::vector<Action> left;
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  while (auto action = actions_.take_due(std::numeric_limits<std::int64_t>::max())) {
    left.push_back(*std::move(action));
  }
  return left;
}

}  // namespace rushgate
