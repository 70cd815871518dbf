// RocksDB's errors as the store's.
#pragma once

#include <filesystem>
#include <string_view>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include "absl/status/status.h"

namespace rushgate {

/// What a failed operation was doing; in the texts of errors, from whichever thread they come.
inline constexpr char kWriting[] = "writing";
inline constexpr char kSyncing[] = "syncing";

/// OK, or "<doing> in <dir>: <RocksDB's text>" with one of the codes that rocksdb_store.h lists.
absl::Status to_absl(const rocksdb::Status& status, std::string_view doing,
                     const std::filesystem::path& dir);

inline rocksdb::Slice to_slice(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view to_view(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace rushgate
