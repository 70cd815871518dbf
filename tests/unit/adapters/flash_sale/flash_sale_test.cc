// A whole sale in one object: its location, its refusals, and the workers that store its orders.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/redis_backend.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sqlite_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Voucher coffee() {
  return {.id = 7, .title = "Coffee", .stock = 3};  // without an end
}

std::unique_ptr<FlashSale> opened(const std::string& place, const FlashSaleOptions& options = {}) {
  auto sale = FlashSale::open(place, options);
  EXPECT_TRUE(sale.ok()) << sale.status();
  return sale.ok() ? *std::move(sale) : nullptr;
}

absl::Status refusal(const std::string& place, const FlashSaleOptions& options = {}) {
  return FlashSale::open(place, options).status();
}

OrderLocation state_of(FlashSale& sale, OrderId order) {
  const auto state = sale.status(order);
  EXPECT_TRUE(state.ok()) << state.status();
  return state.ok() ? state->location : OrderLocation::kUnknown;
}

/// Sells one piece and stores the order.
BuyResult sell(FlashSale& sale, std::int64_t user) {
  EXPECT_TRUE(sale.publish(coffee()).ok());
  BuyResult bought = sale.buy(7, user, "click of " + std::to_string(user));
  EXPECT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
  EXPECT_TRUE(sale.drain().ok());
  EXPECT_EQ(state_of(sale, bought.order), OrderLocation::kStored);
  return bought;
}

class FlashSaleTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path in(const std::string& name) const { return scratch_.path() / name; }

 private:
  const TemporaryDirectory scratch_;
};

// ---- Location -------

TEST_F(FlashSaleTest, DirectoryKeepsSale) {
  BuyResult first;
  {
    const auto sale = opened(in("new") / "shop");
    ASSERT_NE(sale, nullptr);
    first = sell(*sale, 1001);
  }
  EXPECT_TRUE(fs::is_directory(in("new") / "shop" / "keyspace"));
  EXPECT_TRUE(fs::is_regular_file(in("new") / "shop" / "orders.db"));
  const auto sale = opened(in("new") / "shop", {.create_if_missing = false});
  ASSERT_NE(sale, nullptr);
  EXPECT_EQ(sell(*sale, 1001).order, first.order);
  sell(*sale, 1002);
  const auto audit = sale->audit();
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_TRUE(audit->passed());
  EXPECT_EQ(sale->orders().count_live(7).value(), 2);
}

TEST_F(FlashSaleTest, DirectoryUrlHasDurability) {
  const auto sale = opened(in("shop").string() + "?durability=sync");
  ASSERT_NE(sale, nullptr);
  sell(*sale, 1);
  EXPECT_TRUE(fs::is_directory(in("shop") / "keyspace"));
  EXPECT_EQ(refusal(in("other").string() + "?durability=no").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(FlashSaleTest, MemoryKeepsNothing) {
  {
    const auto sale = opened("memory:");
    ASSERT_NE(sale, nullptr);
    sell(*sale, 1);
  }
  const auto sale = opened("memory:");
  EXPECT_EQ(sale->buy(7, 1).outcome, Outcome::kUnknownVoucher);
}

TEST_F(FlashSaleTest, KeyspaceElsewhereLeavesOrdersInDirectory) {
  const FlashSaleOptions apart = {.orders_dir = in("orders")};
  {
    const auto sale = opened(in("keyspace"), apart);
    ASSERT_NE(sale, nullptr);
    sell(*sale, 1);
  }
  EXPECT_FALSE(fs::exists(in("keyspace") / "keyspace"));
  EXPECT_TRUE(fs::exists(in("orders") / "orders.db"));
  const absl::Status alone = refusal(in("orders"));
  EXPECT_EQ(alone.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(alone.message()), HasSubstr("is elsewhere: give its URL"));
  const absl::Status both = refusal(in("orders"), apart);
  EXPECT_THAT(std::string(both.message()), HasSubstr("needs a directory of its own"));
  sell(*opened(in("keyspace"), apart), 2);
}

TEST_F(FlashSaleTest, KeyspaceInMemoryIsRebuiltFromOrders) {
  const FlashSaleOptions apart = {.orders_dir = in("orders")};
  sell(*opened("memory:", apart), 1);
  const auto sale = opened("memory:", apart);
  EXPECT_EQ(sale->buy(7, 1).outcome, Outcome::kLimitReached);
}

TEST_F(FlashSaleTest, RedisNeedsDirectoryForOrders) {
  const absl::Status refused = refusal("redis://127.0.0.1:1");
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("orders_dir"));
}

TEST_F(FlashSaleTest, RedisKeepsKeyspace) {
  const testing::RedisServer server;
  const FlashSaleOptions apart = {.orders_dir = in("orders"), .workers = 3};
  {
    const auto sale = opened(server.url(), apart);
    ASSERT_NE(sale, nullptr);
    sell(*sale, 1);
    EXPECT_TRUE(is_held_by_another(refusal(server.url(), apart)));
  }
  const auto sale = opened(server.url(), apart);
  EXPECT_EQ(sale->buy(7, 1).outcome, Outcome::kLimitReached);
  EXPECT_TRUE(sale->audit()->passed());

  const absl::Status others = refusal(server.url(), {.orders_dir = in("others")});
  EXPECT_EQ(others.code(), absl::StatusCode::kInvalidArgument) << "keyspace of another database";
  EXPECT_THAT(std::string(others.message()), HasSubstr(in("others").string() + ": "));
}

TEST_F(FlashSaleTest, DrainOutlastsRestartOfRedis) {
  testing::RedisServer server({.append_only = true});
  const auto sale = opened(server.url(), {.orders_dir = in("orders")});
  ASSERT_NE(sale, nullptr);
  ASSERT_TRUE(sale->publish(coffee()).ok());
  const BuyResult bought = sale->buy(7, 1);
  server.kill();
  while (sale->health().ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  bool is_back = false;
  const absl::Status drained = sale->drain([&](const std::string& /*note*/) {
    if (!std::exchange(is_back, true)) server.restart();
  });
  EXPECT_TRUE(drained.ok()) << drained;
  EXPECT_EQ(state_of(*sale, bought.order), OrderLocation::kStored);
}

/// Like several processes of a host: each has connections and an opened file of its own.
TEST_F(FlashSaleTest, ProcessesOnRedisShareWork) {
  const testing::RedisServer server;
  const auto open_process = [&](const std::string& consumer) {
    FlashSaleOptions options;
    options.worker.consumer = consumer;
    return FlashSale::open(RedisBackend::open(*RedisOptions::from_url(server.url())).value(),
                           SqliteOrderStore::open(in("orders.db")).value(), options)
        .value();
  };
  std::vector<std::unique_ptr<FlashSale>> processes;
  for (const char* const consumer : {"", "", "named"}) processes.push_back(open_process(consumer));
  constexpr std::int64_t kOrders = 300;
  ASSERT_TRUE(processes[0]->publish({.id = 7, .title = "Coffee", .stock = kOrders}).ok());
  for (std::int64_t user = 1; user <= kOrders; ++user) {
    FlashSale& process = *processes[static_cast<std::size_t>(user) % processes.size()];
    EXPECT_EQ(process.buy(7, user).outcome, Outcome::kAccepted);
  }
  std::size_t stored = 0;
  for (const auto& process : processes) {
    EXPECT_TRUE(process->drain().ok());
    stored += process->stored();
  }
  EXPECT_EQ(stored, static_cast<std::size_t>(kOrders)) << "none is stored by two";
  const Reply consumers = processes[0]->client()("XINFO", "CONSUMERS", "stream.orders", "g1");
  std::set<std::string> names;
  for (const Reply& consumer : consumers.elements()) names.insert(consumer.elements()[1].text());
  EXPECT_EQ(names.size(), processes.size()) << ::testing::PrintToString(names);
  EXPECT_THAT(names, Contains(StartsWith("named.1@")));
}

TEST_F(FlashSaleTest, GoneConsumersLeaveGroup) {
  const testing::RedisServer server;
  const auto sell_in_process = [&](std::int64_t user) {
    FlashSaleOptions options;
    options.worker.claim_idle_ms = 0;
    const auto sale =
        FlashSale::open(RedisBackend::open(*RedisOptions::from_url(server.url())).value(),
                        SqliteOrderStore::open(in("orders.db")).value(), options)
            .value();
    sell(*sale, user);
    return sale->client()("XINFO", "CONSUMERS", "stream.orders", "g1").elements().size();
  };
  for (std::int64_t user = 1; user <= 3; ++user) EXPECT_EQ(sell_in_process(user), 1U);
}

TEST_F(FlashSaleTest, DrainEndsWithoutKeyspace) {
  testing::RedisServer server;
  const auto sale = opened(server.url(), {.orders_dir = in("orders"), .patience_ms = 0});
  ASSERT_NE(sale, nullptr);
  server.kill();
  EXPECT_EQ(sale->drain().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FlashSaleTest, VouchersCanBeRead) {
  const auto sale = opened(in("shop"));
  ASSERT_NE(sale, nullptr);
  EXPECT_FALSE(sale->voucher(7)->has_value());
  const BuyResult bought = sell(*sale, 1);
  const auto summary = sale->voucher(7);
  ASSERT_TRUE(summary.ok() && summary->has_value()) << summary.status();
  EXPECT_EQ((*summary)->voucher, coffee());
  EXPECT_EQ((*summary)->free, 2);
  EXPECT_EQ((*summary)->admitted, 1);
  EXPECT_EQ(sale->vouchers()->size(), 1U);
  const BuyResult again = sale->buy(7, 1);
  EXPECT_EQ(again.outcome, Outcome::kLimitReached);
  EXPECT_EQ(again.order, bought.order) << "named by default";
}

// ---- Refusals ----

TEST_F(FlashSaleTest, SecondOpenIsRefused) {
  const auto sale = opened(in("shop"));
  const absl::Status refused = refusal(in("shop"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(is_held_by_another(refused));
}

TEST_F(FlashSaleTest, MissingSaleIsNotCreatedAgainstOption) {
  EXPECT_EQ(refusal(in("shop"), {.create_if_missing = false}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(refusal("memory:", {.create_if_missing = false, .orders_dir = in("shop")}).code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(in("shop")));
}

TEST_F(FlashSaleTest, MissingOrdersAreDataLoss) {
  sell(*opened(in("shop")), 1);
  fs::remove(in("shop") / "orders.db");
  EXPECT_EQ(refusal(in("shop")).code(), absl::StatusCode::kDataLoss);
}

TEST_F(FlashSaleTest, OptionsAreChecked) {
  EXPECT_EQ(refusal("memory:", {.workers = -1}).code(), absl::StatusCode::kInvalidArgument);
  for (const std::int64_t ttl_ms : {std::int64_t{0}, SaleOptions::kRequestTtlMsMax + 1}) {
    EXPECT_EQ(refusal("memory:", {.sale = {.request_ttl_ms = ttl_ms}}).code(),
              absl::StatusCode::kInvalidArgument);
  }
  std::ofstream(in("file")) << "text";
  EXPECT_EQ(refusal(in("file") / "shop").code(), absl::StatusCode::kInvalidArgument);
}

// ---- Storing of orders --------

/// Waits until the threads have named themselves.
TEST_F(FlashSaleTest, ThreadsHaveNames) {
  const auto await = [](std::set<std::string> wanted) {
    while (!wanted.empty()) {
      for (const auto& task : fs::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        wanted.erase(name);
      }
    }
  };
  {
    const auto sale = opened(in("shop").string() + "?durability=everysec");
    ASSERT_NE(sale, nullptr);
    await({"rg-service", "rg-sync", "rg-worker", "rg-submit", "rg-recovery"});
  }
  const testing::RedisServer server;
  const auto sale = opened(
      server.url(), {.orders_dir = in("orders"), .on_stock = [](VoucherId, std::int64_t) {}});
  ASSERT_NE(sale, nullptr);
  await({"rg-redis", "rg-callbacks", "rg-worker", "rg-submit", "rg-stock"});
}

TEST_F(FlashSaleTest, WorkersStartOnRequest) {
  const auto sale = opened(in("shop"), {.workers = 2, .start_workers = false});
  ASSERT_NE(sale, nullptr);
  EXPECT_TRUE(sale->publish(coffee()).ok());
  const BuyResult bought = sale->buy(7, 1);
  EXPECT_EQ(state_of(*sale, bought.order), OrderLocation::kQueued);
  EXPECT_FALSE(sale->backlog()->empty);
  EXPECT_TRUE(sale->start_workers().ok());
  EXPECT_EQ(sale->start_workers().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_TRUE(sale->backlog()->empty);
  EXPECT_EQ(state_of(*sale, bought.order), OrderLocation::kStored);
  sale->stop_workers();
  EXPECT_EQ(sale->stored(), 1U) << "counted after the workers have ended";
}

TEST_F(FlashSaleTest, DrainStoresOnCallingThread) {
  const auto sale = opened(in("shop"), {.workers = 0});
  ASSERT_NE(sale, nullptr);
  sell(*sale, 1);
  sell(*sale, 2);
  EXPECT_EQ(sale->stored(), 2U);
}

TEST_F(FlashSaleTest, WorkersTakeOverFromDrain) {
  auto owned = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  faults::FaultyOrderStore& orders = *owned;
  auto engine = Engine::open(std::make_unique<MemoryStore>()).value();
  const auto sale =
      FlashSale::open(std::move(engine), std::move(owned), {.start_workers = false}).value();
  EXPECT_TRUE(sale->publish(coffee()).ok());
  const BuyResult bought = sale->buy(7, 1);
  orders.fail_write(1);
  const absl::Status failed = sale->drain();
  EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("injected fault"));
  EXPECT_TRUE(sale->start_workers().ok());
  EXPECT_TRUE(sale->drain().ok());
  EXPECT_EQ(state_of(*sale, bought.order), OrderLocation::kStored);
}

/// One thread and a manual clock.
TEST_F(FlashSaleTest, ManualEngineNeedsNoThread) {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  Engine& manual = *engine;
  const auto sale = FlashSale::open(std::move(engine), std::make_unique<MemoryOrderStore>(),
                                    {.start_workers = false})
                        .value();
  Voucher voucher = coffee();
  voucher.begin_ms = sale->clock().now_ms() + 1'000;
  EXPECT_TRUE(sale->publish(voucher).ok());
  EXPECT_EQ(sale->buy(7, 1).outcome, Outcome::kNotStarted);
  manual.advance_ms(1'000);
  const BuyResult bought = sale->buy(7, 1);
  EXPECT_EQ(state_of(*sale, bought.order), OrderLocation::kQueued);
  EXPECT_TRUE(sale->drain().ok());
  const auto state = sale->status(bought.order);
  EXPECT_EQ(state->location, OrderLocation::kStored);
  EXPECT_EQ(state->order->created_at_ms, clock.now_ms());
}

TEST_F(FlashSaleTest, DrainReportsFailedStore) {
  auto owned = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  faults::FaultyOrderStore& orders = *owned;
  auto engine = Engine::open(std::make_unique<MemoryStore>()).value();
  const auto sale =
      FlashSale::open(std::move(engine), std::move(owned), {.worker = {.retry_after_ms = 10}})
          .value();
  EXPECT_TRUE(sale->publish(coffee()).ok());
  orders.fail_writes();
  EXPECT_EQ(sale->buy(7, 1).outcome, Outcome::kAccepted);
  std::string reason;
  EXPECT_TRUE(sale->drain([&](const std::string& note) {
                    if (note.find("injected fault") == std::string::npos) return;
                    reason = note;
                    orders.fail_writes(absl::OkStatus());
                  })
                  .ok());
  EXPECT_THAT(reason, HasSubstr("the workers pause: "));
}

TEST_F(FlashSaleTest, DrainEndsWhileStoreFails) {
  auto owned = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  owned->fail_writes();
  auto engine = Engine::open(std::make_unique<MemoryStore>()).value();
  const auto sale =
      FlashSale::open(std::move(engine), std::move(owned), {.patience_ms = 0}).value();
  EXPECT_TRUE(sale->publish(coffee()).ok());
  EXPECT_EQ(sale->buy(7, 1).outcome, Outcome::kAccepted);
  const absl::Status drained = sale->drain();
  EXPECT_EQ(drained.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(drained.message()), HasSubstr("injected fault"));
}

/// As docs/orders.md describes it: an event of a dead order is retried after the order.
TEST(DeadEventTest, IsRetriedAfterItsOrder) {
  ManualClock clock;
  auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}, {}).value();
  Engine& manual = *engine;
  auto owned = std::make_unique<faults::FaultyOrderStore>(std::make_unique<MemoryOrderStore>());
  faults::FaultyOrderStore& store = *owned;
  FlashSaleOptions options{.workers = 0};
  options.worker.attempts_max = 1;
  const auto sale = FlashSale::open(std::move(engine), std::move(owned), options).value();
  Voucher paid = coffee();
  paid.price_cents = 250;
  paid.payment_ms = 60'000;
  ASSERT_TRUE(sale->publish(paid).ok());
  store.poison([](const Order& order) { return order.user == 1; },
               faults::FaultyOrderStore::Poison::kIsRefused);
  const OrderId order = sale->buy(7, 1).order;
  const auto drain = [&] {
    (void)sale->drain();
    manual.advance_ms(WorkerOptions{}.retry_after_ms);
    EXPECT_TRUE(sale->drain().ok());
  };
  EXPECT_EQ(sale->pay({.order = order, .payment = "p1", .amount_cents = 250}).outcome,
            ChangeOutcome::kDone)
      << "the order is not dead yet";
  drain();
  store.poison({});

  const auto letters = sale->sale().dead_letters().value();
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_FALSE(letters[0].order.field("event").has_value());
  EXPECT_EQ(letters[1].order.field("event"), "paid");
  for (const DeadLetter& letter : letters) {
    EXPECT_TRUE(sale->sale().retry_dead_letter(letter.id).value());
    drain();
  }

  EXPECT_EQ(sale->status(order)->order->status, OrderStatus::kPaid);
  const auto audit = sale->audit();
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_TRUE(audit->passed()) << *audit;
  EXPECT_EQ(audit->money.kept, 250);
}

// ---- Notices of steps ----

TEST(OnStepTest, NoticeFollowsStoredOrderUntilItsEnd) {
  for (const int workers : {0, 1}) {
    const auto sale = FlashSale::open("memory:", {.workers = workers}).value();
    ASSERT_TRUE(sale->publish({.id = 7, .stock = 10}).ok());
    std::atomic<int> steps = 0;
    auto notices = sale->on_step([&steps] {
      ++steps;
      steps.notify_all();
    });
    EXPECT_EQ(sale->buy(7, 1).outcome, Outcome::kAccepted);
    if (workers == 0) {
      EXPECT_TRUE(sale->drain().ok());
    }
    steps.wait(0);
    notices.reset();
    const int before = steps;
    EXPECT_EQ(sale->buy(7, 2).outcome, Outcome::kAccepted);
    EXPECT_TRUE(sale->drain().ok());
    EXPECT_EQ(steps, before);
  }
}

}  // namespace
}  // namespace rushgate
