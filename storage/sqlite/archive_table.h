// Reads and writes the tables of ended sales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/archive_store.h>
#include <rushgate/payment_store.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are not
// thread-safe. All functions throw SQLite::Exception.

class ArchiveReader {
 public:
  explicit ArchiveReader(const SQLite::Database& database);

  std::vector<ArchivedVoucher> vouchers();
  std::vector<Order> list(const OrderFilter& filter);
  std::optional<Order> find(OrderId id);
  bool is_archived(VoucherId voucher);
  std::optional<Payment> find_payment(std::string_view id);

 private:
  SQLite::Statement vouchers_;
  SQLite::Statement list_;
  SQLite::Statement list_of_voucher_;
  SQLite::Statement find_;
  SQLite::Statement is_archived_;
  SQLite::Statement find_payment_;
};

/// All functions must run in a transaction. Errors are those of ArchiveStore.
class ArchiveWriter {
 public:
  explicit ArchiveWriter(const SQLite::Database& database);

  absl::Status archive_voucher(VoucherId voucher, std::int64_t at_ms);
  absl::StatusOr<std::size_t> archive_orders(VoucherId voucher, std::size_t count_max);
  absl::StatusOr<std::size_t> delete_orders(VoucherId voucher, std::size_t count_max);

 private:
  /// The first orders of a voucher.
  struct Portion {
    std::size_t count = 0;
    OrderId last = 0;
  };
  static Portion find_portion(SQLite::Statement& find, VoucherId voucher, std::size_t count_max);
  ArchiveContext context_of(VoucherId voucher);
  absl::Status check_archived(VoucherId voucher);
  [[nodiscard]] absl::Status lost_rows(VoucherId voucher, int copied, int removed) const;

  const SQLite::Database& database_;
  SQLite::Statement is_archived_;
  SQLite::Statement look_at_versions_;  // is one pending, and the end of the one in force
  SQLite::Statement find_open_;         // an order that is unpaid or refunding
  std::vector<SQLite::Statement> archive_voucher_;
  SQLite::Statement find_orders_;
  std::vector<SQLite::Statement> move_orders_;  // in pairs: copy, remove
  SQLite::Statement has_orders_;
  SQLite::Statement find_archived_;
  std::vector<SQLite::Statement> delete_orders_;
  SQLite::Statement mark_deleted_;
};

}  // namespace rushgate
