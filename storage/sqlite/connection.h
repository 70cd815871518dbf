// Opening connections to a database of ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <SQLiteCpp/Database.h>

#include "absl/status/statusor.h"
#include "storage/sqlite/sqlite_order_store.h"

namespace rushgate {

// All of it throws SQLite::Exception, but for OpenFiles.

/// A connection that writes, to a database that was created and migrated as needed.
absl::StatusOr<SQLite::Database> open_writer(const std::string& file,
                                             const SqliteOrderStoreOptions& options);

/// A connection that cannot write, to a database that is there and up to date.
absl::StatusOr<SQLite::Database> open_reader(const std::string& file,
                                             const SqliteOrderStoreOptions& options);

/// The files under an open connection, which must outlive this: the database and its log.
class OpenFiles {
 public:
  explicit OpenFiles(SQLite::Database& database);

  /// Returns kDataLoss if one of them is no longer the file at its path: it was deleted, renamed or
  /// replaced. SQLite would go on writing to it, and a later process would not find it.
  absl::Status check();

 private:
  struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    friend bool operator==(const FileId&, const FileId&) = default;
  };
  [[nodiscard]] static std::optional<FileId> find(const std::string& path);

  SQLite::Database& database_;
  const std::string log_;
  std::optional<FileId> log_id_;  // once the log was seen: SQLite does not tell
};

/// Returns kDataLoss with the first problems that SQLite finds in the whole database: pages, rows,
/// and each index compared with its table.
absl::Status check_whole(SQLite::Database& database);

}  // namespace rushgate
