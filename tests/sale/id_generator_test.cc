#include "engine/sale/ids/id_generator.h"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/executor/engine.h"
#include "storage/memory/memory_order_store.h"
#include "storage/memory/memory_store.h"
#include "tests/faults/faulty_order_store.h"
#include "tests/forwarding_backend.h"
#include "tests/storage/orders/write_now.h"

namespace rushgate {
namespace {

class IdGeneratorTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  std::unique_ptr<Engine> engine_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
  std::unique_ptr<Client> client_ = engine_->open_client();
  MemoryOrderStore database_;
  faults::FaultyOrderStore orders_{database_};

  void store(OrderId id) {
    const std::vector<Order> batch = {{.id = id, .user = id, .voucher = 1}};
    ASSERT_TRUE(write_now(orders_, batch).ok());
  }
};

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kStartDay = ManualClock::kStartMs / kDayMs;
constexpr char kCounter[] = "icr:order:20231114";

TEST_F(IdGeneratorTest, TheUpperHalfIsTheTimeAndTheLowerTheDaysCounter) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  const OrderId id = *ids.next();
  EXPECT_EQ(id >> 32, ManualClock::kStartMs / 1'000 - IdGenerator::kEpochSeconds);
  EXPECT_EQ(id & 0xFFFFFFFF, 1);
  EXPECT_EQ(IdGenerator::made_at_ms(id), ManualClock::kStartMs);
  EXPECT_EQ((*client_)("GET", kCounter), Reply::bulk("10"));
}

TEST_F(IdGeneratorTest, ABlockIsDroppedWhenTheDayChanges) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  const OrderId today = *ids.next();
  engine_->advance_ms(kDayMs);
  const OrderId tomorrow = *ids.next();
  EXPECT_GT(tomorrow, today);
  EXPECT_EQ(tomorrow & 0xFFFFFFFF, 1) << "the new day's first, not yesterday's second";
  EXPECT_EQ((*client_)("GET", "icr:order:20231115"), Reply::bulk("10"));
}

TEST_F(IdGeneratorTest, IdsAscendEvenIfTheClockGoesBack) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 3);
  OrderId last = 0;
  for (int i = 0; i < 20; ++i) {
    clock_.set_now_ms(ManualClock::kStartMs - i * kDayMs / 4);
    const OrderId id = *ids.next();
    EXPECT_GT(id, last);
    last = id;
  }
}

TEST_F(IdGeneratorTest, ManyAtOnceAreThoseThatWouldHaveComeOneByOne) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  const OrderId first = *ids.next();
  std::vector<OrderId> many(25);
  std::size_t count = 0;
  EXPECT_TRUE(ids.next(many, count).ok());
  EXPECT_EQ(count, many.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(many[i], first + 1 + static_cast<OrderId>(i));
  }
}

TEST_F(IdGeneratorTest, WhenADrawFailsThoseBeforeItAreGiven) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  ASSERT_TRUE(ids.next().ok());
  (*client_)("SET", kCounter, "text");
  std::vector<OrderId> many(25);
  std::size_t count = 0;
  EXPECT_FALSE(ids.next(many, count).ok());
  EXPECT_EQ(count, 9U);
}

TEST_F(IdGeneratorTest, GeneratorsNeverGiveTheSameId) {
  IdGenerator first(*client_, orders_, clock_, SaleKeys{}, 7);
  IdGenerator second(*client_, orders_, clock_, SaleKeys{}, 5);
  std::set<OrderId> seen;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(seen.insert(*first.next()).second);
    EXPECT_TRUE(seen.insert(*second.next()).second);
    if (i % 100 == 0) engine_->advance_ms(1'000);
  }
}

TEST_F(IdGeneratorTest, AfterTheKeyspaceLostItsCounterIdsLieAboveThoseThatAreStored) {
  OrderId last = 0;
  for (int lost = 0; lost < 4; ++lost) {
    IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
    for (int i = 0; i < 25; ++i) {
      const OrderId id = *ids.next();
      EXPECT_GT(id, last) << "in the same second";
      last = id;
    }
    store(last);
    (*client_)("FLUSHALL");
  }
}

TEST_F(IdGeneratorTest, LostCounterIsRaisedUnderRunningGenerator) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  OrderId last = 0;
  for (int i = 0; i < 1'000; ++i) last = *ids.next();
  (*client_)("FLUSHALL");
  for (int i = 0; i < 2'000; ++i) {
    const OrderId next = *ids.next();
    EXPECT_GT(next, last);
    last = next;
  }
  EXPECT_GT((*client_)("INCRBY", kCounter, 0).integer(), IdDraws::kReserved);
}

TEST_F(IdGeneratorTest, RaisedCounterGivesGeneratorsDifferentBlocks) {
  const OrderId first = *IdGenerator(*client_, orders_, clock_, SaleKeys{}, 1'000).next();
  std::function<void()> before_draw;
  HookedClient hooked(engine_->open_client(), {.before = [&](const Request& request) {
                        if (request[0] == "EVAL" && before_draw) before_draw();
                      }});
  for (const std::int64_t stored_after : {1, 100, 999, 1'000, 5'000}) {
    (*client_)("FLUSHALL");
    IdGenerator unaware(*client_, orders_, clock_, SaleKeys{}, 1'000);
    ASSERT_TRUE(unaware.prepare().ok());
    store(first + stored_after);
    IdGenerator aware(hooked, orders_, clock_, SaleKeys{}, 1'000);
    std::set<OrderId> seen;
    int draws = 0;
    before_draw = [&] {  // between the two draws of the one that raises the counter
      if (++draws != 2) return;
      EXPECT_TRUE(seen.insert(*unaware.next()).second);
    };
    for (int i = 0; i < 3'000; ++i) {
      EXPECT_TRUE(seen.insert(*aware.next()).second);
      EXPECT_TRUE(seen.insert(*unaware.next()).second);
    }
    EXPECT_GE(draws, 2);
  }
}

TEST_F(IdGeneratorTest, LostCounterSparesBlocksOfOtherGenerators) {
  IdGenerator first(*client_, orders_, clock_, SaleKeys{}, 1'000);
  IdGenerator second(*client_, orders_, clock_, SaleKeys{}, 1'000);
  std::set<OrderId> seen = {*first.next(), *second.next()};
  (*client_)("FLUSHALL");
  for (int i = 0; i < 3'000; ++i) EXPECT_TRUE(seen.insert(*first.next()).second);
  for (int i = 0; i < 3'000; ++i) EXPECT_TRUE(seen.insert(*second.next()).second);
}

TEST_F(IdGeneratorTest, GeneratorWithoutDrawsSparesBlocksOfOthersAfterLoss) {
  IdGenerator first(*client_, orders_, clock_, SaleKeys{}, 1'000);
  IdGenerator second(*client_, orders_, clock_, SaleKeys{}, 1'000);
  ASSERT_TRUE(first.prepare().ok());
  ASSERT_TRUE(second.prepare().ok());
  std::set<OrderId> seen = {*first.next()};
  for (int lost = 0; lost < 3; ++lost) {
    (*client_)("FLUSHALL");
    for (int i = 0; i < 1'500; ++i) {
      EXPECT_TRUE(seen.insert(*second.next()).second);
      EXPECT_TRUE(seen.insert(*first.next()).second);
    }
  }
}

TEST_F(IdGeneratorTest, CounterThatAnotherSystemBeginsAfterLossSparesBlocks) {
  IdGenerator first(*client_, orders_, clock_, SaleKeys{}, 1'000);
  std::set<OrderId> seen = {*first.next()};
  (*client_)("FLUSHALL");
  (*client_)("INCR", kCounter);
  for (int i = 0; i < 3'000; ++i) EXPECT_TRUE(seen.insert(*first.next()).second);
}

TEST_F(IdGeneratorTest, OrderStoreIsAskedOncePerReservation) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 100'000);
  ASSERT_TRUE(ids.prepare().ok());
  const std::int64_t reserved = database_.reserve_ids(kStartDay, 0, 0).value();
  EXPECT_EQ(reserved, IdDraws::kReserved);
  std::vector<OrderId> many(IdDraws::kReserved / 2);
  std::size_t count = 0;
  ASSERT_TRUE(ids.next(many, count).ok());
  EXPECT_EQ(database_.reserve_ids(kStartDay, 0, 0).value(), reserved);
  ASSERT_TRUE(ids.next(many, count).ok());
  EXPECT_GT(database_.reserve_ids(kStartDay, 0, 0).value(), reserved);
}

TEST_F(IdGeneratorTest, ExhaustedCounterIsAnError) {
  const std::int64_t last = (std::int64_t{1} << IdGenerator::kCounterBits) - 1;
  (*client_)("SET", kCounter, last - 16);
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 4);
  OrderId id = 0;
  for (int i = 0; i < 12; ++i) {
    const auto next = ids.next();
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_GT(*next, id);
    id = *next;
    engine_->advance_ms(IdDraws::kBusyMs);
  }
  EXPECT_EQ(id & last, last);
  EXPECT_LT(IdGenerator::made_at_ms(id), ManualClock::kStartMs + 2'000);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(absl::IsResourceExhausted(ids.next().status()));
  engine_->advance_ms(kDayMs);
  EXPECT_TRUE(ids.next().ok());
}

TEST_F(IdGeneratorTest, NegativeCounterIsAnError) {
  (*client_)("SET", kCounter, -5);
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 4);
  EXPECT_TRUE(absl::IsFailedPrecondition(ids.next().status()));
}

TEST_F(IdGeneratorTest, IdsFollowAStoredOneThatAFasterClockMadeThatDay) {
  const OrderId ahead = *IdGenerator(*client_, orders_, clock_, SaleKeys{}).next() +
                        (OrderId{600} << IdGenerator::kCounterBits);
  store(ahead);
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{});
  EXPECT_GT(*ids.next(), ahead);
}

TEST_F(IdGeneratorTest, IdsOfAnotherDayAreNotFollowed) {
  const OrderId first = *IdGenerator(*client_, orders_, clock_, SaleKeys{}).next();
  store(first - (OrderId{86'400} << IdGenerator::kCounterBits));
  store(first + (OrderId{10 * 86'400} << IdGenerator::kCounterBits));
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{});
  EXPECT_EQ(IdGenerator::made_at_ms(*ids.next()), IdGenerator::made_at_ms(first));
}

TEST_F(IdGeneratorTest, AnErrorOfTheOrderStoreIsToldAndTheNextCallTriesAgain) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  orders_.fail_reads();
  EXPECT_TRUE(absl::IsUnavailable(ids.next().status()));
  orders_.fail_reads(absl::OkStatus());
  EXPECT_TRUE(ids.next().ok());
  orders_.fail_reads();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(ids.next().ok()) << "only the day's first asks";
}

TEST_F(IdGeneratorTest, AnErrorOfTheDrawIsToldAndTheNextCallTriesAgain) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  (*client_)("SET", kCounter, "not a number");
  EXPECT_FALSE(ids.next().ok());
  (*client_)("DEL", kCounter);
  EXPECT_TRUE(ids.next().ok());
}

TEST_F(IdGeneratorTest, NextDaysBlockIsDrawnAhead) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  const std::int64_t midnight_ms = (ManualClock::kStartMs / kDayMs + 1) * kDayMs;
  engine_->advance_ms(midnight_ms - ManualClock::kStartMs - 1'000);
  const OrderId today = *ids.next();
  EXPECT_EQ((*client_)("GET", "icr:order:20231115"), Reply::bulk("10"));
  engine_->advance_ms(1'000);
  orders_.fail_reads();
  (*client_)("SET", "icr:order:20231115", "text");
  const auto tomorrow = ids.next();
  ASSERT_TRUE(tomorrow.ok()) << tomorrow.status();
  EXPECT_GT(*tomorrow, today);
  EXPECT_EQ(IdGenerator::made_at_ms(*tomorrow), midnight_ms);
}

TEST_F(IdGeneratorTest, FailedDrawIsRepeatedBeforeBlockEnds) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 16);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ids.next().ok());
  (*client_)("SET", kCounter, "text");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ids.next().ok()) << "the draw at half the block fails";
  (*client_)("SET", kCounter, 16);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(ids.next().ok());
  EXPECT_EQ((*client_)("GET", kCounter), Reply::bulk("32"));
}

/// On an engine with threads.
class IdGeneratorThreadsTest : public ::testing::TestWithParam<EngineOptions::Policy> {
 protected:
  std::unique_ptr<Engine> engine_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.policy = GetParam()});
  std::unique_ptr<Client> client_ = engine_->open_client();
  MemoryOrderStore database_;
  faults::FaultyOrderStore orders_{database_};
};

INSTANTIATE_TEST_SUITE_P(Policies, IdGeneratorThreadsTest,
                         ::testing::Values(EngineOptions::Policy::kCallers,
                                           EngineOptions::Policy::kServiceThreadOnly));

TEST_P(IdGeneratorThreadsTest, CallersNeverReadOrderStore) {
  std::atomic<int> reads = 0;
  std::atomic<int> reads_here = 0;
  const std::thread::id here = std::this_thread::get_id();
  orders_.before_every_read([&] {
    ++reads;
    if (std::this_thread::get_id() == here) ++reads_here;
  });
  IdGenerator ids(*client_, orders_, engine_->clock(), SaleKeys{}, 16);
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(ids.next().ok());
  EXPECT_GE(reads, 1);
  EXPECT_EQ(reads_here, 0);
}

TEST_P(IdGeneratorThreadsTest, CallbackDrawsByItself) {
  constexpr int kCount = 100;
  IdGenerator ids(*client_, orders_, engine_->clock(), SaleKeys{}, 16);
  std::promise<std::set<OrderId>> given;
  client_->submit(Request::of("PING"), [&](const Reply&) {
    std::set<OrderId> seen;
    for (int i = 0; i < kCount; ++i) {
      const auto id = ids.next();
      if (id.ok()) seen.insert(*id);
    }
    given.set_value(std::move(seen));
  });
  EXPECT_EQ(given.get_future().get().size(), kCount);
}

TEST_P(IdGeneratorThreadsTest, ThreadsShareDraws) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5'000;
  IdGenerator ids(*client_, orders_, engine_->clock(), SaleKeys{}, 64);
  std::vector<std::vector<OrderId>> given(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : given) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) mine.push_back(*ids.next());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<OrderId> all;
  for (const auto& mine : given) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads) * kEach);
}

TEST_P(IdGeneratorThreadsTest, GeneratorMayEndBeforeItsDraw) {
  for (int i = 0; i < 200; ++i) {
    const auto orders = std::make_unique<MemoryOrderStore>();
    const auto client = engine_->open_client();
    IdGenerator ids(*client, *orders, engine_->clock(), SaleKeys{}, 2);
    EXPECT_TRUE(ids.next().ok());  // asks for the next block
  }
}

}  // namespace
}  // namespace rushgate
