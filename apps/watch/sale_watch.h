// Counts of a sale, read while other processes sell.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "adapters/flash_sale/sale_reader.h"
#include "adapters/flash_sale/stored_records.h"
#include "apps/sale_at.h"
#include "engine/sale/stores/lane_views.h"
#include <rushgate/backend.h>
#include <rushgate/order_store.h>

namespace rushgate {

/// Reads the counts of one voucher, or of all. Changes nothing, and does not hold the sale.
///
/// Stock and holds come from the keyspace. If it was never created, all counts come from the database.
class SaleWatch {
 public:
  /// kNotFound: there is no sale. kInvalidArgument: the URL is invalid, or the keyspace belongs to
  /// another order database.
  static absl::StatusOr<std::unique_ptr<SaleWatch>> open(const SaleArguments& arguments,
                                                         std::optional<VoucherId> voucher);

  /// Reads every order of the voucher once.
  absl::StatusOr<SaleCounts> read();

 private:
  explicit SaleWatch(std::optional<VoucherId> voucher) : voucher_(voucher) {}

  absl::Status open_keyspace(const SaleArguments& arguments);
  absl::Status check_owner(const SaleArguments& arguments);
  [[nodiscard]] Client* keyspace() const;  // null: the database alone
  absl::StatusOr<std::vector<VoucherVersion>> vouchers();
  absl::Status count_stock(SaleCounts& counts);
  absl::Status count_holds(SaleCounts& counts);
  absl::StatusOr<std::int64_t> free_stock(const Voucher& voucher);
  absl::StatusOr<std::optional<std::int64_t>> free_in_keyspace(const Voucher& voucher);

  const std::optional<VoucherId> voucher_;
  std::unique_ptr<OrderStore> orders_;
  std::unique_ptr<LaneViews> lanes_;
  std::unique_ptr<SaleReader> reader_;  // of an embedded keyspace; else null
  std::unique_ptr<Backend> backend_;    // a Redis; else null
  std::unique_ptr<Client> client_;      // of backend_
};

}  // namespace rushgate
