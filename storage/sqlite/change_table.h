// Reads and writes the table `order_changes`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "storage/sqlite/query.h"
#include <rushgate/payment_store.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are not
// thread-safe. All functions throw SQLite::Exception.

/// The columns of a table of changes, in the order of to_change().
inline constexpr char kChangeColumns[] =
    "position, order_id, from_status, to_status, at_ms, reason, actor";
OrderChange to_change(const Query& row);
void bind_change(Query& query, const OrderChange& change);

class ChangeReader {
 public:
  explicit ChangeReader(const SQLite::Database& database);

  /// As PaymentStore::changes().
  std::vector<OrderChange> changes(std::int64_t after, std::size_t count_max,
                                   std::optional<OrderId> order);
  std::int64_t last_position();

 private:
  SQLite::Statement last_position_;
  SQLite::Statement all_;
  SQLite::Statement of_order_;
};

class ChangeWriter {
 public:
  explicit ChangeWriter(const SQLite::Database& database);

  // Must run in a transaction.
  /// Begins a batch of changes.
  void begin_batch() { last_position_ = 0; }
  /// Ignores the position, and assigns the next one.
  void append(const OrderChange& change);

 private:
  const SQLite::Database& database_;
  SQLite::Statement append_;
  std::int64_t last_position_ = 0;  // of this batch
};

}  // namespace rushgate
