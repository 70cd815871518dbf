// The lock of a directory, which one process may use. Its file names the process.
#pragma once

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"

namespace rushgate {

/// It also identifies a directory of ours, so it is never deleted.
inline constexpr char kLockFileName[] = "rushgate.lock";

/// Holds the lock until its destructor, or until the process ends for any reason.
class DirectoryLock {
 public:
  /// Excludes other locks in the same process, too. kFailedPrecondition: the directory is locked.
  /// The message names the owner, and is_held_by_another() (<rushgate/rocksdb_store.h>) returns
  /// true.
  static absl::StatusOr<DirectoryLock> take(const std::filesystem::path& dir);

  DirectoryLock(DirectoryLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~DirectoryLock();

  /// Returns true if the lock file in `dir` is the locked one.
  [[nodiscard]] bool is_of(const std::filesystem::path& dir) const;

 private:
  explicit DirectoryLock(int file) : file_(file) {}

  int file_;
};

}  // namespace rushgate
