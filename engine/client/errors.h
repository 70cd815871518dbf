// Error codes that Rushgate adds to Redis's: what a caller must be able to tell apart.
#pragma once

#include <string_view>

#include "engine/client/reply.h"

namespace rushgate {
namespace error_code {

/// The request was sent, and whether it took effect is not known: a lost connection, a store that
/// failed while writing. The caller may ask again with a request key, or look.
inline constexpr std::string_view kOutcomeUnknown = "OUTCOMEUNKNOWN";

/// The queue was full and the caller asked not to wait. Nothing was done.
inline constexpr std::string_view kOverloaded = "OVERLOADED";

/// The request's deadline passed before it began. Nothing was done.
inline constexpr std::string_view kTimedOut = "TIMEDOUT";

/// The engine or the connection is closed. Nothing was done.
inline constexpr std::string_view kClosed = "CLOSED";

/// A Client was called from inside the executor's turn. Nothing was done.
inline constexpr std::string_view kReentrant = "REENTRANT";

}  // namespace error_code

inline bool has_code(const Reply& reply, std::string_view code) {
  return reply.error_code() == code;
}

}  // namespace rushgate
