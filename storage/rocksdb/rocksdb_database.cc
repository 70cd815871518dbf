#include "storage/rocksdb/rocksdb_database.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/file_system.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include "absl/status/status.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/make_directory.h"
#include "engine/core/base/status_macros.h"
#include "storage/rocksdb/disk_probe.h"
#include "storage/rocksdb/fail_stop_file_system.h"
#include "storage/rocksdb/info_log.h"
#include "storage/rocksdb/inspect.h"
#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/log_check.h"
#include "storage/rocksdb/manifest.h"
#include "storage/rocksdb/noted_logs.h"
#include "storage/rocksdb/recovery_limit.h"
#include "storage/rocksdb/rocksdb_status.h"
#include "storage/rocksdb/unsorted_memtable.h"

namespace rushgate {
namespace {

constexpr std::size_t kStateBufferBytes = std::size_t{16} << 20;
constexpr std::size_t kStreamBufferBytes = std::size_t{16} << 20;
constexpr int kBuffersMax = 4;  // one for writes, the others being flushed

// One flush, and two compactions. A compaction of the state may take minutes, and the stream's must
// not wait for it: commits stop when a family has 36 overlapping tables.
constexpr int kBackgroundJobs = 3;

// Keeps the insertion hint per stream. Only segments' keys use it, and no other key has their
// length. RocksDB before 9.2 uses a memtable's hints for its list of deleted ranges, too, and would
// link one list into the other (pull request 12558). So a deleted range must begin with a key of
// another length: see range_begin() in batch_writer.cc.
class StreamOfSegment final : public rocksdb::SliceTransform {
 public:
  // The name is durable: RocksDB writes it to its OPTIONS file.
  [[nodiscard]] const char* Name() const override { return "rushgate.stream_of_run"; }
  [[nodiscard]] rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), kStreamNumberBytes};
  }
  [[nodiscard]] bool InDomain(const rocksdb::Slice& key) const override {
    return key.size() == kSegmentKeyBytes;
  }
};

// RocksDB's own threads call it, too.
class BackgroundEvents final : public rocksdb::EventListener {
 public:
  BackgroundEvents(std::shared_ptr<WriteFailure> failure, std::shared_ptr<WorkCounters> work,
                   std::filesystem::path dir)
      : failure_(std::move(failure)), work_(std::move(work)), dir_(std::move(dir)) {}

  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { ++work_->flushes; }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    ++work_->compactions;
  }
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& stall) override {
    if (stall.condition.prev == rocksdb::WriteStallCondition::kNormal) ++work_->stalls;
  }
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    failure_->fail(to_absl(*status, kWriting, dir_)).IgnoreError();
  }

 private:
  const std::shared_ptr<WriteFailure> failure_;
  const std::shared_ptr<WorkCounters> work_;
  const std::filesystem::path dir_;
};

rocksdb::CompressionType compression() {
  const std::vector<rocksdb::CompressionType> built_in = rocksdb::GetSupportedCompressions();
  const bool lz4 =
      std::find(built_in.begin(), built_in.end(), rocksdb::kLZ4Compression) != built_in.end();
  return lz4 ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
}

// The newest format of tables that RocksDB 7.8 reads. So a store can be opened on Debian 12 and on
// Debian 13 in turn.
std::shared_ptr<rocksdb::TableFactory> table_factory() {
  rocksdb::BlockBasedTableOptions options;
  options.format_version = 5;
  return std::shared_ptr<rocksdb::TableFactory>(rocksdb::NewBlockBasedTableFactory(options));
}

rocksdb::ColumnFamilyOptions default_options() {
  rocksdb::ColumnFamilyOptions options;
  options.table_factory = table_factory();
  return options;
}

// Read only when the database is opened, before any write. So memory needs no order, and tables may
// overlap longer than reads would permit.
rocksdb::ColumnFamilyOptions state_options() {
  rocksdb::ColumnFamilyOptions options;
  options.memtable_factory = std::make_shared<UnsortedMemTableFactory>();
  options.write_buffer_size = kStateBufferBytes;
  options.max_write_buffer_number = kBuffersMax;
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = 8;
  options.level0_slowdown_writes_trigger = 40;
  options.level0_stop_writes_trigger = 60;
  options.compression = compression();
  options.table_factory = table_factory();
  return options;
}

// Written in ascending order within each stream.
rocksdb::ColumnFamilyOptions stream_options() {
  rocksdb::ColumnFamilyOptions options;
  options.memtable_insert_with_hint_prefix_extractor = std::make_shared<StreamOfSegment>();
  options.write_buffer_size = kStreamBufferBytes;
  options.max_write_buffer_number = kBuffersMax;
  options.compression = compression();
  options.table_factory = table_factory();
  return options;
}

/// Returns true on a tmpfs, where the space that RocksDB allocates ahead of each log (17 MiB) is
/// memory that is filled with zeros.
bool is_in_memory(const std::filesystem::path& dir) {
  struct statfs file_system {};
  return statfs(dir.c_str(), &file_system) == 0 && file_system.f_type == TMPFS_MAGIC;
}

rocksdb::DBOptions database_options(rocksdb::Env& env, const RocksDbStoreOptions& wanted) {
  rocksdb::DBOptions options;
  options.env = &env;
  options.max_background_jobs = kBackgroundJobs;
  options.max_open_files = kOpenTablesMax;
  options.allow_concurrent_memtable_write = false;  // the memtables allow one writer only
  options.enable_write_thread_adaptive_yield = false;
  options.max_total_wal_size = wanted.log_bytes_max;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.max_bgerror_resume_count = 0;  // failures are final: the store is opened again
  options.bytes_per_sync = std::size_t{1} << 20;
  options.max_manifest_file_size = std::size_t{4} << 20;
  options.info_log = std::make_shared<InfoLog>(wanted.logger, env.GetSystemClock());
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  return options;
}

using Families = std::vector<rocksdb::ColumnFamilyDescriptor>;

Families all_families() {
  return {
      {rocksdb::kDefaultColumnFamilyName, default_options()},
      {kStateFamily, state_options()},
      {kStreamFamily, stream_options()},
  };
}

// An interrupted creation may have left the first families. The others are created in one call,
// because RocksDB writes and reads its options file once per call.
rocksdb::Status create_database(const rocksdb::DBOptions& options, const std::string& dir,
                                const Families& families,
                                std::vector<rocksdb::ColumnFamilyHandle*>& handles,
                                rocksdb::DB*& db) {
  std::vector<std::string> left;
  const bool is_there = rocksdb::DB::ListColumnFamilies(options, dir, &left).ok();
  const auto first_missing =
      families.begin() + (is_there ? std::min(std::ssize(left), std::ssize(families)) : 1);
  rocksdb::Status status =
      rocksdb::DB::Open(options, dir, {families.begin(), first_missing}, &handles, &db);
  if (!status.ok() || first_missing == families.end()) return status;
  std::vector<rocksdb::ColumnFamilyHandle*> created;
  status = db->CreateColumnFamilies({first_missing, families.end()}, &created);
  handles.insert(handles.end(), created.begin(), created.end());
  return status;
}

absl::Status sync_directory_of(const rocksdb::Env& env, const std::filesystem::path& dir) {
  if (::access(dir.c_str(), R_OK) != 0) return absl::OkStatus();  // as sync_directory() does
  const rocksdb::IOOptions options;
  std::unique_ptr<rocksdb::FSDirectory> handle;
  rocksdb::IOStatus status =
      env.GetFileSystem()->NewDirectory(dir.string(), options, &handle, nullptr);
  if (status.ok()) status = handle->Fsync(options, nullptr);
  return to_absl(status, "syncing the directory", dir);
}

// Prepares a directory without our lock file. Leaves foreign directories unchanged. Makes the
// directory itself durable first.
absl::Status prepare_new(rocksdb::Env& env, const std::filesystem::path& dir,
                         bool create_if_missing) {
  std::error_code error;
  const auto type = std::filesystem::status(dir, error).type();
  bool is_fresh = type == std::filesystem::file_type::not_found;
  if (!is_fresh) {
    if (type != std::filesystem::file_type::directory) {
      return absl::FailedPreconditionError(dir.string() + " is not a directory");
    }
    ASSIGN_OR_RETURN(const DirectoryState found, inspect_directory(env, dir));
    is_fresh = found.fresh;
  }
  if (is_fresh && !create_if_missing) {
    return absl::NotFoundError("there is no store in " + dir.string());
  }
  return make_directory(
      dir, [&](const std::filesystem::path& changed) { return sync_directory_of(env, changed); });
}

}  // namespace

rocksdb::Env& env_of(const RocksDbStoreOptions& options) {
  return options.env != nullptr ? *options.env : *rocksdb::Env::Default();
}

RocksDatabase::~RocksDatabase() { close(); }

void RocksDatabase::close() {
  if (!db_) return;
  for (rocksdb::ColumnFamilyHandle* family : {default_, state_, stream_}) {
    if (family != nullptr) db_->DestroyColumnFamilyHandle(family);
  }
  if (lock_) sync_directory_of(*env_, dir_).IgnoreError();  // so that the newest log is noted
  db_->Close();  // nothing that could fail matters: the log has the data
  db_.reset();
}

absl::Status RocksDatabase::reopen(const RocksDbStoreOptions& options,
                                   const std::shared_ptr<WriteFailure>& failure,
                                   const KeptOperations& kept) {
  close();
  if (!lock_->is_of(dir_)) {  // the file system vanished and came back, or the directory is a copy
    ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::take(dir_));
    lock_ = std::move(lock);
  }
  absl::Status opened = start(options, failure, kept);
  if (opened.ok() && db_->GetLatestSequenceNumber() != kept.last) {
    opened =
        absl::DataLossError(concat("the store in ", dir_.string(), " was reopened up to operation ",
                                   db_->GetLatestSequenceNumber(), " instead of ", kept.last));
  }
  if (!opened.ok()) close();
  return opened;
}

/// Returns the number of the first operation that the recovery must not restore.
absl::StatusOr<std::uint64_t> RocksDatabase::limit_recovery(
    rocksdb::Env& env, std::uint64_t found_end, std::optional<KeptOperations> kept) const {
  ASSIGN_OR_RETURN(const auto limit, read_recovery_limit(env, dir_));
  const std::uint64_t end = std::min(found_end, limit.value_or(found_end));
  if (!kept || end == kept->last + 1) return end;
  if (end <= kept->last) {
    return absl::DataLossError(concat("the store in ", dir_.string(),
                                      " has lost operations: up to ", kept->last,
                                      " were acknowledged, and ", end, " cannot be read"));
  }
  if (end > kept->last + kept->failed + 1) {  // while the lock was lost
    return absl::DataLossError(concat("the store in ", dir_.string(), " has operations up to ",
                                      end - 1, " of another process: this one wrote up to ",
                                      kept->last + kept->failed));
  }
  absl::Status written = write_recovery_limit(env, dir_, kept->last + 1);
  if (written.ok()) written = sync_directory_of(env, dir_);
  if (!written.ok()) return written;
  return kept->last + 1;
}

absl::Status RocksDatabase::start(const RocksDbStoreOptions& options,
                                  const std::shared_ptr<WriteFailure>& failure,
                                  std::optional<KeptOperations> kept) {
  rocksdb::Env& env = env_of(options);
  env.DeleteFile((dir_ / kProbeName).string());  // of a process that ended while it probed the disk
  ASSIGN_OR_RETURN(const std::uint64_t torn, cut_torn_manifest(env, dir_));
  if (torn > 0 && options.logger) {
    log_warning(*options.logger, concat("cut off the last ", torn, " bytes of the MANIFEST in ",
                                        dir_.string(), ": they had not been synced"));
  }
  ASSIGN_OR_RETURN(const DirectoryState found, inspect_directory(env, dir_));
  env_ = make_fail_stop_env(env, failure, dir_);
  rocksdb::DBOptions database = database_options(*env_, options);
  database.listeners.push_back(std::make_shared<BackgroundEvents>(failure, work_, dir_));
  database.allow_fallocate = !is_in_memory(dir_);
  if (found.fresh) {
    if (!options.create_if_missing) {
      return absl::NotFoundError("there is no store in " + dir_.string());
    }
    database.create_if_missing = true;
  } else {
    RETURN_IF_ERROR(check_noted_logs(env, dir_, found.first_needed_log));
    RETURN_IF_ERROR(check_log(env, dir_, found.recovery_end));
    ASSIGN_OR_RETURN(const std::uint64_t end, limit_recovery(env, found.recovery_end, kept));
    database.wal_filter = &recovery_end_.emplace(end);
  }

  const Families families = all_families();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      found.fresh ? create_database(database, dir_.string(), families, handles, db)
                  : rocksdb::DB::Open(database, dir_.string(), families, &handles, &db);
  keep(db != nullptr && options.wrap_database ? options.wrap_database(db) : db, handles);
  absl::Status opened = to_absl(status, "opening the store", dir_);
  if (opened.ok() && found.fresh) opened = write_format();
  if (opened.ok() && !found.fresh) opened = remove_recovery_limit(*env_, dir_);
  if (failure->occurred()) return failure->refusal();
  if (!opened.ok()) return opened;
  // The deletions of the recovery must be durable before anything new is synced: an old, torn log
  // that reappears would look like damage. The new log is listed here, too.
  return sync_directory_of(*env_, dir_);
}

void RocksDatabase::keep(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> families) {
  db_.reset(db);
  families.resize(3);
  default_ = families[0];
  state_ = families[1];
  stream_ = families[2];
}

// Flushed at once, so that it can be read without the log and does not retain the log.
absl::Status RocksDatabase::write_format() {
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = db_->Put(options, default_, kFormatKey, std::to_string(kStoreFormat));
  if (status.ok()) status = db_->Flush(rocksdb::FlushOptions(), default_);
  return to_absl(status, "writing the format", dir_);
}

absl::StatusOr<std::unique_ptr<RocksDatabase>> RocksDatabase::open_to_read(
    const std::filesystem::path& dir, const RocksDbStoreOptions& options) {
  std::error_code error;
  if (!std::filesystem::exists(dir / "CURRENT", error)) {
    return absl::NotFoundError("there is no store in " + dir.string());
  }
  rocksdb::DBOptions database = database_options(env_of(options), options);
  database.max_open_files = -1;  // those that the writer removes stay readable
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  std::unique_ptr<RocksDatabase> reader(new RocksDatabase(std::nullopt, dir));
  const rocksdb::Status status = rocksdb::DB::OpenAsSecondary(database, dir.string(), dir.string(),
                                                              all_families(), &handles, &db);
  reader->keep(db, std::move(handles));
  RETURN_IF_ERROR(to_absl(status, "reading the store", dir));
  std::string format;
  const rocksdb::Status read =
      reader->db().Get(rocksdb::ReadOptions(), reader->default_, kFormatKey, &format);
  if (read.IsNotFound()) return absl::NotFoundError("there is no store in " + dir.string());
  RETURN_IF_ERROR(to_absl(read, "reading the format", dir));
  RETURN_IF_ERROR(check_format(format, dir));
  return reader;
}

absl::Status RocksDatabase::catch_up() {
  return to_absl(db_->TryCatchUpWithPrimary(), "reading the store", dir_);
}

absl::StatusOr<std::unique_ptr<RocksDatabase>> RocksDatabase::open(
    const std::filesystem::path& dir, const RocksDbStoreOptions& options,
    const std::shared_ptr<WriteFailure>& failure) {
  if (std::error_code error; !std::filesystem::exists(dir / kLockFileName, error)) {
    RETURN_IF_ERROR(prepare_new(env_of(options), dir, options.create_if_missing));
  }
  ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::take(dir));
  std::unique_ptr<RocksDatabase> database(new RocksDatabase(std::move(lock), dir));
  RETURN_IF_ERROR(database->start(options, failure, std::nullopt));
  return database;
}

}  // namespace rushgate
