#include "storage/rocksdb/inspect.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "engine/core/base/status_macros.h"
#include "storage/rocksdb/directory_lock.h"
#include "storage/rocksdb/info_log.h"
#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/rocksdb_status.h"
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

// A record of the log begins with the number of its first operation, little-endian.
std::uint64_t sequence_of(const rocksdb::WriteBatch& batch) {
  std::uint64_t sequence = 0;
  for (std::size_t i = 8; i-- > 0;) {
    sequence = sequence << 8 | static_cast<std::uint8_t>(batch.Data()[i]);
  }
  return sequence;
}

// Finds the end of a recovery, at the first gap, and restores nothing.
class DryRun final : public rocksdb::WalFilter {
 public:
  WalProcessingOption LogRecordFound(unsigned long long, const std::string&,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*,
                                     bool*) override {
    const std::uint64_t sequence = sequence_of(batch);
    if (end_ == 0) {
      begin_ = sequence;
    } else if (sequence > end_) {
      return WalProcessingOption::kStopReplay;
    }
    end_ = std::max(end_, sequence + batch.Count());
    return WalProcessingOption::kIgnoreCurrentRecord;
  }
  [[nodiscard]] const char* Name() const override { return "rushgate.dry_run"; }

  // Operations up to number `written_out` are in the tables, regardless of the log.
  [[nodiscard]] std::uint64_t recovery_end(std::uint64_t written_out) const {
    const bool gap_before_log = begin_ > written_out + 1;
    return end_ == 0 || gap_before_log ? written_out + 1 : end_;
  }

 private:
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;  // number of the first operation that was not seen; 0: none seen
};

// The database, opened read-only.
struct Reader {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> families;  // default first

  ~Reader() {
    for (rocksdb::ColumnFamilyHandle* family : families) db->DestroyColumnFamilyHandle(family);
  }
};

rocksdb::Status open_reader(rocksdb::Env& env, const std::string& dir, DryRun& dry_run,
                            Reader& reader) {
  rocksdb::DBOptions options;
  options.env = &env;
  options.info_log = std::make_shared<InfoLog>(nullptr, env.GetSystemClock());
  options.max_open_files = kOpenTablesMax;
  options.wal_filter = &dry_run;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  std::vector<std::string> names;
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies(options, dir, &names);
  if (!status.ok()) return status;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  rocksdb::DB* db = nullptr;
  status = rocksdb::DB::OpenForReadOnly(options, dir, families, &reader.families, &db);
  reader.db.reset(db);
  return status;
}

absl::Status not_ours(const std::filesystem::path& dir, std::string_view why) {
  return absl::FailedPreconditionError("directory " + dir.string() +
                                       " is not a Rushgate store: " + std::string(why));
}

// An interrupted creation leaves our lock file and a database without a commit, so it holds no
// data.
absl::StatusOr<DirectoryState> without_database(const std::vector<std::string>& names,
                                                const std::filesystem::path& dir) {
  for (const std::string& name : names) {
    if (!name.ends_with(".sst") && !name.ends_with(".log")) continue;
    return absl::DataLossError("the store in " + dir.string() +
                               " is damaged: it holds data but no file CURRENT");
  }
  return DirectoryState{};
}

}  // namespace

absl::Status check_format(const std::string& stored, const std::filesystem::path& dir) {
  std::uint32_t format = 0;
  const auto [end, error] = std::from_chars(stored.data(), stored.data() + stored.size(), format);
  if (error == std::errc() && end == stored.data() + stored.size() && format == kStoreFormat) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError("the store in " + dir.string() + " has format \"" +
                                  absl::CHexEscape(stored) + "\"; this program reads format " +
                                  std::to_string(kStoreFormat) + " only");
}

absl::StatusOr<DirectoryState> inspect_directory(rocksdb::Env& env,
                                                 const std::filesystem::path& dir) {
  std::vector<std::string> names;
  rocksdb::Status status = env.GetChildren(dir.string(), &names);
  if (!status.ok()) return to_absl(status, "listing files", dir);
  if (names.empty()) return DirectoryState{};
  const auto holds = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!holds("CURRENT")) {
    if (!holds(kLockFileName)) return not_ours(dir, "it is not empty");
    return without_database(names, dir);
  }

  DryRun dry_run;  // outlives the database, which keeps a pointer to it
  Reader reader;
  status = open_reader(env, dir.string(), dry_run, reader);
  if (!status.ok()) return to_absl(status, "reading the store", dir);
  const std::uint64_t written_out = reader.db->GetLatestSequenceNumber();
  std::string format;
  status = reader.db->Get(rocksdb::ReadOptions(), kFormatKey, &format);
  if (status.IsNotFound()) {
    if (written_out == 0 && holds(kLockFileName)) return DirectoryState{};
    return not_ours(dir, "it holds a database without our format record");
  }
  if (!status.ok()) return to_absl(status, "reading the format", dir);
  RETURN_IF_ERROR(check_format(format, dir));
  DirectoryState state{.fresh = false, .recovery_end = dry_run.recovery_end(written_out)};
  const std::string& first_log = rocksdb::DB::Properties::kMinLogNumberToKeep;
  if (!reader.db->GetIntProperty(first_log, &state.first_needed_log)) {
    return absl::InternalError("this RocksDB does not know " + first_log);
  }
  return state;
}

rocksdb::WalFilter::WalProcessingOption RecoveryEnd::LogRecordFound(
    unsigned long long, const std::string&, const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*,
    bool*) {
  return sequence_of(batch) < end_ ? WalProcessingOption::kContinueProcessing
                                   : WalProcessingOption::kStopReplay;
}

}  // namespace rushgate
