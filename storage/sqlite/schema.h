// What a database of ours looks like, and how an older one becomes one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <SQLiteCpp/Database.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rushgate {

/// In every database of ours (PRAGMA application_id): "RshG".
inline constexpr std::int64_t kApplicationId = 0x52736847;

/// Migration n, counted from 1, turns version n - 1 into version n (PRAGMA user_version); version 0
/// is an empty database. What has been released is never changed: new ones are added at the end.
std::span<const char* const> migrations();

/// The version of `database`; 0 if it is empty. Changes nothing.
/// kFailedPrecondition: it is somebody else's; kUnimplemented: its version is above `newest`.
/// Throws SQLite::Exception.
absl::StatusOr<std::int64_t> read_version(SQLite::Database& database, std::int64_t newest);

/// Runs the migrations that `database` lacks, in one transaction, and returns the version it had
/// before. Errors: as read_version().
absl::StatusOr<std::int64_t> migrate(SQLite::Database& database,
                                     std::span<const char* const> migrations);

}  // namespace rushgate
