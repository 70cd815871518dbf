// A keyspace that lost its newest writes while the database kept their orders.
#include <atomic>
#include <mutex>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "absl/container/flat_hash_set.h"
#include "tests/support/hooked_backend.h"
#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

class LostWritesTest : public SaleTest {
 protected:
  int buy_for(std::int64_t first, std::int64_t last) {
    int accepted = 0;
    for (std::int64_t user = first; user <= last; ++user) {
      if (sale_->buy(1, user).outcome == Outcome::kAccepted) ++accepted;
    }
    return accepted;
  }

  std::int64_t rows() { return backend_.orders().count_live(1).value(); }

  /// Buys for one user. Returns the order id.
  OrderId order_of(std::int64_t user) {
    const BuyResult result = sale_->buy(1, user);
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    return result.order;
  }

  OrderLocation status(OrderId order) {
    const auto state = sale_->status(order);
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? state->location : OrderLocation::kUnknown;
  }

  std::vector<DeadLetter> letters() { return sale_->dead_letters().value(); }

  /// Puts voucher 1 in force in the keyspace alone, like a process that ended right after that.
  void publish_without_result(std::int64_t stock) {
    const Voucher offered = voucher(1, stock);
    ASSERT_TRUE(backend_.orders().record_pending({.voucher = offered, .version = 1}).ok());
    backend_.orders().fail_voucher_writes();
    EXPECT_FALSE(sale_->publish(offered).ok());
    backend_.orders().fail_voucher_writes(absl::OkStatus());
  }
};

/// Excludes memory: such a keyspace has no older state to return to.
class RolledBackTest : public LostWritesTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RolledBackTest,
                         each_backend_that(&SaleBackendKind::can_roll_back), backend_name);

/// Runs on a server, which can be rolled back while a sale is open.
class LostOnServerTest : public LostWritesTest {};
INSTANTIATE_TEST_SUITE_P(Backends, LostOnServerTest, each_backend_that(&SaleBackendKind::is_server),
                         backend_name);

INSTANTIATE_TEST_SUITE_P(Backends, LostWritesTest, each_backend(), backend_name);

/// The connections do not show the loss, such as those through a proxy.
TEST_P(LostWritesTest, LossShowsInNextCheckpointThatIsDrawn) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  EXPECT_EQ(buy_for(1, 3), 3);
  drain();
  backend_.client()("HSET", SaleKeys{}.stream_owner(), "checkpoint", 0);
  backend_.client()("SET", SaleKeys{}.stock(1), 10);
  EXPECT_TRUE(sale_->add_stock(1, 5).ok());
  EXPECT_EQ(buy_for(11, 30), 12);
  drain();
  expect_audit_passes();
}

TEST_P(RolledBackTest, RolledBackKeyspaceSellsOnlyStock) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  EXPECT_EQ(buy_for(1, 50), 50);
  drain();
  save();
  EXPECT_EQ(buy_for(51, 100), 50);
  drain();
  roll_back();
  EXPECT_EQ(buy_for(101, 150), 0);
  drain();
  EXPECT_EQ(rows(), 100);
  expect_audit_passes();
}

TEST_P(RolledBackTest, RolledBackKeyspaceRemembersStoredBuyers) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  save();
  EXPECT_EQ(buy_for(1, 3), 3);
  drain();
  roll_back();
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 30), 7);
  drain();
  EXPECT_EQ(rows(), 10);
  expect_audit_passes();
}

TEST_P(RolledBackTest, RolledBackPublicationIsInForceAgain) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  save();
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  roll_back();
  EXPECT_EQ(buy_for(1, 9), 3);
  drain();
  expect_audit_passes();
}

TEST_P(LostWritesTest, LogCountsOnlyVouchersOnSale) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  ASSERT_TRUE(backend_.orders().record_pending({.voucher = voucher(2, 2), .version = 1}).ok());
  backend_.client()("FLUSHALL");
  std::ostringstream log;
  const auto logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  ASSERT_TRUE(Sale::open(backend_.keyspace(), backend_.orders(), {.logger = logger}).ok());
  EXPECT_THAT(log.str(), ::testing::HasSubstr("vouchers to be rebuilt: 1"));
}

TEST_P(RolledBackTest, UnresolvedPublicationIsRebuilt) {
  publish_without_result(2);
  save();
  EXPECT_EQ(buy_for(1, 1), 1);
  drain();
  roll_back();
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 19), 1);
  drain();
  EXPECT_EQ(rows(), 2);
  EXPECT_TRUE(letters().empty());
  expect_audit_passes();
}

/// No order is in the database, as if the voucher had never been on sale.
TEST_P(RolledBackTest, QueuedOrderOfUnresolvedPublicationCounts) {
  publish_without_result(2);
  EXPECT_EQ(buy_for(1, 1), 1);
  save();
  ASSERT_TRUE(sale_->publish(voucher(2, 1)).ok());
  roll_back();
  EXPECT_EQ(buy(2, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 19), 1);
  drain();
  EXPECT_EQ(rows(), 2);
  EXPECT_TRUE(letters().empty());
  expect_audit_passes();
}

/// The keyspace alone knows who bought elsewhere.
TEST_P(LostOnServerTest, UnfinishedAdoptionKeepsItsBuyers) {
  backend_.client()("SET", SaleKeys{}.stock(1), 2);
  for (const int user : {1, 2, 3}) backend_.client()("SADD", SaleKeys{}.buyers(1), user);
  auto adopting = Sale::open(backend_.keyspace(), backend_.orders(), {.adopt = true});
  ASSERT_TRUE(adopting.ok()) << adopting.status();
  backend_.orders().fail_writes();
  EXPECT_FALSE((*adopting)->publish(voucher(1, 5)).ok());
  backend_.orders().fail_writes(absl::OkStatus());
  adopting->reset();
  save();
  ASSERT_TRUE(sale_->publish(voucher(2, 1)).ok());
  roll_back();
  EXPECT_EQ(buy(2, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 19), 2);
  drain();
  EXPECT_EQ(rows(), 5);
  expect_audit_passes();
}

/// Keys that wait for their adoption are another system's.
TEST_P(LostOnServerTest, KeysToAdoptSurviveRecovery) {
  backend_.client()("SET", SaleKeys{}.stock(1), 2);
  save();
  ASSERT_TRUE(backend_.orders().record_pending({.voucher = voucher(1, 2), .version = 1}).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 1)).ok());
  roll_back();
  EXPECT_EQ(buy(2, 1), Outcome::kAccepted);
  EXPECT_EQ(backend_.client()("GET", SaleKeys{}.stock(1)), Reply::bulk("2"));
  EXPECT_EQ(buy(1, 1), Outcome::kUnknownVoucher);
}

TEST_P(RolledBackTest, OrdersLostUnstoredAreSoldAgain) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  save();
  EXPECT_EQ(buy_for(1, 3), 3);
  roll_back();
  EXPECT_EQ(buy_for(11, 19), 3) << "neither store knows of the first three";
  drain();
  EXPECT_EQ(rows(), 3);
  expect_audit_passes();
}

TEST_P(RolledBackTest, SecondRollBackIsNoticedToo) {
  ASSERT_TRUE(sale_->publish(voucher(1, 6)).ok());
  save();
  for (const std::int64_t first : {1, 11, 21}) {
    EXPECT_EQ(buy_for(first, first + 1), 2);
    drain();
    roll_back();
  }
  EXPECT_EQ(buy_for(31, 39), 0);
  EXPECT_EQ(rows(), 6);
  expect_audit_passes();
}

TEST_P(LostOnServerTest, ReadBatchIsRefusedAfterRollBack) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  save();
  EXPECT_EQ(buy_for(1, 5), 5);
  before_next_write([&] {
    roll_back();
    EXPECT_EQ(buy_for(11, 19), 5) << "the worker's batch is in neither store";
  });
  drain();
  EXPECT_EQ(rows(), 5);
  EXPECT_EQ(letters().size(), 5U);
  expect_audit_passes();
}

TEST_P(LostOnServerTest, HeldBatchIsReadmittedAfterLostData) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  const OrderId held = order_of(1);
  before_next_write([&] {
    roll_back();  // to an empty state
    EXPECT_EQ(buy_for(11, 13), 3);
  });
  drain();
  EXPECT_EQ(rows(), 4);
  EXPECT_EQ(status(held), OrderLocation::kStored);
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  expect_audit_passes();
}

TEST_P(LostWritesTest, ReadBatchIsRefusedAfterFlushAndRebuild) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy_for(1, 5), 5);
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy_for(11, 19), 5);
  });
  drain();
  EXPECT_EQ(rows(), 5);
  expect_audit_passes();
}

TEST_P(LostWritesTest, ReadBatchIsSavedAfterFlushAlone) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy_for(1, 3), 3);
  before_next_write([&] { backend_.client()("FLUSHALL"); });
  drain();
  EXPECT_EQ(rows(), 3);
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 19), 2);
  drain();
  EXPECT_EQ(rows(), 5);
  expect_audit_passes();
}

TEST_P(LostWritesTest, HeldOrdersAreReadmitted) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 2})).ok());
  std::vector<OrderId> held;
  for (std::int64_t user = 1; user <= 5; ++user) held.push_back(order_of(user));
  held.push_back(order_of(1));
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy_for(5, 6), 2);
  });
  drain();
  EXPECT_EQ(rows(), 8);
  for (const OrderId order : held) EXPECT_EQ(status(order), OrderLocation::kStored);
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 5), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 19), 2);
  drain();
  EXPECT_EQ(rows(), 10);
  EXPECT_TRUE(letters().empty());
  expect_audit_passes();
}

TEST_P(LostWritesTest, HeldOrdersBeyondStockAreDeadLetters) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  std::vector<OrderId> held;
  for (std::int64_t user = 1; user <= 4; ++user) held.push_back(order_of(user));
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy_for(11, 13), 3);
  });
  drain();
  EXPECT_EQ(rows(), 5);
  EXPECT_EQ(status(held[1]), OrderLocation::kStored);
  EXPECT_EQ(status(held[2]), OrderLocation::kDeadLetter);
  EXPECT_EQ(sale_->orders_of(3)->at(0).location, OrderLocation::kDeadLetter);
  const std::vector<DeadLetter> dead = letters();
  ASSERT_EQ(dead.size(), 2U);
  EXPECT_EQ(dead[0].reason, "the keyspace lost it, and meanwhile its stock was sold again");
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_THAT(
      report->warnings,
      ::testing::ElementsAre("voucher 1: 2 dead letters are without stock: the keyspace lost "
                             "their orders, and others bought meanwhile"));

  // They do not count until there is stock for them.
  EXPECT_FALSE(*sale_->retry_dead_letter(dead[0].id));
  ASSERT_TRUE(sale_->add_stock(1, 1).ok());
  EXPECT_TRUE(*sale_->retry_dead_letter(dead[0].id));
  EXPECT_FALSE(*sale_->retry_dead_letter(dead[0].id)) << "once";
  EXPECT_FALSE(*sale_->retry_dead_letter(dead[1].id));
  ASSERT_TRUE(*sale_->discard_dead_letter(dead[1].id, "refunded"));
  drain();
  EXPECT_EQ(rows(), 6);
  EXPECT_EQ(status(held[2]), OrderLocation::kStored);
  EXPECT_EQ(status(held[3]), OrderLocation::kDeadLetter);
  expect_audit_passes();
  backend_.client()("DEL", "seckill:stock:1");
  EXPECT_EQ(buy(1, 19), Outcome::kSoldOut);
  expect_audit_passes();
}

/// The rebuild that restores the held order has read who took its piece when that order is lost, too.
TEST_P(LostWritesTest, HeldOrderIsJudgedAnewAfterNextFlush) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1)).ok());
  const OrderId held = order_of(1);
  int flushes = 0;
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point point) {
    using Point = faults::FaultyOrderStore::Point;
    if (flushes == 0 && point == Point::kBeforeWrite) {
      backend_.client()("FLUSHALL");
      EXPECT_EQ(buy_for(2, 2), 1);
      ++flushes;
    } else if (flushes == 1 && point == Point::kBeforeList) {
      backend_.client()("FLUSHALL");
      ++flushes;
    }
  });
  drain();
  EXPECT_EQ(flushes, 2);
  EXPECT_EQ(status(held), OrderLocation::kStored);
  EXPECT_EQ(rows(), 1);
  EXPECT_TRUE(letters().empty());
  expect_audit_passes();
}

/// Another process takes over the rebuild that has restored the held orders.
TEST_P(LostWritesTest, OrdersRestoredByFailedRebuildAreCounted) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy_for(1, 2), 2);
  bool is_taken_over = false;
  const auto take_over = [&](const Request& /*request*/, const Reply& /*reply*/) {
    if (is_taken_over || letters().empty()) return;
    is_taken_over = true;
    close_as_somebody(0);
  };
  HookedBackend restoring(backend_.keyspace(), {.after = take_over});
  OrderWorker worker(restoring, backend_.orders(), SaleKeys{}, {.consumer = "c1"});
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy_for(3, 3), 1);
  });
  OrderWorker::Step all;
  while (rows() < 2) {
    const OrderWorker::Step step = worker.step();
    all.restored += step.restored;
    all.buried += step.buried;
    backend_.advance_ms(WorkerOptions{}.pause_ms_max);
  }
  EXPECT_TRUE(is_taken_over);
  EXPECT_EQ(all.restored, 1U);
  EXPECT_EQ(all.buried, 1U);
  EXPECT_EQ(buy(1, 4), Outcome::kSoldOut);
  expect_audit_passes();
}

TEST_P(LostWritesTest, HeldOrderOfRepeatBuyerIsDead) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  const OrderId held = order_of(1);
  OrderId again = 0;
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    again = order_of(1);
  });
  drain();
  EXPECT_EQ(status(held), OrderLocation::kDeadLetter);
  EXPECT_EQ(status(again), OrderLocation::kStored);
  EXPECT_EQ(letters().at(0).reason, "the keyspace lost it, and meanwhile its user bought again");
  expect_audit_passes();
}

TEST_P(LostWritesTest, HeldOrderKeepsDayAndTime) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9, {.total = 4, .per_user = 0, .per_user_day = 2})).ok());
  const std::vector<OrderId> held = {order_of(1), order_of(1)};
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy_for(1, 2), 2);
  });
  drain();
  EXPECT_EQ(status(held[0]), OrderLocation::kStored);
  EXPECT_EQ(status(held[1]), OrderLocation::kDeadLetter) << "user 1 has two of this day";
  EXPECT_EQ(buy(1, 1), Outcome::kDayLimitReached);
  EXPECT_EQ(buy_for(3, 9), 1) << "the limit of the sale";
  drain();
  EXPECT_EQ(rows(), 4);
  expect_audit_passes();
}

TEST_P(LostWritesTest, OrdersHeldInOutageAreReadmitted) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  const OrderId held = order_of(1);
  backend_.orders().fail_writes();
  EXPECT_EQ(worker_->step().kind, OrderWorker::Step::Kind::kPaused);
  backend_.client()("FLUSHALL");
  EXPECT_EQ(buy_for(2, 3), 2);
  // After this time the worker reads the batch again.
  backend_.advance_ms(WorkerOptions{}.claim_idle_ms / 2 + 1);
  EXPECT_EQ(worker_->step().kind, OrderWorker::Step::Kind::kPaused);
  backend_.orders().fail_writes(absl::OkStatus());
  backend_.advance_ms(WorkerOptions{}.pause_ms_max);
  drain();
  EXPECT_EQ(status(held), OrderLocation::kStored);
  EXPECT_EQ(rows(), 3);
  expect_audit_passes();
}

TEST_P(LostWritesTest, OrderHeldByTwoWorkersIsReadmittedOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9, {.per_user = 0})).ok());
  const OrderId held = order_of(1);
  const auto second = make_worker("c1");  // reads the first worker's pending entries
  int writes = 0;
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point point) {
    if (point != faults::FaultyOrderStore::Point::kBeforeWrite) return;
    if (++writes == 1) second->step();
    if (writes != 2) return;
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy_for(2, 2), 1);
  });
  worker_->step();
  drain(*second);
  drain();
  EXPECT_EQ(status(held), OrderLocation::kStored);
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:1"), Reply::bulk("7"));
  EXPECT_TRUE(letters().empty());
  expect_audit_passes();
}

TEST_P(LostWritesTest, HeldOrdersOfOneEntryAreBothStored) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9)).ok());
  worker_->step();  // makes the stream
  const StreamId entry = future_entry();
  set_last_entry(entry);
  const OrderId first = order_of(1);
  lose_entry_after_reading(entry);
  const OrderId second = order_of(2);
  EXPECT_EQ(worker_->step().stored, 0U) << "the epoch has ended";
  drain();
  EXPECT_EQ(status(first), OrderLocation::kStored);
  EXPECT_EQ(status(second), OrderLocation::kStored);
  EXPECT_TRUE(letters().empty());
  expect_audit_passes();
}

TEST_P(LostWritesTest, HeldOrdersWaitForAnothersRebuild) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9)).ok());
  const OrderId held = order_of(1);
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy_for(2, 2), 1);
    close_as_somebody(0);
  });
  worker_->step();
  EXPECT_EQ(worker_->step().kind, OrderWorker::Step::Kind::kPaused);
  backend_.client()("HDEL", "seckill:voucher:1", "closed", "closed_run", "closed_at");
  backend_.advance_ms(WorkerOptions{}.pause_ms_max);
  drain();
  EXPECT_EQ(status(held), OrderLocation::kStored);
  EXPECT_EQ(rows(), 2);
  expect_audit_passes();
}

TEST_P(LostWritesTest, HeldOrderOutlivesItsDeletedEntry) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9)).ok());
  const OrderId held = order_of(1);
  backend_.orders().poison([](const Order& /*order*/) { return true; });
  EXPECT_EQ(worker_->step().faulted, 1U);
  backend_.orders().poison(nullptr);
  const Reply entries = backend_.client()("XRANGE", "stream.orders", "-", "+");
  backend_.client()("XDEL", "stream.orders", entries.elements()[0].elements()[0].text());
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  drain();
  EXPECT_EQ(status(held), OrderLocation::kStored);
  expect_audit_passes();
}

/// Steps a worker of another process until finish() is called and no work is left.
class SteppingThread {
 public:
  SteppingThread(std::unique_ptr<Backend> backend, OrderStore& orders, std::string consumer)
      : backend_(std::move(backend)),
        worker_(*backend_, orders, SaleKeys{},
                {.consumer = std::move(consumer),
                 .batch_max = 64,
                 .retry_after_ms = 1,
                 .pause_ms_max = 1}),
        thread_([this] { loop(); }) {}
  /// Returns how many orders it moved to a place that a flush empties: the stream or the dead
  /// letters.
  std::size_t finish() {
    is_ending_ = true;
    thread_.join();
    return given_up_;
  }

 private:
  void loop() {
    while (true) {
      const bool is_ending = is_ending_;
      const OrderWorker::Step step = worker_.step();
      given_up_ += step.restored + step.buried;
      if (is_ending && step.kind == OrderWorker::Step::Kind::kIdle) return;
    }
  }

  std::unique_ptr<Backend> backend_;
  OrderWorker worker_;
  std::atomic<bool> is_ending_{false};
  std::size_t given_up_ = 0;
  std::thread thread_;
};

class LostInRushTest : public ::testing::TestWithParam<SaleBackendParam> {};
INSTANTIATE_TEST_SUITE_P(Backends, LostInRushTest, each_backend(TestTime::kMachines), backend_name);

TEST_P(LostInRushTest, NoHeldOrderIsLostByFlushes) {
  constexpr std::int64_t kStock = 3'000;
  constexpr int kFlushes = 5;
  constexpr std::int64_t kOrdersPerFlush = kStock / (kFlushes + 2);
  constexpr int kBuyers = 3;
  SaleBackend backend(*GetParam(),
                      TestTime::kMachines);  // without its database: rows are read often
  MemoryOrderStore database;
  faults::FaultyOrderStore orders(database);
  std::mutex mutex;
  absl::flat_hash_set<OrderId> held;  // by a worker
  std::atomic<std::size_t> held_count = 0;
  orders.poison([&](const Order& order) {
    const std::lock_guard lock(mutex);
    held.insert(order.id);
    held_count = held.size();
    return false;
  });
  // Empties the keyspace between a worker's read and write, then waits for a rebuild.
  std::atomic<int> flushes = 0;
  orders.at_every_point([&](faults::FaultyOrderStore::Point point) {
    int flush = flushes;
    const bool is_due = point == faults::FaultyOrderStore::Point::kBeforeWrite &&
                        flush<kFlushes&& * database.count_live(1)>(flush + 1) * kOrdersPerFlush;
    if (!is_due || !flushes.compare_exchange_strong(flush, flush + 1)) return;
    const std::int64_t epoch = database.state()->epoch;
    backend.client()("FLUSHALL");
    while (database.state()->epoch == epoch) std::this_thread::yield();
  });
  const auto sale = *Sale::open(backend.keyspace(), orders);
  const std::int64_t now_ms = backend.clock().now_ms();
  ASSERT_TRUE(sale->publish({.id = 1,
                             .title = "rush",
                             .stock = kStock,
                             .begin_ms = now_ms - 1'000,
                             .end_ms = now_ms + 3'600'000,
                             .price_cents = 1,
                             .limits = {}})
                  .ok());
  SteppingThread first(backend.open_another(), orders, "w1");
  SteppingThread second(backend.open_another(), orders, "w2");
  std::atomic<bool> is_over = false;
  std::vector<std::thread> buyers;
  for (int t = 0; t < kBuyers; ++t) {
    buyers.emplace_back([&, t] {
      const auto own_backend = backend.open_another();
      const auto own_sale = *Sale::open(*own_backend, orders);
      for (std::int64_t user = t; !is_over; user += kBuyers) own_sale->buy(1, user);
    });
  }
  while (held_count < kStock - kStock / 20) std::this_thread::yield();
  is_over = true;
  for (std::thread& buyer : buyers) buyer.join();
  const std::size_t given_up = first.finish() + second.finish();

  EXPECT_EQ(flushes, kFlushes);
  EXPECT_LE(orders.count_live(1).value(), kStock);
  std::size_t unknown = 0;
  for (const OrderId order : held) {
    const auto state = sale->status(order);
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_NE(state->location, OrderLocation::kQueued) << order;
    if (state->location == OrderLocation::kUnknown) ++unknown;
  }
  EXPECT_LE(unknown, given_up);
  const auto report = sale->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
}

/// Its keys were evicted, say, before its publication was resolved.
TEST_P(LostWritesTest, LostUnresolvedPublicationCountsQueuedOrder) {
  publish_without_result(2);
  EXPECT_EQ(buy_for(1, 1), 1);
  const SaleKeys keys;
  backend_.client()("DEL", keys.voucher(1), keys.stock(1), keys.buyers(1));
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 19), 1);
  drain();
  EXPECT_EQ(rows(), 2);
  expect_audit_passes();
}

TEST_P(LostWritesTest, FlushedVouchersComeBackOneByOne) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 2)).ok());
  EXPECT_EQ(buy(2, 7), Outcome::kAccepted);
  drain();
  backend_.client()("FLUSHALL");
  EXPECT_EQ(buy(1, 7), Outcome::kAccepted);
  EXPECT_EQ(buy(2, 7), Outcome::kLimitReached);
  EXPECT_EQ(buy(3, 7), Outcome::kUnknownVoucher);
  drain();
  expect_audit_passes();
}

/// With lanes, the database says on which one a voucher is.
class UnknownVoucherTest : public LostWritesTest {};
INSTANTIATE_TEST_SUITE_P(Backends, UnknownVoucherTest, each_backend_without_lanes(), backend_name);

TEST_P(UnknownVoucherTest, FirstUnknownVoucherCostsNoDatabaseRead) {
  const int states_read = backend_.orders().states_read();
  backend_.orders().fail_reads();
  EXPECT_EQ(buy(77, 1), Outcome::kUnknownVoucher);
  EXPECT_EQ(backend_.orders().states_read(), states_read);
  backend_.orders().fail_reads(absl::OkStatus());
}

TEST_P(UnknownVoucherTest, UnknownVoucherCostsNoDatabaseRead) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  backend_.orders().fail_reads();
  EXPECT_EQ(buy(77, 1), Outcome::kUnknownVoucher);
  backend_.orders().fail_reads(absl::OkStatus());
}

}  // namespace
}  // namespace rushgate
