// Finds out whether a disk takes data again.
#pragma once

#include <filesystem>

#include <rocksdb/env.h>

#include "absl/status/status.h"

namespace rushgate {

/// The file of a probe, in the store's directory.
inline constexpr char kProbeName[] = "rushgate.probe";

/// Writes and syncs as much as the opening of the store in `dir` may need: its logs, and a reserve.
/// Then removes it. Returns the first error; kUnavailable if the store is not there, as after its
/// file system has vanished.
absl::Status probe_disk(rocksdb::Env& env, const std::filesystem::path& dir);

}  // namespace rushgate
