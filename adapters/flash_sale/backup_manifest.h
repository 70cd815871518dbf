// What a backup consists of: the file `backup.json` in its directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/order_store.h>

namespace rushgate {

/// docs/format.md describes its fields.
struct BackupManifest {
  std::string made_at = {};  // UTC
  DatabaseState state = {};  // of the order database, at the moment of the backup
  bool has_keyspace = false;
  std::map<std::string, std::uint64_t> files = {};  // sizes by names, as "keyspace/000012.sst"

  [[nodiscard]] std::uint64_t bytes() const;
};

inline constexpr char kManifestName[] = "backup.json";

/// Returns the files below `dir`, without the manifest.
absl::StatusOr<std::map<std::string, std::uint64_t>> list_files(const std::filesystem::path& dir);
/// Writes and syncs the manifest of a backup.
absl::Status write_manifest(const std::filesystem::path& dir, const BackupManifest& manifest);
/// kNotFound: there is none. kDataLoss: it is damaged. kUnimplemented: its format is a newer one.
absl::StatusOr<BackupManifest> read_manifest(const std::filesystem::path& dir);
/// Returns the complete backups in `dir`, oldest first.
std::vector<std::filesystem::path> list_backups(const std::filesystem::path& dir);

}  // namespace rushgate
