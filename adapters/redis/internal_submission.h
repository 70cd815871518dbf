// Requests that a RedisBackend sends for itself: greetings, CLIENT UNBLOCK. Private to this module.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "adapters/redis/submission.h"

namespace rushgate {

/// Deletes itself when it has finished.
class InternalSubmission final : public Submission {
 public:
  using Then = absl::AnyInvocable<void(std::span<const Reply>)>;

  /// `then` runs on the I/O thread, or in submit() if the submission was refused.
  InternalSubmission(std::vector<Request> its_requests, Then then)
      : Submission({}), owned_(std::move(its_requests)), then_(std::move(then)) {
    requests = owned_;
  }

  void finish() override {
    const std::unique_ptr<InternalSubmission> self(this);
    then_(replies);
  }

 private:
  const std::vector<Request> owned_;
  Then then_;
};

}  // namespace rushgate
