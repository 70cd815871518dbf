// A file system on which the first failure of a log or a table stops all writing.
#pragma once

#include <filesystem>
#include <memory>

#include <rocksdb/env.h>

#include "storage/rocksdb/write_failure.h"

namespace rushgate {

/// Returns an `env` that permits no change in `dir` after a failure. A failed write or sync of a
/// log or a table counts as a failure at once, on every thread.
///
/// RocksDB itself sees those writes as successful. Debian builds RocksDB with assertions, of
/// which two would end the process: one if a log is written or synced again after a failure,
/// possibly by another thread; one if a compaction could not write a table without keys. So the
/// caller of a write checks `failure` when RocksDB has finished. The lost data never becomes
/// part of the database: a table counts once the MANIFEST names it, and writes to the MANIFEST
/// fail.
///
/// `env` must outlive the result.
std::unique_ptr<rocksdb::Env> make_fail_stop_env(rocksdb::Env& env,
                                                 std::shared_ptr<WriteFailure> failure,
                                                 const std::filesystem::path& dir);

}  // namespace rushgate
