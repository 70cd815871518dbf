// Reads and writes the table `orders`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "absl/container/flat_hash_map.h"
#include <rushgate/order_store.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are not
// thread-safe. All functions throw SQLite::Exception.

class OrderReader {
 public:
  explicit OrderReader(const SQLite::Database& database);

  std::optional<Order> find(OrderId id);
  std::vector<Order> list(const OrderFilter& filter);
  OrderId greatest_id(OrderId below);
  std::int64_t count_live(VoucherId voucher);
  std::vector<VoucherId> vouchers_with_orders();

 private:
  const SQLite::Database& database_;
  SQLite::Statement find_;
  SQLite::Statement greatest_id_;
  SQLite::Statement count_live_;
  SQLite::Statement voucher_after_;  // the least voucher above a given one
  // One for each set of conditions (numbered in order_table.cc), prepared at its first
  // use.
  std::array<std::unique_ptr<SQLite::Statement>, 8> lists_;
};

class OrderWriter {
 public:
  explicit OrderWriter(const SQLite::Database& database);

  /// Must run in a transaction. Returns one result per order. Reads the vouchers' stock unless the
  /// fence has it.
  std::vector<OrderResult> store_all(std::span<const Order> orders, const BatchFence& fence);

 private:
  /// The space left for orders of one voucher, in this batch.
  struct Remaining {
    std::int64_t live = 0;              // orders, those of the batch included
    std::optional<std::int64_t> stock;  // limit that OrderStore::write() enforces
    bool changed = false;
  };

  OrderResult store(const Order& order, const BatchFence& fence);
  Remaining& remaining_of(VoucherId voucher, const BatchFence& fence);
  void write_remaining();
  bool has_reached_limit(const Order& order);
  bool insert(const Order& order);  // false if a unique index forbids it
  OrderResult explain(const Order& order, const Remaining& remaining);

  absl::flat_hash_map<VoucherId, Remaining> rooms_;  // of this batch
  SQLite::Statement read_remaining_;
  SQLite::Statement write_live_;
  SQLite::Statement insert_;
  SQLite::Statement find_;
  SQLite::Statement find_any_other_;  // an order under a limit other than 1
  SQLite::Statement find_other_;      // a live order of the user under a limit other than 1
  SQLite::Statement count_live_;      // the user's live orders, up to a maximum
  bool has_other_orders_ = true;      // there may be orders under a limit other than 1
};

}  // namespace rushgate
