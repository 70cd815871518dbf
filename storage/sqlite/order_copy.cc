#include "storage/sqlite/order_copy.h"

#include <cstdint>

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Transaction.h>

#include "engine/core/base/low_priority.h"

namespace rushgate {
namespace {

std::int64_t bytes_of(SQLite::Database& database) {
  return database.execAndGet("PRAGMA page_count").getInt64() *
         database.execAndGet("PRAGMA page_size").getInt64();
}

}  // namespace

absl::Status copy_database(SQLite::Database& connection, const std::filesystem::path& file,
                           AtRest at_rest) {
  const SQLite::Transaction snapshot(connection);
  absl::Status taken = at_rest([&] {
    // The first read begins the snapshot, which lasts as long as the transaction.
    static_cast<void>(connection.execAndGet("SELECT count(*) FROM sqlite_schema"));
  });
  if (!taken.ok()) return taken;
  const auto copy_pages = [&] {
    SQLite::Database copy(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    // A copy that is not complete is thrown away, so nothing need survive before the end. The pages
    // come in one piece: other connections do not wait for them.
    copy.exec("PRAGMA journal_mode = OFF");
    copy.exec("PRAGMA synchronous = FULL");
    SQLite::Backup backup(copy, connection);
    backup.executeStep(-1);
  };
  constexpr std::int64_t kMomentBytes = std::int64_t{32} << 20;  // which take some 20 ms
  if (bytes_of(connection) < kMomentBytes) {
    copy_pages();
  } else {
    run_at_low_priority(copy_pages);
  }
  return absl::OkStatus();
}

}  // namespace rushgate
