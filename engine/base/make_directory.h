// Directories that survive a power cut.
#pragma once

#include <filesystem>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace rushgate {

/// Syncs a directory: the names of what is in it are on the disk. OK without effect if this process
/// may not read it, which syncing takes.
absl::Status sync_directory(const std::filesystem::path& dir);

using SyncDirectory = absl::FunctionRef<absl::Status(const std::filesystem::path& dir)>;

/// Creates `dir`, and the parents that are missing. Syncs each directory that gets a new name.
/// Syncs the parent of the deepest one that is there already, too: an earlier attempt may have made
/// that one, and ended before it could sync.
///
/// Errors: kFailedPrecondition `dir` or a parent is something else; those of making a directory;
/// those of `sync`.
absl::Status make_directory(const std::filesystem::path& dir, SyncDirectory sync = sync_directory);

}  // namespace rushgate
