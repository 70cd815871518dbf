// Reads a sale that another process has open.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/rocksdb/rocksdb_reader.h"
#include <rushgate/audit_report.h>
#include <rushgate/client.h>
#include <rushgate/order.h>
#include <rushgate/order_store.h>
#include <rushgate/sale.h>

namespace spdlog {
class logger;
}

namespace rushgate {

class LaneViews;

/// Reads a keyspace on the disk into memory, as it is at one moment, and orders as they are. Takes no
/// lock and writes nothing, so the process that sells does not notice it. Not thread-safe.
class SaleReader {
 public:
  /// `keyspace` is the directory of the keyspace. kNotFound: there is none. kInvalidArgument: it belongs
  /// to other orders. kUnavailable: a repetition may succeed. Other errors: those of the stores.
  static absl::StatusOr<std::unique_ptr<SaleReader>> open(
      const std::filesystem::path& keyspace, std::unique_ptr<OrderStore> orders,
      const std::shared_ptr<spdlog::logger>& logger);
  ~SaleReader();
  SaleReader(const SaleReader&) = delete;
  SaleReader& operator=(const SaleReader&) = delete;

  /// Reads the keyspace as it is now. Afterwards client() is another one. After an error only a further
  /// call is allowed. Takes as long as opening the sale.
  absl::Status refresh();

  /// The keyspace at the time of the last refresh. Changes stay in this process.
  [[nodiscard]] Client& client() const;
  /// As Sale::lanes(). The keys are the default ones.
  [[nodiscard]] std::span<const SaleLane> lanes() const;
  [[nodiscard]] OrderStore& orders() const { return *orders_; }

  /// As those of Sale:
  absl::StatusOr<OrderState> status(OrderId order);
  absl::StatusOr<std::vector<VoucherSummary>> vouchers();
  /// Refreshes for each pass.
  absl::StatusOr<AuditReport> audit(const OnAuditProgress& on_progress = {});

 private:
  struct Keyspace;

  SaleReader(std::unique_ptr<RocksDbReader> store, std::unique_ptr<OrderStore> orders);
  absl::Status check_owner();

  const std::unique_ptr<RocksDbReader> store_;
  const std::unique_ptr<OrderStore> orders_;
  std::unique_ptr<LaneViews> lanes_;    // null only before open() ends
  std::unique_ptr<Keyspace> keyspace_;  // null after a refresh that failed
};

}  // namespace rushgate
