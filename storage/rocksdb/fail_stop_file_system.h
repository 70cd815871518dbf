// The first failure of a log or a table stops everything.
#pragma once

#include <filesystem>
#include <memory>

#include <rocksdb/env.h>

#include "storage/rocksdb/write_failure.h"

namespace rushgate {

/// Returns an `env` through which nothing in `dir` changes once `failure` has occurred. A write or
/// sync of a log or a table that fails is such a failure, at once, on every thread.
///
/// RocksDB itself is told that the log or table was written. Debian builds RocksDB with assertions,
/// and two of them end the process otherwise: one if a log is written or synced again after it
/// failed, which another thread may be about to do, and one if a compaction could not write a table
/// without keys. So the caller of a write asks `failure` when RocksDB is done. What RocksDB
/// wrongly takes for written becomes part of the database nowhere: a table counts once the MANIFEST
/// names it, and writes to the MANIFEST fail.
///
/// `env` must outlive it.
std::unique_ptr<rocksdb::Env> make_fail_stop_env(rocksdb::Env& env,
                                                 std::shared_ptr<WriteFailure> failure,
                                                 const std::filesystem::path& dir);

}  // namespace rushgate
