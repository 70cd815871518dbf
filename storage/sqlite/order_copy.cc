#include "storage/sqlite/order_copy.h"

#include <algorithm>
#include <cstdint>

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Transaction.h>
#include <sqlite3.h>

#include "engine/core/base/concat.h"
#include "engine/core/base/make_directory.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

/// Copies what the transaction of `connection` sees.
absl::Status copy_pages(SQLite::Database& connection, const std::filesystem::path& file,
                        AfterPortion after) {
  const std::int64_t page_bytes = connection.execAndGet("PRAGMA page_size").getInt64();
  const auto pages_at_once = static_cast<int>(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(CopyPortion::kBytes) / page_bytes));
  SQLite::Database copy(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  // A copy that is not complete is thrown away, so nothing need survive before the end.
  copy.exec("PRAGMA journal_mode = OFF");
  copy.exec("PRAGMA cache_size = -256");  // KiB, so that little is written with the last pages
  copy.exec("PRAGMA synchronous = FULL");
  SQLite::Backup backup(copy, connection);
  while (true) {
    const int result = backup.executeStep(pages_at_once);
    if (result == SQLITE_DONE) return absl::OkStatus();
    if (result != SQLITE_OK) {
      return absl::UnavailableError(concat(file.string(), " is used by another program"));
    }
    // One sync at the end would hold up the commits of others for as long as all pages take. (Closing
    // the file gives up SQLite's lock, but nobody else opens an unfinished copy.)
    RETURN_IF_ERROR(sync_file(file));
    const std::int64_t left = backup.getRemainingPageCount() * page_bytes;
    RETURN_IF_ERROR(after({.bytes = static_cast<std::uint64_t>(pages_at_once * page_bytes),
                           .bytes_left = static_cast<std::uint64_t>(left)}));
  }
}

}  // namespace

absl::Status copy_database(SQLite::Database& connection, const std::filesystem::path& file,
                           AtRest at_rest, AfterPortion after) {
  const SQLite::Transaction snapshot(connection);
  RETURN_IF_ERROR(at_rest([&] {
    // The first read begins the snapshot, which lasts as long as the transaction.
    static_cast<void>(connection.execAndGet("SELECT count(*) FROM sqlite_schema"));
  }));
  return copy_pages(connection, file, after);
}

}  // namespace rushgate
