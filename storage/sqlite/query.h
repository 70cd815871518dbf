// One run of a prepared statement.
#pragma once

#include <cstdint>
#include <string>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

namespace rushgate {

/// Binds `values` to ?1, ?2, … and resets the statement when it ends, whatever ends it: a statement
/// left in the middle would keep its transaction open. Throws SQLite::Exception.
class Query {
 public:
  template <class... Values>
  explicit Query(SQLite::Statement& statement, const Values&... values) : statement_(statement) {
    int index = 0;
    (statement_.bind(++index, values), ...);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() { statement_.tryReset(); }

  /// Goes on to the next row, the first one at first; false at the end.
  bool next() { return statement_.executeStep(); }

  /// A column of this row, counted from 0.
  [[nodiscard]] std::int64_t integer(int column) const {
    return statement_.getColumn(column).getInt64();
  }
  [[nodiscard]] bool is_null(int column) const { return statement_.getColumn(column).isNull(); }
  [[nodiscard]] std::string text(int column) const {
    return statement_.getColumn(column).getString();
  }

 private:
  SQLite::Statement& statement_;
};

}  // namespace rushgate
