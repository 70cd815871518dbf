// One execution of a prepared statement, and the values that it binds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include "engine/core/base/concat.h"
#include <rushgate/user_id.h>

namespace rushgate {

/// Returns a maximum of rows as the value of LIMIT.
inline std::int64_t to_limit(std::size_t count_max) {
  constexpr std::size_t kCountMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(count_max, kCountMax));
}

/// Returns the statement that inserts a row, whose values are ?1, ?2, …
inline std::string insert_row(std::string_view table, std::string_view columns,
                              std::string_view verb = "INSERT") {
  std::string values = "?1";
  for (std::int64_t i = 2, last = 1 + std::ranges::count(columns, ','); i <= last; ++i) {
    values += concat(", ?", i);
  }
  return concat(verb, " INTO ", table, " (", columns, ") VALUES (", values, ")");
}

/// Binds `values` to ?1, ?2, …. Its destructor resets the statement, because an unfinished one
/// would keep its transaction open. Throws SQLite::Exception.
class Query {
 public:
  template <class... Values>
  explicit Query(SQLite::Statement& statement, const Values&... values) : statement_(statement) {
    bind_all(values...);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() { statement_.tryReset(); }

  /// Binds further values. Must not be called after next().
  template <class... Values>
  void bind_all(const Values&... values) {
    (bind_next(values), ...);
  }
  /// Binds a further value. Must not be called after next().
  template <class Value>
  void bind_next(const Value& value) {
    statement_.bind(++bound_, value);
  }

  void bind_next(const UserId& user) {
    if (user.is_number()) {
      bind_next(user.number());
    } else {
      bind_next(std::string(user.name()));
    }
  }

  /// Advances to the next row, at first to the first one. Returns false at the end.
  bool next() { return statement_.executeStep(); }

  /// Returns a column of this row, counted from 0.
  [[nodiscard]] std::int64_t integer(int column) const {
    return statement_.getColumn(column).getInt64();
  }
  [[nodiscard]] bool is_null(int column) const { return statement_.getColumn(column).isNull(); }
  [[nodiscard]] std::string text(int column) const {
    return statement_.getColumn(column).getString();
  }
  [[nodiscard]] UserId user(int column) const {
    const SQLite::Column value = statement_.getColumn(column);
    return value.isInteger() ? UserId(value.getInt64()) : UserId(value.getString());
  }

 private:
  SQLite::Statement& statement_;
  int bound_ = 0;
};

}  // namespace rushgate
