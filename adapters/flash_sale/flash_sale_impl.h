// The parts of a whole sale, and their opening.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "adapters/flash_sale/sale_workers.h"
#include "adapters/flash_sale/statistics_reader.h"
#include "adapters/flash_sale/submit_queue.h"
#include "storage/rocksdb/directory_lock.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/flash_sale.h>
#include <rushgate/open_backend.h>
#include <rushgate/order_store.h>
#include <rushgate/sale.h>

namespace rushgate {

/// Owns the parts. Not usable until open() has succeeded.
class FlashSale::Impl {
 public:
  explicit Impl(const FlashSaleOptions& options);

  // As in FlashSale:
  absl::Status open(const BackendUrl& place);
  absl::Status open(std::unique_ptr<Backend> backend, std::unique_ptr<OrderStore> orders,
                    std::unique_ptr<VoucherStore> vouchers);
  [[nodiscard]] Sale& sale() const { return *sale_; }
  [[nodiscard]] Backend& backend() const { return *backend_; }
  [[nodiscard]] Client& client() const { return *client_; }
  [[nodiscard]] OrderStore& orders() const { return *orders_; }
  [[nodiscard]] SaleWorkers& workers() const { return *workers_; }
  [[nodiscard]] SubmitQueue& submitted() const { return *submitted_; }
  [[nodiscard]] StatisticsReader& statistics() const { return *statistics_; }

  /// Opens keyspace and orders, and no sale.
  absl::Status open_parts(const BackendUrl& place);

 private:
  absl::Status open_directory(const BackendUrl& place);
  absl::Status open_apart(const BackendUrl& place);
  absl::Status open_with_orders(const BackendUrl& place);
  absl::Status open_keyspace(const BackendUrl& place);
  absl::Status open_orders(const std::filesystem::path& dir);
  [[nodiscard]] absl::Status check_on_state() const;
  [[nodiscard]] absl::Status check_work_lanes() const;
  absl::Status open_sale(const std::filesystem::path& dir);

  FlashSaleOptions options_;
  // Closed in the reverse order: first all submitted requests are decided, then the workers stop.
  std::optional<DirectoryLock> lock_;  // of orders_dir; a keyspace in a directory holds its own
  std::unique_ptr<OrderStore> orders_;
  std::unique_ptr<VoucherStore> vouchers_;  // null: orders_ keeps them
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Sale> sale_;
  std::unique_ptr<SaleWorkers> workers_;
  std::unique_ptr<StatisticsReader> statistics_;
  std::unique_ptr<SubmitQueue> submitted_;
};

}  // namespace rushgate
