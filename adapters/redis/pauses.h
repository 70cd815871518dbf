// Actions of the I/O thread that wait for their time. Private to this module.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "engine/core/time/timer_queue.h"
#include <rushgate/clock.h>

namespace rushgate {

/// Thread-safe. Owned by a shared_ptr; `clock` and `io` must outlive it.
class Pauses : public std::enable_shared_from_this<Pauses> {
 public:
  using Action = Scheduler::Callback;

  Pauses(const Clock& clock, boost::asio::io_context& io) : clock_(clock), timer_(io) {}

  /// Runs `action` on the I/O thread after the pause. Returns it after close().
  [[nodiscard]] std::optional<Action> after(std::int64_t pause_ms, Action action);
  /// Returns the actions that still wait. On the I/O thread.
  [[nodiscard]] std::vector<Action> close();

 private:
  void run_due();

  const Clock& clock_;
  boost::asio::steady_timer timer_;  // for the first action

  std::mutex mutex_;
  TimerQueue actions_;      // guarded by mutex_
  bool is_closed_ = false;  // guarded by mutex_
};

}  // namespace rushgate
