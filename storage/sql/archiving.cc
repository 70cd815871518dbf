#include "storage/sql/archiving.h"

#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/model/voucher_terms.h"
#include "storage/sql/common_sql.h"
#include "storage/sql/rows.h"

namespace rushgate::sql {
namespace {

absl::StatusOr<bool> is_archived(Transaction& transaction, VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto results,
                   transaction.run(std::vector<Statement>{
                       lock_state(),
                       lock_lanes(),
                       {"SELECT 1 FROM archived_vouchers WHERE voucher_id = ?1", {voucher}}}));
  return !results[2].empty();
}

absl::StatusOr<ArchiveContext> read_context(Transaction& transaction, VoucherId voucher) {
  ASSIGN_OR_RETURN(
      const auto results,
      transaction.run(std::vector<Statement>{
          {"SELECT 1 FROM voucher_versions WHERE voucher_id = ?1 AND state = 0", {voucher}},
          {"SELECT end_ms FROM voucher_versions WHERE voucher_id = ?1 AND state = 1 ORDER BY "
           "version DESC LIMIT 1",
           {voucher}},
          {concat("SELECT ", order_columns(), " FROM orders WHERE voucher_id = ?1 AND status IN (",
                  static_cast<int>(OrderStatus::kUnpaid), ", ",
                  static_cast<int>(OrderStatus::kRefunding), ") ORDER BY id LIMIT 1"),
           {voucher}}}));
  ArchiveContext context{.has_pending_version = !results[0].empty()};
  if (!results[1].empty()) context.end_ms = results[1].front().integer(0);
  if (!results[2].empty()) context.open_order = to_order(results[2].front());
  return context;
}

/// The first orders of a voucher.
struct Portion {
  std::size_t count = 0;
  OrderId last = 0;
};

absl::StatusOr<Portion> find_portion(Transaction& transaction, std::string_view table,
                                     VoucherId voucher, std::size_t count_max) {
  ASSIGN_OR_RETURN(const Rows rows,
                   transaction.run({concat("SELECT count(*), max(id) FROM (SELECT id FROM ", table,
                                           " WHERE voucher_id = ?1 ORDER BY id LIMIT ",
                                           to_limit(count_max), ") AS first_orders"),
                                    {voucher}}));
  return Portion{.count = static_cast<std::size_t>(rows.front().integer(0)),
                 .last = rows.front().integer(1)};
}

/// Statements about the orders of a voucher up to one.
class PortionStatements {
 public:
  PortionStatements(const Database& database, std::string_view table, VoucherId voucher,
                    OrderId last)
      : database_(database), table_(table), voucher_(voucher), last_(last) {}

  /// `text` ends with WHERE.
  void add_for_orders(std::string_view text) { add(concat(text, kPortion)); }
  /// Moves the rows of the orders to another table. `condition` is true for those to move, and ends with AND.
  void move_children(std::string_view from, std::string_view to, const std::string& columns,
                     std::string_view condition = "") {
    add(concat("INSERT INTO ", to, " (", columns, ") SELECT ", columns, " FROM ", orders(),
               database_.join_by_index(from, kByOrder), " ON ", condition, " order_id = wanted"));
    delete_children(from, condition);
  }
  void delete_children(std::string_view from, std::string_view condition = "") {
    add(concat(database_.delete_by_index(from, kByOrder, orders()), " ", condition,
               " order_id = wanted"));
  }
  [[nodiscard]] const std::vector<Statement>& statements() const { return statements_; }

 private:
  static constexpr char kPortion[] = " voucher_id = ?1 AND id <= ?2";

  void add(std::string text) { statements_.push_back({std::move(text), {voucher_, last_}}); }
  [[nodiscard]] std::string orders() const {
    return concat("(SELECT id AS wanted FROM ", table_, " WHERE", kPortion, ") AS chosen");
  }

  const Database& database_;
  const std::string_view table_;
  const VoucherId voucher_;
  const OrderId last_;
  std::vector<Statement> statements_;
};

}  // namespace

absl::Status archive_voucher(Transaction& transaction, VoucherId voucher, std::int64_t at_ms) {
  ASSIGN_OR_RETURN(const bool is_done, is_archived(transaction, voucher));
  if (is_done) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ArchiveContext context, read_context(transaction, voucher));
  const absl::Status checked = check_archivable(voucher, at_ms, context);
  if (!checked.ok()) return decided(checked);
  const std::string columns = version_columns();
  return transaction.commit(std::vector<Statement>{
      {"INSERT INTO archived_vouchers (voucher_id, archived_at_ms, deleted) VALUES (?1, ?2, 0)",
       {voucher, at_ms}},
      {concat("INSERT INTO archived_versions (", columns, ") SELECT ", columns,
              " FROM voucher_versions WHERE voucher_id = ?1"),
       {voucher}},
      {"DELETE FROM voucher_versions WHERE voucher_id = ?1", {voucher}},
      {"DELETE FROM live_orders WHERE voucher_id = ?1", {voucher}}});
}

absl::StatusOr<std::size_t> archive_orders(const Database& database, Transaction& transaction,
                                           VoucherId voucher, std::size_t count_max) {
  ASSIGN_OR_RETURN(const bool is_ready, is_archived(transaction, voucher));
  if (!is_ready) return decided(not_archived_error(voucher));
  ASSIGN_OR_RETURN(const Portion portion, find_portion(transaction, "orders", voucher, count_max));
  if (portion.count == 0) return 0;
  // The payments and changes go first: they are found by the orders. Payments that are due stay.
  PortionStatements move(database, "orders", voucher, portion.last);
  move.move_children("payments", "archived_payments", payment_columns(), "state <> 2 AND");
  move.move_children("order_changes", "archived_changes", change_columns());
  const std::string columns = order_columns();
  move.add_for_orders(
      concat("INSERT INTO archived_orders (", columns, ") SELECT ", columns, " FROM orders WHERE"));
  move.add_for_orders("DELETE FROM orders WHERE");
  RETURN_IF_ERROR(transaction.commit(move.statements()));
  return portion.count;
}

absl::StatusOr<std::size_t> delete_orders(const Database& database, Transaction& transaction,
                                          VoucherId voucher, std::size_t count_max) {
  ASSIGN_OR_RETURN(const bool is_ready, is_archived(transaction, voucher));
  if (!is_ready) return decided(not_archived_error(voucher));
  ASSIGN_OR_RETURN(const Portion unmoved, find_portion(transaction, "orders", voucher, 1));
  if (unmoved.count > 0) return decided(unmoved_orders_error(voucher));
  ASSIGN_OR_RETURN(const Portion portion,
                   find_portion(transaction, "archived_orders", voucher, count_max));
  PortionStatements remove(database, "archived_orders", voucher, portion.last);
  remove.delete_children("archived_payments");
  remove.delete_children("archived_changes");
  remove.add_for_orders("DELETE FROM archived_orders WHERE");
  std::vector<Statement> statements = remove.statements();
  statements.push_back(
      {"UPDATE archived_vouchers SET deleted = 1 WHERE voucher_id = ?1", {voucher}});
  RETURN_IF_ERROR(transaction.commit(statements));
  return portion.count;
}

std::string select_archived_vouchers() {
  return concat("SELECT ", version_columns(),
                ", archived_at_ms, deleted, EXISTS (SELECT 1 FROM orders WHERE orders.voucher_id = "
                "v.voucher_id) FROM archived_versions AS v JOIN archived_vouchers USING "
                "(voucher_id) WHERE state = 1 AND NOT EXISTS (SELECT 1 "
                "FROM archived_versions AS later WHERE later.voucher_id = v.voucher_id AND "
                "later.version > v.version AND later.state = 1) ORDER BY voucher_id");
}

ArchivedVoucher to_archived_voucher(const Row& row) {
  const std::size_t own_column = 5 + kVoucherTerms.size();
  return {.last = to_version(row),
          .archived_at_ms = row.integer(own_column),
          .has_unmoved_orders = row.integer(own_column + 2) != 0,
          .is_deleted = row.integer(own_column + 1) != 0};
}

}  // namespace rushgate::sql
