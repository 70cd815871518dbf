// Submissions whose callers wait for them. Private to this module.
#pragma once

#include <atomic>
#include <iterator>
#include <vector>

#include "adapters/redis/submission.h"
#include "engine/client/wait_method.h"

namespace rushgate {

/// The calling thread sleeps. Lives on its stack.
class ThreadSubmission final : public Submission {
 public:
  using Submission::Submission;

  void wait() const {
    while (finished_.load(std::memory_order_acquire) == 0) finished_.wait(0);
  }
  void finish() override {
    finished_.store(1, std::memory_order_release);
    finished_.notify_one();  // uses the address alone: the object may be gone
  }

 private:
  std::atomic<int> finished_{0};
};

/// The caller waits by a WaitMethod. Lives on its stack.
class EventSubmission final : public Submission {
 public:
  EventSubmission(std::span<const Request> its_requests, WaitMethod::Event& finished)
      : Submission(its_requests), finished_(finished) {}

  void finish() override { finished_.happen(); }

 private:
  WaitMethod::Event& finished_;
};

}  // namespace rushgate
