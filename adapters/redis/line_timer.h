// A timer of the I/O thread that can be stopped reliably. Private to this module.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/functional/any_invocable.h"

namespace rushgate {

/// Belongs to the thread that runs `io`. Asio's cancel() is too late for a handler that is due and
/// queued. Here, such a handler does nothing.
class LineTimer {
 public:
  explicit LineTimer(boost::asio::io_context& io) : timer_(io) {}

  /// Runs `then` after the pause. Replaces the previous call. `then` must keep the timer's owner
  /// alive.
  void start(std::int64_t pause_ms, absl::AnyInvocable<void()> then) {
    stop();
    timer_.expires_after(std::chrono::milliseconds(pause_ms));
    timer_.async_wait([this, start = starts_,
                       then = std::move(then)](const boost::system::error_code& error) mutable {
      if (!error && start == starts_) then();
    });
  }

  void stop() {
    ++starts_;
    timer_.cancel();
  }

 private:
  boost::asio::steady_timer timer_;
  std::uint64_t starts_ = 0;  // also counts stops
};

}  // namespace rushgate
