// The port to a server database: statements, connections, and what differs between the databases. A
// database is an implementation of Connection and Database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rushgate::sql {

// ---- Statements and results ----

/// NULL (in results only), an integer, or bytes.
using Value = std::variant<std::monostate, std::int64_t, std::string>;

using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;  // of any bytes

/// A column of a Table.
struct Column {
  std::string_view name;
  std::variant<Integers, Texts> values;
};

/// Rows that are sent with a statement. All columns have as many values.
using Table = std::vector<Column>;

/// In `text`, these stand for the parameters, which are counted from 1:
///     ?1   a value
///     @1   a table, in FROM: `FROM @1 JOIN orders ON id = wanted`. Its columns have their names.
///     %1   all rows of a table, in INSERT: `INSERT INTO orders (id, status) %1`
struct Statement {
  std::string text;
  std::vector<Value> values = {};
  std::vector<Table> tables = {};
};

/// A row of a result. Reading a value as what it is not is undefined.
class Row {
 public:
  explicit Row(std::vector<Value> values) : values_(std::move(values)) {}

  [[nodiscard]] bool is_null(std::size_t column) const { return values_[column].index() == 0; }
  [[nodiscard]] bool is_text(std::size_t column) const { return values_[column].index() == 2; }
  /// Returns 0 for NULL.
  [[nodiscard]] std::int64_t integer(std::size_t column) const {
    return is_null(column) ? 0 : std::get<std::int64_t>(values_[column]);
  }
  [[nodiscard]] const std::string& text(std::size_t column) const {
    return std::get<std::string>(values_[column]);
  }

 private:
  std::vector<Value> values_;
};
using Rows = std::vector<Row>;

/// The place of some statements in a transaction.
enum class Part : std::uint8_t {
  kAlone,  // one statement, outside of a transaction
  kFirst,  // a transaction begins before them
  kNext,
  kLast,   // it is committed after them
  kWhole,  // both
};
constexpr bool begins(Part part) { return part == Part::kFirst || part == Part::kWhole; }
constexpr bool commits(Part part) { return part == Part::kLast || part == Part::kWhole; }

// ---- Connections ----

/// A connection to the database. Not thread-safe. No call blocks for longer than the time-outs of its
/// database.
///
/// Errors of run(), all of which end the transaction. Messages have the database's own:
/// - kAborted: a deadlock, or a conflict with another transaction: to be run again.
/// - kInvalidArgument: a constraint or a range forbids the change.
/// - kNotFound: a table does not exist. kAlreadyExists: it does.
/// - kUnavailable: disk full, no memory, a time-out of the server, shut down, read only, no connection.
/// - kDeadlineExceeded: the server did not reply in time. The connection is lost.
/// - kDataLoss: the database says that it is damaged.
/// - kInternal: any other.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Runs statements in this order, in as few round trips as the database permits, and stops at the
  /// first error. Returns the rows of each.
  virtual absl::StatusOr<std::vector<Rows>> run(std::span<const Statement> statements,
                                                Part part) = 0;
  /// Ends the transaction without its changes.
  virtual void roll_back() = 0;
  /// Returns true if the connection is of no more use.
  [[nodiscard]] virtual bool is_lost() const = 0;
};

/// A database, and how its SQL differs from others'. Thread-safe.
class Database {
 public:
  virtual ~Database() = default;

  /// Connects. kUnavailable: that is not possible now.
  virtual absl::StatusOr<std::unique_ptr<Connection>> connect() = 0;
  /// Returns where the database is, without a password.
  [[nodiscard]] virtual const std::string& name() const = 0;

  /// Returns the end of an INSERT that changes a row with the same key instead: "… ON CONFLICT (id) DO
  /// UPDATE SET". Assignments follow.
  [[nodiscard]] virtual std::string or_update(std::string_view key) const = 0;
  /// Returns the value that such an INSERT has for a column.
  [[nodiscard]] virtual std::string inserted(std::string_view column) const = 0;
  /// Returns an expression as an integer of 64 bits.
  [[nodiscard]] virtual std::string to_integer(std::string_view expression) const = 0;

  /// Returns the join of a table of wanted values with a table that has them in an index: " JOIN orders". The
  /// condition follows. Statistics are old while a sale fills its tables, so an optimiser may read all of
  /// one.
  [[nodiscard]] virtual std::string join_by_index(std::string_view table,
                                                  std::string_view index) const = 0;

  /// Returns the beginning of a DELETE of those rows of a table, found by an index, that rows of `others` name:
  /// "DELETE FROM orders USING @1 WHERE". The condition follows.
  [[nodiscard]] virtual std::string delete_by_index(std::string_view table, std::string_view index,
                                                    std::string_view others) const = 0;

  // ---- The schema (schema.h) ----

  /// Returns the statements of each migration. The first creates the table `database_state` first.
  [[nodiscard]] virtual std::span<const std::vector<std::string>> migrations() const = 0;
  /// Returns a statement that waits for the lock of those who migrate. The transaction or the connection
  /// has it to its end.
  [[nodiscard]] virtual Statement lock_migrations() const = 0;
  /// Returns a query that counts the tables with this name: 0 or 1.
  [[nodiscard]] virtual Statement count_tables(std::string_view table) const = 0;
};

// ---- For implementations ----

/// Writes parameters into the text of a statement.
class ParameterWriter {
 public:
  virtual ~ParameterWriter() = default;
  virtual void write_value(const Value& value, std::string& text) = 0;
  virtual void write_table(const Table& table, std::string& text) = 0;
  virtual void write_rows(const Table& table, std::string& text) = 0;
};
/// Returns the text of a statement with its parameters written by `writer`, in the order in which they
/// occur.
std::string with_parameters(const Statement& statement, ParameterWriter& writer);

}  // namespace rushgate::sql
