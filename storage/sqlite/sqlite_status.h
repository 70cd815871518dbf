// Converts SQLite's errors to the order store's.
#pragma once

#include <string>
#include <type_traits>

#include <SQLiteCpp/Exception.h>

#include "absl/status/status.h"

namespace rushgate {

/// Returns "<doing> <file>: <SQLite's message>" with a code of sqlite_order_store.h.
absl::Status to_absl(const SQLite::Exception& error, const char* doing, const std::string& file);

/// Returns the Status or StatusOr of `run`, or the exception that it threw as a status.
template <class Run>
std::invoke_result_t<Run> catch_errors(const char* doing, const std::string& file, Run run) {
  try {
    return run();
  } catch (const SQLite::Exception& error) {
    return to_absl(error, doing, file);
  }
}

}  // namespace rushgate
