// The items that a game has granted, in a database of the game.
#pragma once

#include <cstdint>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include <rushgate/payment_store.h>
#include <rushgate/voucher.h>

/// For one thread at a time. Throws an exception if the database fails.
class ItemGrants {
 public:
  explicit ItemGrants(const std::string& file)
      : database_(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
    database_.exec("CREATE TABLE IF NOT EXISTS grants (order_id INTEGER, user TEXT)");
    database_.exec("CREATE TABLE IF NOT EXISTS progress (position INTEGER)");
    database_.exec("INSERT INTO progress SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM progress)");
  }

  /// Returns the position of the last change that is done.
  std::int64_t position() {
    return database_.execAndGet("SELECT position FROM progress").getInt64();
  }

  /// Grants an item to the user of a paid order. The grant and the position are one transaction, so
  /// a repeated change grants nothing.
  void apply(const rushgate::OrderChange& change, const rushgate::UserId& user) {
    SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
    if (change.position <= position()) return;  // it was done before
    if (change.to == rushgate::OrderStatus::kPaid) {
      SQLite::Statement grant(database_, "INSERT INTO grants VALUES (?, ?)");
      grant.bind(1, change.order);
      grant.bind(2, user.text());
      grant.exec();
    }
    SQLite::Statement advance(database_, "UPDATE progress SET position = ?");
    advance.bind(1, change.position);
    advance.exec();
    transaction.commit();
  }

  /// Returns how often the item of an order was granted.
  std::int64_t count(rushgate::OrderId order) {
    SQLite::Statement counted(database_, "SELECT count(*) FROM grants WHERE order_id = ?");
    counted.bind(1, order);
    counted.executeStep();
    return counted.getColumn(0).getInt64();
  }
  std::int64_t count() { return database_.execAndGet("SELECT count(*) FROM grants").getInt64(); }

 private:
  SQLite::Database database_;
};
