// Opening connections to a database of ours.
#pragma once

#include <filesystem>
#include <string>

#include <SQLiteCpp/Database.h>

#include "absl/status/statusor.h"
#include "storage/sqlite/sqlite_order_store.h"

namespace rushgate {

// All of it throws SQLite::Exception.

/// A connection that writes, to a database that was created and migrated as needed.
absl::StatusOr<SQLite::Database> open_writer(const std::string& file,
                                             const SqliteOrderStoreOptions& options);

/// A connection that cannot write, to a database that is there and up to date.
absl::StatusOr<SQLite::Database> open_reader(const std::string& file,
                                             const SqliteOrderStoreOptions& options);

}  // namespace rushgate
