#include "tests/bench/order_database.h"

#include <bit>
#include <utility>

#include <SQLiteCpp/Transaction.h>

#include "storage/sqlite/sqlite_connection.h"
#include "tests/bench/shop.h"

namespace rushgate::bench {
namespace {

SQLite::Database open_database(const std::filesystem::path& file) {
  auto database = open_writer(file.string(), {});
  if (!database.ok()) fail(database.status().ToString());
  return *std::move(database);
}

}  // namespace

std::unique_ptr<OrderStore> open_orders_in(const std::filesystem::path& dir) {
  auto store = SqliteOrderStore::open(dir / "orders.db");
  if (!store.ok()) fail(store.status().ToString());
  return *std::move(store);
}

std::vector<Order> read_orders(OrderStore& store) {
  std::vector<Order> orders;
  const absl::Status read =
      for_each_order(store, {}, [&](const Order& order) { orders.push_back(order); });
  if (!read.ok()) fail(read.ToString());
  return orders;
}

BareOrders::BareOrders(const std::filesystem::path& file)
    : database_(open_database(file)),
      insert_(database_,
              "INSERT INTO orders (id, user_id, voucher_id, status, user_limit, admitted_at_ms, "
              "entry_ms, entry_seq, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) "
              "ON CONFLICT DO NOTHING") {}

void BareOrders::insert(std::span<const Order> orders) {
  SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
  for (const Order& order : orders) {
    const std::int64_t values[] = {order.id,
                                   order.user.number(),
                                   order.voucher,
                                   static_cast<std::int64_t>(order.status),
                                   order.limit,
                                   order.admitted_at_ms,
                                   std::bit_cast<std::int64_t>(order.entry.ms),
                                   std::bit_cast<std::int64_t>(order.entry.seq),
                                   order.created_at_ms};
    int index = 0;
    for (const std::int64_t value : values) insert_.bind(++index, value);
    insert_.exec();
    insert_.reset();
  }
  transaction.commit();
}

}  // namespace rushgate::bench
