// Distinguishes a log torn by a power cut from a damaged one.
#pragma once

#include <cstdint>
#include <filesystem>

#include <rocksdb/env.h>

#include "absl/status/status.h"

namespace rushgate {

/// Reads the database's log files, changing nothing. Must be called before the database is opened,
/// because RocksDB ends its recovery at the first unreadable commit and discards the rest.
///
/// A power cut may leave unreadable places with readable ones behind them, because pages of a file
/// reach the disk in any order. It never damages synced data. Each commit stores the synced
/// position (layout.h). Returns kDataLoss if a position covers operation `recovery_end`, the first
/// one that recovery would not restore.
absl::Status check_log(rocksdb::Env& env, const std::filesystem::path& dir,
                       std::uint64_t recovery_end);

}  // namespace rushgate
