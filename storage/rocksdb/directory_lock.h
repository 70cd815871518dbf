// One directory belongs to one process; the file that holds it says to whom.
#pragma once

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"

namespace rushgate {

/// Also what tells a store of ours from other people's directories, so it is never deleted.
inline constexpr char kLockFileName[] = "rushgate.lock";

/// Held until destroyed, or until the process ends in whatever way.
class DirectoryLock {
 public:
  /// Holds within the process too. kFailedPrecondition: somebody has it; the text says who,
  /// and is_held_by_another() (rocksdb_store.h) that it is so.
  static absl::StatusOr<DirectoryLock> take(const std::filesystem::path& dir);

  DirectoryLock(DirectoryLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int file) : file_(file) {}

  int file_;
};

}  // namespace rushgate
