// What the rushgate command answers to whoever started it.
#pragma once

#include "absl/status/status.h"

namespace rushgate {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNegative = 1;  // an audit that failed, an order that is not known
inline constexpr int kExitUsage = 2;     // bad arguments or input; nothing was done
inline constexpr int kExitFailure = 3;   // the store, the database or Redis could not be used
inline constexpr int kExitSignal = 128;  // + the signal that interrupted it

inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 done; 1 a negative answer (the audit failed, the order is not known);\n"
    "2 bad arguments or input; 3 the store, the database or Redis could not be used;\n"
    "130 or 143 interrupted by SIGINT or SIGTERM. Errors go to stderr, results to stdout.";

/// What is wrong with the arguments or the input is told apart from what is wrong with the machine.
inline int exit_code_of(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  const bool asked_wrongly = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
  return asked_wrongly ? kExitUsage : kExitFailure;
}

}  // namespace rushgate
