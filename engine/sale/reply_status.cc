#include "engine/sale/reply_status.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "engine/client/errors.h"

namespace rushgate {

absl::Status to_status(const Reply& reply, std::string_view doing) {
  constexpr std::string_view kWorthTryingAgain[] = {error_code::kOutcomeUnknown,
                                                    error_code::kOverloaded,
                                                    error_code::kTimedOut,
                                                    error_code::kClosed,
                                                    "BUSY",
                                                    "MISCONF",
                                                    "OOM",
                                                    "LOADING",
                                                    "TRYAGAIN",
                                                    "READONLY",
                                                    "MASTERDOWN",
                                                    "CLUSTERDOWN"};
  if (!reply.is_error()) {
    return absl::InternalError(std::string(doing) + ": unexpected reply " + to_debug_string(reply));
  }
  const std::string text = std::string(doing) + ": " + reply.text();
  const bool passing = std::find(std::begin(kWorthTryingAgain), std::end(kWorthTryingAgain),
                                 reply.error_code()) != std::end(kWorthTryingAgain);
  return passing ? absl::UnavailableError(text) : absl::InternalError(text);
}

}  // namespace rushgate
