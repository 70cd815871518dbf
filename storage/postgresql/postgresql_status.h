// Errors of PostgreSQL as absl::Status.
#pragma once

#include <libpq-fe.h>

#include <string_view>

#include "absl/status/status.h"

namespace rushgate {

/// Returns the code for a SQLSTATE, which has five characters.
absl::StatusCode code_of_sqlstate(std::string_view sqlstate);

/// Returns the error of a failed statement: PostgreSQL's message, with its SQLSTATE.
absl::Status postgresql_error(const PGresult& result);

/// Returns true if the server closes the connection after this error.
bool ends_session(const PGresult& result);

}  // namespace rushgate
