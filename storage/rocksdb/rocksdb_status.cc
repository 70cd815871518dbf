#include "storage/rocksdb/rocksdb_status.h"

#include <string>
#include <string_view>

namespace rushgate {
namespace {

/// DB::Open() of RocksDB 9 keeps only the message of a full disk on which it cannot write its options.
bool is_full_disk(const rocksdb::Status& status) {
  return status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit ||
         (status.IsIOError() && status.getState() != nullptr &&
          std::string_view(status.getState()).find("No space left on device") !=
              std::string_view::npos);
}

absl::StatusCode code_of(const rocksdb::Status& status) {
  if (is_full_disk(status) || status.IsMemoryLimit()) {
    return absl::StatusCode::kResourceExhausted;
  }
  switch (status.code()) {
    case rocksdb::Status::kCorruption:
      return absl::StatusCode::kDataLoss;
    case rocksdb::Status::kIOError:
    case rocksdb::Status::kTimedOut:
    case rocksdb::Status::kBusy:
    case rocksdb::Status::kTryAgain:
    case rocksdb::Status::kIncomplete:
    case rocksdb::Status::kShutdownInProgress:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status to_absl(const rocksdb::Status& status, std::string_view doing,
                     const std::filesystem::path& dir) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(code_of(status),
                      std::string(doing) + " in " + dir.string() + ": " + status.ToString());
}

}  // namespace rushgate
