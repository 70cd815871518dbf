// Tells a log that a power cut tore from one that was damaged.
#pragma once

#include <cstdint>
#include <filesystem>

#include <rocksdb/env.h>

#include "absl/status/status.h"

namespace rushgate {

/// Reads the database's log files, changing nothing. Before it is opened: RocksDB ends its recovery
/// at the first commit that it cannot read, whatever follows, and forgets the rest.
///
/// A power cut leaves unreadable places too, readable ones behind them even, for a file's pages
/// reach the disk in any order; but never in what had been synced. Each commit says up to where
/// that was (layout.h). So kDataLoss if a commit calls operation number `recovery_end` synced, the
/// first one that recovery will not restore.
absl::Status check_log(rocksdb::Env& env, const std::filesystem::path& dir,
                       std::uint64_t recovery_end);

}  // namespace rushgate
