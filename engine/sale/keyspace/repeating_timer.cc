#include "engine/sale/keyspace/repeating_timer.h"

#include <exception>
#include <mutex>
#include <utility>

#include "engine/core/base/background_thread.h"

namespace rushgate {

struct RepeatingTimer::State {
  State(Backend& its_backend, std::function<std::int64_t()> its_next_ms,
        std::function<void()> its_act)
      : backend(its_backend), next_ms(std::move(its_next_ms)), act(std::move(its_act)) {}

  void fire();
  void run();

  Backend& backend;
  const std::function<std::int64_t()> next_ms;
  const std::function<void()> act;
  std::unique_ptr<BackgroundThread> thread = nullptr;  // null: `act` runs where the timer fires
  std::mutex mutex;  // held during a call where the timer fires; guards the next two members
  bool is_closed = false;
  bool is_running = false;  // on the thread
};

RepeatingTimer::RepeatingTimer(Backend& backend, ThreadName thread,
                               std::function<std::int64_t()> next_ms, std::function<void()> act)
    : state_(std::make_shared<State>(backend, std::move(next_ms), std::move(act))) {
  if (backend.capabilities().has_callback_thread) {
    state_->thread = std::make_unique<BackgroundThread>(thread);
  }
  schedule(state_);
}

RepeatingTimer::~RepeatingTimer() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closed = true;
  }
  state_->thread.reset();
}

void RepeatingTimer::schedule(const std::shared_ptr<State>& state) {
  state->backend.scheduler().at(state->next_ms(), [weak = std::weak_ptr(state)] {
    const auto still_there = weak.lock();
    if (!still_there) return;
    const std::lock_guard lock(still_there->mutex);
    if (still_there->is_closed) return;
    schedule(still_there);
    still_there->fire();
  });
}

/// The caller holds the mutex.
void RepeatingTimer::State::fire() {
  if (thread == nullptr) return act();
  if (is_running) return;
  try {
    thread->run([this] { run(); });
    is_running = true;
  } catch (const std::exception&) {  // the system has no thread or no memory to spare
    act();
  }
}

/// Runs on the thread.
void RepeatingTimer::State::run() {
  {
    const std::lock_guard lock(mutex);
    if (is_closed) return;
  }
  try {
    act();
  } catch (...) {  // ends this call, and not the thread: the next call is scheduled
  }
  const std::lock_guard lock(mutex);
  is_running = false;
}

}  // namespace rushgate
