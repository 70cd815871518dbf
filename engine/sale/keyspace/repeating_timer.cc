#include "engine/sale/keyspace/repeating_timer.h"

#include <mutex>
#include <utility>

namespace rushgate {

struct RepeatingTimer::State {
  State(Backend& its_backend, std::function<std::int64_t()> its_next_ms,
        std::function<void()> its_act)
      : backend(its_backend), next_ms(std::move(its_next_ms)), act(std::move(its_act)) {}

  Backend& backend;
  const std::function<std::int64_t()> next_ms;
  const std::function<void()> act;
  std::mutex mutex;  // held during a call; guards is_closed
  bool is_closed = false;
};

RepeatingTimer::RepeatingTimer(Backend& backend, std::function<std::int64_t()> next_ms,
                               std::function<void()> act)
    : state_(std::make_shared<State>(backend, std::move(next_ms), std::move(act))) {
  schedule(state_);
}

RepeatingTimer::~RepeatingTimer() {
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = true;
}

void RepeatingTimer::schedule(const std::shared_ptr<State>& state) {
  state->backend.scheduler().at(state->next_ms(), [weak = std::weak_ptr(state)] {
    const auto still_there = weak.lock();
    if (!still_there) return;
    const std::lock_guard lock(still_there->mutex);
    if (still_there->is_closed) return;
    schedule(still_there);
    still_there->act();
  });
}

}  // namespace rushgate
