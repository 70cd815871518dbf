// The order database and the vouchers of a sale in a directory.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "tests/project/own_order_store/file_order_store.h"
#include <rushgate/order_store.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {

struct SaleFiles {
  std::unique_ptr<OrderStore> orders;
  std::unique_ptr<VoucherStore> vouchers;  // null: orders keeps them

  /// Opens `orders.db`. With `has_own_orders` that is a FileOrderStore, and the vouchers are in
  /// `vouchers.db`.
  static absl::StatusOr<SaleFiles> open(const std::filesystem::path& dir, bool has_own_orders) {
    SaleFiles files;
    auto sqlite = SqliteOrderStore::open(dir / (has_own_orders ? "vouchers.db" : "orders.db"));
    if (!sqlite.ok()) return sqlite.status();
    if (!has_own_orders) {
      files.orders = *std::move(sqlite);
      return files;
    }
    files.vouchers = *std::move(sqlite);
    auto own = FileOrderStore::open(dir / "orders.db");
    if (!own.ok()) return own.status();
    files.orders = *std::move(own);
    return files;
  }

  /// Returns the stores, with another one in place of `orders`.
  [[nodiscard]] SaleStores stores(OrderStore& in_place_of_orders) const {
    return vouchers ? SaleStores(in_place_of_orders, *vouchers) : SaleStores(in_place_of_orders);
  }
  [[nodiscard]] SaleStores stores() const { return stores(*orders); }
};

}  // namespace rushgate
