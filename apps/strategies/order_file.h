// The SQLite file of one strategy: a table for the voucher, and one for the orders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include <rushgate/order_store.h>

namespace rushgate::strategies {

/// One connection, for one thread. Statements are given as SQL and prepared once. A writer waits
/// for another connection's lock without limit. Errors are SQLite::Exception.
///
/// The tables are `voucher` (stock, version), one row, and `orders` (id, user_id). No unique index
/// forbids a second order of a user, so that a strategy's fault shows.
class OrderFile {
 public:
  static std::filesystem::path in(const std::filesystem::path& dir) { return dir / "orders.db"; }

  explicit OrderFile(const std::filesystem::path& dir);

  /// Creates the tables and a voucher with this stock.
  void create(std::int64_t stock);

  /// Returns the first column of the first row, if there is one.
  template <class... Values>
  std::optional<std::int64_t> number(std::string_view sql, const Values&... values) {
    const Use use(*this, sql);
    bind_all(use.statement, values...);
    if (!use.statement.executeStep()) return std::nullopt;
    return use.statement.getColumn(0).getInt64();
  }
  /// Returns how many rows were changed.
  template <class... Values>
  int change(std::string_view sql, const Values&... values) {
    const Use use(*this, sql);
    bind_all(use.statement, values...);
    return use.statement.exec();
  }

  /// Locks the database at once. Other connections cannot write until commit(). The destructor
  /// rolls back.
  [[nodiscard]] SQLite::Transaction transaction() {
    return SQLite::Transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
  }

  // ---- The statements that most strategies share ----

  [[nodiscard]] bool has_order(std::int64_t user) {
    return number("SELECT 1 FROM orders WHERE user_id = ?", user).has_value();
  }
  [[nodiscard]] std::int64_t stock() { return *number("SELECT stock FROM voucher"); }
  void insert_order(std::int64_t user) { change("INSERT INTO orders (user_id) VALUES (?)", user); }
  /// Does nothing if the order exists: a message may be delivered twice.
  void insert_order(OrderId id, std::int64_t user) {
    change("INSERT OR IGNORE INTO orders (id, user_id) VALUES (?, ?)", id, user);
  }

 private:
  /// A statement in use. The destructor resets it: an open read would keep a snapshot.
  struct Use {
    Use(OrderFile& file, std::string_view sql) : statement(file.prepared(sql)) {}
    ~Use() { statement.tryReset(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    SQLite::Statement& statement;
  };

  template <class... Values>
  static void bind_all(SQLite::Statement& statement, const Values&... values) {
    int place = 0;
    (statement.bind(++place, values), ...);
  }
  SQLite::Statement& prepared(std::string_view sql);

  SQLite::Database database_;
  std::map<std::string, SQLite::Statement, std::less<>> statements_;
};

/// Totals of the orders in a file. The file may also be the sale's (docs/format.md).
struct OrderCounts {
  std::int64_t orders = 0;
  std::map<std::int64_t, std::int64_t> by_user;
};
OrderCounts count_orders(const std::filesystem::path& dir);

}  // namespace rushgate::strategies
