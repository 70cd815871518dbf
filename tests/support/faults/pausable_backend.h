// The timers of a process that pauses.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <rushgate/clock.h>
#include <rushgate/testing_stores.h>

namespace rushgate {

/// Delays the timers of a paused process. Thread-safe.
class PausableScheduler final : public Scheduler {
 public:
  explicit PausableScheduler(Scheduler& inner) : state_(std::make_shared<State>()), inner_(inner) {}

  TimerId at(std::int64_t monotonic_ms, Callback callback) override {
    return inner_.at(monotonic_ms, [state = state_, callback = std::move(callback)]() mutable {
      {
        const std::lock_guard lock(state->mutex);
        if (state->is_paused) return state->late.push_back(std::move(callback));
      }
      callback();
    });
  }
  bool cancel(TimerId timer) override { return inner_.cancel(timer); }

  void pause() {
    const std::lock_guard lock(state_->mutex);
    state_->is_paused = true;
  }
  void resume() {
    std::deque<Callback> late;
    {
      const std::lock_guard lock(state_->mutex);
      state_->is_paused = false;
      late.swap(state_->late);
    }
    for (Callback& callback : late) callback();
  }

 private:
  struct State {
    std::mutex mutex;
    bool is_paused = false;
    std::deque<Callback> late;
  };
  const std::shared_ptr<State> state_;
  Scheduler& inner_;
};

/// The backend of a process that pauses: its timers are late.
class PausableBackend final : public faults::ForwardingBackend {
 public:
  explicit PausableBackend(Backend& inner)
      : ForwardingBackend(inner), pausable_(inner.scheduler()) {}

  [[nodiscard]] Scheduler& scheduler() override { return pausable_; }
  [[nodiscard]] PausableScheduler& pausable() { return pausable_; }

 private:
  PausableScheduler pausable_;
};

}  // namespace rushgate
