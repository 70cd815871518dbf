// Reads the figures of a running sale.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "adapters/flash_sale/order_counter.h"
#include "adapters/flash_sale/sale_workers.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/sale.h>
#include <rushgate/sale_statistics.h>

namespace rushgate {

/// Thread-safe. Does not own its arguments, which must outlive it.
class StatisticsReader {
 public:
  StatisticsReader(Sale& sale, Backend& backend, Client& client, const SaleStores& stores,
                   const SaleWorkers& workers);

  /// Sends some requests to the keyspace, one of them for each voucher of the result, and reads the
  /// order database. May block.
  SaleStatistics read();

 private:
  /// The lanes of vouchers that were asked in vain, as the first of them and their number. Each lets its
  /// caller wait.
  using LanesAway = std::set<std::pair<int, int>>;

  void read_keyspace(SaleStatistics& statistics);
  void read_vouchers(SaleStatistics& statistics);
  std::optional<VoucherSummary> read_voucher(const VoucherVersion& version, LanesAway& away);
  absl::StatusOr<QueueStatistics> read_queue(const SaleKeys& keys, std::int64_t now_ms);
  std::optional<OrderStatistics> read_orders();

  Sale& sale_;
  Backend& backend_;
  Client& client_;
  const SaleStores stores_;
  const SaleWorkers& workers_;
  const std::int64_t opened_at_ms_;
  const SystemClock counting_clock_;  // the backend's may stand still
  OrderCounter counter_;
};

}  // namespace rushgate
