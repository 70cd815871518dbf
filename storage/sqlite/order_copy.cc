#include "storage/sqlite/order_copy.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Transaction.h>

namespace rushgate {

absl::Status copy_database(SQLite::Database& connection, const std::filesystem::path& file,
                           AtRest at_rest) {
  const SQLite::Transaction snapshot(connection);
  absl::Status taken = at_rest([&] {
    // The first read begins the snapshot, which lasts as long as the transaction.
    static_cast<void>(connection.execAndGet("SELECT count(*) FROM sqlite_schema"));
  });
  if (!taken.ok()) return taken;
  SQLite::Database copy(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  // A copy that is not complete is thrown away, so nothing need survive before the end. The pages come
  // in one piece: other connections do not wait for them.
  copy.exec("PRAGMA journal_mode = OFF");
  copy.exec("PRAGMA synchronous = FULL");
  SQLite::Backup backup(copy, connection);
  backup.executeStep(-1);
  return absl::OkStatus();
}

}  // namespace rushgate
