#include "storage/sqlite/archive_table.h"

#include <array>
#include <string>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "storage/sqlite/change_table.h"
#include "storage/sqlite/order_table.h"
#include "storage/sqlite/payment_table.h"
#include "storage/sqlite/query.h"
#include "storage/sqlite/voucher_table.h"

namespace rushgate {
namespace {

std::string select_orders(const char* rest) {
  return concat("SELECT ", kOrderColumns, " FROM archived_orders ", rest);
}

std::string select_payments(const char* rest) {
  return concat("SELECT ", kPaymentColumns, " FROM archived_payments ", rest);
}

// A portion: the orders of voucher ?1 with an id of at most ?2.
constexpr char kPortion[] = "voucher_id = ?1 AND id <= ?2";

std::string portion_of(const char* table) {
  return concat("SELECT id FROM ", table, " WHERE ", kPortion);
}

std::vector<SQLite::Statement> prepare(const SQLite::Database& database,
                                       const std::vector<std::string>& texts) {
  std::vector<SQLite::Statement> statements;
  statements.reserve(texts.size());
  for (const std::string& text : texts) statements.emplace_back(database, text);
  return statements;
}

/// Returns statements that copy a portion to the archive, each followed by the one that removes the
/// copied rows. The payments and changes of the orders go first: their portion is found by the
/// orders. Payments that are due stay.
std::vector<std::string> move_texts() {
  const std::string portion = portion_of("orders");
  const auto move = [](const char* from, const char* to, const char* columns,
                       const std::string& which) {
    return std::array{
        concat("INSERT INTO ", to, " (", columns, ") SELECT ", columns, " FROM ", from, which),
        concat("DELETE FROM ", from, which)};
  };
  std::vector<std::string> texts;
  for (const auto& both :
       {move("payments", "archived_payments", kPaymentColumns,
             concat(" WHERE state <> 2 AND order_id IN (", portion, ")")),
        move("order_changes", "archived_changes", kChangeColumns,
             concat(" WHERE order_id IN (", portion, ")")),
        move("orders", "archived_orders", kOrderColumns, concat(" WHERE ", kPortion))}) {
    texts.insert(texts.end(), both.begin(), both.end());
  }
  return texts;
}

std::vector<std::string> delete_texts() {
  const std::string portion = portion_of("archived_orders");
  const std::string payments = concat(" FROM archived_payments WHERE order_id IN (", portion, ")");
  return {concat("UPDATE payment_totals SET payments = payments - (SELECT count(*)", payments,
                 "), cents = cents - (SELECT coalesce(sum(amount_cents % ", kCountedCents, "), 0)",
                 payments, ")"),
          concat("DELETE", payments),
          concat("DELETE FROM archived_changes WHERE order_id IN (", portion, ")"),
          concat("DELETE FROM archived_orders WHERE ", kPortion)};
}

std::vector<std::string> archive_voucher_texts() {
  const std::string columns = version_columns();
  return {"INSERT INTO archived_vouchers VALUES (?1, ?2, 0)",
          concat("INSERT INTO archived_versions (", columns, ") SELECT ", columns,
                 " FROM voucher_versions WHERE voucher_id = ?1 AND ?2 IS NOT NULL"),
          "DELETE FROM voucher_versions WHERE voucher_id = ?1 AND ?2 IS NOT NULL",
          "DELETE FROM live_orders WHERE voucher_id = ?1 AND ?2 IS NOT NULL"};
}

}  // namespace

ArchiveReader::ArchiveReader(const SQLite::Database& database)
    : vouchers_(database,
                concat("SELECT ", version_columns(),
                       ", archived_at_ms, deleted, EXISTS (SELECT 1 FROM orders WHERE "
                       "orders.voucher_id = v.voucher_id) FROM archived_versions AS v JOIN "
                       "archived_vouchers USING (voucher_id) WHERE state = 1 AND NOT EXISTS "
                       "(SELECT 1 FROM archived_versions WHERE voucher_id = v.voucher_id AND "
                       "version > v.version AND state = 1) ORDER BY voucher_id")),
      list_(database, select_orders("WHERE id > ?1 AND (?3 OR user_id = ?4) AND (?5 OR status = "
                                    "?6) ORDER BY id LIMIT ?2")),
      list_of_voucher_(database,
                       select_orders("INDEXED BY archived_orders_by_voucher WHERE id > ?1 AND (?3 "
                                     "OR user_id = ?4) AND (?5 OR status = ?6) AND voucher_id = "
                                     "?7 ORDER BY id LIMIT ?2")),
      find_(database, select_orders("WHERE id = ?1")),
      is_archived_(database, "SELECT 1 FROM archived_vouchers WHERE voucher_id = ?1"),
      find_payment_(database, select_payments("WHERE id = ?1")) {}

std::vector<ArchivedVoucher> ArchiveReader::vouchers() {
  const int own_column = vouchers_.getColumnCount() - 3;
  Query query(vouchers_);
  std::vector<ArchivedVoucher> vouchers;
  while (query.next()) {
    vouchers.push_back({.last = to_version(query),
                        .archived_at_ms = query.integer(own_column),
                        .has_unmoved_orders = query.integer(own_column + 2) != 0,
                        .is_deleted = query.integer(own_column + 1) != 0});
  }
  return vouchers;
}

std::vector<Order> ArchiveReader::list(const OrderFilter& filter) {
  const auto status = static_cast<std::int64_t>(filter.status.value_or(OrderStatus{}));
  const int any_user = filter.user ? 0 : 1;
  const int any_status = filter.status ? 0 : 1;
  Query query(filter.voucher ? list_of_voucher_ : list_, filter.after, to_limit(filter.count_max),
              any_user, filter.user.value_or(UserId()), any_status, status);
  if (filter.voucher) query.bind_next(*filter.voucher);
  std::vector<Order> orders;
  while (query.next()) orders.push_back(to_order(query));
  return orders;
}

std::optional<Order> ArchiveReader::find(OrderId id) {
  Query query(find_, id);
  if (!query.next()) return std::nullopt;
  return to_order(query);
}

bool ArchiveReader::is_archived(VoucherId voucher) { return Query(is_archived_, voucher).next(); }

std::optional<Payment> ArchiveReader::find_payment(std::string_view id) {
  Query query(find_payment_, std::string(id));
  if (!query.next()) return std::nullopt;
  return to_payment(query);
}

ArchiveWriter::ArchiveWriter(const SQLite::Database& database)
    : database_(database),
      is_archived_(database, "SELECT 1 FROM archived_vouchers WHERE voucher_id = ?1"),
      look_at_versions_(database,
                        "SELECT EXISTS (SELECT 1 FROM voucher_versions WHERE voucher_id = ?1 AND "
                        "state = 0), (SELECT end_ms FROM voucher_versions WHERE voucher_id = ?1 "
                        "AND state = 1 ORDER BY version DESC LIMIT 1)"),
      find_open_(database,
                 concat("SELECT ", kOrderColumns,
                        " FROM orders INDEXED BY orders_unpaid WHERE voucher_id = ?1 AND "
                        "status = 2 UNION ALL SELECT ",
                        kOrderColumns,
                        " FROM orders INDEXED BY orders_refunding WHERE voucher_id = ?1 AND "
                        "status = 5 LIMIT 1")),
      archive_voucher_(prepare(database, archive_voucher_texts())),
      find_orders_(database,
                   "SELECT count(*), max(id) FROM (SELECT id FROM orders INDEXED BY "
                   "orders_by_voucher WHERE voucher_id = ?1 ORDER BY id LIMIT ?2)"),
      move_orders_(prepare(database, move_texts())),
      has_orders_(database, "SELECT 1 FROM orders WHERE voucher_id = ?1 LIMIT 1"),
      find_archived_(database,
                     "SELECT count(*), max(id) FROM (SELECT id FROM archived_orders INDEXED BY "
                     "archived_orders_by_voucher WHERE voucher_id = ?1 ORDER BY id LIMIT ?2)"),
      delete_orders_(prepare(database, delete_texts())),
      mark_deleted_(database, "UPDATE archived_vouchers SET deleted = 1 WHERE voucher_id = ?1") {}

absl::Status ArchiveWriter::archive_voucher(VoucherId voucher, std::int64_t at_ms) {
  if (Query(is_archived_, voucher).next()) return absl::OkStatus();
  RETURN_IF_ERROR(check_archivable(voucher, at_ms, context_of(voucher)));
  for (SQLite::Statement& statement : archive_voucher_) Query(statement, voucher, at_ms).next();
  return absl::OkStatus();
}

ArchiveContext ArchiveWriter::context_of(VoucherId voucher) {
  ArchiveContext context;
  {
    Query versions(look_at_versions_, voucher);
    versions.next();
    context.has_pending_version = versions.integer(0) != 0;
    if (!versions.is_null(1)) context.end_ms = versions.integer(1);
  }
  Query open(find_open_, voucher);
  if (open.next()) context.open_order = to_order(open);
  return context;
}

absl::Status ArchiveWriter::check_archived(VoucherId voucher) {
  return Query(is_archived_, voucher).next() ? absl::OkStatus() : not_archived_error(voucher);
}

ArchiveWriter::Portion ArchiveWriter::find_portion(SQLite::Statement& find, VoucherId voucher,
                                                   std::size_t count_max) {
  Query query(find, voucher, to_limit(count_max));
  query.next();
  return {.count = static_cast<std::size_t>(query.integer(0)), .last = query.integer(1)};
}

absl::StatusOr<std::size_t> ArchiveWriter::archive_orders(VoucherId voucher,
                                                          std::size_t count_max) {
  RETURN_IF_ERROR(check_archived(voucher));
  const Portion portion = find_portion(find_orders_, voucher, count_max);
  if (portion.count == 0) return 0;
  const auto run = [&](SQLite::Statement& statement) {
    Query(statement, voucher, portion.last).next();
    return statement.getChanges();
  };
  for (std::size_t i = 0; i + 1 < move_orders_.size(); i += 2) {
    const int copied = run(move_orders_[i]);
    const int removed = run(move_orders_[i + 1]);
    if (copied != removed) return lost_rows(voucher, copied, removed);
  }
  return portion.count;
}

absl::Status ArchiveWriter::lost_rows(VoucherId voucher, int copied, int removed) const {
  return absl::DataLossError(concat(database_.getFilename(), " is damaged: of voucher ", voucher,
                                    ", ", copied, " rows were copied to the archive, and ", removed,
                                    " removed"));
}

absl::StatusOr<std::size_t> ArchiveWriter::delete_orders(VoucherId voucher, std::size_t count_max) {
  RETURN_IF_ERROR(check_archived(voucher));
  if (Query(has_orders_, voucher).next()) return unmoved_orders_error(voucher);
  const Portion portion = find_portion(find_archived_, voucher, count_max);
  for (SQLite::Statement& statement : delete_orders_) {
    Query(statement, voucher, portion.last).next();
  }
  // From the first portion on: the positions of changes have gaps then (integrity.cc).
  Query(mark_deleted_, voucher).next();
  return portion.count;
}

}  // namespace rushgate
