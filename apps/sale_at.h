// Opens a sale from its command-line arguments.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "adapters/flash_sale/sale_reader.h"
#include "apps/patience.h"
#include <rushgate/flash_sale.h>
#include <rushgate/move_sale.h>
#include <rushgate/order_store.h>
#include <rushgate/store.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct SaleArguments {
  std::filesystem::path dir;                // unused with kMemory
  std::string server;                       // URL of a service that has the sale; empty: see dir
  std::string server_token;                 // empty: that of the environment, if any
  std::filesystem::path tls_ca;             // of `server`; empty: the authorities of the system
  bool create = false;                      // create missing parts of the sale
  Durability durability = Durability::kOs;  // of a keyspace in dir
  std::string keyspace_url;                 // empty: the keyspace is in `dir`
  std::string orders_url;                   // empty: the orders are in `dir`
  int workers = 1;
  int lanes = 0;                           // SaleOptions::lanes
  std::vector<int> work_lanes;             // FlashSaleOptions::work_lanes
  bool trim = true;                        // WorkerOptions::trim
  std::int64_t retain_s = 0;               // WorkerOptions::retain_ms
  bool adopt = false;                      // SaleOptions::adopt
  bool accept_lost_orders = false;         // SaleOptions::accept_lost_orders
  bool names_order_at_limit = false;       // SaleOptions::names_order_at_limit
  Patience patience = {};                  // with a Redis that is away, or a sale that is held
  std::shared_ptr<spdlog::logger> logger;  // may be null
};

/// Returns the patience with which to open the sale: with a server. A directory that cannot be opened is
/// reported at once.
Patience opening_patience(const SaleArguments& arguments);

/// Opens the sale without starting its workers. Waits up to about 2 s for another process that holds
/// it: a command does so for a moment.
absl::StatusOr<std::unique_ptr<FlashSale>> open_sale(const SaleArguments& arguments);

/// The same without that wait, for commands that can do without the keyspace.
absl::StatusOr<std::unique_ptr<FlashSale>> open_sale_if_free(const SaleArguments& arguments);

/// Moves the sale to the keyspace at `to` (FlashSale::move()). Says each step.
absl::StatusOr<MoveReport> move_to(const SaleArguments& arguments, const std::string& to);

/// Opens a sale with an embedded keyspace that another process may have open, to read it as it is now.
/// kNotFound: there is none, or the keyspace is on a Redis or in memory. Other errors: as
/// SaleReader::open().
absl::StatusOr<std::unique_ptr<SaleReader>> open_reader(const SaleArguments& arguments);

/// Opens the stored orders of a sale, which another process may have open. kNotFound: there are
/// none.
absl::StatusOr<std::unique_ptr<OrderStore>> open_orders_to_read(const SaleArguments& arguments);

}  // namespace rushgate
