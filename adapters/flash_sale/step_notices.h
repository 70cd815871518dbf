// Tells others that a worker has made a step.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace rushgate {

/// Thread-safe.
class StepNotices {
 public:
  using Notice = std::function<void()>;

  /// Calls `notice` in each send() while the result lives. Its end waits for a call that runs.
  [[nodiscard]] std::shared_ptr<const void> add(Notice notice) {
    const std::lock_guard lock(state_->mutex);
    const auto own = state_->notices.insert(state_->notices.end(), std::move(notice));
    return {&*own, [state = state_, own](const void*) {
              const std::lock_guard removing(state->mutex);
              state->notices.erase(own);
            }};
  }
  void send() {
    const std::lock_guard lock(state_->mutex);
    for (const Notice& notice : state_->notices) notice();
  }

 private:
  struct State {
    std::mutex mutex;  // guards the next member
    std::list<Notice> notices;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace rushgate
