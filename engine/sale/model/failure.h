// The result of a request that failed: before it did anything, unless its error is in doubt.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {

inline constexpr char kInDoubtUrl[] = "rushgate/in-doubt";

/// Returns the error of a request of which a step may be recorded: it may be done, or be finished later.
inline absl::Status in_doubt(absl::Status error) {
  error.SetPayload(kInDoubtUrl, absl::Cord());
  return error;
}
/// Returns true if the error came from in_doubt().
inline bool is_in_doubt(const absl::Status& error) {
  return error.GetPayload(kInDoubtUrl).has_value();
}

/// Returns a BuyResult, WaitResult or ChangeResult for `status`, which is an error. `detail` gets
/// its message.
template <class Result>
Result failure_of(const absl::Status& status) {
  using ItsOutcome = decltype(Result::outcome);
  Result result{.outcome = ItsOutcome::kFailed};
  result.detail = std::string(status.message());
  if (is_in_doubt(status)) {
    result.outcome = ItsOutcome::kOutcomeUnknown;
  } else if (is_closed(status)) {
    result.outcome = ItsOutcome::kUnavailable;
  } else if (absl::IsUnavailable(status) || absl::IsAborted(status)) {
    result.outcome = ItsOutcome::kOverloaded;
  }
  return result;
}

}  // namespace rushgate
