#include "storage/sql/sql_order_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "storage/sql/archiving.h"
#include "storage/sql/batch.h"
#include "storage/sql/common_sql.h"
#include "storage/sql/rows.h"

namespace rushgate::sql {
namespace {

constexpr char kReading[] = "reading";

/// The conditions of a list.
class Conditions {
 public:
  Conditions() = default;
  /// `condition` has one '?', the value.
  Conditions(std::string_view condition, Value value) { add(condition, std::move(value)); }

  void add(std::string_view condition, Value value) {
    values_.push_back(std::move(value));
    const std::size_t mark = condition.find('?');
    text_ += concat(text_.empty() ? " WHERE " : " AND ", condition.substr(0, mark + 1),
                    values_.size(), condition.substr(mark + 1));
  }
  /// Adds a condition without a value.
  void add(std::string_view condition) {
    text_ += concat(text_.empty() ? " WHERE " : " AND ", condition);
  }

  /// Returns the query of the first rows of a table.
  [[nodiscard]] Statement list(const std::string& columns, std::string_view table,
                               std::string_view order, std::size_t count_max) const {
    return {select(columns, table, order, count_max), values_};
  }
  /// Returns the query of the first rows of a table and its archive. Each is read by its own index.
  [[nodiscard]] Statement list(const std::string& columns, std::string_view table,
                               std::string_view archive, std::string_view order,
                               std::size_t count_max) const {
    return {concat("SELECT ", columns, " FROM ((", select(columns, table, order, count_max),
                   ") UNION ALL (", select(columns, archive, order, count_max),
                   ")) AS both_tables ORDER BY ", order, " LIMIT ", to_limit(count_max)),
            values_};
  }

 private:
  [[nodiscard]] std::string select(const std::string& columns, std::string_view table,
                                   std::string_view order, std::size_t count_max) const {
    return concat("SELECT ", columns, " FROM ", table, text_, " ORDER BY ", order, " LIMIT ",
                  to_limit(count_max));
  }

  std::string text_;
  std::vector<Value> values_;
};

Statement list_orders(std::string_view table, const OrderFilter& filter) {
  Conditions conditions("id > ?", filter.after);
  if (filter.user) {
    conditions.add("user_id = ?", number_column(*filter.user));
    conditions.add("user_name = ?", name_column(*filter.user));
  }
  if (filter.voucher) conditions.add("voucher_id = ?", *filter.voucher);
  if (filter.status) conditions.add("status = ?", static_cast<std::int64_t>(*filter.status));
  return conditions.list(order_columns(), table, "id", filter.count_max);
}

std::string select_versions(std::string_view rest) {
  return concat("SELECT ", version_columns(), " FROM voucher_versions AS v", rest);
}

// A voucher that was recorded and has no row is older than the other lanes.
constexpr char kVoucherLanes[] =
    "SELECT voucher_id, max(lane) FROM (SELECT voucher_id, lane FROM voucher_lanes UNION ALL "
    "SELECT voucher_id, 0 FROM voucher_versions UNION ALL "
    "SELECT voucher_id, 0 FROM archived_vouchers) AS known";

Statement read_lane_of(VoucherId voucher) {
  return {concat(kVoucherLanes, " WHERE voucher_id = ?1 GROUP BY voucher_id"), {voucher}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqlOrderStore>> SqlOrderStore::open(
    DatabaseAt at, const MigrateOptions& options, const std::shared_ptr<spdlog::logger>& logger) {
  const Database& database = *at.database;
  ASSIGN_OR_RETURN(const std::int64_t before, migrate(*at.database, options));
  if (logger) {
    const auto newest = static_cast<std::int64_t>(database.migrations().size());
    log_info(*logger, concat("orders: ",
                             before == 0        ? "created "
                             : before == newest ? "opened "
                                                : "migrated ",
                             database.name(), ", version ", newest));
  }
  return std::unique_ptr<SqlOrderStore>(new SqlOrderStore(std::move(at)));
}

// ---- Reading ----------------------------------------------------------------------------------

template <class ToValue>
auto SqlOrderStore::read_all(Statement query, ToValue to_value)
    -> absl::StatusOr<std::vector<std::invoke_result_t<ToValue, const Row&>>> {
  ASSIGN_OR_RETURN(const Rows rows, pool_.read(kReading, std::move(query)));
  return to_values(rows, to_value);
}

template <class ToValue>
auto SqlOrderStore::read_first(Statement query, ToValue to_value)
    -> absl::StatusOr<std::optional<std::invoke_result_t<ToValue, const Row&>>> {
  ASSIGN_OR_RETURN(const Rows rows, pool_.read(kReading, std::move(query)));
  if (rows.empty()) return std::nullopt;
  return to_value(rows.front());
}

absl::StatusOr<std::int64_t> SqlOrderStore::read_integer(Statement query) {
  ASSIGN_OR_RETURN(const Rows rows, pool_.read(kReading, std::move(query)));
  return rows.empty() ? 0 : rows.front().integer(0);
}

// ---- Orders -----------------------------------------------------------------------------------

absl::StatusOr<std::vector<OrderResult>> SqlOrderStore::write(std::span<const Order> orders,
                                                              const BatchFence& fence) {
  std::vector<OrderEvent> events(orders.size());
  for (std::size_t i = 0; i < orders.size(); ++i) events[i].order = orders[i];
  return pool_.transact("writing orders to", [&](Transaction& transaction) {
    return Batch(pool_.database(), events, fence, Batch::Records::kOrdersAlone, pool_.session())
        .apply(transaction);
  });
}

absl::StatusOr<std::optional<Order>> SqlOrderStore::find(OrderId id) {
  return read_first(
      Conditions("id = ?", id).list(order_columns(), "orders", "archived_orders", "id", 1),
      to_order);
}

absl::StatusOr<std::vector<Order>> SqlOrderStore::list(const OrderFilter& filter) {
  return read_all(list_orders("orders", filter), to_order);
}

absl::StatusOr<OrderId> SqlOrderStore::greatest_id(OrderId below) {
  return read_integer(
      {"SELECT greatest(coalesce((SELECT max(id) FROM orders WHERE id < ?1), 0), "
       "coalesce((SELECT max(id) FROM archived_orders WHERE id < ?2), 0))",
       {below, below}});
}

absl::StatusOr<FoundOrders> SqlOrderStore::search(const OrderSearch& search) {
  Conditions indexed("id < ?", search.before);
  if (search.user) {
    indexed.add("user_id = ?", number_column(*search.user));
    indexed.add("user_name = ?", name_column(*search.user));
  }
  if (search.voucher) indexed.add("voucher_id = ?", *search.voucher);
  const Statement looked_at =
      indexed.list(order_columns(), "orders", "id DESC", search.looked_at_max);

  Statement query{concat("SELECT ", order_columns(), " FROM (", looked_at.text, ") AS looked_at"),
                  looked_at.values};
  const char* before = " WHERE ";
  const auto add = [&](std::string_view column, Value value) {
    query.values.push_back(std::move(value));
    query.text += concat(before, column, " = ?", query.values.size());
    before = " AND ";
  };
  if (search.status) add("status", static_cast<std::int64_t>(*search.status));
  if (search.reference) add("reference", *search.reference);
  query.text += concat(" ORDER BY id DESC LIMIT ", to_limit(search.count_max));
  FoundOrders found;
  ASSIGN_OR_RETURN(found.orders, read_all(std::move(query), to_order));
  if (found.orders.size() >= search.count_max) {
    found.next = found.orders.back().id;
    return found;
  }
  ASSIGN_OR_RETURN(const Rows extent,
                   pool_.read(kReading, {concat("SELECT count(*), min(id) FROM (", looked_at.text,
                                                ") AS looked_at"),
                                         looked_at.values}));
  if (extent.front().integer(0) == to_limit(search.looked_at_max)) {
    found.next = extent.front().integer(1);
  }
  return found;
}

absl::StatusOr<std::int64_t> SqlOrderStore::count_live(VoucherId voucher) {
  return read_integer({"SELECT live FROM live_orders WHERE voucher_id = ?1", {voucher}});
}

absl::StatusOr<OrderCounts> SqlOrderStore::count_by_status(std::optional<VoucherId> voucher) {
  Statement count = {concat("SELECT status, count(*) FROM orders",
                            voucher ? " WHERE voucher_id = ?1" : "", " GROUP BY status")};
  if (voucher) count.values.emplace_back(*voucher);
  ASSIGN_OR_RETURN(const Rows rows, pool_.read("counting orders in", std::move(count)));
  OrderCounts counts{};
  for (const Row& row : rows) {
    const auto place = static_cast<std::size_t>(row.integer(0) - 1);
    if (place < counts.size()) counts[place] = row.integer(1);
  }
  return counts;
}

// SELECT DISTINCT would read every order.
absl::StatusOr<std::vector<VoucherId>> SqlOrderStore::vouchers_with_orders() {
  return read_all(
      {"WITH RECURSIVE found (id) AS (SELECT min(voucher_id) FROM orders UNION ALL SELECT "
       "(SELECT min(voucher_id) FROM orders WHERE voucher_id > found.id) FROM found WHERE "
       "found.id IS NOT NULL) SELECT id FROM found WHERE id IS NOT NULL ORDER BY id"},
      [](const Row& row) { return row.integer(0); });
}

absl::Status SqlOrderStore::visit_keys(std::int64_t time_ms, VisitPortion visit) {
  constexpr std::size_t kOrdersPerRead = 1'000;
  std::int64_t expires_at_ms = time_ms;
  OrderId after = std::numeric_limits<OrderId>::min();
  while (true) {
    Conditions conditions("key_expires_at_ms >= ?", expires_at_ms);
    conditions.add(rows_with_key());
    conditions.add(concat("(key_expires_at_ms > ", expires_at_ms, " OR id > ?)"), after);
    ASSIGN_OR_RETURN(const auto portion,
                     read_all(conditions.list(order_columns(), "orders", "archived_orders",
                                              "key_expires_at_ms, id", kOrdersPerRead),
                              to_order));
    RETURN_IF_ERROR(visit(portion));
    if (portion.size() < kOrdersPerRead) return absl::OkStatus();
    expires_at_ms = portion.back().key_expires_at_ms;
    after = portion.back().id;
  }
}

// ---- Payments ---------------------------------------------------------------------------------

absl::StatusOr<std::vector<OrderResult>> SqlOrderStore::apply(std::span<const OrderEvent> events,
                                                              const BatchFence& fence) {
  return pool_.transact("writing events to", [&](Transaction& transaction) {
    return Batch(pool_.database(), events, fence, Batch::Records::kChanges, pool_.session())
        .apply(transaction);
  });
}

absl::StatusOr<std::optional<Payment>> SqlOrderStore::find_payment(std::string_view id) {
  return read_first(Conditions("id = ?", std::string(id))
                        .list(payment_columns(), "payments", "archived_payments", "id", 1),
                    to_payment);
}

absl::StatusOr<std::vector<Payment>> SqlOrderStore::list_payments(const PaymentFilter& filter) {
  Conditions conditions("id > ?", filter.after);
  if (filter.state) conditions.add("state = ?", static_cast<std::int64_t>(*filter.state));
  if (!filter.order) {
    return read_all(conditions.list(payment_columns(), "payments", "id", filter.count_max),
                    to_payment);
  }
  conditions.add("order_id = ?", *filter.order);
  return read_all(
      conditions.list(payment_columns(), "payments", "archived_payments", "id", filter.count_max),
      to_payment);
}

absl::StatusOr<std::vector<OrderChange>> SqlOrderStore::changes(std::int64_t after,
                                                                std::size_t count_max,
                                                                std::optional<OrderId> order) {
  Conditions conditions("position > ?", after);
  if (order) conditions.add("order_id = ?", *order);
  return read_all(
      conditions.list(change_columns(), "order_changes", "archived_changes", "position", count_max),
      to_change);
}

absl::StatusOr<std::int64_t> SqlOrderStore::last_position() {
  return read_integer({"SELECT last_change FROM database_state"});
}

// ---- The keyspace -----------------------------------------------------------------------------

absl::StatusOr<DatabaseState> SqlOrderStore::state() { return state_of(0); }
absl::StatusOr<DatabaseState> SqlOrderStore::fence() { return fence_lane(0); }
absl::StatusOr<std::int64_t> SqlOrderStore::reserve_ids(std::int64_t day, std::int64_t above,
                                                        std::int64_t count) {
  return reserve_ids_of(0, day, above, count);
}

absl::StatusOr<DatabaseState> SqlOrderStore::state_of(int lane) {
  const Statement read =
      lane == 0 ? Statement{"SELECT identity, epoch, checkpoint, revision FROM database_state"}
                : Statement{
                      "SELECT identity, lane_states.epoch, lane_states.checkpoint, "
                      "lane_states.revision FROM lane_states, database_state WHERE lane = ?1",
                      {std::int64_t{lane}}};
  for (;;) {
    const std::int64_t session = pool_.session();
    ASSIGN_OR_RETURN(auto state, read_first(read, to_state));
    if (!state && lane != 0) return no_lane_error(lane);
    if (!state) {
      return absl::DataLossError(
          concat("reading ", pool_.database().name(), ": the row of database_state is missing"));
    }
    if (pool_.session() != session) continue;  // it may have been read in either
    state->session = session;
    return *state;
  }
}

absl::StatusOr<DatabaseState> SqlOrderStore::fence_lane(int lane) {
  const Statement raise =
      lane == 0 ? Statement{"UPDATE database_state SET epoch = epoch + 1"}
                : Statement{"UPDATE lane_states SET epoch = epoch + 1 WHERE lane = ?1",
                            {std::int64_t{lane}}};
  const absl::Status fenced = pool_.transact("fencing", [&](Transaction& transaction) {
    // A batch locks this row before it reads it.
    return transaction.commit(std::span(&raise, 1));
  });
  if (!fenced.ok()) return fenced;
  return state_of(lane);
}

absl::StatusOr<std::int64_t> SqlOrderStore::reserve_ids_of(int lane, std::int64_t day,
                                                           std::int64_t above, std::int64_t count) {
  const std::string table = lane == 0 ? "reserved_ids" : "lane_reserved_ids";
  const std::string of_lane = lane == 0 ? "" : concat("lane = ", lane, " AND ");
  const std::string key = lane == 0 ? "day" : "lane, day";
  const Statement read{concat("SELECT reserved FROM ", table, " WHERE ", of_lane, "day = ?1"),
                       {day}};
  if (count == 0) {
    ASSIGN_OR_RETURN(const std::int64_t reserved, read_integer(read));
    return std::max(reserved, above);
  }
  // The row is made first, if it is missing, so that there is one to lock.
  const auto put = [&](std::int64_t reserved, std::string_view assignment) {
    Table row = {{"day", std::vector{day}}, {"reserved", std::vector{reserved}}};
    if (lane != 0) row.insert(row.begin(), Column{"lane", std::vector{std::int64_t{lane}}});
    return Statement{concat("INSERT INTO ", table, " (", key, ", reserved) %1",
                            pool_.database().or_update(key), " reserved = ", assignment),
                     {},
                     {std::move(row)}};
  };
  return pool_.transact(
      "reserving order ids in", [&](Transaction& transaction) -> absl::StatusOr<std::int64_t> {
        ASSIGN_OR_RETURN(const auto results,
                         transaction.run(std::vector{
                             put(0, concat(table, ".reserved")), read,
                             Statement{"SELECT identity FROM database_state WHERE only_row = 1"}}));
        const bool has_identity = !results[2].empty();
        const absl::Status open =
            check_open({.identity = has_identity ? results[2].front().text(0) : std::string()});
        if (!open.ok()) return decided(open);
        const std::int64_t reserved = std::max(above, results[1].front().integer(0)) + count;
        RETURN_IF_ERROR(transaction.commit(std::vector{
            put(reserved, pool_.database().inserted("reserved")),
            Statement{concat("DELETE FROM ", table, " WHERE ", of_lane, "day < ?1"), {day - 1}}}));
        return reserved;
      });
}

// ---- Lanes ------------------------------------------------------------------------------------

absl::StatusOr<int> SqlOrderStore::count_lanes() {
  ASSIGN_OR_RETURN(const std::int64_t last, read_integer({"SELECT max(lane) FROM lane_states"}));
  return static_cast<int>(last) + 1;
}

absl::Status SqlOrderStore::add_lanes(int count) {
  return pool_.transact("adding lanes to", [&](Transaction& transaction) -> absl::Status {
    ASSIGN_OR_RETURN(const auto results,
                     transaction.run(std::vector<Statement>{
                         lock_state(), Statement{"SELECT max(lane) FROM lane_states"}}));
    std::vector<std::int64_t> lanes;
    for (std::int64_t lane = results[1].front().integer(0) + 1; lane < count; ++lane) {
      lanes.push_back(lane);
    }
    if (lanes.empty()) return transaction.commit({});
    const std::vector<std::int64_t> zeros(lanes.size(), 0);
    const std::vector<std::int64_t> ones(lanes.size(), 1);
    const Statement insert{
        "INSERT INTO lane_states (lane, epoch, checkpoint, revision) %1",
        {},
        {{{"lane", lanes}, {"epoch", ones}, {"checkpoint", zeros}, {"revision", zeros}}}};
    return transaction.commit(std::span(&insert, 1));
  });
}

absl::StatusOr<std::optional<int>> SqlOrderStore::lane_of(VoucherId voucher) {
  return read_first(read_lane_of(voucher),
                    [](const Row& row) { return static_cast<int>(row.integer(1)); });
}

absl::StatusOr<std::map<VoucherId, int>> SqlOrderStore::voucher_lanes() {
  ASSIGN_OR_RETURN(const Rows rows,
                   pool_.read(kReading, {concat(kVoucherLanes, " GROUP BY voucher_id")}));
  std::map<VoucherId, int> lanes;
  for (const Row& row : rows) lanes.emplace(row.integer(0), static_cast<int>(row.integer(1)));
  return lanes;
}

absl::StatusOr<int> SqlOrderStore::put_on_lane(VoucherId voucher, int lane) {
  return pool_.transact(
      "putting a voucher on a lane in", [&](Transaction& transaction) -> absl::StatusOr<int> {
        const std::int64_t lane_number = lane;
        ASSIGN_OR_RETURN(const auto results, transaction.run(std::vector{
                                                 lock_state(), read_lane_of(voucher),
                                                 Statement{"SELECT max(lane) FROM lane_states"}}));
        if (!results[1].empty()) {
          RETURN_IF_ERROR(transaction.commit({}));
          return static_cast<int>(results[1].front().integer(1));
        }
        if (lane > results[2].front().integer(0)) return decided(no_lane_error(lane));
        const Statement insert{
            "INSERT INTO voucher_lanes (voucher_id, lane) %1",
            {},
            {{{"voucher_id", std::vector{voucher}}, {"lane", std::vector{lane_number}}}}};
        RETURN_IF_ERROR(transaction.commit(std::span(&insert, 1)));
        return lane;
      });
}

absl::StatusOr<std::vector<MovedPieces>> SqlOrderStore::moved_pieces(VoucherId voucher) {
  return read_all({concat("SELECT ", moved_columns(),
                          " FROM moved_pieces WHERE voucher_id = ?1 ORDER BY from_lane, to_lane"),
                   {voucher}},
                  to_moved);
}

absl::Status SqlOrderStore::record_moved(const MovedPieces& moved, const BatchFence& fence) {
  RETURN_IF_ERROR(check_moved(moved, fence));
  RETURN_IF_ERROR(state_of(moved.to).status());
  const Statement record{
      concat(insert_into("moved_pieces", moved_columns()),
             pool_.database().or_update("voucher_id, from_lane, to_lane"),
             " pieces = greatest(moved_pieces.pieces, ", pool_.database().inserted("pieces"), ")"),
      {},
      {to_table(moved)}};
  return pool_
      .transact("recording moved pieces in",
                [&](Transaction& transaction) {
                  Batch batch(pool_.database(), {}, fence, Batch::Records::kOrdersAlone,
                              pool_.session());
                  batch.add(record);
                  return batch.apply(transaction);
                })
      .status();
}

// ---- Vouchers ---------------------------------------------------------------------------------

absl::Status SqlOrderStore::record_pending(const VoucherVersion& version) {
  const VoucherId id = version.voucher.id;
  VoucherVersion pending = version;
  pending.state = VoucherVersion::State::kPending;
  pending.reason.clear();
  return pool_.transact("recording a voucher in", [&](Transaction& transaction) -> absl::Status {
    const std::vector<Statement> look = {
        lock_state(),
        {"SELECT 1 FROM archived_vouchers WHERE voucher_id = ?1", {id}},
        {"SELECT max(version) FROM voucher_versions WHERE voucher_id = ?1", {id}}};
    ASSIGN_OR_RETURN(const auto results, transaction.run(look));
    if (!results[1].empty()) return decided(archived_error(id));
    const absl::Status is_next = check_next_version(version, results[2].front().integer(0));
    if (!is_next.ok()) return decided(is_next);
    const Statement insert{concat("INSERT INTO voucher_versions (", version_columns(), ") %1"),
                           {},
                           {to_table(pending)}};
    return transaction.commit(std::span(&insert, 1));
  });
}

absl::Status SqlOrderStore::resolve(VoucherId voucher, std::int64_t version,
                                    VoucherVersion::State state, const std::string& reason) {
  return pool_.transact(
      "resolving a voucher's version in", [&](Transaction& transaction) -> absl::Status {
        const std::vector<Statement> look = {
            lock_state(),
            {"SELECT state FROM voucher_versions WHERE voucher_id = ?1 AND version = ?2",
             {voucher, version}}};
        ASSIGN_OR_RETURN(const auto results, transaction.run(look));
        std::optional<VoucherVersion::State> current;
        if (!results[1].empty()) {
          current = static_cast<VoucherVersion::State>(results[1].front().integer(0));
        }
        const absl::Status checked = check_resolution(voucher, version, current, state);
        if (!checked.ok()) return decided(checked);
        if (current == state) return absl::OkStatus();
        const Statement update{
            "UPDATE voucher_versions SET state = ?1, reason = ?2 WHERE voucher_id = ?3 AND "
            "version = ?4",
            {static_cast<std::int64_t>(state), reason, voucher, version}};
        return transaction.commit(std::span(&update, 1));
      });
}

absl::StatusOr<std::vector<VoucherVersion>> SqlOrderStore::versions(VoucherId voucher) {
  return read_all({select_versions(" WHERE voucher_id = ?1 ORDER BY version"), {voucher}},
                  to_version);
}
absl::StatusOr<std::vector<VoucherVersion>> SqlOrderStore::all_versions() {
  return read_all({select_versions(" ORDER BY voucher_id, version")}, to_version);
}
absl::StatusOr<std::vector<VoucherVersion>> SqlOrderStore::pending() {
  return read_all({select_versions(" WHERE state = 0 ORDER BY voucher_id, version")}, to_version);
}
absl::StatusOr<std::optional<VoucherVersion>> SqlOrderStore::latest(VoucherId voucher) {
  return read_first(
      {select_versions(" WHERE voucher_id = ?1 ORDER BY version DESC LIMIT 1"), {voucher}},
      to_version);
}
absl::StatusOr<std::optional<VoucherVersion>> SqlOrderStore::applied(VoucherId voucher) {
  return read_first({select_versions(" WHERE voucher_id = ?1 AND state = 1 ORDER BY version DESC "
                                     "LIMIT 1"),
                     {voucher}},
                    to_version);
}
absl::StatusOr<std::vector<VoucherVersion>> SqlOrderStore::all_applied() {
  return read_all({select_versions(" WHERE state = 1 AND NOT EXISTS (SELECT 1 FROM "
                                   "voucher_versions AS later WHERE later.voucher_id = "
                                   "v.voucher_id AND later.version > v.version AND later.state = "
                                   "1) ORDER BY voucher_id")},
                  to_version);
}

// ---- The archive ------------------------------------------------------------------------------

absl::Status SqlOrderStore::archive_voucher(VoucherId voucher, std::int64_t at_ms) {
  return pool_.transact("archiving a voucher in", [&](Transaction& transaction) {
    return sql::archive_voucher(transaction, voucher, at_ms);
  });
}

absl::StatusOr<std::size_t> SqlOrderStore::archive_orders(VoucherId voucher,
                                                          std::size_t count_max) {
  return pool_.transact("archiving orders in", [&](Transaction& transaction) {
    return sql::archive_orders(pool_.database(), transaction, voucher, count_max);
  });
}

absl::StatusOr<std::size_t> SqlOrderStore::delete_orders(VoucherId voucher, std::size_t count_max) {
  return pool_.transact("deleting archived orders in", [&](Transaction& transaction) {
    return sql::delete_orders(pool_.database(), transaction, voucher, count_max);
  });
}

absl::StatusOr<std::vector<ArchivedVoucher>> SqlOrderStore::archived_vouchers() {
  ASSIGN_OR_RETURN(const Rows rows, pool_.read(kReading, {select_archived_vouchers()}));
  return to_values(rows, to_archived_voucher);
}

absl::StatusOr<std::vector<Order>> SqlOrderStore::list_archived(const OrderFilter& filter) {
  return read_all(list_orders("archived_orders", filter), to_order);
}

}  // namespace rushgate::sql
