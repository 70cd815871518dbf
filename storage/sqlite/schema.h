// The schema of an order database, and its migrations.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <SQLiteCpp/Database.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rushgate {

/// The PRAGMA application_id of every order database: "RshG".
inline constexpr std::int64_t kApplicationId = 0x52736847;

/// Returns the migrations. Number n, counted from 1, converts version n - 1 to version n (PRAGMA
/// user_version); version 0 is an empty database. Released migrations never change.
std::span<const char* const> migrations();

/// Returns the version of `database`; 0 if it is empty. Changes nothing. kFailedPrecondition:
/// another application's database. kUnimplemented: the version is above `newest`. Throws
/// SQLite::Exception.
absl::StatusOr<std::int64_t> read_version(SQLite::Database& database, std::int64_t newest);

/// Runs the missing migrations in one transaction. Returns the version before. Errors: as
/// read_version().
absl::StatusOr<std::int64_t> migrate(SQLite::Database& database,
                                     std::span<const char* const> migrations);

}  // namespace rushgate
