// Reads a store's directory without changing it, and determines how far it can be
// recovered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/wal_filter.h>

#include "absl/status/statusor.h"

namespace rushgate {

struct DirectoryState {
  bool fresh = true;  // empty, or left by an interrupted creation
  /// Number of the first operation that opening will not recover: the end of the log, or its first
  /// gap.
  std::uint64_t recovery_end = 0;
  /// Number of the first log file that is not completely in tables.
  std::uint64_t first_needed_log = 0;
};

/// kUnimplemented: `stored`, the record of the format, is not that of this program.
absl::Status check_format(const std::string& stored, const std::filesystem::path& dir);

/// Errors: as RocksDbStore::open().
absl::StatusOr<DirectoryState> inspect_directory(rocksdb::Env& env,
                                                 const std::filesystem::path& dir);

/// Ends a recovery before operation number `end`. RocksDB alone passes over some gaps: blocks of
/// zeros, such as a page that never reached the disk.
class RecoveryEnd final : public rocksdb::WalFilter {
 public:
  explicit RecoveryEnd(std::uint64_t end) : end_(end) {}

  WalProcessingOption LogRecordFound(unsigned long long log_number, const std::string& log_file,
                                     const rocksdb::WriteBatch& batch,
                                     rocksdb::WriteBatch* new_batch, bool* batch_changed) override;
  [[nodiscard]] const char* Name() const override { return "rushgate.recovery_end"; }

 private:
  const std::uint64_t end_;
};

}  // namespace rushgate
