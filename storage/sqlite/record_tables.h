// Reads and writes the records of an order database as they are, for copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <rushgate/copy_orders.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are made for
// one call, since only copies need them. They are not thread-safe. All functions throw
// SQLite::Exception.

/// A statement about a table and one about its archive.
using OnShelves = std::array<SQLite::Statement, 2>;

class CopyReader {
 public:
  explicit CopyReader(const SQLite::Database& database);

  // As RecordStore's.
  std::vector<Order> read_orders(Shelf shelf, OrderId after, std::size_t count_max);
  std::vector<Payment> read_payments(Shelf shelf, const std::string& after, std::size_t count_max);
  std::vector<OrderChange> read_changes(Shelf shelf, std::int64_t after, std::size_t count_max);
  SaleRecords read_sale();

 private:
  OnShelves orders_;
  OnShelves payments_;
  OnShelves changes_;
  OnShelves versions_;
  SQLite::Statement archived_vouchers_;
  SQLite::Statement live_;
  SQLite::Statement reserved_ids_;
  SQLite::Statement lanes_;
  SQLite::Statement lane_reserved_ids_;
  SQLite::Statement voucher_lanes_;
  SQLite::Statement moved_pieces_;
  SQLite::Statement state_;
};

class CopyWriter {
 public:
  explicit CopyWriter(SQLite::Database& database);

  // Must run in a transaction. As RecordStore's.
  void replace(Shelf shelf, std::span<const Order> removed, std::span<const Order> added);
  void replace(Shelf shelf, std::span<const Payment> removed, std::span<const Payment> added);
  void replace(Shelf shelf, std::span<const OrderChange> removed,
               std::span<const OrderChange> added);
  void replace_sale(const SaleRecords& sale);
  void write_state(const DatabaseState& state);

 private:
  SQLite::Database& database_;
  OnShelves remove_orders_;
  OnShelves add_orders_;
  OnShelves remove_payments_;
  OnShelves add_payments_;
  OnShelves remove_changes_;
  OnShelves add_changes_;
};

/// Returns how many orders, payments and changes there are. Reads an index of each table.
std::int64_t count_records(SQLite::Database& database);

}  // namespace rushgate
