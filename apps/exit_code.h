// The exit codes of the rushgate command.
#pragma once

#include "absl/status/status.h"

namespace rushgate {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNegative = 1;  // a failed audit, an unknown order
inline constexpr int kExitUsage = 2;     // bad arguments or input; nothing was changed
inline constexpr int kExitFailure = 3;   // the store, the database or Redis is unusable
inline constexpr int kExitSignal = 128;  // plus the signal that interrupted it

inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 done; 1 a negative result (the audit failed, the order is unknown);\n"
    "2 bad arguments or input; 3 the store, the database or Redis is unusable;\n"
    "130 or 143 interrupted by SIGINT or SIGTERM. Errors go to stderr, results to stdout.";

/// Returns the exit code. Errors in arguments and input differ from failures of the machine.
inline int exit_code_of(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  const bool asked_wrongly = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
  return asked_wrongly ? kExitUsage : kExitFailure;
}

}  // namespace rushgate
