// A batch of events: reads all that decides on them, decides in memory, and writes the outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sql/pool.h"
#include "storage/sql/sql_port.h"
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate::sql {

/// Applies one batch in one transaction, in two round trips of statements where the database permits. Each
/// lane of a sale has one batch at a time. One that changes orders, and any of the lane 0, locks the row of
/// `database_state`, so changes get their positions in the order of their commits. New orders of another lane
/// lock that lane alone. Not thread-safe; its arguments must outlive it.
class Batch {
 public:
  /// Whether change_before() is recorded.
  enum class Records : std::uint8_t { kChanges, kOrdersAlone };

  /// `session` is DatabaseState's, when the transaction began.
  Batch(const Database& database, std::span<const OrderEvent> events, const BatchFence& fence,
        Records records, std::int64_t session);

  /// Adds a statement, which is run with the batch.
  void add(Statement statement) { added_.push_back(std::move(statement)); }
  /// Commits. Returns a result for each event, as PaymentStore::apply() does.
  absl::StatusOr<std::vector<OrderResult>> apply(Transaction& transaction);

 private:
  using UserOfVoucher = std::pair<UserId, VoucherId>;

  struct KnownOrder {
    Order order;
    bool is_stored = false;  // false: it is new
    bool is_archived = false;
    bool is_changed = false;
  };
  struct KnownPayment {
    Payment payment;
    bool is_archived = false;
    bool is_changed = false;
  };
  struct KnownVoucher {
    std::int64_t taken = 0;                      // pieces, also by orders of the batch
    std::optional<std::int64_t> stock = {};      // as OrderRivals::stock
    std::optional<std::int64_t> refunding = {};  // pieces in the database before this batch
  };
  struct OrdersOfUser {
    std::vector<OrderId> ids = {};
    std::int64_t live = 0;  // pieces
  };
  /// What the batch changes in the counts of a voucher.
  struct Delta {
    std::int64_t taken = 0;
    std::int64_t refunding = 0;
  };

  // Reading. Each of these appends the queries for a kind of rows, unless there is nothing to ask.
  absl::Status load(Transaction& transaction);
  void ask(Statement query, void (Batch::*take)(const Rows& rows));
  void ask_for_orders();
  void ask_for_vouchers();
  void ask_for_orders_of_users();
  void ask_for_orders_of_keys();
  void ask_for_payments();
  void take_state(const Rows& rows);
  void take_lane_state(const Rows& rows);
  void take_position(const Row& row, std::size_t first);
  void take_orders(const Rows& rows);
  void take_archived_orders(const Rows& rows);
  void take_orders_of_archived_vouchers(const Rows& rows);
  void take_vouchers(const Rows& rows);
  void take_payments(const Rows& rows);
  void take_archived_payments(const Rows& rows);
  void take_payments_of_archived_orders(const Rows& rows);
  void take_order(Order order, bool is_archived);

  // Deciding.
  absl::StatusOr<OrderResult> decide(Transaction& transaction, const OrderEvent& event);
  absl::StatusOr<OrderResult> store(Transaction& transaction, const OrderEvent& event);
  OrderResult change(const OrderEvent& event);
  [[nodiscard]] OrderRivals rivals_of(const Order& order) const;
  absl::StatusOr<std::int64_t> read_refunding(Transaction& transaction, VoucherId voucher);
  [[nodiscard]] EventContext context_of(const OrderEvent& event) const;
  void put(const Payment& payment);
  void make_payments_due(OrderId order, const std::string& reason);
  void set_status(KnownOrder& known, OrderStatus status, const OrderEvent& event);
  void count(const Order& order, std::int64_t sign);
  void record(OrderChange change);

  // Writing.
  absl::Status write(Transaction& transaction);
  void write_orders(std::vector<Statement>& statements) const;
  void write_payments(std::vector<Statement>& statements) const;
  void write_changes(std::vector<Statement>& statements) const;
  void write_counts(std::vector<Statement>& statements) const;
  void write_state(std::vector<Statement>& statements) const;

  const Database& database_;
  const std::span<const OrderEvent> events_;
  const BatchFence& fence_;
  const Records records_;
  const std::int64_t session_;
  const bool has_only_lane_;  // locks no more than its lane
  std::vector<Statement> added_;

  std::vector<Statement> queries_;
  std::vector<void (Batch::*)(const Rows& rows)> takers_;  // of the rows of each query

  DatabaseState state_;  // of the lane of the batch; its epoch is 0 if there is none
  std::int64_t last_change_ = 0;
  // Ordered, so that rows are written in the order of their keys.
  std::map<OrderId, KnownOrder> orders_;
  std::map<std::string, KnownPayment> payments_;
  absl::flat_hash_map<UserOfVoucher, OrdersOfUser> of_user_;
  absl::flat_hash_map<std::string, std::vector<OrderId>> of_key_;
  absl::flat_hash_map<VoucherId, KnownVoucher> vouchers_;
  absl::flat_hash_set<OrderId> of_archived_vouchers_;
  absl::flat_hash_set<std::string> of_archived_orders_;  // payments
  std::map<VoucherId, Delta> deltas_;
  std::vector<OrderChange> changes_;
};

}  // namespace rushgate::sql
