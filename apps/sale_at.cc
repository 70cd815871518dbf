#include "apps/sale_at.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "adapters/flash_sale/sale_directory.h"
#include "apps/say.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/open_backend.h>
#include <rushgate/open_order_store.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {

namespace {

/// The arguments as those of FlashSale::open().
struct SalePlace {
  BackendUrl keyspace;
  FlashSaleOptions options;
};

absl::StatusOr<SalePlace> place_of(const SaleArguments& arguments) {
  SalePlace place;
  FlashSaleOptions& options = place.options;
  options.create_if_missing = arguments.create;
  options.workers = arguments.workers;
  options.work_lanes = arguments.work_lanes;
  options.sale.lanes = arguments.lanes;
  options.start_workers = false;
  options.names_order_at_limit = arguments.names_order_at_limit;
  options.sale.adopt = arguments.adopt;
  options.sale.accept_lost_orders = arguments.accept_lost_orders;
  options.worker.trim = arguments.trim;
  options.worker.retain_ms = 1'000 * arguments.retain_s;
  options.logger = arguments.logger;
  options.patience_ms = arguments.patience.total_ms();
  options.orders = arguments.orders_url;
  if (!arguments.keyspace_url.empty()) {
    if (arguments.orders_url.empty()) options.orders_dir = arguments.dir;
    ASSIGN_OR_RETURN(place.keyspace, BackendUrl::parse(arguments.keyspace_url));
  } else if (arguments.durability != Durability::kMemory) {
    place.keyspace.kind = BackendUrl::Kind::kDirectory;
    place.keyspace.dir = arguments.orders_url.empty() ? arguments.dir : keyspace_in(arguments.dir);
    place.keyspace.durability = arguments.durability;
  }
  return place;
}

absl::StatusOr<std::unique_ptr<FlashSale>> open_sale_once(const SaleArguments& arguments) {
  ASSIGN_OR_RETURN(const auto place, place_of(arguments));
  const bool is_in_dir =
      arguments.keyspace_url.empty() && arguments.durability != Durability::kMemory;
  if (arguments.create && is_in_dir) RETURN_IF_ERROR(create_sale_directory(arguments.dir));
  return FlashSale::open(place.keyspace, place.options);
}

}  // namespace

Patience opening_patience(const SaleArguments& arguments) {
  const auto place = BackendUrl::parse(arguments.keyspace_url);
  const bool is_on_redis = place.ok() && place->kind == BackendUrl::Kind::kRedis;
  const bool has_orders_elsewhere =
      !arguments.orders_url.empty() && !arguments.orders_url.starts_with("sqlite:");
  return is_on_redis || has_orders_elsewhere ? arguments.patience : Patience::none();
}

absl::StatusOr<std::unique_ptr<FlashSale>> open_sale_if_free(const SaleArguments& arguments) {
  return patiently(opening_patience(arguments), [&] { return open_sale_once(arguments); });
}

absl::StatusOr<std::unique_ptr<FlashSale>> open_sale(const SaleArguments& arguments) {
  constexpr std::int64_t kSeconds = 2;
  Patience patience = Patience::of_seconds(kSeconds);
  patience.attempts_max = std::min(patience.attempts_max, arguments.patience.attempts_max);
  for (int attempt = 1;; ++attempt) {
    auto sale = open_sale_if_free(arguments);
    if (!is_held_by_another(sale.status())) return sale;
    if (!patience.waits_after(attempt, reason_of(sale))) return sale;
  }
}

absl::StatusOr<MoveReport> move_to(const SaleArguments& arguments, const std::string& to) {
  ASSIGN_OR_RETURN(const auto place, place_of(arguments));
  const auto say_step = [](std::string_view step) { say("{}\n", step); };
  return FlashSale::move(place.keyspace, to, place.options, say_step);
}

absl::StatusOr<std::unique_ptr<SaleReader>> open_reader(const SaleArguments& arguments) {
  std::filesystem::path keyspace = keyspace_in(arguments.dir);
  if (!arguments.keyspace_url.empty()) {
    ASSIGN_OR_RETURN(const auto place, BackendUrl::parse(arguments.keyspace_url));
    if (place.kind != BackendUrl::Kind::kDirectory) {
      return absl::NotFoundError("the keyspace is in no directory");
    }
    keyspace = place.dir;
  }
  ASSIGN_OR_RETURN(auto orders, open_orders_to_read(arguments));
  return SaleReader::open(keyspace, std::move(orders), arguments.logger);
}

absl::StatusOr<std::unique_ptr<OrderStore>> open_orders_to_read(const SaleArguments& arguments) {
  if (!arguments.orders_url.empty()) {
    return open_order_store(arguments.orders_url, {.read_only = true});
  }
  const std::filesystem::path& dir = arguments.dir;
  SqliteOrderStoreOptions sqlite;
  sqlite.read_only = true;
  auto orders = SqliteOrderStore::open(orders_in(dir), sqlite);
  if (absl::IsNotFound(orders.status())) {
    return absl::NotFoundError(fmt::format("there is no sale in {}: no `orders.db`", dir.string()));
  }
  if (!orders.ok()) return orders.status();
  return *std::move(orders);
}

}  // namespace rushgate
