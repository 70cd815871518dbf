#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "adapters/flash_sale/backup_manifest.h"
#include "adapters/flash_sale/sale_directory.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/make_directory.h"
#include "engine/core/base/status_macros.h"
#include "storage/rocksdb/directory_lock.h"
#include <rushgate/flash_sale.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

/// Returns the backup in `backup`, or the newest one of several.
fs::path find_backup(const fs::path& backup) {
  std::error_code error;
  if (fs::exists(backup / kManifestName, error)) return backup;
  const std::vector<fs::path> backups = list_backups(backup);
  return backups.empty() ? backup : backups.back();
}

/// Refuses a directory with anything in it. The message says so if a process uses it.
absl::Status check_target(const fs::path& dir) {
  std::error_code error;
  if (!fs::exists(dir, error) || (fs::is_directory(dir, error) && fs::is_empty(dir, error))) {
    return absl::OkStatus();
  }
  for (const fs::path& locked : {keyspace_in(dir), dir}) {
    if (!fs::exists(locked / kLockFileName, error)) continue;
    RETURN_IF_ERROR(DirectoryLock::take(locked).status());
  }
  return absl::FailedPreconditionError(
      concat(dir.string(), " is not empty: a backup is restored to a new directory"));
}

absl::Status check_files(const fs::path& backup, const BackupManifest& manifest) {
  ASSIGN_OR_RETURN(const auto files, list_files(backup));
  for (const auto& [name, size] : manifest.files) {
    const auto found = files.find(name);
    if (found == files.end()) {
      return absl::DataLossError(concat((backup / name).string(), " is missing"));
    }
    if (found->second != size) {
      return absl::DataLossError(concat((backup / name).string(), " has ", found->second,
                                        " bytes instead of ", size,
                                        ": it is damaged, or of another backup"));
    }
  }
  return absl::OkStatus();
}

/// Checks that the copied database is the one of this backup. A database of another day may have the
/// same size.
absl::Status check_orders(const fs::path& backup, const fs::path& dir,
                          const BackupManifest& manifest) {
  const auto orders = SqliteOrderStore::open(orders_in(dir), {.read_only = true});
  if (!orders.ok()) return orders.status();
  ASSIGN_OR_RETURN(const auto state, (*orders)->state());
  if (state.identity == manifest.state.identity && state.checkpoint == manifest.state.checkpoint) {
    return absl::OkStatus();
  }
  return absl::DataLossError(concat(orders_in(backup).string(), " is of another backup than ",
                                    (backup / kManifestName).string()));
}

absl::Status copy_files(const fs::path& from, const fs::path& to, const BackupManifest& manifest) {
  for (const auto& [name, size] : manifest.files) {
    const fs::path target = to / name;
    RETURN_IF_ERROR(make_directory(target.parent_path()));
    std::error_code error;
    fs::copy_file(from / name, target, error);
    if (error) return absl::UnavailableError(concat(target.string(), ": ", error.message()));
    RETURN_IF_ERROR(sync_file(target));
    RETURN_IF_ERROR(sync_directory(target.parent_path()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<fs::path> restore_backup(const fs::path& backup, const fs::path& dir) {
  fs::path from = find_backup(backup);
  ASSIGN_OR_RETURN(const auto manifest, read_manifest(from));
  RETURN_IF_ERROR(check_target(dir));
  RETURN_IF_ERROR(check_files(from, manifest));

  // A copy that is not complete has another name.
  fs::path target = fs::absolute(dir).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  const fs::path incomplete =
      target.parent_path() / concat(".", target.filename().string(), ".restoring");
  std::error_code error;
  fs::remove_all(incomplete, error);
  RETURN_IF_ERROR(make_directory(incomplete));
  absl::Status copied = copy_files(from, incomplete, manifest);
  if (copied.ok()) copied = check_orders(from, incomplete, manifest);
  if (!copied.ok()) {
    fs::remove_all(incomplete, error);
    return copied;
  }
  fs::rename(incomplete, target, error);
  if (error) return absl::UnavailableError(concat(target.string(), ": ", error.message()));
  RETURN_IF_ERROR(sync_directory(target.parent_path()));
  return from;
}

}  // namespace rushgate
