// The background thread of a strategy.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace rushgate::strategies {

/// Runs `work` on a thread until it returns. Not thread-safe.
class Background {
 public:
  Background() = default;
  ~Background() { join(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void start(std::function<void()> work) {
    thread_ = std::thread([this, work = std::move(work)] {
      try {
        work();
      } catch (...) {
        error_ = std::current_exception();
      }
    });
  }

  /// Returns true if `work` must return as soon as it finds nothing to do. Called by `work`.
  [[nodiscard]] bool is_stopping() const { return is_stopping_; }

  /// Waits until `work` has returned. Rethrows its exception.
  void stop() {
    join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void join() {
    is_stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::atomic<bool> is_stopping_{false};
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace rushgate::strategies
