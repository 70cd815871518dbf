// Converts RocksDB's errors to the store's.
#pragma once

#include <filesystem>
#include <string_view>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include "absl/status/status.h"

namespace rushgate {

/// The operation that failed, for messages from any thread.
inline constexpr char kWriting[] = "writing";
inline constexpr char kSyncing[] = "syncing";

/// Returns OK, or "<doing> in <dir>: <RocksDB's message>" with a code of rocksdb_store.h.
absl::Status to_absl(const rocksdb::Status& status, std::string_view doing,
                     const std::filesystem::path& dir);

inline rocksdb::Slice to_slice(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view to_view(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace rushgate
