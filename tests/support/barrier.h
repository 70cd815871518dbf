// Makes threads wait at a point of the code under test.
#pragma once

#include <atomic>

namespace rushgate::testing {

/// Thread-safe. Open at first.
class Barrier {
 public:
  /// Waits while the barrier is closed.
  void pass() {
    if (!is_closed_) return;
    ++waiting_;
    waiting_.notify_all();
    is_closed_.wait(true);
  }
  void close() { is_closed_ = true; }
  void open() {
    is_closed_ = false;
    is_closed_.notify_all();
  }
  /// Blocks until `count` threads have had to wait.
  void await(int count) {
    for (int now = waiting_; now < count; now = waiting_) waiting_.wait(now);
  }

 private:
  std::atomic<bool> is_closed_{false};
  std::atomic<int> waiting_{0};
};

}  // namespace rushgate::testing
