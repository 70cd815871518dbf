// The orders of one worker and of two, of one lane and of two, in a database on a server, compared with the same rows in a bare INSERT, and
// with one transaction of three statements for each order, as most systems of this kind have it. All settings are
// those of durable commits. docs/performance.md has the figures.
//
//     database_rates [orders]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "storage/mysql/mysql_database.h"
#include "storage/postgresql/postgresql_database.h"
#include "storage/sql/rows.h"
#include "storage/sql/schema.h"
#include "storage/sql/sql_order_store.h"
#include "tests/bench/stopwatch.h"
#include "tests/support/database_server/mariadb_server.h"
#include "tests/support/database_server/postgresql_server.h"

namespace rushgate::bench {
namespace {

using OpenDatabase = std::function<absl::StatusOr<sql::DatabaseAt>(const std::string& url)>;

constexpr std::int64_t kBatch = 1'000;  // a worker at a rush has up to 10,000

void check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

template <class T>
T checked(absl::StatusOr<T> result) {
  check(result.status());
  return *std::move(result);
}

/// Returns orders of random users, with ascending ids.
std::vector<Order> make_orders(std::int64_t first, std::int64_t count, VoucherId voucher = 1) {
  std::vector<Order> orders;
  orders.reserve(static_cast<std::size_t>(count));
  for (std::int64_t id = first; id < first + count; ++id) {
    const auto scattered = static_cast<std::uint64_t>(id) * 0x9E3779B97F4A7C15U;
    orders.push_back({.id = id,
                      .user = static_cast<std::int64_t>(scattered >> 1),
                      .voucher = voucher,
                      .admitted_at_ms = 1'700'000'000'000 + id,
                      .entry = {1'700'000'000'000 + static_cast<std::uint64_t>(id), 0},
                      .created_at_ms = 1'700'000'000'500 + id,
                      .version = 1,
                      .price_cents = 990});
  }
  return orders;
}

/// Calls write(batch) for each batch.
template <class Write>
void in_batches(const std::vector<Order>& orders, Write write) {
  for (std::size_t at = 0; at < orders.size(); at += kBatch) {
    write(std::span(orders).subspan(at, std::min<std::size_t>(kBatch, orders.size() - at)));
  }
}

std::unique_ptr<sql::SqlOrderStore> open_store(const OpenDatabase& open, const std::string& url) {
  return checked(sql::SqlOrderStore::open(checked(open(url)), {}, nullptr));
}

/// Where the workers of a measurement write.
enum class Lanes : std::uint8_t { kShared, kOneEach };

/// Returns orders per second that `workers` write at once.
double rate_of_store(const OpenDatabase& open, const std::string& url, std::int64_t count,
                     int workers, Lanes lanes = Lanes::kShared) {
  const auto setup = open_store(open, url);
  struct Work {
    int lane = 0;
    std::vector<Order> orders;
  };
  std::vector<Work> work;
  for (int worker = 0; worker < workers; ++worker) {
    const int lane = lanes == Lanes::kOneEach ? worker : 0;
    const VoucherId voucher = 1 + lane;
    check(setup->lanes()->add_lanes(lane + 1));
    checked(setup->lanes()->put_on_lane(voucher, lane));
    static_cast<void>(
        setup->record_pending({.voucher = {.id = voucher, .stock = 10 * count}, .version = 1}));
    work.push_back({lane, make_orders(counters_of_lane(lane).first + 1 + worker * count,
                                      count / workers, voucher)});
  }
  const Stopwatch watch;
  std::vector<std::thread> threads;
  for (const Work& own : work) {
    threads.emplace_back([&] {
      const auto store = open_store(open, url);
      const DatabaseState state = checked(store->lanes()->state_of(own.lane));
      const BatchFence fence{.epoch = state.epoch, .session = state.session, .lane = own.lane};
      in_batches(own.orders, [&](std::span<const Order> batch) {
        std::vector<OrderEvent> events(batch.size());
        for (std::size_t i = 0; i < batch.size(); ++i) events[i].order = batch[i];
        for (const OrderResult& result : checked(store->apply(events, fence))) {
          if (result.kind != OrderResult::Kind::kStored) std::exit(1);
        }
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(count) / watch.seconds();
}

/// Returns rows per second of INSERTs of whole batches into the same tables.
double bare_rate(const OpenDatabase& open, const std::string& url, std::int64_t count) {
  auto at = checked(open(url));
  checked(sql::migrate(*at.database, {}));
  const auto connection = checked(at.database->connect());
  const std::vector<Order> orders = make_orders(1, count);
  const std::string text = "INSERT INTO orders (" + sql::order_columns() + ") %1";
  const Stopwatch watch;
  in_batches(orders, [&](std::span<const Order> batch) {
    std::vector<const Order*> rows;
    for (const Order& order : batch) rows.push_back(&order);
    const sql::Statement insert{text, {}, {sql::to_table(rows)}};
    checked(connection->run(std::span(&insert, 1), sql::Part::kWhole));
  });
  return static_cast<double>(count) / watch.seconds();
}

/// Returns orders per second, each in a transaction of its own: has the user bought already, is there stock,
/// and the insertion.
double rate_of_single_orders(const OpenDatabase& open, const std::string& url, std::int64_t count) {
  auto at = checked(open(url));
  checked(sql::migrate(*at.database, {}));
  const auto connection = checked(at.database->connect());
  const auto run = [&](const sql::Statement& statement, sql::Part part) {
    checked(connection->run(std::span(&statement, 1), part));
  };
  run({"INSERT INTO live_orders (voucher_id, live) VALUES (1, ?1)", {10 * count}},
      sql::Part::kWhole);
  const std::string text = "INSERT INTO orders (" + sql::order_columns() + ") %1";
  const std::vector<Order> orders = make_orders(1, count);
  const Stopwatch watch;
  for (const Order& order : orders) {
    run({"SELECT count(*) FROM orders WHERE user_id = ?1 AND voucher_id = 1",
         {order.user.number()}},
        sql::Part::kFirst);
    run({"UPDATE live_orders SET live = live - 1 WHERE voucher_id = 1 AND live > 0"},
        sql::Part::kNext);
    const Order* const row = &order;
    run({text, {}, {sql::to_table(std::span(&row, 1))}}, sql::Part::kLast);
  }
  return static_cast<double>(count) / watch.seconds();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Server>
void measure(const char* name, Server& server, const OpenDatabase& open, std::int64_t count) {
  constexpr int kRounds = 3;
  std::vector<double> one;
  std::vector<double> two;
  std::vector<double> two_lanes;
  std::vector<double> bare;
  std::vector<double> single;
  for (int round = 0; round < kRounds; ++round) {
    bare.push_back(bare_rate(open, server.make_schema(), count));
    one.push_back(rate_of_store(open, server.make_schema(), count, 1));
    two.push_back(rate_of_store(open, server.make_schema(), count, 2));
    two_lanes.push_back(rate_of_store(open, server.make_schema(), count, 2, Lanes::kOneEach));
    single.push_back(rate_of_single_orders(open, server.make_schema(), count / 100));
  }
  std::printf("| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f | %.0f |\n", name,
              median(one), median(two), median(two_lanes), median(bare), median(single),
              median(one) / median(bare), median(two) / median(one),
              median(two_lanes) / median(one), median(one) / median(single));
}

}  // namespace

void run(std::int64_t count) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::puts(
      "| database | one worker | two workers | two on two lanes | bare INSERT | one at a time | "
      "one : bare | two : one | two on two lanes : one | one : one at a time |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
  {
    testing::PostgresqlServer server(
        {.is_durable = true, .where = TemporaryDirectory::Where::kOnDisk});
    measure("PostgreSQL", server, postgresql_database, count);
  }
  testing::MariadbServer server({.is_durable = true, .where = TemporaryDirectory::Where::kOnDisk});
  measure("MariaDB", server, mysql_database, count);
}

}  // namespace rushgate::bench

int main(int argc, char** argv) { rushgate::bench::run(argc > 1 ? std::atoll(argv[1]) : 100'000); }
