// The first failure of the log stops everything.
#pragma once

#include <filesystem>
#include <memory>

#include <rocksdb/env.h>

#include "storage/rocksdb/write_failure.h"

namespace rushgate {

/// `env`, through which nothing in `dir` is changed any more once `failure` has occurred; and a
/// write or sync of the log that fails is such a failure, at once, from whichever thread.
///
/// RocksDB itself is told that the log was written: Debian builds it with assertions, and one of
/// them ends the process if a log is written or synced again after it failed, which another thread
/// may be about to do. So whoever writes asks `failure` when RocksDB is done. What RocksDB believes
/// to be in the log reaches no table either, for those are files, too.
///
/// `env` must outlive it.
std::unique_ptr<rocksdb::Env> make_fail_stop_env(rocksdb::Env& env,
                                                 std::shared_ptr<WriteFailure> failure,
                                                 const std::filesystem::path& dir);

}  // namespace rushgate
