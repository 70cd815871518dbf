// The line "databases": the orders of one worker and of two, of one lane and of two, in a database on a server. They
// are compared with the same rows in a bare INSERT, and with one transaction of three statements for each order, as
// most systems of this kind have it. All settings are those of durable commits.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "storage/mysql/mysql_database.h"
#include "storage/postgresql/postgresql_database.h"
#include "storage/sql/rows.h"
#include "storage/sql/schema.h"
#include "storage/sql/sql_order_store.h"
#include "tests/bench/lines.h"
#include "tests/bench/report.h"
#include "tests/bench/stopwatch.h"
#include "tests/support/database_server/mariadb_server.h"
#include "tests/support/database_server/postgresql_server.h"
#include <rushgate/order_rules.h>

namespace rushgate::bench {
namespace {

using OpenDatabase = std::function<absl::StatusOr<sql::DatabaseAt>(const std::string& url)>;

constexpr std::size_t kBatch = 1'000;
constexpr std::size_t kLargeBatch = 10'000;  // the default of a worker at a rush
constexpr std::int64_t kOrdersMin = 2'000;

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
void in_batches(const std::vector<Order>& orders, std::size_t batch, Write write) {
  for (std::size_t at = 0; at < orders.size(); at += batch) {
    write(std::span(orders).subspan(at, std::min(batch, orders.size() - at)));
  }
}

std::unique_ptr<sql::SqlOrderStore> open_store(const OpenDatabase& open, const std::string& url) {
  return checked(sql::SqlOrderStore::open(checked(open(url)), {}, nullptr));
}

/// Where the workers of a measurement write.
enum class Lanes : std::uint8_t { kShared, kOneEach };

/// Returns orders per second that `workers` write at once.
double rate_of_store(const OpenDatabase& open, const std::string& url, std::int64_t count,
                     std::size_t batch_size, int workers, Lanes lanes = Lanes::kShared) {
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
      in_batches(own.orders, batch_size, [&](std::span<const Order> batch) {
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
double bare_rate(const OpenDatabase& open, const std::string& url, std::int64_t count,
                 std::size_t batch_size) {
  auto at = checked(open(url));
  checked(sql::migrate(*at.database, {}));
  const auto connection = checked(at.database->connect());
  const std::vector<Order> orders = make_orders(1, count);
  const std::string text = "INSERT INTO orders (" + sql::order_columns() + ") %1";
  const Stopwatch watch;
  in_batches(orders, batch_size, [&](std::span<const Order> batch) {
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

std::string line_of(const std::string& database, const char* what) {
  return fmt::format("{}, {}", database, what);
}

template <class Server>
void measure(const std::string& database, const Effort& effort, const OpenDatabase& open,
             Report& report) {
  Server server({.is_durable = true, .where = TemporaryDirectory::Where::kOnDisk});
  const std::int64_t count = std::max(kOrdersMin, effort.requests / 5);
  const std::string ours =
      "SqlOrderStore, batches of 1,000 orders of random users, durable commits";
  const std::string one_worker = "one worker of a sale without lanes";
  const auto comparison = [&](const char* what, const std::string& ours_is,
                              const std::string& peer_is, std::optional<double> target) {
    return Comparison{.line = line_of(database, what),
                      .unit = "orders/s",
                      .ours_is = ours_is,
                      .peer_is = peer_is,
                      .target = target};
  };
  Comparison bare = comparison(
      "one worker", ours, "the same rows by one INSERT for each batch, which checks nothing", 0.7);
  Comparison large =
      comparison("one worker, batches of 10,000", "SqlOrderStore", bare.peer_is, 0.7);
  Comparison single = comparison("one worker, and one order at a time", ours,
                                 "a transaction of three statements for each order", 100);
  Comparison two = comparison("two workers of one lane", "two workers", one_worker, std::nullopt);
  Comparison lanes =
      comparison("two workers of two lanes", "a worker for each lane", one_worker, 1.3);
  for (int round = 0; round < effort.rounds; ++round) {
    bare.peer.add(bare_rate(open, server.make_schema(), count, kBatch));
    const double one = rate_of_store(open, server.make_schema(), count, kBatch, 1);
    for (Samples* const samples : {&bare.ours, &single.ours, &two.peer, &lanes.peer}) {
      samples->add(one);
    }
    large.peer.add(bare_rate(open, server.make_schema(), count, kLargeBatch));
    large.ours.add(rate_of_store(open, server.make_schema(), count, kLargeBatch, 1));
    two.ours.add(rate_of_store(open, server.make_schema(), count, kBatch, 2));
    lanes.ours.add(rate_of_store(open, server.make_schema(), count, kBatch, 2, Lanes::kOneEach));
    single.peer.add(rate_of_single_orders(open, server.make_schema(), count / 100));
  }
  for (Comparison* const each : {&bare, &large, &single, &two, &lanes})
    report.add(std::move(*each));
}

}  // namespace

void measure_databases(const Effort& effort, Report& report) {
  measure<testing::PostgresqlServer>("PostgreSQL", effort, postgresql_database, report);
  measure<testing::MariadbServer>("MariaDB", effort, mysql_database, report);
}

}  // namespace rushgate::bench
