// The end of the MANIFEST, RocksDB's list of its files, after a power cut. RocksDB syncs each
// record that it adds. A power cut before that may leave a record with unreadable bytes, and then
// RocksDB opens the database no more, though it never relied on the record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "absl/status/statusor.h"

namespace rushgate {

/// The file in the store's directory that says how much of the MANIFEST has been synced.
inline constexpr char kNotedManifestName[] = "rushgate.manifest";

/// Returns a file system that keeps the note. The note is written after each sync of the MANIFEST,
/// and is not synced itself. After a power cut it may say less, or be missing.
std::shared_ptr<rocksdb::FileSystem> note_manifest(
    const std::shared_ptr<rocksdb::FileSystem>& target, const std::filesystem::path& dir);

/// Cuts off the MANIFEST's unreadable end, if it is beyond the synced part. Returns the number of
/// bytes that were cut off. To be called before the database is opened, by the process that has its
/// directory. kDataLoss, with nothing changed: the synced part is unreadable or shorter.
absl::StatusOr<std::uint64_t> cut_torn_manifest(rocksdb::Env& env,
                                                const std::filesystem::path& dir);

/// Returns how many bytes at the beginning of a MANIFEST are whole records.
std::uint64_t readable_bytes(std::string_view manifest);

}  // namespace rushgate
