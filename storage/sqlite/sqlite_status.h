// SQLite's errors as the order store's.
#pragma once

#include <string>
#include <type_traits>

#include <SQLiteCpp/Exception.h>

#include "absl/status/status.h"

namespace rushgate {

/// "<doing> <file>: <SQLite's text>" with one of the codes that sqlite_order_store.h lists.
absl::Status to_absl(const SQLite::Exception& error, const char* doing, const std::string& file);

/// What `run` returns, a Status or StatusOr; or what it threw, as a status.
template <class Run>
std::invoke_result_t<Run> catch_errors(const char* doing, const std::string& file, Run run) {
  try {
    return run();
  } catch (const SQLite::Exception& error) {
    return to_absl(error, doing, file);
  }
}

}  // namespace rushgate
