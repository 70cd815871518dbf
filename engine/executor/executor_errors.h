// The error texts of the executor itself.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/client/errors.h"
#include "engine/client/reply.h"

namespace rushgate::executor_errors {

inline constexpr std::string_view kTimedOutText =
    "TIMEDOUT the request had not begun when its time was up";
inline constexpr std::string_view kOverloadedText = "OVERLOADED the queue is full";
inline constexpr std::string_view kClosedText = "CLOSED the engine is closed";
inline constexpr std::string_view kKilledText = "CLOSED the client was killed";
inline constexpr std::string_view kReentrantText =
    "REENTRANT a client was called from inside the engine's turn (a native script?)";

inline Reply empty_request() { return Reply::error("ERR the request has no command"); }

/// What every write gets once the store has failed; after Redis's MISCONF for a failing AOF.
inline std::string write_refusal(const absl::Status& reason) {
  return "MISCONF Errors writing to the store: " + std::string(reason.message());
}

inline std::string outcome_unknown(const absl::Status& reason) {
  return std::string(error_code::kOutcomeUnknown) +
         " the store failed while writing: " + std::string(reason.message());
}

}  // namespace rushgate::executor_errors
