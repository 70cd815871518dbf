// Reads and writes the table `orders`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "absl/container/flat_hash_map.h"
#include "storage/sqlite/query.h"
#include <rushgate/order_store.h>

namespace rushgate {

// Both classes keep prepared statements of one connection, which must outlive them. They are not
// thread-safe. All functions throw SQLite::Exception.

/// A place among the orders with an idempotency key, which are sorted by its end and their ids.
struct KeyPosition {
  std::int64_t expires_at_ms = 0;
  OrderId id = std::numeric_limits<OrderId>::min();
};

/// Returns the condition of live orders, as the partial indices of the schema have it.
std::string live_rows();

class OrderReader {
 public:
  explicit OrderReader(const SQLite::Database& database);

  std::optional<Order> find(OrderId id);
  std::vector<Order> list(const OrderFilter& filter);
  FoundOrders search(const OrderSearch& search);
  OrderId greatest_id(OrderId below);
  std::int64_t count_live(VoucherId voucher);
  std::vector<VoucherId> vouchers_with_orders();
  /// Returns the first orders behind a place, of both tables of orders.
  std::vector<Order> list_with_key(const KeyPosition& after, std::size_t count_max);

 private:
  const SQLite::Database& database_;
  SQLite::Statement find_;
  SQLite::Statement greatest_id_;
  SQLite::Statement count_live_;
  SQLite::Statement voucher_after_;  // the least voucher above a given one
  SQLite::Statement list_with_key_;
  // One for each set of conditions (numbered in order_table.cc), prepared at its first
  // use.
  std::array<std::unique_ptr<SQLite::Statement>, 10> lists_;
  struct SearchStatements {
    std::unique_ptr<SQLite::Statement> search = {};
    std::unique_ptr<SQLite::Statement> extent = {};  // of the orders that it looks at
  };
  std::array<SearchStatements, 64> searches_;  // by conditions
};

/// The columns of a table of orders, in the order of to_order().
inline constexpr char kOrderColumns[] =
    "id, user_id, voucher_id, status, user_limit, admitted_at_ms, entry_ms, entry_seq, "
    "created_at_ms, voucher_version, price_cents, quantity, due_at_ms, reference, keeps, "
    "idempotency_key, key_expires_at_ms";
Order to_order(const Query& row);
/// Binds the next values of a query to an order, in the same order.
void bind_order(Query& query, const Order& order);

// Bits of the column `keeps`.
inline constexpr std::int64_t kKeepsStock = 1;
inline constexpr std::int64_t kKeepsAllowance = 2;

class OrderWriter {
 public:
  explicit OrderWriter(const SQLite::Database& database);

  /// Must run in a transaction. Returns one result per order. Reads the vouchers' stock unless the
  /// fence has it.
  std::vector<OrderResult> store_all(std::span<const Order> orders, const BatchFence& fence);

  // The steps of a batch that consists of more than new orders, in one transaction: begin_batch(),
  // any number of the calls below with the same fence, end_batch().
  void begin_batch();
  OrderResult store(const Order& order, const BatchFence& fence);
  std::optional<Order> find(OrderId id);
  /// Writes the status, keeps_stock and keeps_allowance of an order. `before` is the stored order,
  /// and `after` differs in nothing else.
  void change(const Order& before, const Order& after, const BatchFence& fence);
  void end_batch();

 private:
  /// The space left for orders of one voucher, in this batch.
  struct Remaining {
    std::int64_t taken = 0;             // pieces, also by orders of the batch
    std::optional<std::int64_t> stock;  // limit that OrderStore::write() enforces
    bool has_changed = false;

    void add(std::int64_t pieces) {
      taken += pieces;
      has_changed = has_changed || pieces != 0;
    }
  };

  Remaining& remaining_of(VoucherId voucher, const BatchFence& fence);
  static bool has_room(const Order& order, const Remaining& remaining);
  bool exceeds_limit(const Order& order);
  /// Returns the pieces of the live orders of the order's user and voucher.
  std::int64_t live_of_user(const Order& order);
  void add_live(const Order& order, std::int64_t sign);
  bool insert(const Order& order);  // false if a unique index forbids it
  /// Returns an order with which `order` shares_key().
  std::optional<Order> find_same_key(const Order& order);
  /// Leaves out count_refunding().
  OrderRivals rivals_of(const Order& order, const Remaining& remaining);
  std::int64_t count_refunding(VoucherId voucher);

  // Of this batch:
  absl::flat_hash_map<VoucherId, Remaining> rooms_;
  absl::flat_hash_map<std::pair<UserId, VoucherId>, std::int64_t> live_of_user_;  // once counted
  SQLite::Statement read_remaining_;
  SQLite::Statement write_taken_;
  SQLite::Statement insert_;
  SQLite::Statement change_;
  SQLite::Statement find_;
  SQLite::Statement find_archived_;
  SQLite::Statement find_any_other_;   // any order in orders_other
  SQLite::Statement find_other_;       // a live order of the user under a limit other than 1
  SQLite::Statement count_pieces_;     // live_of_user()
  SQLite::Statement list_of_user_;     // the live orders of a user and voucher
  SQLite::Statement list_of_key_;      // the orders of an idempotency key, archived ones too
  SQLite::Statement count_refunding_;  // pieces of a voucher that are being refunded
  bool has_other_orders_ = true;       // there may be live orders under a limit other than 1
};

/// Counts the orders of a voucher, or of all. Reads each of them.
OrderCounts count_by_status(SQLite::Database& database, std::optional<VoucherId> voucher);

}  // namespace rushgate
