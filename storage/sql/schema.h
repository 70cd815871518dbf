// Creation and migration of the tables. docs/format.md defines them.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "storage/sql/sql_port.h"

namespace rushgate::sql {

struct MigrateOptions {
  bool create_if_missing = true;  // false: kNotFound if there are no tables
  bool read_only = false;         // creates nothing, and an older version is kFailedPrecondition
};

/// Creates the tables, or brings them to the newest version, on a connection of its own. Several
/// processes may do so at once. Returns the version before; 0: there was no table. Errors:
/// - kUnimplemented: a newer version of Rushgate made them.
/// - kFailedPrecondition: another application's table has the name of one of ours.
/// - as of Connection::run(), with the database's name.
absl::StatusOr<std::int64_t> migrate(Database& database, const MigrateOptions& options);

}  // namespace rushgate::sql
