#include "storage/sqlite/state_table.h"

#include "storage/sqlite/query.h"

namespace rushgate {

StateReader::StateReader(const SQLite::Database& database)
    : read_(database, "SELECT identity, epoch, checkpoint FROM database_state") {}

DatabaseState StateReader::state() {
  Query row(read_);
  row.next();
  return {.identity = row.text(0), .epoch = row.integer(1), .checkpoint = row.integer(2)};
}

StateWriter::StateWriter(const SQLite::Database& database)
    : reader_(database),
      raise_epoch_(database, "UPDATE database_state SET epoch = epoch + 1"),
      raise_checkpoint_(database,
                        "UPDATE database_state SET checkpoint = ?1 WHERE checkpoint < ?1") {}

DatabaseState StateWriter::raise_epoch() {
  Query(raise_epoch_).next();
  return reader_.state();
}

void StateWriter::raise_checkpoint(std::int64_t checkpoint) {
  Query(raise_checkpoint_, checkpoint).next();
}

}  // namespace rushgate
