// A sale as the command line names it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "adapters/flash_sale/flash_sale.h"
#include "engine/sale/orders/order_store.h"
#include "engine/store/store.h"

namespace spdlog {
class logger;
}

namespace rushgate {

struct SaleArguments {
  std::filesystem::path dir;                // not used with kMemory
  bool create = false;                      // what is missing of the sale
  Durability durability = Durability::kOs;  // of a keyspace in dir
  std::string keyspace_url;                 // if not empty: the place of the keyspace
  int workers = 1;
  bool trim = true;                        // WorkerOptions::trim
  bool adopt = false;                      // SaleOptions::adopt
  std::shared_ptr<spdlog::logger> logger;  // may be null
};

/// Opens the sale without starting its workers.
absl::StatusOr<std::unique_ptr<FlashSale>> open_sale(const SaleArguments& arguments);

/// Opens the stored orders of a sale that another process has open.
absl::StatusOr<std::unique_ptr<OrderStore>> open_orders_to_read(const std::filesystem::path& dir);

}  // namespace rushgate
