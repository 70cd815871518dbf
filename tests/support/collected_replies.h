// What clients' callbacks get.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <rushgate/reply.h>

namespace rushgate::testing {

/// Collects the replies of completions, or messages, in the order of the calls. Thread-safe.
class CollectedReplies {
 public:
  /// Returns a completion or an on_message.
  auto next() {
    return [this](Reply reply) {
      const std::lock_guard lock(mutex_);
      replies_.push_back(std::move(reply));
      changed_.notify_all();
    };
  }
  /// Waits for this many. Returns all.
  std::vector<Reply> wait_for(std::size_t wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return replies_.size() >= wanted; });
    return replies_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Reply> replies_;
};

}  // namespace rushgate::testing
