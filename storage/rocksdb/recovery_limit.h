// Keeps a failed commit out of the database for good, once a recovery has begun without it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <rocksdb/env.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rushgate {

/// The file in the store's directory with the limit. It is there only while a store is reopened
/// after a failure.
///
/// The log may have the failed commit, which the recovery passes over. RocksDB records the end of a
/// recovery for one family after the other. If the process ended in between, the next recovery
/// would find the commit for some families only. With the limit it finds it for none.
inline constexpr char kRecoveryLimitName[] = "rushgate.limit";

/// Returns the number of the first operation that no recovery may restore. Nothing if there is no
/// limit, or a power cut tore it: then no recovery has begun with it.
absl::StatusOr<std::optional<std::uint64_t>> read_recovery_limit(rocksdb::Env& env,
                                                                 const std::filesystem::path& dir);
/// Writes the limit and syncs it. The caller syncs the directory.
absl::Status write_recovery_limit(rocksdb::Env& env, const std::filesystem::path& dir,
                                  std::uint64_t limit);
/// Removes the limit, if there is one. The caller syncs the directory before the next commit.
absl::Status remove_recovery_limit(rocksdb::Env& env, const std::filesystem::path& dir);

}  // namespace rushgate
