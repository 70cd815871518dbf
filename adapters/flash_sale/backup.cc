#include "adapters/flash_sale/backup.h"

#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "adapters/flash_sale/backup_manifest.h"
#include "adapters/flash_sale/copy_pacer.h"
#include "adapters/flash_sale/sale_directory.h"
#include "adapters/flash_sale/utc_time.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/make_directory.h"
#include "engine/core/base/status_macros.h"
#include "storage/rocksdb/directory_lock.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIncompleteName = ".incomplete";
constexpr std::string_view kRemovedName = ".removed";

absl::Status file_error(const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(concat(path.string(), ": ", error.message()));
}

/// Removes what an interrupted backup left.
absl::Status remove_leftovers(const fs::path& dir) {
  for (const std::string_view name : {kIncompleteName, kRemovedName}) {
    std::error_code error;
    fs::remove_all(dir / name, error);
    if (error) return file_error(dir / name, error);
  }
  return absl::OkStatus();
}

/// Returns the directory of a backup that is made at this time: its name sorts by the time.
fs::path place_of(const fs::path& dir, std::string made_at) {
  std::erase_if(made_at, [](char c) { return c == '-' || c == ':'; });
  fs::path place = dir / made_at;
  std::error_code error;
  for (int again = 2; fs::exists(place, error); ++again) place = dir / concat(made_at, "-", again);
  return place;
}

/// Copies the keyspace until little is left of what was written meanwhile. Takes at most half of the time,
/// since the orders are still to be copied.
absl::Status copy_keyspace(Backend& backend, const fs::path& to, const fs::path& earlier,
                           CopyPacer& pacer, CopyPacer::Clock::time_point end) {
  constexpr int kPassesMax = 4;
  CopyPacer::Clock::duration time = (end - CopyPacer::Clock::now()) / 2;
  for (int pass = 1;; ++pass) {
    const CopyPacer::Clock::time_point began = CopyPacer::Clock::now();
    pacer.begin_part(began + time);
    RETURN_IF_ERROR(backend.copy_to(
        to, earlier, [&](const CopyPortion& portion) { return pacer.after(portion); }));
    if (pass == kPassesMax || pacer.copied() <= CopyPortion::kBytes) return absl::OkStatus();
    // So that the log grows by less than in this pass, however fast it does.
    time = (CopyPacer::Clock::now() - began) / 3;
  }
}

/// Copies both halves. The keyspace is copied again while no change of the orders is committed: only the
/// end of its log and its newest tables are left to copy then.
///
/// So the database has every order whose entry the keyspace has as acknowledged, and the keyspace every
/// checkpoint of the database: the pair is what a crash at that moment would leave.
absl::Status copy_halves(Backend& backend, OrderStore& orders, const fs::path& dir,
                         const fs::path& previous, CopyPacer& pacer,
                         CopyPacer::Clock::time_point end, BackupManifest& manifest) {
  const fs::path keyspace = keyspace_in(dir);
  const fs::path earlier = previous.empty() ? fs::path() : keyspace_in(previous);
  const absl::Status tables = copy_keyspace(backend, keyspace, earlier, pacer, end);
  const bool is_elsewhere =
      absl::IsUnimplemented(tables) && !backend.capabilities().runs_native_scripts;
  if (!tables.ok() && !is_elsewhere) return tables;
  manifest.has_keyspace = tables.ok();
  const auto at_that_moment = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(manifest.state, orders.state());
    if (!manifest.has_keyspace) return absl::OkStatus();
    return backend.copy_to(keyspace, earlier, [](const CopyPortion& /*portion*/) {
      return absl::OkStatus();  // workers wait
    });
  };
  pacer.begin_part(end);
  return orders.copy_to(orders_in(dir), at_that_moment,
                        [&](const CopyPortion& portion) { return pacer.after(portion); });
}

/// Removes all but the newest backups.
absl::Status remove_oldest(const fs::path& dir, std::size_t keep) {
  std::vector<fs::path> backups = list_backups(dir);
  std::error_code error;
  for (std::size_t i = 0; keep > 0 && i + keep < backups.size(); ++i) {
    // What is left of it after an interruption does not look like a backup.
    fs::rename(backups[i], dir / kRemovedName, error);
    if (!error) fs::remove_all(dir / kRemovedName, error);
    if (error) return file_error(backups[i], error);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BackupReport> back_up(Backend& backend, OrderStore& orders, const fs::path& dir,
                                     const BackupOptions& options,
                                     std::function<std::uint64_t()> count_sales) {
  const CopyPacer::Clock::time_point began = CopyPacer::Clock::now();
  CopyPacer pacer(std::move(count_sales), options.stop);
  std::error_code error;
  if (fs::exists(orders_in(dir), error)) {
    return absl::FailedPreconditionError(
        concat(dir.string(), " is the directory of a sale: backups need one of their own"));
  }
  RETURN_IF_ERROR(create_sale_directory(dir));
  ASSIGN_OR_RETURN([[maybe_unused]] const auto lock, DirectoryLock::take(dir));
  RETURN_IF_ERROR(remove_leftovers(dir));

  const std::vector<fs::path> backups = list_backups(dir);
  const fs::path incomplete = dir / kIncompleteName;
  RETURN_IF_ERROR(make_directory(incomplete));
  BackupManifest manifest{.made_at = format_utc(backend.clock().now_ms())};
  absl::Status copied =
      copy_halves(backend, orders, incomplete, backups.empty() ? fs::path() : backups.back(), pacer,
                  began + options.within, manifest);
  if (!copied.ok()) {
    static_cast<void>(remove_leftovers(dir));  // the next backup tries again
    return copied;
  }
  RETURN_IF_ERROR(pacer.after({}));
  ASSIGN_OR_RETURN(manifest.files, list_files(incomplete));
  RETURN_IF_ERROR(write_manifest(incomplete, manifest));
  RETURN_IF_ERROR(sync_directory(incomplete));
  RETURN_IF_ERROR(pacer.after({}));
  const fs::path place = place_of(dir, manifest.made_at);
  fs::rename(incomplete, place, error);
  if (error) return file_error(place, error);
  RETURN_IF_ERROR(sync_directory(dir));
  RETURN_IF_ERROR(remove_oldest(dir, options.keep));
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(CopyPacer::Clock::now() - began);
  return BackupReport{.path = place,
                      .has_keyspace = manifest.has_keyspace,
                      .bytes = manifest.bytes(),
                      .took_ms = took.count()};
}

}  // namespace rushgate
