#include "storage/rocksdb/rocksdb_status.h"

#include <string>

namespace rushgate {
namespace {

absl::StatusCode code_of(const rocksdb::Status& status) {
  if (status.IsNoSpace() || status.IsMemoryLimit() ||
      status.subcode() == rocksdb::Status::kSpaceLimit) {
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
