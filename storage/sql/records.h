// The records of a server database as they are, for copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/sql/pool.h"
#include <rushgate/copy_orders.h>

namespace rushgate::sql {

/// Thread-safe. `pool` must outlive it. Errors are those of Pool.
class SqlRecords final : public RecordStore {
 public:
  explicit SqlRecords(Pool& pool) : pool_(pool) {}

  absl::StatusOr<std::vector<Order>> read_orders(Shelf shelf, OrderId after,
                                                 std::size_t count_max) override;
  absl::StatusOr<std::vector<Payment>> read_payments(Shelf shelf, const std::string& after,
                                                     std::size_t count_max) override;
  absl::StatusOr<std::vector<OrderChange>> read_changes(Shelf shelf, std::int64_t after,
                                                        std::size_t count_max) override;
  absl::StatusOr<SaleRecords> read_sale() override;
  absl::StatusOr<std::int64_t> count() override;
  absl::Status replace(Shelf shelf, std::span<const Order> removed,
                       std::span<const Order> added) override;
  absl::Status replace(Shelf shelf, std::span<const Payment> removed,
                       std::span<const Payment> added) override;
  absl::Status replace(Shelf shelf, std::span<const OrderChange> removed,
                       std::span<const OrderChange> added) override;
  absl::Status replace_sale(const SaleRecords& sale) override;
  absl::Status close(absl::FunctionRef<absl::Status(const SaleRecords&)> check,
                     const std::string& identity) override;

 private:
  Pool& pool_;
};

}  // namespace rushgate::sql
