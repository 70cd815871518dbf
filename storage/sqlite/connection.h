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

/// Returns kDataLoss if the connection's file is no longer the one at its path: it was deleted,
/// renamed or replaced. SQLite would go on writing to it, and nobody would find it again.
absl::Status check_in_place(SQLite::Database& database);

/// Returns kDataLoss with the first problems that SQLite finds in the whole database: pages, rows,
/// and each index compared with its table.
absl::Status check_whole(SQLite::Database& database);

}  // namespace rushgate
