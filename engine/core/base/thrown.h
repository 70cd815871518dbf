// Exceptions as statuses.
#pragma once

#include <exception>

#include "absl/status/status.h"

namespace rushgate {

/// Returns the exception now handled as a status. For a catch block.
inline absl::Status thrown() {
  try {
    throw;
  } catch (const std::exception& error) {
    return absl::UnknownError(error.what());
  } catch (...) {
    return absl::UnknownError("something that is no exception was thrown");
  }
}

}  // namespace rushgate
