#include "adapters/flash_sale/flash_sale_impl.h"

#include <string>
#include <system_error>
#include <utility>

#include "adapters/flash_sale/sale_directory.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/open_backend.h>
#include <rushgate/open_order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

/// Returns false for an unreadable path: opening it reports the reason.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

FlashSale::Impl::Impl(const FlashSaleOptions& options) : options_(options) {
  options_.sale.names_order_at_limit |= options_.names_order_at_limit;
  if (!options_.sale.logger) options_.sale.logger = options_.logger;
  if (!options_.worker.logger) options_.worker.logger = options_.logger;
}

absl::Status FlashSale::Impl::open(const BackendUrl& place) {
  RETURN_IF_ERROR(open_parts(place));
  return open_sale(options_.orders_dir.empty() ? place.dir : options_.orders_dir);
}

absl::Status FlashSale::Impl::open(std::unique_ptr<Backend> backend,
                                   std::unique_ptr<OrderStore> orders,
                                   std::unique_ptr<VoucherStore> vouchers) {
  backend_ = std::move(backend);
  orders_ = std::move(orders);
  vouchers_ = std::move(vouchers);
  return open_sale({});
}

absl::Status FlashSale::Impl::open_parts(const BackendUrl& place) {
  if (options_.workers < 0) return absl::InvalidArgumentError("workers must not be negative");
  if (!options_.orders.empty()) return open_with_orders(place);
  if (!options_.orders_dir.empty()) return open_apart(place);
  switch (place.kind) {
    case BackendUrl::Kind::kMemory:
      orders_ = std::make_unique<MemoryOrderStore>();
      return open_keyspace(place);
    case BackendUrl::Kind::kDirectory:
      return open_directory(place);
    case BackendUrl::Kind::kRedis:
      break;
  }
  return absl::InvalidArgumentError(
      "orders_dir and orders are empty: a keyspace on a Redis needs a directory or a database for "
      "its "
      "orders");
}

absl::Status FlashSale::Impl::open_directory(const BackendUrl& place) {
  const fs::path& dir = place.dir;
  const fs::path keyspace = keyspace_in(dir);
  const bool has_keyspace = is_there(keyspace);
  if (!has_keyspace && is_there(dir / kLockFileName)) {
    return absl::InvalidArgumentError(
        concat("the keyspace of the sale in ", dir.string(), " is elsewhere: give its URL"));
  }
  if (!options_.create_if_missing && !has_keyspace) {
    return absl::NotFoundError(
        concat("there is no sale in ", dir.string(), ": no directory `keyspace`"));
  }
  // The orders are created first, so they are missing only if they were removed. Without them the
  // sale would look new.
  if (has_keyspace && !is_there(orders_in(dir))) {
    return absl::DataLossError(
        concat(orders_in(dir).string(), " is missing, though there is a keyspace"));
  }
  if (!has_keyspace) {
    RETURN_IF_ERROR(open_orders(dir));
  }
  BackendUrl inside = place;
  inside.dir = keyspace;
  absl::Status opened = open_keyspace(inside);
  if (!opened.ok() || orders_) return opened;
  return open_orders(dir);  // not earlier: now this process owns the directory
}

/// Opens the keyspace at `place` and the orders in a separate directory.
absl::Status FlashSale::Impl::open_apart(const BackendUrl& place) {
  const fs::path& dir = options_.orders_dir;
  if (is_there(keyspace_in(dir)) && !is_there(moved_mark_in(dir))) {
    return absl::InvalidArgumentError(
        concat("the sale in ", dir.string(), " has a keyspace of its own: open it without a URL"));
  }
  if (place.dir.lexically_normal() == dir.lexically_normal()) {
    return absl::InvalidArgumentError(concat("the keyspace and the orders are both to be in ",
                                             dir.string(),
                                             ": a keyspace needs a directory of its own"));
  }
  if (!options_.create_if_missing && !is_there(orders_in(dir))) {
    return absl::NotFoundError(concat("there is no sale in ", dir.string(), ": no `orders.db`"));
  }
  RETURN_IF_ERROR(open_keyspace(place));
  if (options_.create_if_missing) {
    RETURN_IF_ERROR(create_sale_directory(dir));
  }
  ASSIGN_OR_RETURN(lock_, DirectoryLock::take(dir));
  return open_orders(dir);
}

/// Opens the keyspace at `place` and the orders at their URL.
absl::Status FlashSale::Impl::open_with_orders(const BackendUrl& place) {
  if (!options_.orders_dir.empty()) {
    return absl::InvalidArgumentError("orders_dir and orders are set: the orders are in one place");
  }
  RETURN_IF_ERROR(open_keyspace(place));
  ASSIGN_OR_RETURN(
      orders_, open_order_store(options_.orders, {.create_if_missing = options_.create_if_missing,
                                                  .logger = options_.logger}));
  return absl::OkStatus();
}

absl::Status FlashSale::Impl::open_keyspace(const BackendUrl& place) {
  OpenBackendOptions options;
  options.create_if_missing = options_.create_if_missing;
  options.client_name = "rushgate";
  options.connections_max += options_.workers * kLanesMax;  // each worker blocks one
  options.engine = options_.engine;
  options.logger = options_.logger;
  ASSIGN_OR_RETURN(backend_, open_backend(place, options));
  return absl::OkStatus();
}

absl::Status FlashSale::Impl::open_orders(const fs::path& dir) {
  if (options_.create_if_missing) {
    RETURN_IF_ERROR(create_sale_directory(dir));
  }
  SqliteOrderStoreOptions sqlite;
  sqlite.logger = options_.logger;
  ASSIGN_OR_RETURN(orders_, SqliteOrderStore::open(orders_in(dir), sqlite));
  return absl::OkStatus();
}

/// Checks on_state and on_state_after. Positions of another database would skip changes.
absl::Status FlashSale::Impl::check_on_state() const {
  if (!options_.on_state) return absl::OkStatus();
  PaymentStore* const payments = orders_->payments();
  if (payments == nullptr) {
    return absl::InvalidArgumentError("on_state: the order store keeps no payments");
  }
  ASSIGN_OR_RETURN(const auto last, payments->last_position());
  if (options_.on_state_after >= 0 && options_.on_state_after <= last) return absl::OkStatus();
  return absl::InvalidArgumentError(concat("on_state_after is ", options_.on_state_after,
                                           ", but the last change of this order database is ",
                                           last));
}

absl::Status FlashSale::Impl::check_work_lanes() const {
  const auto count = static_cast<int>(sale_->lanes().size());
  for (const int lane : options_.work_lanes) {
    if (lane >= 0 && lane < count) continue;
    return absl::InvalidArgumentError(
        concat("work_lanes: there is no lane ", lane, ", the sale has ", count));
  }
  return absl::OkStatus();
}

/// Opens the sale. If the stores do not belong together, the error names `dir`, if any.
absl::Status FlashSale::Impl::open_sale(const fs::path& dir) {
  RETURN_IF_ERROR(check_on_state());
  if (options_.on_stock_every_ms < 1) {
    return absl::InvalidArgumentError("on_stock_every_ms must be positive");
  }
  client_ = backend_->open_client();
  const SaleStores stores = vouchers_ ? SaleStores(*orders_, *vouchers_) : SaleStores(*orders_);
  auto sale = Sale::open(*backend_, stores, options_.sale);
  if (absl::IsFailedPrecondition(sale.status())) {
    const std::string name = dir.empty() ? "" : dir.string() + ": ";
    return absl::InvalidArgumentError(name + std::string(sale.status().message()));
  }
  if (!sale.ok()) return sale.status();
  sale_ = *std::move(sale);
  RETURN_IF_ERROR(check_work_lanes());
  // An embedded keyspace is in one process, and the directory of the orders is locked by one.
  const bool is_alone = backend_->capabilities().runs_native_scripts || lock_.has_value();
  workers_ = std::make_unique<SaleWorkers>(*backend_, *client_, stores, sale_->lanes(), options_,
                                           is_alone);
  statistics_ = std::make_unique<StatisticsReader>(*sale_, *backend_, *client_, stores, *workers_);
  submitted_ = std::make_unique<SubmitQueue>(*sale_, options_.submitted_max, options_.workers > 0);
  return options_.start_workers ? workers_->start() : absl::OkStatus();
}

}  // namespace rushgate
