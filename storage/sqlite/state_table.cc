#include "storage/sqlite/state_table.h"

#include <algorithm>

#include "storage/sqlite/query.h"

namespace rushgate {

StateReader::StateReader(const SQLite::Database& database)
    : read_(database, "SELECT identity, epoch, checkpoint, revision FROM database_state") {}

DatabaseState StateReader::state() {
  Query row(read_);
  row.next();
  return {.identity = row.text(0),
          .epoch = row.integer(1),
          .checkpoint = row.integer(2),
          .revision = row.integer(3)};
}

StateWriter::StateWriter(const SQLite::Database& database)
    : reader_(database),
      raise_epoch_(database, "UPDATE database_state SET epoch = epoch + 1"),
      write_record_(database, "UPDATE database_state SET checkpoint = ?1, revision = ?2"),
      read_reserved_ids_(database, "SELECT reserved FROM reserved_ids WHERE day = ?1"),
      write_reserved_ids_(database, "INSERT OR REPLACE INTO reserved_ids VALUES (?1, ?2)"),
      forget_reserved_ids_(database, "DELETE FROM reserved_ids WHERE day < ?1 - 1") {}

DatabaseState StateWriter::raise_epoch() {
  Query(raise_epoch_).next();
  return reader_.state();
}

void StateWriter::write_record(const DatabaseState& state) {
  Query(write_record_, state.checkpoint, state.revision).next();
}

std::int64_t StateWriter::reserve_ids(std::int64_t day, std::int64_t above, std::int64_t count) {
  std::int64_t reserved = above;
  if (Query row(read_reserved_ids_, day); row.next()) reserved = std::max(reserved, row.integer(0));
  if (count == 0) return reserved;
  reserved += count;
  Query(write_reserved_ids_, day, reserved).next();
  Query(forget_reserved_ids_, day).next();
  return reserved;
}

}  // namespace rushgate
