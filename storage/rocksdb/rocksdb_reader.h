// Reads a store that another process writes.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include <rushgate/rocksdb_store.h>
#include <rushgate/store.h>

namespace rushgate {

class RocksDatabase;

/// Takes no lock and writes nothing to the directory, so the writer does not notice it. Not
/// thread-safe.
class RocksDbReader {
 public:
  /// Uses the logger and the environment of the options. kNotFound: there is no store. Other errors:
  /// as RocksDbStore::open().
  static absl::StatusOr<std::unique_ptr<RocksDbReader>> open(const std::filesystem::path& dir,
                                                             RocksDbStoreOptions options = {});
  ~RocksDbReader();
  RocksDbReader(const RocksDbReader&) = delete;
  RocksDbReader& operator=(const RocksDbReader&) = delete;

  /// Returns a store with all commits that had finished when the call began. The store must be
  /// destroyed before the next call. It drops what is committed to it. kUnavailable: the writer kept
  /// removing files while they were read; a repetition may succeed.
  absl::StatusOr<std::unique_ptr<Store>> read();

 private:
  RocksDbReader(std::filesystem::path dir, RocksDbStoreOptions options);

  const std::filesystem::path dir_;
  const RocksDbStoreOptions options_;
  std::unique_ptr<RocksDatabase> database_;  // null: to be opened
};

}  // namespace rushgate
