// Configures and opens the database.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "absl/status/statusor.h"
#include "storage/rocksdb/directory_lock.h"
#include "storage/rocksdb/inspect.h"
#include "storage/rocksdb/write_failure.h"
#include <rushgate/rocksdb_store.h>

namespace rushgate {

/// The counts of RocksDbWork, updated by RocksDB's threads.
struct WorkCounters {
  std::atomic<std::uint64_t> flushes = 0;
  std::atomic<std::uint64_t> compactions = 0;
  std::atomic<std::uint64_t> stalls = 0;
};

/// The operations that a database has after a failure, by their numbers.
struct KeptOperations {
  std::uint64_t last = 0;    // the last one that was acknowledged
  std::uint64_t failed = 0;  // the number of those after it, of the failed commit
};

/// Returns the environment of a database with these options.
rocksdb::Env& env_of(const RocksDbStoreOptions& options);

/// The open database and the lock of its directory. Closes both.
class RocksDatabase {
 public:
  /// Errors: as RocksDbStore::open().
  ///
  /// Failures in the background are also recorded in `failure`. Failed writes of a log or a table
  /// are recorded only there: see make_fail_stop_env().
  static absl::StatusOr<std::unique_ptr<RocksDatabase>> open(
      const std::filesystem::path& dir, const RocksDbStoreOptions& options,
      const std::shared_ptr<WriteFailure>& failure);

  /// Opens the database that another process writes, or none, and writes nothing. Only db(), state(),
  /// stream(), dir() and catch_up() may be called. kUnavailable: the writer removed a file while it was
  /// read, so that a repetition may succeed. Other errors: as open().
  static absl::StatusOr<std::unique_ptr<RocksDatabase>> open_to_read(
      const std::filesystem::path& dir, const RocksDbStoreOptions& options);
  /// Reads what the writer has written meanwhile. No iterator may be in use. kUnavailable: as
  /// open_to_read(); it then has to be opened again.
  absl::Status catch_up();

  /// Closes the database and opens it again after a failure, without the operations of the failed
  /// commit. Keeps the lock, or takes it again if the directory has another lock file. If it fails,
  /// the database stays closed, and only reopen() may be called. kDataLoss: an acknowledged operation
  /// cannot be read, or another process has written some. Other errors: as open().
  absl::Status reopen(const RocksDbStoreOptions& options,
                      const std::shared_ptr<WriteFailure>& failure, const KeptOperations& kept);

  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;
  ~RocksDatabase();

  [[nodiscard]] rocksdb::DB& db() const { return *db_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* state() const { return state_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* stream() const { return stream_; }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
  /// Returns the counters, which are the same after reopen().
  [[nodiscard]] std::shared_ptr<const WorkCounters> work() const { return work_; }

 private:
  RocksDatabase(std::optional<DirectoryLock> lock, std::filesystem::path dir)
      : lock_(std::move(lock)), dir_(std::move(dir)) {}

  absl::Status start(const RocksDbStoreOptions& options,
                     const std::shared_ptr<WriteFailure>& failure,
                     std::optional<KeptOperations> kept);
  absl::StatusOr<std::uint64_t> limit_recovery(rocksdb::Env& env, std::uint64_t found_end,
                                               std::optional<KeptOperations> kept) const;
  void keep(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> families);
  void close();
  absl::Status write_format();

  std::optional<DirectoryLock> lock_;  // empty: opened to read
  const std::filesystem::path dir_;
  const std::shared_ptr<WorkCounters> work_ = std::make_shared<WorkCounters>();
  std::optional<RecoveryEnd> recovery_end_;  // db_ keeps a pointer to it
  std::unique_ptr<rocksdb::Env> env_;        // db_ keeps a pointer to this, too
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* default_ = nullptr;
  rocksdb::ColumnFamilyHandle* state_ = nullptr;
  rocksdb::ColumnFamilyHandle* stream_ = nullptr;
};

}  // namespace rushgate
