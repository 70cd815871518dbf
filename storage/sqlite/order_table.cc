#include "storage/sqlite/order_table.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "storage/sqlite/query.h"

namespace rushgate {
namespace {

// ---- Rows -------------------------------------------------------------------------------------

constexpr char kSelect[] =
    "SELECT id, user_id, voucher_id, status, user_limit, admitted_at_ms, entry_ms, entry_seq, "
    "created_at_ms FROM orders";

// The conditions of the partial indices, exactly as in the schema: SQLite uses an index only if a
// query repeats its condition. (With INDEXED BY, a difference is an error.)
constexpr char kOnce[] = "status = 1 AND user_limit = 1";
constexpr char kOther[] = "NOT (status = 1 AND user_limit = 1)";

constexpr char kLive[] = "status = 1";
bool is_under_limit_1(const Order& order) { return is_live(order) && order.limit == 1; }

// SQLite's integers are signed: parts of stream ids above 2^63 become negative ones.
std::int64_t to_signed(std::uint64_t value) { return std::bit_cast<std::int64_t>(value); }
std::uint64_t to_unsigned(std::int64_t value) { return std::bit_cast<std::uint64_t>(value); }

Order read_order(const Query& row) {
  return {.id = row.integer(0),
          .user = row.integer(1),
          .voucher = row.integer(2),
          .status = static_cast<OrderStatus>(row.integer(3)),
          .limit = row.integer(4),
          .admitted_at_ms = row.integer(5),
          .entry = {to_unsigned(row.integer(6)), to_unsigned(row.integer(7))},
          .created_at_ms = row.integer(8)};
}

std::optional<Order> find_order(SQLite::Statement& find, OrderId id) {
  Query query(find, id);
  if (!query.next()) return std::nullopt;
  return read_order(query);
}

// ---- Lists ------------------------------------------------------------------------------------

// The conditions of a list, as bits.
constexpr unsigned kByUser = 1;
constexpr unsigned kByVoucher = 2;
constexpr unsigned kByStatus = 4;

// Parameters: ?1 after, ?2 count, ?3 user, ?4 voucher, ?5 status. A missing condition is replaced
// by one that always holds, so all lists are bound alike.
std::string list_sql(unsigned by) {
  std::string conditions = "id > ?1";
  absl::StrAppend(&conditions, (by & kByUser) ? " AND user_id = ?3" : " AND ?3 IS NOT NULL");
  absl::StrAppend(&conditions, (by & kByVoucher) ? " AND voucher_id = ?4" : " AND ?4 IS NOT NULL");
  absl::StrAppend(&conditions, (by & kByStatus) ? " AND status = ?5" : " AND ?5 IS NOT NULL");
  const std::string end = " ORDER BY id LIMIT ?2";
  if (by & kByUser) {  // in both indices
    return absl::StrCat(kSelect, " INDEXED BY orders_once WHERE ", conditions, " AND ", kOnce,
                        " UNION ALL ", kSelect, " INDEXED BY orders_other WHERE ", conditions,
                        " AND ", kOther, end);
  }
  const char* const index = (by & kByVoucher) ? " INDEXED BY orders_by_voucher" : " NOT INDEXED";
  return absl::StrCat(kSelect, index, " WHERE ", conditions, end);
}

unsigned conditions_of(const OrderFilter& filter) {
  return (filter.user ? kByUser : 0) | (filter.voucher ? kByVoucher : 0) |
         (filter.status ? kByStatus : 0);
}

}  // namespace

OrderReader::OrderReader(const SQLite::Database& database)
    : database_(database),
      find_(database, absl::StrCat(kSelect, " WHERE id = ?1")),
      greatest_id_(database, "SELECT coalesce(max(id), 0) FROM orders WHERE id < ?1"),
      count_live_(database, "SELECT live FROM live_orders WHERE voucher_id = ?1"),
      voucher_after_(database,
                     "SELECT voucher_id FROM orders INDEXED BY orders_by_voucher "
                     "WHERE voucher_id > ?1 ORDER BY voucher_id LIMIT 1") {}

std::optional<Order> OrderReader::find(OrderId id) { return find_order(find_, id); }

std::vector<Order> OrderReader::list(const OrderFilter& filter) {
  const unsigned by = conditions_of(filter);
  std::unique_ptr<SQLite::Statement>& statement = lists_[by];
  if (!statement) statement = std::make_unique<SQLite::Statement>(database_, list_sql(by));

  constexpr std::size_t kCountMax = std::numeric_limits<std::int64_t>::max();
  const auto count = static_cast<std::int64_t>(std::min(filter.count_max, kCountMax));
  const auto status = static_cast<std::int64_t>(filter.status.value_or(OrderStatus{}));
  Query query(*statement, filter.after, count, filter.user.value_or(0), filter.voucher.value_or(0),
              status);
  std::vector<Order> orders;
  while (query.next()) orders.push_back(read_order(query));
  return orders;
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

OrderWriter::OrderWriter(const SQLite::Database& database)
    : read_remaining_(
          database,
          "SELECT coalesce((SELECT live FROM live_orders WHERE voucher_id = ?1), 0), "
          "(SELECT max(stock) FROM voucher_versions WHERE voucher_id = ?1 AND (state = 0 OR "
          "version "
          "= (SELECT max(version) FROM voucher_versions WHERE voucher_id = ?1 AND state = 1)))"),
      write_live_(database,
                  "INSERT INTO live_orders VALUES (?1, ?2) "
                  "ON CONFLICT DO UPDATE SET live = excluded.live"),
      insert_(database,
              "INSERT INTO orders (id, user_id, voucher_id, status, user_limit, admitted_at_ms, "
              "entry_ms, entry_seq, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
              "ON CONFLICT DO NOTHING"),
      find_(database, absl::StrCat(kSelect, " WHERE id = ?1")),
      find_any_other_(database, absl::StrCat("SELECT 1 FROM orders INDEXED BY orders_other WHERE ",
                                             kOther, " LIMIT 1")),
      find_other_(database, absl::StrCat("SELECT 1 FROM orders INDEXED BY orders_other WHERE "
                                         "user_id = ?1 AND voucher_id = ?2 AND ",
                                         kLive, " AND ", kOther, " LIMIT 1")),
      count_live_(
          database,
          absl::StrCat("SELECT (SELECT count(*) FROM (SELECT 1 FROM orders INDEXED BY orders_other "
                       "WHERE user_id = ?1 AND voucher_id = ?2 AND ",
                       kLive, " AND ", kOther,
                       " LIMIT ?3)) + EXISTS (SELECT 1 FROM orders INDEXED BY orders_once "
                       "WHERE user_id = ?1 AND voucher_id = ?2 AND ",
                       kOnce, ")")) {}

std::vector<OrderResult> OrderWriter::store_all(std::span<const Order> orders,
                                                const BatchFence& fence) {
  has_other_orders_ = Query(find_any_other_).next();
  std::vector<OrderResult> results;
  results.reserve(orders.size());
  rooms_.clear();
  for (const Order& order : orders) results.push_back(store(order, fence));
  write_remaining();
  return results;
}

OrderResult OrderWriter::store(const Order& order, const BatchFence& fence) {
  Remaining& remaining = remaining_of(order.voucher, fence);
  const bool is_sound = order.id > 0 && order.limit >= 0;
  const bool is_counted = is_live(order);
  const bool has_room = !is_counted || (remaining.stock && remaining.live < *remaining.stock);
  // The usual case comes first; obstacles are examined later.
  if (!is_sound || !has_room || has_reached_limit(order) || !insert(order)) {
    return explain(order, remaining);
  }
  if (is_counted) {
    ++remaining.live;
    remaining.changed = true;
  }
  return {};
}

OrderWriter::Remaining& OrderWriter::remaining_of(VoucherId voucher, const BatchFence& fence) {
  const auto [found, is_new] = rooms_.try_emplace(voucher);
  if (is_new) {
    Query query(read_remaining_, voucher);
    query.next();
    found->second.live = query.integer(0);
    if (fence.stock) {
      found->second.stock = fence.stock_of(voucher);
    } else if (!query.is_null(1)) {
      found->second.stock = query.integer(1);
    }
  }
  return found->second;
}

void OrderWriter::write_remaining() {
  for (const auto& [voucher, remaining] : rooms_) {
    if (remaining.changed) Query(write_live_, voucher, remaining.live).next();
  }
}

// With limit 1, the unique index checks the other orders under limit 1, which saves a search. If no
// sale had another limit, no search is needed.
bool OrderWriter::has_reached_limit(const Order& order) {
  if (!is_live(order) || order.limit == 0) return false;
  if (order.limit == 1 && !has_other_orders_) return false;
  if (order.limit == 1) return Query(find_other_, order.user, order.voucher).next();
  Query query(count_live_, order.user, order.voucher, order.limit);
  query.next();
  return query.integer(0) >= order.limit;
}

bool OrderWriter::insert(const Order& order) {
  Query query(insert_, order.id, order.user, order.voucher, static_cast<std::int64_t>(order.status),
              order.limit, order.admitted_at_ms, to_signed(order.entry.ms),
              to_signed(order.entry.seq), order.created_at_ms);
  query.next();
  if (insert_.getChanges() == 0) return false;
  has_other_orders_ = has_other_orders_ || !is_under_limit_1(order);
  return true;
}

/// Returns why an order was not inserted: with space left and no other order under its id, its user
/// has reached the limit.
OrderResult OrderWriter::explain(const Order& order, const Remaining& remaining) {
  return check_order(order, {.same_id = find_order(find_, order.id),
                             .live_of_user = order.limit,
                             .live_of_voucher = remaining.live,
                             .stock = remaining.stock});
}

}  // namespace rushgate
