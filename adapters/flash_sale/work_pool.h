// Threads for calls that block, with a bounded queue in front of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace rushgate {

/// Thread-safe.
class WorkPool {
 public:
  using Work = absl::AnyInvocable<void()>;

  WorkPool(int threads, std::size_t waiting_max);
  /// Runs all waiting work first.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  /// Runs `work` on one of the threads. Returns false, and drops it, if too much waits. It must not
  /// throw.
  [[nodiscard]] bool submit(Work work);
  /// Returns how much work waits.
  [[nodiscard]] std::size_t waiting();

 private:
  void loop();

  const std::size_t waiting_max_;
  std::mutex mutex_;  // guards the next two members
  std::deque<Work> waiting_;
  bool is_stopping_ = false;
  std::condition_variable has_work_;
  std::vector<std::thread> threads_;
};

}  // namespace rushgate
