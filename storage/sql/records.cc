#include "storage/sql/records.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "storage/sql/common_sql.h"
#include "storage/sql/rows.h"

namespace rushgate::sql {
namespace {

constexpr char kReadingRecords[] = "reading";
constexpr char kCopying[] = "copying to";

/// A table with records of one kind.
struct RecordTable {
  const char* name;
  const char* archive;
  const char* key;
  std::string columns;

  [[nodiscard]] const char* on(Shelf shelf) const {
    return shelf == Shelf::kCurrent ? name : archive;
  }
};

const RecordTable& orders_table() {
  static const RecordTable kTable{"orders", "archived_orders", "id", order_columns()};
  return kTable;
}
const RecordTable& payments_table() {
  static const RecordTable kTable{"payments", "archived_payments", "id", payment_columns()};
  return kTable;
}
const RecordTable& changes_table() {
  static const RecordTable kTable{"order_changes", "archived_changes", "position",
                                  change_columns()};
  return kTable;
}

template <class ToValue>
auto read_behind(Pool& pool, const RecordTable& table, Shelf shelf, Value after,
                 std::size_t count_max, ToValue to_value)
    -> absl::StatusOr<std::vector<std::invoke_result_t<ToValue, const Row&>>> {
  ASSIGN_OR_RETURN(
      const Rows rows,
      pool.read(kReadingRecords,
                {concat("SELECT ", table.columns, " FROM ", table.on(shelf), " WHERE ", table.key,
                        " > ?1 ORDER BY ", table.key, " LIMIT ", to_limit(count_max)),
                 {std::move(after)}}));
  return to_values(rows, to_value);
}

/// `keys` are those of the removed rows, `added` the new ones.
template <class Keys>
absl::Status replace_rows(Pool& pool, const RecordTable& table, Shelf shelf, Keys keys,
                          Table added) {
  std::vector<Statement> statements;
  const std::string name = table.on(shelf);
  if (!keys.empty()) {
    statements.push_back({concat(pool.database().delete_by_index(name, kById, "@1"), " ", name, ".",
                                 table.key, " = wanted"),
                          {},
                          {{{"wanted", std::move(keys)}}}});
  }
  if (!added.empty()) {
    statements.push_back({insert_into(name, table.columns), {}, {std::move(added)}});
  }
  return pool.transact(kCopying,
                       [&](Transaction& transaction) { return transaction.commit(statements); });
}

template <class Record>
auto keys_of(std::span<const Record> records) {
  std::vector<std::decay_t<decltype(key_of(records.front()))>> keys;
  keys.reserve(records.size());
  for (const Record& record : records) keys.push_back(key_of(record));
  return keys;
}

/// Returns no columns if there are no records.
template <class Record>
Table rows_of(std::span<const Record> records) {
  if (records.empty()) return {};
  if constexpr (std::is_same_v<Record, OrderChange>) {
    return to_table(records);
  } else {
    std::vector<const Record*> pointers;
    pointers.reserve(records.size());
    for (const Record& record : records) pointers.push_back(&record);
    return to_table(pointers);
  }
}

// ---- What is no record of an order ------------------------------------------------------------

std::map<std::int64_t, std::int64_t> to_map(const Rows& rows) {
  std::map<std::int64_t, std::int64_t> values;
  for (const Row& row : rows) values.emplace(row.integer(0), row.integer(1));
  return values;
}

std::string versions_of(std::string_view table) {
  return concat("SELECT ", version_columns(), " FROM ", table, " ORDER BY voucher_id, version");
}

std::vector<LaneRecord> to_lanes(const Rows& states, const Rows& reserved_ids) {
  std::vector<LaneRecord> lanes;
  for (const Row& row : states) {
    lanes.push_back({.lane = row.integer(0),
                     .epoch = row.integer(1),
                     .checkpoint = row.integer(2),
                     .revision = row.integer(3)});
  }
  for (const Row& row : reserved_ids) {
    const auto lane = std::ranges::find(lanes, row.integer(0), &LaneRecord::lane);
    if (lane != lanes.end()) lane->reserved_ids.emplace(row.integer(1), row.integer(2));
  }
  return lanes;
}

/// Reads everything in a transaction. It keeps out those who write batches, and those who reserve ids.
absl::StatusOr<SaleRecords> read_all_of_sale(Transaction& transaction) {
  ASSIGN_OR_RETURN(
      const auto results,
      transaction.run(std::vector<Statement>{
          lock_state(),
          lock_lanes(),
          {"SELECT day, reserved FROM reserved_ids ORDER BY day FOR UPDATE"},
          {versions_of("voucher_versions")},
          {versions_of("archived_versions")},
          {"SELECT voucher_id, archived_at_ms, deleted FROM archived_vouchers ORDER BY voucher_id"},
          {"SELECT voucher_id, live FROM live_orders ORDER BY voucher_id"},
          {"SELECT lane, day, reserved FROM lane_reserved_ids ORDER BY lane, day FOR UPDATE"},
          {"SELECT voucher_id, lane FROM voucher_lanes ORDER BY voucher_id"},
          {concat("SELECT ", moved_columns(), " FROM moved_pieces ORDER BY 1, 2, 3")}}));
  if (results[0].empty()) return absl::NotFoundError("the row of database_state is missing");
  const Row& state = results[0].front();
  return SaleRecords{.state = to_state(state),
                     .last_position = state.integer(4),
                     .versions = to_values(results[3], to_version),
                     .archived_versions = to_values(results[4], to_version),
                     .archived_vouchers = to_values(results[5],
                                                    [](const Row& row) {
                                                      return ArchivedMark{
                                                          .voucher = row.integer(0),
                                                          .archived_at_ms = row.integer(1),
                                                          .is_deleted = row.integer(2) != 0};
                                                    }),
                     .live = to_map(results[6]),
                     .reserved_ids = to_map(results[2]),
                     .lanes = to_lanes(results[1], results[7]),
                     .voucher_lanes = to_map(results[8]),
                     .moved_pieces = to_values(results[9], to_moved)};
}

/// Adds statements that make these the rows of a table with two integers.
void replace_map(std::string_view table, const char* key, const char* value,
                 const std::map<std::int64_t, std::int64_t>& values,
                 std::vector<Statement>& statements) {
  statements.push_back({concat("DELETE FROM ", table)});
  if (values.empty()) return;
  std::vector<std::int64_t> firsts;
  std::vector<std::int64_t> seconds;
  for (const auto& [first, second] : values) {
    firsts.push_back(first);
    seconds.push_back(second);
  }
  statements.push_back({insert_into(table, concat(key, ", ", value)),
                        {},
                        {{{key, std::move(firsts)}, {value, std::move(seconds)}}}});
}

void replace_lanes(const std::vector<LaneRecord>& lanes, std::vector<Statement>& statements) {
  statements.push_back({"DELETE FROM lane_states"});
  statements.push_back({"DELETE FROM lane_reserved_ids"});
  for (const LaneRecord& lane : lanes) {
    statements.push_back(
        {"INSERT INTO lane_states (lane, epoch, checkpoint, revision) VALUES (?1, ?2, ?3, ?4)",
         {lane.lane, lane.epoch, lane.checkpoint, lane.revision}});
    for (const auto& [day, reserved] : lane.reserved_ids) {
      statements.push_back(
          {"INSERT INTO lane_reserved_ids (lane, day, reserved) VALUES (?1, ?2, ?3)",
           {lane.lane, day, reserved}});
    }
  }
}

void replace_versions(std::string_view table, const std::vector<VoucherVersion>& versions,
                      std::vector<Statement>& statements) {
  statements.push_back({concat("DELETE FROM ", table)});
  for (const VoucherVersion& version : versions) {
    statements.push_back({insert_into(table, version_columns()), {}, {to_table(version)}});
  }
}

}  // namespace

// ---- Reading ----------------------------------------------------------------------------------

absl::StatusOr<std::vector<Order>> SqlRecords::read_orders(Shelf shelf, OrderId after,
                                                           std::size_t count_max) {
  return read_behind(pool_, orders_table(), shelf, after, count_max, to_order);
}
absl::StatusOr<std::vector<Payment>> SqlRecords::read_payments(Shelf shelf,
                                                               const std::string& after,
                                                               std::size_t count_max) {
  return read_behind(pool_, payments_table(), shelf, after, count_max, to_payment);
}
absl::StatusOr<std::vector<OrderChange>> SqlRecords::read_changes(Shelf shelf, std::int64_t after,
                                                                  std::size_t count_max) {
  return read_behind(pool_, changes_table(), shelf, after, count_max, to_change);
}

absl::StatusOr<SaleRecords> SqlRecords::read_sale() {
  return pool_.transact(kReadingRecords,
                        [](Transaction& transaction) { return read_all_of_sale(transaction); });
}

absl::StatusOr<std::int64_t> SqlRecords::count() {
  std::string sum;
  for (const RecordTable* const table : {&orders_table(), &payments_table(), &changes_table()}) {
    for (const Shelf shelf : {Shelf::kCurrent, Shelf::kArchive}) {
      sum +=
          concat(sum.empty() ? "SELECT " : " + ", "(SELECT count(*) FROM ", table->on(shelf), ")");
    }
  }
  ASSIGN_OR_RETURN(const Rows rows, pool_.read(kReadingRecords, {sum}));
  return rows.front().integer(0);
}

// ---- Writing ----------------------------------------------------------------------------------

absl::Status SqlRecords::replace(Shelf shelf, std::span<const Order> removed,
                                 std::span<const Order> added) {
  return replace_rows(pool_, orders_table(), shelf, keys_of(removed), rows_of(added));
}
absl::Status SqlRecords::replace(Shelf shelf, std::span<const Payment> removed,
                                 std::span<const Payment> added) {
  return replace_rows(pool_, payments_table(), shelf, keys_of(removed), rows_of(added));
}
absl::Status SqlRecords::replace(Shelf shelf, std::span<const OrderChange> removed,
                                 std::span<const OrderChange> added) {
  return replace_rows(pool_, changes_table(), shelf, keys_of(removed), rows_of(added));
}

absl::Status SqlRecords::replace_sale(const SaleRecords& sale) {
  std::vector<Statement> statements;
  replace_versions("voucher_versions", sale.versions, statements);
  replace_versions("archived_versions", sale.archived_versions, statements);
  replace_map("live_orders", "voucher_id", "live", sale.live, statements);
  replace_map("reserved_ids", "day", "reserved", sale.reserved_ids, statements);
  replace_map("voucher_lanes", "voucher_id", "lane", sale.voucher_lanes, statements);
  replace_lanes(sale.lanes, statements);
  statements.push_back({"DELETE FROM moved_pieces"});
  for (const MovedPieces& moved : sale.moved_pieces) {
    statements.push_back({insert_into("moved_pieces", moved_columns()), {}, {to_table(moved)}});
  }
  statements.push_back({"DELETE FROM archived_vouchers"});
  for (const ArchivedMark& mark : sale.archived_vouchers) {
    statements.push_back(
        {"INSERT INTO archived_vouchers (voucher_id, archived_at_ms, deleted) VALUES (?1, ?2, ?3)",
         {mark.voucher, mark.archived_at_ms, std::int64_t{mark.is_deleted ? 1 : 0}}});
  }
  const DatabaseState& state = sale.state;
  statements.push_back(
      {"UPDATE database_state SET identity = ?1, epoch = ?2, checkpoint = ?3, revision = ?4, "
       "last_change = ?5 WHERE only_row = 1",
       {state.identity, state.epoch, state.checkpoint, state.revision, sale.last_position}});
  return pool_.transact(kCopying,
                        [&](Transaction& transaction) { return transaction.commit(statements); });
}

absl::Status SqlRecords::close(absl::FunctionRef<absl::Status(const SaleRecords&)> check,
                               const std::string& identity) {
  return pool_.transact("closing", [&](Transaction& transaction) -> absl::Status {
    ASSIGN_OR_RETURN(const SaleRecords sale, read_all_of_sale(transaction));
    const absl::Status checked = check(sale);
    if (!checked.ok()) return decided(checked);
    const Statement close{
        "UPDATE database_state SET identity = ?1, epoch = epoch + 1 WHERE only_row = 1",
        {identity}};
    return transaction.commit(std::span(&close, 1));
  });
}

}  // namespace rushgate::sql
