// The exit codes of the rushgate command.
#pragma once

#include "absl/status/status.h"
#include <rushgate/sale.h>

namespace rushgate {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNegative = 1;  // a failed audit, an unknown order, a change too late
inline constexpr int kExitUsage = 2;     // bad arguments or input; nothing was changed
inline constexpr int kExitFailure = 3;   // the store, the database or Redis is unusable
inline constexpr int kExitRefused = 4;   // a purchase was refused: sold out, a limit, …
inline constexpr int kExitSignal = 128;  // plus the signal that interrupted it

inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 done; 1 a negative result (the audit failed, the order is unknown, the\n"
    "change is too late or refused);\n"
    "2 bad arguments or input; 3 the store, the database or Redis is unusable; 4 a purchase was\n"
    "refused (sold out, a limit, outside its time);\n"
    "130 or 143 interrupted by SIGINT or SIGTERM. Errors go to stderr, results to stdout.";

/// Returns the exit code. Errors in arguments and input differ from failures of the machine.
inline int exit_code_of(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  const bool asked_wrongly = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
  return asked_wrongly ? kExitUsage : kExitFailure;
}

/// Returns the exit code of a purchase.
inline int exit_code_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAccepted:
      return kExitOk;
    case Outcome::kSoldOut:
    case Outcome::kLimitReached:
    case Outcome::kDayLimitReached:
    case Outcome::kTokenRefused:
    case Outcome::kNotStarted:
    case Outcome::kEnded:
    case Outcome::kKeyReused:
    case Outcome::kRefused:
      return kExitRefused;
    case Outcome::kUnknownVoucher:
      return kExitNegative;
    case Outcome::kOverloaded:
    case Outcome::kUnavailable:
    case Outcome::kOutcomeUnknown:
    case Outcome::kFailed:
      break;
  }
  return kExitFailure;
}

/// Returns the exit code of a change of an order.
inline int exit_code_of(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kDone:
      return kExitOk;
    case ChangeOutcome::kTooLate:
    case ChangeOutcome::kRefused:
    case ChangeOutcome::kUnknownOrder:
      return kExitNegative;
    case ChangeOutcome::kOverloaded:
    case ChangeOutcome::kUnavailable:
    case ChangeOutcome::kOutcomeUnknown:
    case ChangeOutcome::kFailed:
      break;
  }
  return kExitFailure;
}

}  // namespace rushgate
