// Error codes that Rushgate adds to Redis's, for cases that callers must distinguish.
#pragma once

#include <string_view>

#include "engine/client/reply.h"

namespace rushgate {
namespace error_code {

/// The request was sent, and its effect is unknown: the connection was lost, or the store failed
/// while writing. The caller may repeat the request with an idempotency key, or read the data.
inline constexpr std::string_view kOutcomeUnknown = "OUTCOMEUNKNOWN";

/// The queue was full, and the caller chose not to wait. The request did not run.
inline constexpr std::string_view kOverloaded = "OVERLOADED";

/// The request's deadline passed before it began. It did not run.
inline constexpr std::string_view kTimedOut = "TIMEDOUT";

/// The engine or the connection is closed. The request did not run.
inline constexpr std::string_view kClosed = "CLOSED";

/// A Client was called from inside the executor's turn. The request did not run.
inline constexpr std::string_view kReentrant = "REENTRANT";

}  // namespace error_code

inline bool has_code(const Reply& reply, std::string_view code) {
  return reply.error_code() == code;
}

}  // namespace rushgate
