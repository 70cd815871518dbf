// Opens connections to an order database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <SQLiteCpp/Database.h>

#include "absl/status/statusor.h"
#include <rushgate/sqlite_order_store.h>

namespace rushgate {

// All functions except OpenFiles' throw SQLite::Exception.

/// Opens a writing connection. Creates or migrates the database if needed.
absl::StatusOr<SQLite::Database> open_writer(const std::string& file,
                                             const SqliteOrderStoreOptions& options);

/// Opens a reading connection. The database must exist and be up to date.
absl::StatusOr<SQLite::Database> open_reader(const std::string& file,
                                             const SqliteOrderStoreOptions& options);

/// The files of an open connection, which must outlive this: the database and its log.
class OpenFiles {
 public:
  explicit OpenFiles(SQLite::Database& database);

  /// Returns kDataLoss if a path no longer leads to its file: the file was deleted, renamed or
  /// replaced. SQLite would continue to write to it, and a later process would not find it.
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
  std::optional<FileId> log_id_;  // set when the log was seen: SQLite does not report it
};

}  // namespace rushgate
