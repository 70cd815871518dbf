// Records the names of log files, so that a deleted log is detected. RocksDB's own list
// (track_and_verify_wals_in_manifest) lacks the newest log and logs that were not synced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "absl/status/status.h"

namespace rushgate {

/// The file in the store's directory with the names of the logs.
inline constexpr char kNotedLogsName[] = "rushgate.logs";

/// Returns a file system that keeps the list. A log is listed after its directory was synced, so a
/// power cut never leaves a listed log missing. The list is never synced. After a power cut it may
/// be outdated or invalid, and a deleted log may go undetected.
std::shared_ptr<rocksdb::FileSystem> note_logs(const std::shared_ptr<rocksdb::FileSystem>& target,
                                               const std::filesystem::path& dir);

/// Returns kDataLoss, with the name, if a listed log is missing although the database still needs
/// it. `first_needed`: the number of the first log that the database needs.
absl::Status check_noted_logs(rocksdb::Env& env, const std::filesystem::path& dir,
                              std::uint64_t first_needed);

}  // namespace rushgate
