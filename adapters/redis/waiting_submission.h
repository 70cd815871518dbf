// Submissions whose callers wait. Private to this module.
#pragma once

#include <span>

#include "adapters/redis/submission.h"
#include <rushgate/client.h>
#include <rushgate/request.h>

namespace rushgate {

/// A submission whose caller waits by a WaitMethod. It is on the caller's stack.
class WaitingSubmission final : public Submission {
 public:
  WaitingSubmission(std::span<const Request> its_requests, WaitMethod::Event& finished)
      : Submission(its_requests), finished_(finished) {}

  void finish() override { finished_.happen(); }

 private:
  WaitMethod::Event& finished_;
};

}  // namespace rushgate
