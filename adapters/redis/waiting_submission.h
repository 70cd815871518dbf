// Submissions whose callers wait for them. Private to this module.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <iterator>
#include <vector>

#include "adapters/redis/submission.h"
#include "engine/client/wait_method.h"

namespace rushgate {

/// The calling thread sleeps. Lives on its stack.
///
/// std::atomic's wait() yields some times before it sleeps. A reply takes longer than that, so with
/// several callers it only switches between them. A futex sleeps at once.
class ThreadSubmission final : public Submission {
 public:
  using Submission::Submission;

  void wait() {
    int expected = kRunning;
    if (!state_.compare_exchange_strong(expected, kAwaited)) return;
    while (state_.load(std::memory_order_acquire) != kFinished) {
      ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAwaited, nullptr, nullptr, 0);
    }
  }
  void finish() override {
    if (state_.exchange(kFinished, std::memory_order_acq_rel) != kAwaited) return;
    // The kernel uses the address alone: the object may be gone.
    ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  enum : int { kRunning, kAwaited, kFinished };

  std::atomic<int> state_{kRunning};
  static_assert(sizeof(state_) == sizeof(int));  // as the kernel expects it
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
