// The result of a request that failed before it did anything.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {

/// Returns a BuyResult, WaitResult or ChangeResult for `status`, which is an error. `detail` gets
/// its message.
template <class Result>
Result failure_of(const absl::Status& status) {
  using ItsOutcome = decltype(Result::outcome);
  Result result{.outcome = ItsOutcome::kFailed};
  result.detail = std::string(status.message());
  if (is_closed(status)) {
    result.outcome = ItsOutcome::kUnavailable;
  } else if (absl::IsUnavailable(status) || absl::IsAborted(status)) {
    result.outcome = ItsOutcome::kOverloaded;
  }
  return result;
}

}  // namespace rushgate
