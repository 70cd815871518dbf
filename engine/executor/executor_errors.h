// The error texts of the executor itself.
#pragma once

#include <new>
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

inline constexpr std::string_view kEmptyRequestText = "ERR the request has no command";
/// For want of memory nothing was done. A std::string holds it without memory of its own.
inline constexpr const char* kOutOfMemoryText = "OOM no memory";

// These throw nothing: without memory for the reason, the code stands alone, which a std::string
// holds without memory of its own.

/// Calls make_text() for the text of an error; returns `code` if there is no memory for it.
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

/// What every write gets once the store has failed; after Redis's MISCONF for a failing AOF.
inline std::string write_refusal(const absl::Status& reason) noexcept {
  return text_or("MISCONF", [&] {
    return "MISCONF Errors writing to the store: " + std::string(reason.message());
  });
}

/// Of a request that was ended by an exception, but for one that tells of missing memory. Nothing
/// was done.
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
