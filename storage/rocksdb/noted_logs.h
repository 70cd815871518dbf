// Notes which log files there are, so that a log that was deleted is missed. RocksDB's own list of
// them (track_and_verify_wals_in_manifest) leaves out the newest one, and all that were not synced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "absl/status/status.h"

namespace rushgate {

/// The file in the store's directory that names the logs.
inline constexpr char kNotedLogsName[] = "rushgate.logs";

/// Returns a file system that keeps the note. A log is noted once its directory has been synced: so
/// no power cut leaves the note without the log. The note is never synced. After a power cut it may
/// name older logs, or be no note, and then a deleted log may not be missed.
std::shared_ptr<rocksdb::FileSystem> note_logs(const std::shared_ptr<rocksdb::FileSystem>& target,
                                               const std::filesystem::path& dir);

/// kDataLoss if a log that is noted is not there, though the database has not written out all of
/// it. The message names it. `first_needed`: the number of the first log that the database needs.
absl::Status check_noted_logs(rocksdb::Env& env, const std::filesystem::path& dir,
                              std::uint64_t first_needed);

}  // namespace rushgate
