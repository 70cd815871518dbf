// Reading in portions where a whole read may take long.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace rushgate {

/// Called between two portions; an error ends the reading with it.
using BetweenPortions = absl::FunctionRef<absl::Status()>;
inline absl::Status do_nothing() { return absl::OkStatus(); }

}  // namespace rushgate
