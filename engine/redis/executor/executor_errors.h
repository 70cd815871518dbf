// Error messages of the executor itself.
#pragma once

#include <new>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <rushgate/reply.h>

namespace rushgate::executor_errors {

inline constexpr std::string_view kTimedOutText =
    "TIMEDOUT the request had not begun at its deadline";
inline constexpr std::string_view kOverloadedText = "OVERLOADED the queue is full";
inline constexpr std::string_view kClosedText = "CLOSED the engine is closed";
inline constexpr std::string_view kKilledText = "CLOSED the client was killed";
inline constexpr std::string_view kReentrantText =
    "REENTRANT a client was called from inside the engine's turn (a native script?)";

inline constexpr std::string_view kPausedText =
    "PAUSED CLIENT PAUSE delays the request, and in manual mode only its own thread could end it";
inline constexpr std::string_view kEmptyRequestText = "ERR the request has no command";
/// Out of memory; the request did not run. A std::string holds it without an allocation.
inline constexpr const char* kOutOfMemoryText = "OOM no memory";

// These functions do not throw. Without memory for the message, they return the code alone, which a
// std::string holds without an allocation.

/// Returns the error message of make_text(), or `code` if there is no memory for it.
template <class MakeText>
std::string text_or(std::string_view code, MakeText make_text) noexcept {
  try {
    return make_text();
  } catch (const std::bad_alloc&) {
    return std::string(code);
  }
}

inline Reply reply(std::string_view text) noexcept {
  return Reply::error(
      text_or(text.substr(0, text.find(' ')), [text] { return std::string(text); }));
}

/// Returns the error of every write after a store failure; after Redis's MISCONF for the AOF.
inline std::string write_refusal(const absl::Status& reason) noexcept {
  return text_or("MISCONF", [&] {
    return "MISCONF Errors writing to the store: " + std::string(reason.message());
  });
}

/// Returns the error of a request that was ended by an exception other than out of memory. The
/// request had no effect.
inline std::string internal(std::string_view reason) noexcept {
  return text_or("ERR", [&] { return "ERR internal error: " + std::string(reason); });
}

inline std::string outcome_unknown(const absl::Status& reason) noexcept {
  return text_or(error_code::kOutcomeUnknown, [&] {
    return std::string(error_code::kOutcomeUnknown) +
           " the store failed while writing: " + std::string(reason.message());
  });
}

}  // namespace rushgate::executor_errors
