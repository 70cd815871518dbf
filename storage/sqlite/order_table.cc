#include "storage/sqlite/order_table.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <limits>
#include <string>

#include "engine/core/base/concat.h"
#include "storage/sqlite/query.h"

namespace rushgate {
namespace {

// ---- Rows -------------------------------------------------------------------------------------

const std::string kSelectOrders = concat("SELECT ", kOrderColumns, " FROM orders");

// The conditions of the partial indices, exactly as in the schema: SQLite uses an index only if a
// query repeats its condition. (With INDEXED BY, a difference is an error.)
const std::string kOnce = concat(live_rows(), " AND user_limit = 1");
const std::string kOther = concat("NOT (", kOnce, ")");

constexpr char kWithKey[] = "idempotency_key <> ''";

const std::string kLive = live_rows();

std::int64_t keeps_of(const Order& order) {
  return (order.keeps_stock ? kKeepsStock : 0) + (order.keeps_allowance ? kKeepsAllowance : 0);
}

std::int64_t number_of(OrderStatus status) { return static_cast<std::int64_t>(status); }

// SQLite's integers are signed: parts of stream ids above 2^63 become negative ones.
std::int64_t to_signed(std::uint64_t value) { return std::bit_cast<std::int64_t>(value); }
std::uint64_t to_unsigned(std::int64_t value) { return std::bit_cast<std::uint64_t>(value); }

std::optional<Order> find_order(SQLite::Statement& find, OrderId id) {
  Query query(find, id);
  if (!query.next()) return std::nullopt;
  return to_order(query);
}

// ---- Lists ------------------------------------------------------------------------------------

// The conditions of a list, as bits.
constexpr unsigned kByUser = 1;
constexpr unsigned kByVoucher = 2;
constexpr unsigned kByStatus = 4;
// In place of kByVoucher | kByStatus: the voucher's orders in a state that has an index.
constexpr unsigned kUnpaidOfVoucher = 8;
constexpr unsigned kRefundingOfVoucher = 9;

/// Returns the list of a voucher's orders in a state, by the index of this state.
std::string indexed_list_sql(const char* index, OrderStatus status) {
  return concat(kSelectOrders, " INDEXED BY ", index,
                " WHERE id > ?1 AND voucher_id = ?4 AND status = ", number_of(status),
                " AND ?3 IS NOT NULL AND ?5 IS NOT NULL ORDER BY id LIMIT ?2");
}

// Parameters: ?1 after, ?2 count, ?3 user, ?4 voucher, ?5 status. A missing condition is replaced
// by one that always holds, so all lists are bound alike.
std::string list_orders_sql(unsigned by) {
  if (by == kUnpaidOfVoucher) return indexed_list_sql("orders_unpaid", OrderStatus::kUnpaid);
  if (by == kRefundingOfVoucher) {
    return indexed_list_sql("orders_refunding", OrderStatus::kRefunding);
  }
  std::string conditions = "id > ?1";
  conditions += concat((by & kByUser) ? " AND user_id = ?3" : " AND ?3 IS NOT NULL");
  conditions += concat((by & kByVoucher) ? " AND voucher_id = ?4" : " AND ?4 IS NOT NULL");
  conditions += concat((by & kByStatus) ? " AND status = ?5" : " AND ?5 IS NOT NULL");
  const std::string end = " ORDER BY id LIMIT ?2";
  if (by & kByUser) {  // in both indices
    return concat(kSelectOrders, " INDEXED BY orders_once WHERE ", conditions, " AND ", kOnce,
                  " UNION ALL ", kSelectOrders, " INDEXED BY orders_other WHERE ", conditions,
                  " AND ", kOther, end);
  }
  const char* const index = (by & kByVoucher) ? " INDEXED BY orders_by_voucher" : " NOT INDEXED";
  return concat(kSelectOrders, index, " WHERE ", conditions, end);
}

// ---- Searches ---------------------------------------------------------------------------------

// The conditions of a search, as bits, in addition to the first three of a list.
constexpr unsigned kByReference = 8;
// With kByVoucher: the state has an index, of which the search reads nothing else.
constexpr unsigned kByUnpaidIndex = 16;
constexpr unsigned kByRefundingIndex = 32;

unsigned conditions_of(const OrderSearch& search) {
  const unsigned by = (search.user ? kByUser : 0) | (search.voucher ? kByVoucher : 0) |
                      (search.status ? kByStatus : 0) | (search.reference ? kByReference : 0);
  if (search.user || !search.voucher) return by;
  if (search.status == OrderStatus::kUnpaid) return by | kByUnpaidIndex;
  return search.status == OrderStatus::kRefunding ? by | kByRefundingIndex : by;
}

// Parameters of both statements of a search: ?1 before, ?2 count, ?3 looked at, ?4 user, ?5 voucher, ?6
// status, ?7 reference.
constexpr char kBinds[] =
    "?2 IS NOT NULL AND ?4 IS NOT NULL AND ?5 IS NOT NULL AND ?6 IS NOT NULL AND ?7 IS NOT NULL";

/// Returns the selection of the orders to look at, with what decides on them.
std::string looked_at_sql(unsigned by) {
  const std::string select = "SELECT id, status, reference FROM orders";
  const std::string end = " ORDER BY id DESC LIMIT ?3";
  if (by & kByUser) {  // in both indices
    const char* const where = " WHERE id < ?1 AND user_id = ?4 AND ";
    const std::string voucher = (by & kByVoucher) ? " AND voucher_id = ?5" : "";
    return concat(select, " INDEXED BY orders_once", where, kOnce, voucher, " UNION ALL ", select,
                  " INDEXED BY orders_other", where, kOther, voucher, end);
  }
  if (!(by & kByVoucher)) return concat(select, " NOT INDEXED WHERE id < ?1", end);
  const char* index = "orders_by_voucher";
  std::string state;
  if (by & kByUnpaidIndex) {
    index = "orders_unpaid";
    state = concat(" AND status = ", number_of(OrderStatus::kUnpaid));
  } else if (by & kByRefundingIndex) {
    index = "orders_refunding";
    state = concat(" AND status = ", number_of(OrderStatus::kRefunding));
  }
  return concat(select, " INDEXED BY ", index, " WHERE id < ?1 AND voucher_id = ?5", state, end);
}

std::string search_sql(unsigned by) {
  const std::string status = (by & kByStatus) ? " AND status = ?6" : "";
  const std::string reference = (by & kByReference) ? " AND reference = ?7" : "";
  return concat(kSelectOrders, " WHERE id IN (SELECT id FROM (", looked_at_sql(by), ") WHERE ",
                kBinds, status, reference, " ORDER BY id DESC LIMIT ?2) ORDER BY id DESC");
}

/// Returns the number of orders that the same search looks at, and the least id of them.
std::string extent_sql(unsigned by) {
  return concat("SELECT count(*), min(id) FROM (", looked_at_sql(by), ") WHERE ", kBinds);
}

// Parameters: ?1 the end of the last order's key, ?2 the last order. Sorted as the index is.
std::string orders_by_key_end(const char* table, const char* index) {
  return concat("SELECT ", kOrderColumns, " FROM ", table, " INDEXED BY ", index, " WHERE ",
                kWithKey, " AND key_expires_at_ms >= ?1 AND (key_expires_at_ms > ?1 OR id > ?2)");
}

// Parameters: ?1 the key, ?2 a time. Of the orders with this key, those whose it is then or later.
std::string orders_of_key(const char* table, const char* index) {
  return concat("SELECT ", kOrderColumns, " FROM ", table, " INDEXED BY ", index,
                " WHERE idempotency_key = ?1 AND key_expires_at_ms >= ?2 AND ", kWithKey);
}

unsigned conditions_of(const OrderFilter& filter) {
  if (!filter.user && filter.voucher) {
    if (filter.status == OrderStatus::kUnpaid) return kUnpaidOfVoucher;
    if (filter.status == OrderStatus::kRefunding) return kRefundingOfVoucher;
  }
  return (filter.user ? kByUser : 0) | (filter.voucher ? kByVoucher : 0) |
         (filter.status ? kByStatus : 0);
}

}  // namespace

// The numbers of the live states are those up to the last one.
std::string live_rows() {
  constexpr auto kFirstEnded =
      std::ranges::find_if_not(kOrderStatuses, [](OrderStatus status) { return is_live(status); });
  static_assert(std::none_of(kFirstEnded, kOrderStatuses.end(),
                             [](OrderStatus status) { return is_live(status); }));
  return concat("status <= ", number_of(*std::prev(kFirstEnded)));
}

Order to_order(const Query& row) {
  return {.id = row.integer(0),
          .user = row.user(1),
          .voucher = row.integer(2),
          .status = static_cast<OrderStatus>(row.integer(3)),
          .limit = row.integer(4),
          .admitted_at_ms = row.integer(5),
          .entry = {to_unsigned(row.integer(6)), to_unsigned(row.integer(7))},
          .created_at_ms = row.integer(8),
          .version = row.integer(9),
          .price_cents = row.integer(10),
          .quantity = row.integer(11),
          .due_at_ms = row.integer(12),
          .reference = row.text(13),
          .idempotency_key = row.text(15),
          .key_expires_at_ms = row.integer(16),
          .keeps_stock = (row.integer(14) & kKeepsStock) != 0,
          .keeps_allowance = (row.integer(14) & kKeepsAllowance) != 0};
}

OrderReader::OrderReader(const SQLite::Database& database)
    : database_(database),
      find_(database, concat(kSelectOrders, " WHERE id = ?1")),
      greatest_id_(database,
                   "SELECT max(coalesce((SELECT max(id) FROM orders WHERE id < ?1), 0), "
                   "coalesce((SELECT max(id) FROM archived_orders WHERE id < ?1), 0))"),
      count_live_(database, "SELECT live FROM live_orders WHERE voucher_id = ?1"),
      voucher_after_(database,
                     "SELECT voucher_id FROM orders INDEXED BY orders_by_voucher "
                     "WHERE voucher_id > ?1 ORDER BY voucher_id LIMIT 1"),
      list_with_key_(database,
                     concat(orders_by_key_end("orders", "orders_by_key_end"), " UNION ALL ",
                            orders_by_key_end("archived_orders", "archived_orders_by_key_end"),
                            " ORDER BY key_expires_at_ms, id LIMIT ?3")) {}

std::optional<Order> OrderReader::find(OrderId id) { return find_order(find_, id); }

std::vector<Order> OrderReader::list(const OrderFilter& filter) {
  const unsigned by = conditions_of(filter);
  std::unique_ptr<SQLite::Statement>& statement = lists_[by];
  if (!statement) statement = std::make_unique<SQLite::Statement>(database_, list_orders_sql(by));

  const std::int64_t status = number_of(filter.status.value_or(OrderStatus{}));
  Query query(*statement, filter.after, to_limit(filter.count_max), filter.user.value_or(UserId()),
              filter.voucher.value_or(0), status);
  std::vector<Order> orders;
  while (query.next()) orders.push_back(to_order(query));
  return orders;
}

FoundOrders OrderReader::search(const OrderSearch& search) {
  const unsigned by = conditions_of(search);
  SearchStatements& statements = searches_[by];
  if (!statements.search) {
    statements.search = std::make_unique<SQLite::Statement>(database_, search_sql(by));
    statements.extent = std::make_unique<SQLite::Statement>(database_, extent_sql(by));
  }
  const auto bind = [&](SQLite::Statement& statement) {
    return Query(statement, search.before, to_limit(search.count_max),
                 to_limit(search.looked_at_max), search.user.value_or(UserId()),
                 search.voucher.value_or(0), number_of(search.status.value_or(OrderStatus{})),
                 search.reference.value_or(""));
  };
  FoundOrders found;
  {
    Query query = bind(*statements.search);
    while (query.next()) found.orders.push_back(to_order(query));
  }
  if (found.orders.size() >= search.count_max) {
    found.next = found.orders.back().id;
    return found;
  }
  Query extent = bind(*statements.extent);
  extent.next();
  if (extent.integer(0) == to_limit(search.looked_at_max)) found.next = extent.integer(1);
  return found;
}

OrderId OrderReader::greatest_id(OrderId below) {
  Query query(greatest_id_, below);
  query.next();
  return query.integer(0);
}

std::int64_t OrderReader::count_live(VoucherId voucher) {
  Query query(count_live_, voucher);
  return query.next() ? query.integer(0) : 0;
}

// SELECT DISTINCT would read every order.
std::vector<VoucherId> OrderReader::vouchers_with_orders() {
  std::vector<VoucherId> vouchers;
  VoucherId last = std::numeric_limits<VoucherId>::min();  // no voucher: ids are positive
  while (true) {
    Query query(voucher_after_, last);
    if (!query.next()) return vouchers;
    last = query.integer(0);
    vouchers.push_back(last);
  }
}

void bind_order(Query& query, const Order& order) {
  query.bind_all(order.id, order.user, order.voucher, number_of(order.status), order.limit,
                 order.admitted_at_ms, to_signed(order.entry.ms), to_signed(order.entry.seq),
                 order.created_at_ms, order.version, order.price_cents, order.quantity,
                 order.due_at_ms, order.reference, keeps_of(order), order.idempotency_key,
                 order.key_expires_at_ms);
}

// One pass over the table. GROUP BY would sort it.
OrderCounts count_by_status(SQLite::Database& database, std::optional<VoucherId> voucher) {
  std::string sql = "SELECT ";
  for (const OrderStatus status : kOrderStatuses) {
    sql += concat(status == kOrderStatuses.front() ? "" : ", ",
                  "count(*) FILTER (WHERE status = ", static_cast<int>(status), ")");
  }
  sql +=
      voucher ? " FROM orders INDEXED BY orders_by_voucher WHERE voucher_id = ?1" : " FROM orders";
  SQLite::Statement statement(database, sql);
  if (voucher) statement.bind(1, *voucher);
  statement.executeStep();
  OrderCounts counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = statement.getColumn(static_cast<int>(i)).getInt64();
  }
  return counts;
}

std::vector<Order> OrderReader::list_with_key(const KeyPosition& after, std::size_t count_max) {
  Query query(list_with_key_, after.expires_at_ms, after.id, to_limit(count_max));
  std::vector<Order> orders;
  while (query.next()) orders.push_back(to_order(query));
  return orders;
}

OrderWriter::OrderWriter(const SQLite::Database& database)
    : read_remaining_(
          database,
          "SELECT coalesce((SELECT live FROM live_orders WHERE voucher_id = ?1), 0), "
          "(SELECT max(stock) FROM voucher_versions WHERE voucher_id = ?1 AND (state = 0 OR "
          "version "
          "= (SELECT max(version) FROM voucher_versions WHERE voucher_id = ?1 AND state = 1)))"),
      write_taken_(database,
                   "INSERT INTO live_orders VALUES (?1, ?2) "
                   "ON CONFLICT DO UPDATE SET live = excluded.live"),
      insert_(database, concat(insert_row("orders", kOrderColumns), " ON CONFLICT DO NOTHING")),
      change_(database, "UPDATE orders SET status = ?2, keeps = ?3 WHERE id = ?1"),
      find_(database, concat(kSelectOrders, " WHERE id = ?1")),
      find_archived_(database,
                     concat("SELECT ", kOrderColumns, " FROM archived_orders WHERE id = ?1")),
      find_any_other_(database, concat("SELECT 1 FROM orders INDEXED BY orders_other WHERE ",
                                       kOther, " LIMIT 1")),
      find_other_(database, concat("SELECT 1 FROM orders INDEXED BY orders_other WHERE "
                                   "user_id = ?1 AND voucher_id = ?2 AND ",
                                   kLive, " AND ", kOther, " LIMIT 1")),
      count_pieces_(
          database,
          concat("SELECT (SELECT coalesce(sum(quantity), 0) FROM orders INDEXED BY orders_other "
                 "WHERE user_id = ?1 AND voucher_id = ?2 AND ",
                 kLive, " AND ", kOther,
                 ") + EXISTS (SELECT 1 FROM orders INDEXED BY orders_once "
                 "WHERE user_id = ?1 AND voucher_id = ?2 AND ",
                 kOnce, ")")),
      list_of_user_(database, concat(kSelectOrders,
                                     " INDEXED BY orders_other WHERE user_id = ?1 AND "
                                     "voucher_id = ?2 AND ",
                                     kLive, " AND ", kOther, " UNION ALL ", kSelectOrders,
                                     " INDEXED BY orders_once WHERE user_id = ?1 AND "
                                     "voucher_id = ?2 AND ",
                                     kOnce)),
      list_of_key_(database, concat(orders_of_key("orders", "orders_by_key"), " UNION ALL ",
                                    orders_of_key("archived_orders", "archived_orders_by_key"))),
      count_refunding_(database,
                       "SELECT coalesce(sum(quantity), 0) FROM orders INDEXED BY orders_refunding "
                       "WHERE voucher_id = ?1 AND status = 5") {}

std::vector<OrderResult> OrderWriter::store_all(std::span<const Order> orders,
                                                const BatchFence& fence) {
  begin_batch();
  std::vector<OrderResult> results;
  results.reserve(orders.size());
  for (const Order& order : orders) results.push_back(store(order, fence));
  end_batch();
  return results;
}

void OrderWriter::begin_batch() {
  has_other_orders_ = Query(find_any_other_).next();
  rooms_.clear();
  live_of_user_.clear();
}

bool OrderWriter::has_room(const Order& order, const Remaining& remaining) {
  if (!is_live(order)) return true;
  return remaining.stock && remaining.taken <= *remaining.stock - order.quantity;
}

OrderResult OrderWriter::store(const Order& order, const BatchFence& fence) {
  Remaining& remaining = remaining_of(order.voucher, fence);
  const bool is_sound = order.id > 0 && order.limit >= 0 && order.quantity > 0;
  // The usual case comes first; obstacles are examined later.
  if (!is_sound || !has_room(order, remaining) || exceeds_limit(order) ||
      find_same_key(order).has_value() || !insert(order)) {
    OrderRivals rivals = rivals_of(order, remaining);
    OrderResult result = check_order(order, rivals);
    // Only now it matters how many pieces of the voucher are being refunded.
    if (result.lacks_pieces) {
      rivals.refunding_of_voucher = count_refunding(order.voucher);
      result = check_order(order, rivals);
    }
    if (result.kind != OrderResult::Kind::kStored) return result;
    // The orders above its limit were admitted later, under a higher one.
    if (!insert(order)) {
      // The index may have live orders alone. Then a cancellation makes room in it.
      return {.kind = OrderResult::Kind::kRefused,
              .reason = "a unique index forbids it",
              .lacks_pieces = true};
    }
  }
  assert(!is_live(order) || remaining.stock);  // no order of a voucher that was never published
  remaining.add(pieces_taken(order));
  return {};
}

std::optional<Order> OrderWriter::find(OrderId id) { return find_order(find_, id); }

void OrderWriter::change(const Order& before, const Order& after, const BatchFence& fence) {
  assert(before.id == after.id && before.voucher == after.voucher &&
         before.quantity == after.quantity);
  Query(change_, after.id, number_of(after.status), keeps_of(after)).next();
  remaining_of(after.voucher, fence).add(pieces_taken(after) - pieces_taken(before));
  add_live(before, -1);
  add_live(after, 1);
}

OrderWriter::Remaining& OrderWriter::remaining_of(VoucherId voucher, const BatchFence& fence) {
  const auto [found, is_new] = rooms_.try_emplace(voucher);
  if (is_new) {
    Query query(read_remaining_, voucher);
    query.next();
    found->second.taken = query.integer(0);
    if (fence.stock) {
      found->second.stock = fence.stock_of(voucher);
    } else if (!query.is_null(1)) {
      found->second.stock = query.integer(1);
    }
  }
  return found->second;
}

void OrderWriter::end_batch() {
  for (const auto& [voucher, remaining] : rooms_) {
    if (remaining.has_changed) Query(write_taken_, voucher, remaining.taken).next();
  }
}

// With limit 1, the unique index checks the other orders under limit 1, which saves a search. If no
// sale had another limit, no search is needed.
bool OrderWriter::exceeds_limit(const Order& order) {
  if (!is_limited(order)) return false;
  if (order.quantity > order.limit) return true;
  if (order.limit == 1 && !has_other_orders_) return false;
  if (order.limit == 1) return Query(find_other_, order.user, order.voucher).next();
  return may_exceed_limit(order, live_of_user(order));
}

/// Counts them once in a batch: one user may have bought all of it.
std::int64_t OrderWriter::live_of_user(const Order& order) {
  const auto [found, is_new] = live_of_user_.try_emplace({order.user, order.voucher});
  if (is_new) {
    Query query(count_pieces_, order.user, order.voucher);
    query.next();
    found->second = query.integer(0);
  }
  return found->second;
}

void OrderWriter::add_live(const Order& order, std::int64_t sign) {
  if (!is_live(order) || live_of_user_.empty()) return;
  const auto counted = live_of_user_.find(std::pair(order.user, order.voucher));
  if (counted != live_of_user_.end()) counted->second += sign * order.quantity;
}

bool OrderWriter::insert(const Order& order) {
  Query query(insert_);
  bind_order(query, order);
  query.next();
  if (insert_.getChanges() == 0) return false;
  has_other_orders_ = has_other_orders_ || (is_live(order) && order.limit != 1);
  add_live(order, 1);
  return true;
}

// Not unique: a key may be used again after it has expired.
std::optional<Order> OrderWriter::find_same_key(const Order& order) {
  if (order.idempotency_key.empty()) return std::nullopt;
  Query of_key(list_of_key_, order.idempotency_key, order.admitted_at_ms);
  while (of_key.next()) {
    Order other = to_order(of_key);
    if (shares_key(other, order)) return other;
  }
  return std::nullopt;
}

OrderRivals OrderWriter::rivals_of(const Order& order, const Remaining& remaining) {
  std::optional<Order> same_id = find(order.id);
  if (!same_id) same_id = find_order(find_archived_, order.id);
  if (same_id) return {.same_id = std::move(same_id)};
  OrderRivals rivals{.taken_of_voucher = remaining.taken,
                     .stock = remaining.stock,
                     .same_key = find_same_key(order)};
  if (!is_limited(order)) return rivals;
  Query of_user(list_of_user_, order.user, order.voucher);
  while (of_user.next()) {
    rivals.add_of_user(to_order(of_user), order);
  }
  return rivals;
}

std::int64_t OrderWriter::count_refunding(VoucherId voucher) {
  Query refunding(count_refunding_, voucher);
  refunding.next();
  return refunding.integer(0);
}

}  // namespace rushgate
