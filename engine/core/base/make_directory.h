// Creation of directories that survive a power cut.
#pragma once

#include <filesystem>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace rushgate {

/// Makes the names inside a directory durable (fsync). Returns OK and does nothing if this process
/// may not read the directory, because fsync needs that.
absl::Status sync_directory(const std::filesystem::path& dir);

/// Makes the contents of a file durable (fsync).
absl::Status sync_file(const std::filesystem::path& file);

using SyncDirectory = absl::FunctionRef<absl::Status(const std::filesystem::path& dir)>;

/// Creates `dir` and its missing parents. Syncs each directory that
/// gets a new entry. Also syncs the parent of the deepest existing
/// directory: an earlier attempt may have created it and ended before
/// its sync. Errors: kFailedPrecondition if `dir` or a parent exists
/// and is not a directory; errors of creating a directory; errors of
/// `sync`.
absl::Status make_directory(const std::filesystem::path& dir, SyncDirectory sync = sync_directory);

}  // namespace rushgate
