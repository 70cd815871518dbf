#include "storage/sqlite/sqlite_connection.h"

#include <sys/stat.h>

#include <cstdint>

#include <SQLiteCpp/Column.h>
#include <sqlite3.h>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "storage/sqlite/schema.h"

namespace rushgate {
namespace {

// An order writes a random page of an index, so small pages reduce the writes.
constexpr int kPageBytes = 2048;

// Size of the log at which it is copied into the database. In a longer log more changes of a page
// share one copy: with 16 MiB a quarter fewer orders are written a second. It is also the most that
// the next opening reads after a crash.
constexpr int kLogBytes = 64 << 20;

// Enough for the random index of a million orders. Allocated only as needed.
constexpr int kWriterCacheKib = 64 << 10;
constexpr int kReaderCacheKib = 8 << 10;

SQLite::Database connect(const std::string& file, int flags,
                         const SqliteOrderStoreOptions& options) {
  // Each connection has a mutex of its own.
  return SQLite::Database(file, flags | SQLite::OPEN_NOMUTEX, options.busy_timeout_ms, options.vfs);
}

void set_cache(SQLite::Database& database, int kib) {
  database.exec(concat("PRAGMA cache_size = -", kib));
}

void log_opened(const SqliteOrderStoreOptions& options, const std::string& file,
                std::int64_t before, std::int64_t version) {
  if (!options.logger) return;
  if (before == 0) {
    log_info(*options.logger, concat("orders: created ", file, ", version ", version));
  } else if (before < version) {
    log_info(*options.logger,
             concat("orders: migrated ", file, " from version ", before, " to ", version));
  } else {
    log_info(*options.logger, concat("orders: opened ", file, ", version ", version));
  }
}

absl::Status use_log(SQLite::Database& database) {
  // Takes effect only in an empty database.
  database.exec(concat("PRAGMA page_size = ", kPageBytes));
  const std::string mode = database.execAndGet("PRAGMA journal_mode = WAL").getString();
  if (mode != "wal") {
    return absl::FailedPreconditionError(
        concat(database.getFilename(), ": write-ahead logging is not possible here (journal mode ",
               mode, "); it needs a file system with shared memory"));
  }
  const int page_bytes = database.execAndGet("PRAGMA page_size").getInt();
  database.exec(concat("PRAGMA wal_autocheckpoint = ", kLogBytes / page_bytes));
  database.exec("PRAGMA synchronous = FULL");  // a commit is durable when it returns
  return absl::OkStatus();
}

absl::Status moved(const std::string& file) {
  return absl::DataLossError(concat(
      file,
      " was deleted, renamed or replaced while it was open: nothing is written until the same file "
      "is there again"));
}

}  // namespace

absl::StatusOr<SQLite::Database> open_writer(const std::string& file,
                                             const SqliteOrderStoreOptions& options) {
  SQLite::Database database = connect(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, options);
  // SQLite silently falls back to read-only access.
  if (sqlite3_db_readonly(database.getHandle(), "main") == 1) {
    return absl::UnavailableError(concat(file, " may not be written"));
  }
  // Checked first, because another application's database must not be changed.
  const auto newest = static_cast<std::int64_t>(migrations().size());
  absl::StatusOr<std::int64_t> version = read_version(database, newest);
  if (!version.ok()) return version.status();
  RETURN_IF_ERROR(use_log(database));
  set_cache(database, kWriterCacheKib);
  version = migrate(database, migrations());
  if (!version.ok()) return version.status();
  log_opened(options, file, *version, newest);
  return database;
}

absl::StatusOr<SQLite::Database> open_reader(const std::string& file,
                                             const SqliteOrderStoreOptions& options) {
  SQLite::Database database = connect(file, SQLite::OPEN_READONLY, options);
  const auto newest = static_cast<std::int64_t>(migrations().size());
  ASSIGN_OR_RETURN(const std::int64_t version, read_version(database, newest));
  if (version < newest) {
    return absl::FailedPreconditionError(concat(file, " has version ", version,
                                                ", this Rushgate wants ", newest,
                                                ": open it for writing once, which migrates it"));
  }
  set_cache(database, kReaderCacheKib);
  return database;
}

OpenFiles::OpenFiles(SQLite::Database& database)
    : database_(database), log_(concat(database.getFilename(), "-wal")), log_id_(find(log_)) {}

absl::Status OpenFiles::check() {
  int has_moved = 0;
  const int asked =
      sqlite3_file_control(database_.getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  if (asked == SQLITE_OK && has_moved != 0) return moved(database_.getFilename());
  const std::optional<FileId> log_id = find(log_);
  if (!log_id_) log_id_ = log_id;
  return log_id_ == log_id ? absl::OkStatus() : moved(log_);
}

std::optional<OpenFiles::FileId> OpenFiles::find(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileId{.device = found.st_dev, .inode = found.st_ino};
}

}  // namespace rushgate
