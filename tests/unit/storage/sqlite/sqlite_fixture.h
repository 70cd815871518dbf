// Helpers for the tests of the database.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include "tests/unit/storage/sqlite/temporary_database.h"
#include <rushgate/sqlite_order_store.h>

namespace rushgate {

inline constexpr VoucherId kVoucher = 7;

/// Returns orders with ids first, first + 1, …, each of a user with the same number.
inline std::vector<Order> make_orders(OrderId first, std::int64_t count) {
  std::vector<Order> orders;
  for (OrderId id = first; id < first + count; ++id) {
    orders.push_back({.id = id,
                      .user = id,
                      .voucher = kVoucher,
                      .admitted_at_ms = id,
                      .entry = {static_cast<std::uint64_t>(id), 0}});
  }
  return orders;
}

/// Returns events that admit such orders and pay each: order 1 by payment "p1", ….
inline std::vector<OrderEvent> make_paid_orders(OrderId first, std::int64_t count) {
  std::vector<OrderEvent> events;
  for (Order& order : make_orders(first, count)) {
    order.status = OrderStatus::kUnpaid;
    events.push_back({.kind = OrderEvent::Kind::kAdmitted, .order = order});
    events.push_back({.kind = OrderEvent::Kind::kPaid, .order = {.id = order.id}});
    events.back().payment.id = "p" + std::to_string(order.id);
  }
  return events;
}

inline VoucherVersion first_version() {
  VoucherVersion version;
  version.voucher.id = kVoucher;
  version.voucher.stock = 1'000'000;
  version.version = 1;
  return version;
}

class SqliteTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<SqliteOrderStore>> try_open() {
    return SqliteOrderStore::open(file(), options_);
  }
  std::unique_ptr<SqliteOrderStore> open() { return try_open().value(); }
  std::unique_ptr<SqliteOrderStore> open_read_only() {
    SqliteOrderStoreOptions options = options_;
    options.read_only = true;
    return SqliteOrderStore::open(file(), options).value();
  }
  /// Opens a connection that bypasses the store.
  [[nodiscard]] SQLite::Database open_raw() const {
    return SQLite::Database(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  }

  /// Returns the result of SQLite's integrity check.
  [[nodiscard]] std::string check_integrity() const {
    return open_raw().execAndGet("PRAGMA integrity_check").getString();
  }

  [[nodiscard]] std::filesystem::path file() const { return database_.file(); }

  TemporaryDatabase database_;
  SqliteOrderStoreOptions options_;
};

}  // namespace rushgate
