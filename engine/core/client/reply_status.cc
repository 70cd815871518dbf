#include "engine/core/client/reply_status.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/cord.h"
#include "engine/core/client/redis_error_code.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

/// The key of the status payload that holds the code of the error reply.
constexpr char kCodeUrl[] = "rushgate/error-code";

}  // namespace

absl::Status to_status(const Reply& reply, std::string_view doing) {
  constexpr std::string_view kWorthTryingAgain[] = {
      error_code::kOutcomeUnknown,    error_code::kOverloaded,
      error_code::kTimedOut,          error_code::kClosed,
      redis_error_code::kBusy,        redis_error_code::kMisconfigured,
      redis_error_code::kOutOfMemory, redis_error_code::kLoading,
      redis_error_code::kTryAgain,    redis_error_code::kReadOnly,
      redis_error_code::kMasterDown,  redis_error_code::kClusterDown,
      redis_error_code::kNoReplicas,  redis_error_code::kUnblocked};
  if (!reply.is_error()) {
    return absl::InternalError(std::string(doing) + ": unexpected reply " + to_debug_string(reply));
  }
  const std::string text = std::string(doing) + ": " + reply.text();
  const bool passing = std::find(std::begin(kWorthTryingAgain), std::end(kWorthTryingAgain),
                                 reply.error_code()) != std::end(kWorthTryingAgain);
  absl::Status status = passing ? absl::UnavailableError(text) : absl::InternalError(text);
  status.SetPayload(kCodeUrl, absl::Cord(std::string(reply.error_code())));
  return status;
}

bool is_closed(const absl::Status& status) {
  const auto code = status.GetPayload(kCodeUrl);
  return code && std::string(*code) == error_code::kClosed;
}

}  // namespace rushgate
