// A simple order database for comparison: the same tables and settings, and one statement.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <rushgate/order_store.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate::bench {

/// Opens or creates orders.db in `dir`.
std::unique_ptr<OrderStore> open_orders_in(const std::filesystem::path& dir);

/// Returns all orders in ascending order of ids.
std::vector<Order> read_orders(OrderStore& store);

/// A connection with the settings of our own writer that only inserts. Not thread-safe.
class BareOrders {
 public:
  explicit BareOrders(const std::filesystem::path& file);

  /// Inserts the orders in one transaction.
  void insert(std::span<const Order> orders);

 private:
  SQLite::Database database_;
  SQLite::Statement insert_;
};

}  // namespace rushgate::bench
