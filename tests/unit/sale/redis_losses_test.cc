// A sale on a redis-server that ends, stalls, refuses, or loses acknowledged writes. In each case
// no voucher is oversold, and each order that the server still has becomes a row.
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/base/time_units.h"
#include "tests/support/hooked_backend.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/clock.h>
#include <rushgate/order_worker.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sale.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

using rushgate::testing::RawConnection;
using rushgate::testing::RedisServer;
using rushgate::testing::RedisServerOptions;

constexpr std::int64_t kLossStock = 100;

/// The contents of one process: a client, the sale and a worker.
class SaleOnRedis {
 public:
  /// Connects with the options `how`, but with the address of `server`.
  SaleOnRedis(const RedisServer& server, OrderStore& orders, const RedisOptions& how)
      : backend_(connect(server, how)), client_(backend_->open_client()) {
    auto sale = Sale::open(*backend_, orders);
    if (!sale.ok()) throw std::runtime_error(sale.status().ToString());
    sale_ = *std::move(sale);
    worker_ = std::make_unique<OrderWorker>(worker_backend_, orders, SaleKeys{});
  }

  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] Sale& sale() { return *sale_; }
  [[nodiscard]] OrderWorker& worker() { return *worker_; }
  /// Ends the worker's pauses.
  void let_worker_go_on() { worker_clock_.advance_ms(WorkerOptions{}.pause_ms_max); }

 private:
  static std::unique_ptr<RedisBackend> connect(const RedisServer& server, RedisOptions options) {
    const RedisOptions address = *RedisOptions::from_url(server.url());
    options.host = address.host;
    options.port = address.port;
    options.unix_path = address.unix_path;
    auto backend = RedisBackend::open(options);
    if (!backend.ok()) throw std::runtime_error(backend.status().ToString());
    return *std::move(backend);
  }

  ManualClock worker_clock_;
  std::unique_ptr<RedisBackend> backend_;
  BackendWithClock worker_backend_{*backend_, worker_clock_};
  std::unique_ptr<Client> client_;
  std::unique_ptr<Sale> sale_;
  std::unique_ptr<OrderWorker> worker_;
};

class RedisLossesTest : public ::testing::Test {
 protected:
  void start(RedisServerOptions options = {}, const RedisOptions& how = patient()) {
    server_ = std::make_unique<RedisServer>(std::move(options));
    open(how);
  }
  void open(const RedisOptions& how) {
    orders_ = *SqliteOrderStore::open(directory_.path() / "orders.db");
    running_ = std::make_unique<SaleOnRedis>(*server_, *orders_, how);
    absl::Status published;  // retried: replicas may be late
    for (int tries = 0; tries == 0 || (absl::IsUnavailable(published) && tries < 100); ++tries) {
      published = sale().publish(voucher());
    }
    ASSERT_EQ(published, absl::OkStatus());
  }

  static RedisOptions patient() { return {.command_timeout_ms = 20'000}; }

  [[nodiscard]] Sale& sale() { return running_->sale(); }
  [[nodiscard]] Reply ask(const Request& request) const {
    return RawConnection(server_->socket_path()).call(request);
  }

  static Voucher voucher() {
    const std::int64_t now_ms = SystemClock().now_ms();
    return {.id = 1,
            .title = "voucher",
            .stock = kLossStock,
            .begin_ms = now_ms - kHourMs,
            .end_ms = now_ms + kHourMs,
            .price_cents = 100,
            .limits = {.per_user = 1}};
  }

  /// Buys like a client: retries while there is no connection, after a pause.
  BuyResult buy_once_reachable(std::int64_t user, std::string_view key = {}) {
    constexpr std::chrono::seconds kPatience{20};
    const auto give_up_at = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      BuyResult result = sale().buy(1, user, key);
      if (result.outcome != Outcome::kUnavailable) return result;
      if (std::chrono::steady_clock::now() > give_up_at) return result;
      std::this_thread::yield();
    }
  }
  /// Buys for `count` users, from `first`.
  void buy(std::int64_t first, std::int64_t count) {
    for (std::int64_t user = first; user < first + count; ++user) {
      const BuyResult result = buy_once_reachable(user);
      if (result.outcome == Outcome::kAccepted) accepted_.insert(result.order);
    }
  }

  /// Stores all queued orders.
  void drain() {
    constexpr int kPausesMax = 20;
    for (int pauses = 0; pauses < kPausesMax;) {
      const OrderWorker::Step step = running_->worker().step();
      if (step.kind == OrderWorker::Step::Kind::kIdle) return;
      if (step.kind != OrderWorker::Step::Kind::kPaused) continue;
      running_->let_worker_go_on();
      ++pauses;
    }
    FAIL() << "the worker does not end its pauses";
  }

  /// Sells the remaining stock. Then the orders equal the stock, each user has one, and the audit
  /// passes.
  void sell_out_and_check() {
    constexpr std::int64_t kOthers = 1'000'000;
    buy(kOthers, 2 * kLossStock);
    drain();
    std::set<UserId> users;
    for (const Order& order : rows()) {
      EXPECT_TRUE(users.insert(order.user).second) << "two orders of user " << order.user;
      stored_.insert(order.id);
    }
    EXPECT_EQ(users.size(), static_cast<std::size_t>(kLossStock));
    const auto report = sale().audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  }

  std::vector<Order> rows() { return orders_->list({.voucher = 1, .count_max = 100'000}).value(); }

  /// Returns the number of accepted orders that have no row. Call it after sell_out_and_check().
  [[nodiscard]] std::int64_t lost() const {
    std::int64_t lost = 0;
    for (const OrderId order : accepted_) lost += stored_.contains(order) ? 0 : 1;
    return lost;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<OrderStore> orders_;
  std::unique_ptr<SaleOnRedis> running_;
  std::set<OrderId> accepted_;
  std::set<OrderId> stored_;
};

/// Returns options for an append-only file. A killed server then keeps all acknowledged writes.
RedisServerOptions append_only() { return {.append_only = true}; }

// ---- The server ends --------------------------------------------------------------------------

TEST_F(RedisLossesTest, RestartWithAppendOnlyFileLosesNothing) {
  start(append_only());
  buy(1, 40);
  server_->restart();
  buy(41, 20);
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

TEST_F(RedisLossesTest, StoppedServerIsUnavailable) {
  start(append_only());
  buy(1, 1);
  server_->kill();
  EXPECT_EQ(sale().buy(1, 2).outcome, Outcome::kUnavailable);
  server_->restart();
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

TEST_F(RedisLossesTest, KillWithoutPersistenceKeepsStoredOrders) {
  start();
  buy(1, 30);
  drain();
  buy(31, 20);
  server_->restart();
  sell_out_and_check();
  EXPECT_EQ(lost(), 20) << "those that were queued";
}

TEST_F(RedisLossesTest, KillInRushNeverOversells) {
  constexpr int kRushes = 5;
  start();
  for (int rush = 0; rush < kRushes; ++rush) {
    std::thread buyer([&] { buy(1 + 1'000 * rush, kLossStock / kRushes); });
    server_->restart();
    buyer.join();
    drain();
  }
  sell_out_and_check();
}

// ---- The server stalls or refuses -------------------------------------------------------------

TEST_F(RedisLossesTest, PausedServerOutcomeIsResolvedByKey) {
  constexpr std::int64_t kShortMs = 200;
  start(append_only(), {.command_timeout_ms = kShortMs});
  buy(1, 1);
  server_->pause();
  const BuyResult unknown = sale().buy(1, 7, "key");
  EXPECT_EQ(unknown.outcome, Outcome::kOutcomeUnknown) << unknown.detail;
  EXPECT_GT(unknown.order, 0);
  server_->resume();
  const BuyResult again = buy_once_reachable(7, "key");
  EXPECT_EQ(again.outcome, Outcome::kAccepted) << again.detail;
  EXPECT_EQ(sale().buy(1, 7, "key").order, again.order);
  sell_out_and_check();
}

TEST_F(RedisLossesTest, FullServerRefusesWithoutEffect) {
  start({.arguments = {"--maxmemory-policy", "noeviction"}});
  buy(1, 10);
  ASSERT_EQ(ask(Request::of("CONFIG", "SET", "maxmemory", 1)), Reply::ok());
  const BuyResult refused = sale().buy(1, 11);
  EXPECT_EQ(refused.outcome, Outcome::kOverloaded) << refused.detail;
  EXPECT_NE(refused.detail.find("OOM"), std::string::npos) << refused.detail;
  ASSERT_EQ(ask(Request::of("CONFIG", "SET", "maxmemory", 0)), Reply::ok());
  EXPECT_EQ(sale().buy(1, 11).outcome, Outcome::kAccepted);
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

TEST_F(RedisLossesTest, RestartedFullServerIsDrained) {
  server_ = std::make_unique<RedisServer>(
      RedisServerOptions{.append_only = true, .arguments = {"--maxmemory", "1"}});
  const Request set_no_limit = Request::of("CONFIG", "SET", "maxmemory", 0);
  ASSERT_EQ(ask(set_no_limit), Reply::ok());
  open(patient());
  buy(1, 5);
  drain();
  buy(6, 5);
  server_->restart();  // with the limit
  drain();
  EXPECT_EQ(rows().size(), 10U);
  const BuyResult refused = sale().buy(1, 11);
  EXPECT_EQ(refused.outcome, Outcome::kOverloaded) << refused.detail;
  ASSERT_EQ(ask(set_no_limit), Reply::ok());
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

TEST_F(RedisLossesTest, LoadingServerSellsOnceLoaded) {
  start(append_only());
  buy(1, 10);
  // Enough data for loading to take a while.
  std::vector<Request> fill;
  const std::string value(100'000, 'x');
  for (int i = 0; i < 1'000; ++i) fill.push_back(Request::of("SET", i, value));
  running_->client().pipeline(fill);
  server_->restart_loading();
  BuyResult result = sale().buy(1, 11, "key");
  while (result.outcome != Outcome::kAccepted) {
    ASSERT_TRUE(result.outcome == Outcome::kUnavailable || result.outcome == Outcome::kOverloaded ||
                result.outcome == Outcome::kOutcomeUnknown)
        << outcome_name(result.outcome) << ' ' << result.detail;
    std::this_thread::yield();
    result = sale().buy(1, 11, "key");
  }
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

TEST_F(RedisLossesTest, ReadOnlyServerRefusesAndSellsAfterPromotion) {
  start(append_only());
  buy(1, 10);
  // A replica of an unreachable server keeps its data and refuses writes.
  ASSERT_EQ(ask(Request::of("REPLICAOF", "127.0.0.1", 1)), Reply::ok());
  const BuyResult refused = sale().buy(1, 11);
  EXPECT_TRUE(refused.outcome == Outcome::kOverloaded || refused.outcome == Outcome::kUnavailable)
      << outcome_name(refused.outcome) << ' ' << refused.detail;
  server_->promote();
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

TEST_F(RedisLossesTest, TooFewReplicasRefuseWithoutEffect) {
  start(append_only());
  ASSERT_EQ(ask(Request::of("CONFIG", "SET", "min-replicas-to-write", 1)), Reply::ok());
  const BuyResult refused = sale().buy(1, 1);
  EXPECT_EQ(refused.outcome, Outcome::kOverloaded) << refused.detail;
  EXPECT_NE(refused.detail.find("NOREPLICAS"), std::string::npos) << refused.detail;
  ASSERT_EQ(ask(Request::of("CONFIG", "SET", "min-replicas-to-write", 0)), Reply::ok());
  sell_out_and_check();
}

TEST_F(RedisLossesTest, OrdersAreStoredOnceReplicated) {
  server_ = std::make_unique<RedisServer>(RedisServerOptions{.listens_on_tcp = true});
  RedisServer replica;
  replica.replicate(*server_);
  open({.sync_replicas = 1, .sync_timeout_ms = 200});
  buy(1, 5);
  replica.pause();
  buy(6, 5);
  const OrderWorker::Step paused = running_->worker().step();
  EXPECT_EQ(paused.kind, OrderWorker::Step::Kind::kPaused);
  EXPECT_NE(paused.reason.find("NOREPLICAS 0 of 1"), std::string::npos) << paused.reason;
  EXPECT_TRUE(rows().empty());
  replica.resume();
  running_->let_worker_go_on();
  drain();
  EXPECT_EQ(rows().size(), 10U);
  sell_out_and_check();
}

TEST_F(RedisLossesTest, PurchaseIsAcceptedOnceReplicated) {
  server_ = std::make_unique<RedisServer>(RedisServerOptions{.listens_on_tcp = true});
  RedisServer replica;
  replica.replicate(*server_);
  open({.confirm_replicas = 1, .confirm_ms = 50});
  buy(1, 5);
  const Reply entries =
      RawConnection(replica.socket_path()).call(Request::of("XLEN", SaleKeys{}.order_stream));
  EXPECT_EQ(entries, Reply::integer(5));
  replica.pause();
  const BuyResult unknown = sale().buy(1, 6, "key");
  EXPECT_EQ(unknown.outcome, Outcome::kOutcomeUnknown) << unknown.detail;
  EXPECT_EQ(unknown.detail, "buying: OUTCOMEUNKNOWN 0 of 1 replicas confirmed within 50 ms");
  replica.resume();
  BuyResult known = sale().buy(1, 6, "key");
  while (known.outcome == Outcome::kOutcomeUnknown) known = sale().buy(1, 6, "key");
  EXPECT_EQ(known.outcome, Outcome::kAccepted) << known.detail;
  EXPECT_EQ(known.order, unknown.order);
  sell_out_and_check();
}

// ---- The server loses writes ------------------------------------------------------------------

TEST_F(RedisLossesTest, CutEndOfAppendOnlyFileNeverOversells) {
  constexpr std::uintmax_t kCuts[] = {1, 500, 5'000, 50'000};
  start(append_only());
  std::int64_t user = 1;
  for (const std::uintmax_t cut : kCuts) {
    buy(user, 10);
    drain();
    buy(user + 10, 5);
    server_->cut_append_only_file(cut);
    server_->restart();
    user += 15;
  }
  sell_out_and_check();
  EXPECT_LE(lost(), 4 * 5) << "what is stored stays";
}

TEST_F(RedisLossesTest, PowerCutKeepsSyncedWrites) {
  start({.append_only = true, .arguments = {"--appendfsync", "always"}, .can_lose_power = true});
  buy(1, 40);
  server_->cut_power();
  server_->restart();
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

TEST_F(RedisLossesTest, PowerCutWithoutFsyncKeepsStoredOrders) {
  start({.append_only = true, .arguments = {"--appendfsync", "no"}, .can_lose_power = true});
  buy(1, 40);
  drain();
  buy(41, 10);
  server_->cut_power();
  server_->restart();
  sell_out_and_check();
  EXPECT_EQ(lost(), 10);
}

TEST_F(RedisLossesTest, FailoverToLaggingReplicaNeverOversells) {
  start({.listens_on_tcp = true});
  RedisServer replica;
  buy(1, 20);
  replica.replicate(*server_);
  // From here it receives nothing, like a lagging replica.
  replica.promote();
  buy(21, 30);
  drain();
  buy(51, 10);
  replica.take_over_address_of(*server_);
  sell_out_and_check();
  EXPECT_EQ(lost(), 10) << "those that were queued";
}

TEST_F(RedisLossesTest, FailoverWithBatchInMemoryNeverOversells) {
  start({.listens_on_tcp = true});
  RedisServer replica;
  replica.replicate(*server_);
  replica.promote();
  buy(1, kLossStock);
  drain();
  replica.take_over_address_of(*server_);
  EXPECT_EQ(buy_once_reachable(5'000).outcome, Outcome::kSoldOut);
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

// ---- Several processes --------------------------------------------------------------------------

TEST_F(RedisLossesTest, TwoProcessesRebuildAtOnce) {
  start();
  const auto other_orders = *SqliteOrderStore::open(directory_.path() / "orders.db");
  SaleOnRedis other(*server_, *other_orders, patient());
  buy(1, 50);
  drain();
  server_->flush_all();
  std::int64_t sold_by_other = 0;
  std::thread second([&] {
    for (std::int64_t user = 10'000; user < 10'000 + 2 * kLossStock;) {
      const BuyResult result = other.sale().buy(1, user);
      if (result.outcome == Outcome::kOverloaded) continue;  // the first one is rebuilding
      sold_by_other += result.outcome == Outcome::kAccepted ? 1 : 0;
      ++user;
    }
  });
  const std::size_t before = accepted_.size();
  for (std::int64_t user = 20'000; user < 20'000 + 2 * kLossStock;) {
    const BuyResult result = sale().buy(1, user);
    if (result.outcome == Outcome::kOverloaded) continue;
    if (result.outcome == Outcome::kAccepted) accepted_.insert(result.order);
    ++user;
  }
  second.join();
  EXPECT_EQ(sold_by_other + static_cast<std::int64_t>(accepted_.size() - before), kLossStock - 50);
  sell_out_and_check();
  EXPECT_EQ(lost(), 0);
}

}  // namespace
}  // namespace rushgate
