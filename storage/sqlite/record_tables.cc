#include "storage/sqlite/record_tables.h"

#include <map>
#include <string_view>
#include <type_traits>

#include <SQLiteCpp/Column.h>

#include "engine/core/base/concat.h"
#include "storage/sqlite/change_table.h"
#include "storage/sqlite/order_table.h"
#include "storage/sqlite/payment_table.h"
#include "storage/sqlite/query.h"
#include "storage/sqlite/state_table.h"
#include "storage/sqlite/voucher_table.h"

namespace rushgate {
namespace {

// The tables on both shelves.
using TableNames = std::array<const char*, 2>;
constexpr TableNames kOrderTables = {"orders", "archived_orders"};
constexpr TableNames kPaymentTables = {"payments", "archived_payments"};
constexpr TableNames kChangeTables = {"order_changes", "archived_changes"};
constexpr TableNames kVersionTables = {"voucher_versions", "archived_versions"};

template <class Text>
OnShelves on_both(const SQLite::Database& database, const TableNames& tables, Text text) {
  return {SQLite::Statement(database, text(tables[0])),
          SQLite::Statement(database, text(tables[1]))};
}

OnShelves read_behind(const SQLite::Database& database, const TableNames& tables,
                      const char* columns, const char* key) {
  return on_both(database, tables, [&](const char* table) {
    return concat("SELECT ", columns, " FROM ", table, " WHERE ", key, " > ?1 ORDER BY ", key,
                  " LIMIT ?2");
  });
}

OnShelves remove_by(const SQLite::Database& database, const TableNames& tables, const char* key) {
  return on_both(database, tables, [&](const char* table) {
    return concat("DELETE FROM ", table, " WHERE ", key, " = ?1");
  });
}

// A unique index (orders_once) may forbid a row that takes the place of one which is replaced only later.
OnShelves add_to(const SQLite::Database& database, const TableNames& tables, const char* columns) {
  return on_both(database, tables, [&](const char* table) {
    return insert_row(table, columns, "INSERT OR REPLACE");
  });
}

SQLite::Statement& on(OnShelves& statements, Shelf shelf) {
  return statements[static_cast<std::size_t>(shelf)];
}

template <class ToValue>
auto read_rows(Query query, ToValue to_value) {
  std::vector<std::invoke_result_t<ToValue, const Query&>> values;
  while (query.next()) values.push_back(to_value(query));
  return values;
}

std::map<std::int64_t, std::int64_t> read_map(SQLite::Statement& statement) {
  std::map<std::int64_t, std::int64_t> values;
  for (Query query(statement); query.next();) values.emplace(query.integer(0), query.integer(1));
  return values;
}

template <class Record, class Bind>
void replace_rows(SQLite::Statement& remove, SQLite::Statement& add,
                  std::span<const Record> removed, std::span<const Record> added, Bind bind) {
  for (const Record& record : removed) Query(remove, key_of(record)).next();
  for (const Record& record : added) {
    Query query(add);
    bind(query, record);
    query.next();
  }
}

void replace_map(SQLite::Database& database, std::string_view table,
                 const std::map<std::int64_t, std::int64_t>& values) {
  database.exec(concat("DELETE FROM ", table));
  SQLite::Statement insert(database, concat("INSERT INTO ", table, " VALUES (?1, ?2)"));
  for (const auto& [key, value] : values) Query(insert, key, value).next();
}

void replace_versions(SQLite::Database& database, const char* table,
                      const std::vector<VoucherVersion>& versions) {
  database.exec(concat("DELETE FROM ", table));
  SQLite::Statement insert(database, insert_row(table, version_columns()));
  for (const VoucherVersion& version : versions) {
    Query query(insert);
    bind_version(query, version);
    query.next();
  }
}

void replace_lanes(SQLite::Database& database, const std::vector<LaneRecord>& lanes) {
  database.exec("DELETE FROM lane_states");
  database.exec("DELETE FROM lane_reserved_ids");
  SQLite::Statement add(database, "INSERT INTO lane_states VALUES (?1, ?2, ?3, ?4)");
  SQLite::Statement reserve(database, "INSERT INTO lane_reserved_ids VALUES (?1, ?2, ?3)");
  for (const LaneRecord& lane : lanes) {
    Query(add, lane.lane, lane.epoch, lane.checkpoint, lane.revision).next();
    for (const auto& [day, reserved] : lane.reserved_ids) {
      Query(reserve, lane.lane, day, reserved).next();
    }
  }
}

/// Counts the payments anew.
std::string count_payments() {
  const std::string payments =
      "(SELECT amount_cents FROM payments UNION ALL SELECT amount_cents FROM archived_payments)";
  return concat("UPDATE payment_totals SET payments = (SELECT count(*) FROM ", payments,
                "), cents = (SELECT coalesce(sum(amount_cents % ", kCountedCents, "), 0) FROM ",
                payments, ")");
}

}  // namespace

// ---- Reading ----------------------------------------------------------------------------------

CopyReader::CopyReader(const SQLite::Database& database)
    : orders_(read_behind(database, kOrderTables, kOrderColumns, "id")),
      payments_(read_behind(database, kPaymentTables, kPaymentColumns, "id")),
      changes_(read_behind(database, kChangeTables, kChangeColumns, "position")),
      versions_(on_both(database, kVersionTables,
                        [](const char* table) {
                          return select_versions(table, " ORDER BY voucher_id, version");
                        })),
      archived_vouchers_(
          database,
          "SELECT voucher_id, archived_at_ms, deleted FROM archived_vouchers ORDER BY voucher_id"),
      live_(database, "SELECT voucher_id, live FROM live_orders"),
      reserved_ids_(database, "SELECT day, reserved FROM reserved_ids"),
      lanes_(database, "SELECT lane, epoch, checkpoint, revision FROM lane_states ORDER BY lane"),
      lane_reserved_ids_(database, "SELECT day, reserved FROM lane_reserved_ids WHERE lane = ?1"),
      voucher_lanes_(database, "SELECT voucher_id, lane FROM voucher_lanes"),
      moved_pieces_(database,
                    concat("SELECT ", kMovedColumns, " FROM moved_pieces ORDER BY 1, 2, 3")),
      state_(database,
             "SELECT identity, epoch, checkpoint, revision, coalesce((SELECT seq FROM "
             "sqlite_sequence WHERE name = 'order_changes'), 0) FROM database_state") {}

std::vector<Order> CopyReader::read_orders(Shelf shelf, OrderId after, std::size_t count_max) {
  return read_rows(Query(on(orders_, shelf), after, to_limit(count_max)), to_order);
}

std::vector<Payment> CopyReader::read_payments(Shelf shelf, const std::string& after,
                                               std::size_t count_max) {
  return read_rows(Query(on(payments_, shelf), after, to_limit(count_max)), to_payment);
}

std::vector<OrderChange> CopyReader::read_changes(Shelf shelf, std::int64_t after,
                                                  std::size_t count_max) {
  return read_rows(Query(on(changes_, shelf), after, to_limit(count_max)), to_change);
}

SaleRecords CopyReader::read_sale() {
  Query state(state_);  // open to the end: all is of one moment
  state.next();
  const auto to_mark = [](const Query& row) {
    return ArchivedMark{.voucher = row.integer(0),
                        .archived_at_ms = row.integer(1),
                        .is_deleted = row.integer(2) != 0};
  };
  const auto to_lane = [](const Query& row) {
    return LaneRecord{.lane = row.integer(0),
                      .epoch = row.integer(1),
                      .checkpoint = row.integer(2),
                      .revision = row.integer(3)};
  };
  auto lanes = read_rows(Query(lanes_), to_lane);
  for (LaneRecord& lane : lanes) {
    Query reserved(lane_reserved_ids_, lane.lane);
    while (reserved.next()) lane.reserved_ids.emplace(reserved.integer(0), reserved.integer(1));
  }
  return {.state = {.identity = state.text(0),
                    .epoch = state.integer(1),
                    .checkpoint = state.integer(2),
                    .revision = state.integer(3)},
          .last_position = state.integer(4),
          .versions = read_rows(Query(on(versions_, Shelf::kCurrent)), to_version),
          .archived_versions = read_rows(Query(on(versions_, Shelf::kArchive)), to_version),
          .archived_vouchers = read_rows(Query(archived_vouchers_), to_mark),
          .live = read_map(live_),
          .reserved_ids = read_map(reserved_ids_),
          .lanes = std::move(lanes),
          .voucher_lanes = read_map(voucher_lanes_),
          .moved_pieces = read_rows(Query(moved_pieces_), to_moved)};
}

std::int64_t count_records(SQLite::Database& database) {
  std::int64_t count = 0;
  for (const TableNames& tables : {kOrderTables, kPaymentTables, kChangeTables}) {
    for (const char* const table : tables) {
      count += database.execAndGet(concat("SELECT count(*) FROM ", table)).getInt64();
    }
  }
  return count;
}

// ---- Writing ----------------------------------------------------------------------------------

CopyWriter::CopyWriter(SQLite::Database& database)
    : database_(database),
      remove_orders_(remove_by(database, kOrderTables, "id")),
      add_orders_(add_to(database, kOrderTables, kOrderColumns)),
      remove_payments_(remove_by(database, kPaymentTables, "id")),
      add_payments_(add_to(database, kPaymentTables, kPaymentColumns)),
      remove_changes_(remove_by(database, kChangeTables, "position")),
      add_changes_(add_to(database, kChangeTables, kChangeColumns)) {}

void CopyWriter::replace(Shelf shelf, std::span<const Order> removed,
                         std::span<const Order> added) {
  replace_rows(on(remove_orders_, shelf), on(add_orders_, shelf), removed, added, bind_order);
}

void CopyWriter::replace(Shelf shelf, std::span<const Payment> removed,
                         std::span<const Payment> added) {
  replace_rows(on(remove_payments_, shelf), on(add_payments_, shelf), removed, added, bind_payment);
}

void CopyWriter::replace(Shelf shelf, std::span<const OrderChange> removed,
                         std::span<const OrderChange> added) {
  replace_rows(on(remove_changes_, shelf), on(add_changes_, shelf), removed, added, bind_change);
}

void CopyWriter::replace_sale(const SaleRecords& sale) {
  replace_versions(database_, "voucher_versions", sale.versions);
  replace_versions(database_, "archived_versions", sale.archived_versions);
  replace_map(database_, "live_orders", sale.live);
  replace_map(database_, "reserved_ids", sale.reserved_ids);
  replace_map(database_, "voucher_lanes", sale.voucher_lanes);
  replace_lanes(database_, sale.lanes);
  database_.exec("DELETE FROM moved_pieces");
  StateWriter state(database_);
  for (const MovedPieces& moved : sale.moved_pieces) state.record_moved(moved);
  database_.exec("DELETE FROM archived_vouchers");
  SQLite::Statement insert(database_, "INSERT INTO archived_vouchers VALUES (?1, ?2, ?3)");
  for (const ArchivedMark& mark : sale.archived_vouchers) {
    Query(insert, mark.voucher, mark.archived_at_ms, mark.is_deleted ? 1 : 0).next();
  }
  database_.exec(count_payments());
  database_.exec("DELETE FROM sqlite_sequence WHERE name = 'order_changes'");
  SQLite::Statement give(database_, "INSERT INTO sqlite_sequence VALUES ('order_changes', ?1)");
  Query(give, sale.last_position).next();
  write_state(sale.state);
}

void CopyWriter::write_state(const DatabaseState& state) {
  SQLite::Statement update(
      database_,
      "UPDATE database_state SET identity = ?1, epoch = ?2, checkpoint = ?3, revision = ?4");
  Query(update, state.identity, state.epoch, state.checkpoint, state.revision).next();
}

}  // namespace rushgate
