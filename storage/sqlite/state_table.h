// Reads and writes the tables `database_state` and `reserved_ids`, about the database's keyspace.
#pragma once

#include <cstdint>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <rushgate/order_store.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are not
// thread-safe. All functions throw SQLite::Exception.

class StateReader {
 public:
  explicit StateReader(const SQLite::Database& database);

  DatabaseState state();

 private:
  SQLite::Statement read_;
};

class StateWriter {
 public:
  explicit StateWriter(const SQLite::Database& database);

  // Must run in a transaction.
  DatabaseState state() { return reader_.state(); }
  DatabaseState raise_epoch();
  void write_record(const DatabaseState& state);  // its checkpoint and its revision
  std::int64_t reserve_ids(std::int64_t day, std::int64_t above, std::int64_t count);

 private:
  StateReader reader_;
  SQLite::Statement raise_epoch_;
  SQLite::Statement write_record_;
  SQLite::Statement read_reserved_ids_;
  SQLite::Statement write_reserved_ids_;
  SQLite::Statement forget_reserved_ids_;
};

}  // namespace rushgate
