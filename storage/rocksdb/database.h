// Configures and opens the database.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

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

  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;
  ~RocksDatabase();

  [[nodiscard]] rocksdb::DB& db() const { return *db_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* state() const { return state_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* stream() const { return stream_; }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
  [[nodiscard]] RocksDbWork work() const {
    return {.flushes = work_->flushes, .compactions = work_->compactions, .stalls = work_->stalls};
  }

 private:
  RocksDatabase(DirectoryLock lock, std::filesystem::path dir)
      : lock_(std::move(lock)), dir_(std::move(dir)) {}

  absl::Status start(rocksdb::Env& env, const RocksDbStoreOptions& options,
                     const std::shared_ptr<WriteFailure>& failure);
  absl::Status write_format();

  DirectoryLock lock_;
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
