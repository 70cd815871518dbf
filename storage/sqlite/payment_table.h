// Reads and writes the table `payments`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "storage/sqlite/query.h"
#include <rushgate/payment_store.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are not
// thread-safe. All functions throw SQLite::Exception.

/// The columns of a table of payments, in the order of to_payment().
inline constexpr char kPaymentColumns[] =
    "id, order_id, amount_cents, state, received_at_ms, refunded_at_ms, reason";
Payment to_payment(const Query& row);
void bind_payment(Query& query, const Payment& payment);
/// The table payment_totals sums amounts without their digits from here on.
inline constexpr std::int64_t kCountedCents = 1'000'000'000;

class PaymentReader {
 public:
  explicit PaymentReader(const SQLite::Database& database);

  std::optional<Payment> find(std::string_view id);
  std::vector<Payment> list(const PaymentFilter& filter);

 private:
  const SQLite::Database& database_;
  SQLite::Statement find_;
  // One for each set of conditions (numbered in payment_table.cc), prepared at its first use.
  std::array<std::unique_ptr<SQLite::Statement>, 5> lists_;
};

class PaymentWriter {
 public:
  explicit PaymentWriter(const SQLite::Database& database);

  // Must run in a transaction.
  std::optional<Payment> find(std::string_view id);
  /// Begins a batch of new payments, which end_batch() adds to the totals.
  void begin_batch() { added_ = added_cents_ = 0; }
  /// Inserts a new payment.
  void add(const Payment& payment);
  void end_batch();
  /// Inserts a payment, or replaces the one with its id.
  void put(const Payment& payment);
  /// Moves a payment to the archive.
  void archive(const std::string& id);
  /// Makes the kept payments of an order due.
  void make_due(OrderId order, const std::string& reason);

 private:
  SQLite::Statement find_;
  SQLite::Statement put_;
  SQLite::Statement make_due_;
  SQLite::Statement archive_;
  SQLite::Statement remove_;
  SQLite::Statement count_;
  std::int64_t added_ = 0;  // by this batch
  std::int64_t added_cents_ = 0;
};

}  // namespace rushgate
