// Order ids: the recipe, with reservations in an order database.
#include "engine/sale/stores/order_ids.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/base/time_units.h"
#include "engine/recipes/ids/id_draws.h"
#include "tests/support/barrier.h"
#include "tests/support/hooked_backend.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/ids.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

IdOptions blocks_of(std::int64_t size) { return order_id_options(SaleKeys{}, size, {}); }

constexpr std::int64_t kStartDay = ManualClock::kStartMs / kDayMs;
constexpr char kCounter[] = "icr:order:20231114";

/// Does not own the reservations to which it forwards.
class ForwardingReservations : public IdReservations {
 public:
  explicit ForwardingReservations(IdReservations& all) : all_(all) {}

  absl::StatusOr<std::int64_t> greatest_id(std::int64_t below) override {
    return all_.greatest_id(below);
  }
  absl::StatusOr<std::int64_t> reserve(std::int64_t day, std::int64_t above,
                                       std::int64_t count) override {
    return all_.reserve(day, above, count);
  }

 private:
  IdReservations& all_;
};

class OrderIdsTest : public ::testing::TestWithParam<SaleBackendParam> {
 protected:
  SaleBackend keyspace_{*GetParam()};  // without its database
  Client& client_ = keyspace_.client();
  MemoryOrderStore database_;
  faults::FaultyOrderStore orders_{database_};
  OrderIdReservations reservations_{orders_};

  void store(OrderId id) {
    const std::vector<Order> batch = {{.id = id, .user = id, .voucher = 1}};
    ASSERT_TRUE(write_now(orders_, batch).ok());
  }
  /// Returns the greatest reserved counter of the first day.
  std::int64_t reserved() { return database_.reserve_ids(kStartDay, 0, 0).value(); }
};

INSTANTIATE_TEST_SUITE_P(Backends, OrderIdsTest, each_backend(), backend_name);

TEST_P(OrderIdsTest, IdIsTimeAboveDailyCounter) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  const OrderId id = *ids.next_id();
  EXPECT_EQ(id >> 32, ManualClock::kStartMs / 1'000 - kOrderIdLayout.epoch_seconds);
  EXPECT_EQ(id & 0xFFFFFFFF, 1);
  EXPECT_EQ(kOrderIdLayout.made_at_ms(id), ManualClock::kStartMs);
  EXPECT_EQ(client_("GET", kCounter), Reply::bulk("10"));
}

TEST_P(OrderIdsTest, BlockIsDroppedAtDayChange) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  const OrderId today = *ids.next_id();
  keyspace_.advance_ms(kDayMs);
  const OrderId tomorrow = *ids.next_id();
  EXPECT_GT(tomorrow, today);
  EXPECT_EQ(tomorrow & 0xFFFFFFFF, 1) << "the new day's first, not yesterday's second";
  EXPECT_EQ(client_("GET", "icr:order:20231115"), Reply::bulk("10"));
}

TEST_P(OrderIdsTest, IdsAscendWhenClockGoesBack) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(3), &reservations_);
  OrderId last = 0;
  for (int i = 0; i < 20; ++i) {
    keyspace_.set_now_ms(ManualClock::kStartMs - i * kDayMs / 4);
    const OrderId id = *ids.next_id();
    EXPECT_GT(id, last);
    last = id;
  }
}

TEST_P(OrderIdsTest, IdsInBulkEqualSingleIds) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  const OrderId first = *ids.next_id();
  std::vector<OrderId> many(25);
  std::size_t count = 0;
  EXPECT_TRUE(ids.next_ids(many, count).ok());
  EXPECT_EQ(count, many.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(many[i], first + 1 + static_cast<OrderId>(i));
  }
}

TEST_P(OrderIdsTest, ReturnedIdIsGivenInItsSecond) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  std::vector<OrderId> first(3);
  std::size_t count = 0;
  ASSERT_TRUE(ids.next_ids(first, count).ok());
  ids.give_back(std::span(first).subspan(1));
  EXPECT_EQ(*ids.next_id(), first[1]);
  EXPECT_EQ(*ids.next_id(), first[2]);
  EXPECT_EQ(*ids.next_id(), first[2] + 1);

  ids.give_back(first);
  keyspace_.advance_ms(1'000);
  EXPECT_EQ(kOrderIdLayout.counter_of(*ids.next_id()), 5) << "not an id of an earlier second";
}

TEST_P(OrderIdsTest, ReturnedIdIsForgottenWithDraws) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  const OrderId early = *ids.next_id();
  const OrderId late = *ids.next_id();
  ids.give_back({&early, 1});
  ids.forget_draws();
  ids.give_back({&late, 1});
  EXPECT_GT(*ids.next_id(), late) << "another process may have drawn both";
}

TEST_P(OrderIdsTest, FailedDrawKeepsEarlierIds) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  ASSERT_TRUE(ids.next_id().ok());
  client_("SET", kCounter, "text");
  std::vector<OrderId> many(25);
  std::size_t count = 0;
  EXPECT_FALSE(ids.next_ids(many, count).ok());
  EXPECT_EQ(count, 9U);
}

TEST_P(OrderIdsTest, GeneratorsNeverRepeatIds) {
  IdGenerator first(keyspace_.keyspace(), blocks_of(7), &reservations_);
  IdGenerator second(keyspace_.keyspace(), blocks_of(5), &reservations_);
  std::set<OrderId> seen;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(seen.insert(*first.next_id()).second);
    EXPECT_TRUE(seen.insert(*second.next_id()).second);
    if (i % 100 == 0) keyspace_.advance_ms(1'000);
  }
}

TEST_P(OrderIdsTest, LostCounterYieldsIdsAboveStoredOnes) {
  OrderId last = 0;
  for (int lost = 0; lost < 4; ++lost) {
    IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
    for (int i = 0; i < 25; ++i) {
      const OrderId id = *ids.next_id();
      EXPECT_GT(id, last) << "in the same second";
      last = id;
    }
    store(last);
    client_("FLUSHALL");
  }
}

TEST_P(OrderIdsTest, LostCounterIsRaisedUnderRunningGenerator) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  OrderId last = 0;
  for (int i = 0; i < 1'000; ++i) last = *ids.next_id();
  client_("FLUSHALL");
  for (int i = 0; i < 2'000; ++i) {
    const OrderId next = *ids.next_id();
    EXPECT_GT(next, last);
    last = next;
  }
  EXPECT_GT(client_("INCRBY", kCounter, 0).integer(), IdReservations::kReservedAtOnce);
}

TEST_P(OrderIdsTest, RaisedCounterGivesGeneratorsDifferentBlocks) {
  const OrderId first =
      *IdGenerator(keyspace_.keyspace(), blocks_of(1'000), &reservations_).next_id();
  std::function<void()> before_draw;
  HookedBackend hooked(keyspace_.keyspace(), {.before = [&](const Request& request) {
                         if (request[0] == "EVAL" && before_draw) before_draw();
                       }});
  for (const std::int64_t stored_after : {1, 100, 999, 1'000, 5'000}) {
    client_("FLUSHALL");
    IdGenerator unaware(keyspace_.keyspace(), blocks_of(1'000), &reservations_);
    ASSERT_TRUE(unaware.prepare().ok());
    store(first + stored_after);
    IdGenerator aware(hooked, blocks_of(1'000), &reservations_);
    std::set<OrderId> seen;
    int draws = 0;
    before_draw = [&] {  // between the two draws of the generator that raises the counter
      if (++draws != 2) return;
      EXPECT_TRUE(seen.insert(*unaware.next_id()).second);
    };
    for (int i = 0; i < 3'000; ++i) {
      EXPECT_TRUE(seen.insert(*aware.next_id()).second);
      EXPECT_TRUE(seen.insert(*unaware.next_id()).second);
    }
    EXPECT_GE(draws, 2);
  }
}

TEST_P(OrderIdsTest, LostCounterSparesBlocksOfOtherGenerators) {
  IdGenerator first(keyspace_.keyspace(), blocks_of(1'000), &reservations_);
  IdGenerator second(keyspace_.keyspace(), blocks_of(1'000), &reservations_);
  std::set<OrderId> seen = {*first.next_id(), *second.next_id()};
  client_("FLUSHALL");
  for (int i = 0; i < 3'000; ++i) EXPECT_TRUE(seen.insert(*first.next_id()).second);
  for (int i = 0; i < 3'000; ++i) EXPECT_TRUE(seen.insert(*second.next_id()).second);
}

TEST_P(OrderIdsTest, IdleGeneratorSparesForeignBlocksAfterLoss) {
  IdGenerator first(keyspace_.keyspace(), blocks_of(1'000), &reservations_);
  IdGenerator second(keyspace_.keyspace(), blocks_of(1'000), &reservations_);
  ASSERT_TRUE(first.prepare().ok());
  ASSERT_TRUE(second.prepare().ok());
  std::set<OrderId> seen = {*first.next_id()};
  for (int lost = 0; lost < 3; ++lost) {
    client_("FLUSHALL");
    for (int i = 0; i < 1'500; ++i) {
      EXPECT_TRUE(seen.insert(*second.next_id()).second);
      EXPECT_TRUE(seen.insert(*first.next_id()).second);
    }
  }
}

TEST_P(OrderIdsTest, ForeignCounterAfterLossSparesBlocks) {
  IdGenerator first(keyspace_.keyspace(), blocks_of(1'000), &reservations_);
  std::set<OrderId> seen = {*first.next_id()};
  client_("FLUSHALL");
  client_("INCR", kCounter);
  for (int i = 0; i < 3'000; ++i) EXPECT_TRUE(seen.insert(*first.next_id()).second);
}

/// A snapshot is restored that is older than a block. The block's process continues to use it.
TEST_P(OrderIdsTest, OlderCounterSparesBlocksOfOthers) {
  IdGenerator first(keyspace_.keyspace(), blocks_of(1'000), &reservations_);
  IdGenerator second(keyspace_.keyspace(), blocks_of(1'000), &reservations_);
  std::set<OrderId> seen = {*second.next_id()};
  const std::string older = client_("GET", kCounter).text();
  EXPECT_TRUE(seen.insert(*first.next_id()).second);
  client_("SET", kCounter, older);
  second.forget_draws();  // like the check of a new connection
  for (int i = 0; i < 900; ++i) EXPECT_TRUE(seen.insert(*second.next_id()).second);
  for (int i = 0; i < 900; ++i) EXPECT_TRUE(seen.insert(*first.next_id()).second);
}

TEST_P(OrderIdsTest, CounterIsRaisedThoughMemoryIsExhausted) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  ASSERT_TRUE(ids.next_id().ok());
  ids.forget_draws();
  client_("CONFIG", "SET", "maxmemory", 1);
  EXPECT_EQ(ids.raise_counter(client_), absl::OkStatus());
  client_("CONFIG", "SET", "maxmemory", 0);
  EXPECT_EQ(client_("INCRBY", kCounter, 0), Reply::integer(IdReservations::kReservedAtOnce));
}

TEST_P(OrderIdsTest, FailedRaisesReserveOnce) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  ASSERT_TRUE(ids.next_id().ok());
  client_("SET", kCounter, "text");
  ids.forget_draws();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(ids.raise_counter(client_).ok());
  client_("SET", kCounter, 0);
  EXPECT_EQ(ids.raise_counter(client_), absl::OkStatus());
  EXPECT_EQ(reserved(), 2 * IdReservations::kReservedAtOnce);
  EXPECT_EQ(kOrderIdLayout.counter_of(*ids.next_id()), IdReservations::kReservedAtOnce + 1);
  EXPECT_EQ(reserved(), 2 * IdReservations::kReservedAtOnce);
}

TEST_P(OrderIdsTest, RefusedDrawsReserveOnce) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  client_("SET", "other", "data");
  client_("CONFIG", "SET", "maxmemory", 1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(absl::IsUnavailable(ids.next_id().status()));
  client_("CONFIG", "SET", "maxmemory", 0);
  EXPECT_EQ(kOrderIdLayout.counter_of(*ids.next_id()), 1);
  EXPECT_EQ(reserved(), IdReservations::kReservedAtOnce);
}

/// An older counter must not give what others may have.
TEST_P(OrderIdsTest, UsedUpReservationsEndDay) {
  class Limited final : public ForwardingReservations {
   public:
    using ForwardingReservations::ForwardingReservations;

    absl::StatusOr<std::int64_t> reserve(std::int64_t day, std::int64_t above,
                                         std::int64_t count) override {
      auto reserved = ForwardingReservations::reserve(day, above, count);
      if (reserved.ok() && *reserved > kReservedAtOnce) return absl::ResourceExhaustedError("");
      return reserved;
    }
  };
  Limited limited(reservations_);
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &limited);
  ASSERT_TRUE(ids.next_id().ok());
  IdGenerator began_after_loss(keyspace_.keyspace(), blocks_of(10), &limited);
  ASSERT_TRUE(began_after_loss.prepare().ok());
  ids.forget_draws();
  EXPECT_EQ(ids.raise_counter(client_), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(began_after_loss.next_id().status()));
  EXPECT_TRUE(absl::IsResourceExhausted(ids.next_id().status()));
  keyspace_.advance_ms(kDayMs);
  EXPECT_TRUE(ids.next_id().ok());
}

TEST_P(OrderIdsTest, DrawBeforeLossIsVoid) {
  IdGenerator* drawing = nullptr;
  std::string older;
  HookedBackend losing(keyspace_.keyspace(), {.before = [&](const Request& request) {
                         if (request[0] != "EVAL" || older.empty()) return;
                         client_("SET", kCounter, std::exchange(older, ""));
                         drawing->forget_draws();
                       }});
  IdGenerator first(keyspace_.keyspace(), blocks_of(10), &reservations_);
  IdGenerator second(losing, blocks_of(10), &reservations_);
  drawing = &second;
  std::set<OrderId> seen = {*second.next_id()};
  older = client_("GET", kCounter).text();
  EXPECT_TRUE(seen.insert(*first.next_id()).second);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(*second.next_id()).second);
  EXPECT_TRUE(older.empty());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(*first.next_id()).second);
}

TEST_P(OrderIdsTest, OrderStoreIsReadOncePerReservation) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(100'000), &reservations_);
  ASSERT_TRUE(ids.prepare().ok());
  EXPECT_EQ(reserved(), IdReservations::kReservedAtOnce);
  std::vector<OrderId> many(IdReservations::kReservedAtOnce / 2);
  std::size_t count = 0;
  ASSERT_TRUE(ids.next_ids(many, count).ok());
  EXPECT_EQ(reserved(), IdReservations::kReservedAtOnce);
  ASSERT_TRUE(ids.next_ids(many, count).ok());
  EXPECT_GT(reserved(), IdReservations::kReservedAtOnce);
}

TEST_P(OrderIdsTest, ExhaustedCounterIsError) {
  const std::int64_t last = (std::int64_t{1} << kOrderIdLayout.counter_bits) - 1;
  client_("SET", kCounter, last - 16);
  IdGenerator ids(keyspace_.keyspace(), blocks_of(4), &reservations_);
  OrderId id = 0;
  for (int i = 0; i < 12; ++i) {
    const auto next = ids.next_id();
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_GT(*next, id);
    id = *next;
    keyspace_.advance_ms(IdDraws::kBusyMs);
  }
  EXPECT_EQ(id & last, last);
  EXPECT_LT(kOrderIdLayout.made_at_ms(id), ManualClock::kStartMs + 2'000);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(absl::IsResourceExhausted(ids.next_id().status()));
  keyspace_.advance_ms(kDayMs);
  EXPECT_TRUE(ids.next_id().ok());
}

TEST_P(OrderIdsTest, NegativeCounterIsError) {
  client_("SET", kCounter, -5);
  IdGenerator ids(keyspace_.keyspace(), blocks_of(4), &reservations_);
  EXPECT_TRUE(absl::IsFailedPrecondition(ids.next_id().status()));
}

TEST_P(OrderIdsTest, IdsFollowStoredIdOfFasterClock) {
  const OrderId ahead =
      *IdGenerator(keyspace_.keyspace(), blocks_of(1'024), &reservations_).next_id() +
      (OrderId{600} << kOrderIdLayout.counter_bits);
  store(ahead);
  IdGenerator ids(keyspace_.keyspace(), blocks_of(1'024), &reservations_);
  EXPECT_GT(*ids.next_id(), ahead);
}

TEST_P(OrderIdsTest, IdsOfAnotherDayAreNotFollowed) {
  const OrderId first =
      *IdGenerator(keyspace_.keyspace(), blocks_of(1'024), &reservations_).next_id();
  store(first - (OrderId{86'400} << kOrderIdLayout.counter_bits));
  store(first + (OrderId{10 * 86'400} << kOrderIdLayout.counter_bits));
  IdGenerator ids(keyspace_.keyspace(), blocks_of(1'024), &reservations_);
  EXPECT_EQ(kOrderIdLayout.made_at_ms(*ids.next_id()), kOrderIdLayout.made_at_ms(first));
}

TEST_P(OrderIdsTest, OrderStoreErrorIsReturnedThenRetried) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  orders_.fail_reads();
  EXPECT_TRUE(absl::IsUnavailable(ids.next_id().status()));
  orders_.fail_reads(absl::OkStatus());
  EXPECT_TRUE(ids.next_id().ok());
  orders_.fail_reads();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(ids.next_id().ok()) << "only the day's first asks";
}

TEST_P(OrderIdsTest, DrawErrorIsReturnedThenRetried) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  client_("SET", kCounter, "not a number");
  EXPECT_FALSE(ids.next_id().ok());
  client_("DEL", kCounter);
  EXPECT_TRUE(ids.next_id().ok());
}

TEST_P(OrderIdsTest, NextDaysBlockIsDrawnAhead) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(10), &reservations_);
  const std::int64_t midnight_ms = (ManualClock::kStartMs / kDayMs + 1) * kDayMs;
  keyspace_.advance_ms(midnight_ms - ManualClock::kStartMs - 1'000);
  const OrderId today = *ids.next_id();
  EXPECT_EQ(client_("GET", "icr:order:20231115"), Reply::bulk("10"));
  keyspace_.advance_ms(1'000);
  orders_.fail_reads();
  client_("SET", "icr:order:20231115", "text");
  const auto tomorrow = ids.next_id();
  ASSERT_TRUE(tomorrow.ok()) << tomorrow.status();
  EXPECT_GT(*tomorrow, today);
  EXPECT_EQ(kOrderIdLayout.made_at_ms(*tomorrow), midnight_ms);
}

TEST_P(OrderIdsTest, FailedDrawIsRepeatedBeforeBlockEnds) {
  IdGenerator ids(keyspace_.keyspace(), blocks_of(16), &reservations_);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ids.next_id().ok());
  client_("SET", kCounter, "text");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(ids.next_id().ok()) << "the draw at half the block fails";
  client_("SET", kCounter, 16);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(ids.next_id().ok());
  EXPECT_EQ(client_("GET", kCounter), Reply::bulk("32"));
}

/// Uses the machine's time.
class OrderIdsThreadsTest : public ::testing::TestWithParam<SaleBackendParam> {
 protected:
  SaleBackend keyspace_{*GetParam(), TestTime::kMachines};  // without its database
  Client& client_ = keyspace_.client();
  MemoryOrderStore database_;
  faults::FaultyOrderStore orders_{database_};
  OrderIdReservations reservations_{orders_};
};

INSTANTIATE_TEST_SUITE_P(Backends, OrderIdsThreadsTest, each_backend(TestTime::kMachines),
                         backend_name);

TEST_P(OrderIdsThreadsTest, CallersNeverReadOrderStore) {
  std::atomic<int> reads_here = 0;
  const std::thread::id here = std::this_thread::get_id();
  orders_.before_every_read([&] {
    if (std::this_thread::get_id() == here) {
      ++reads_here;
    } else {  // a slow store: callers still wait
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  IdGenerator ids(keyspace_.keyspace(), blocks_of(16), &reservations_);
  ASSERT_TRUE(ids.prepare().ok());
  EXPECT_GT(reads_here.exchange(0), 0);
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(ids.next_id().ok());
  EXPECT_EQ(reads_here, 0);
}

TEST_P(OrderIdsThreadsTest, SlowDatabaseDelaysNoOtherDraws) {
  testing::Barrier slow;
  slow.close();
  orders_.before_every_read([&] { slow.pass(); });
  IdGenerator waiting(keyspace_.keyspace(), blocks_of(16), &reservations_);
  auto late = std::async(std::launch::async, [&] { return waiting.next_id(); });
  slow.await(1);

  MemoryOrderStore other_database;
  OrderIdReservations other_reservations(other_database);
  IdGenerator other(keyspace_.keyspace(), order_id_options({.id_prefix = "other:"}, 16, {}),
                    &other_reservations);
  auto drawn = std::async(std::launch::async, [&] {
    bool is_each_ok = true;
    for (int i = 0; i < 1'000; ++i) is_each_ok = other.next_id().ok() && is_each_ok;
    return is_each_ok;
  });
  constexpr std::chrono::seconds kPatience{60};  // generous: the machine may be busy
  EXPECT_EQ(drawn.wait_for(kPatience), std::future_status::ready);
  slow.open();
  EXPECT_TRUE(drawn.get());
  EXPECT_TRUE(late.get().ok());
}

TEST_P(OrderIdsThreadsTest, ThrowingReservationsFailOneDraw) {
  class ThrowingOnce final : public ForwardingReservations {
   public:
    using ForwardingReservations::ForwardingReservations;

    [[nodiscard]] std::int64_t reserved_at_once() const override {
      if (!has_thrown_.exchange(true)) throw std::bad_alloc();
      return kReservedAtOnce;
    }

   private:
    mutable std::atomic<bool> has_thrown_ = false;
  };
  ThrowingOnce reservations(reservations_);
  IdGenerator ids(keyspace_.keyspace(), blocks_of(16), &reservations);
  EXPECT_EQ(ids.next_id().status(), absl::UnknownError("std::bad_alloc"));
  EXPECT_TRUE(ids.next_id().ok());
}

TEST_P(OrderIdsThreadsTest, CallbackDrawsWithoutBlocking) {
  constexpr int kCount = 100;
  IdGenerator ids(keyspace_.keyspace(), blocks_of(16), &reservations_);
  std::promise<std::set<OrderId>> given;
  client_.submit(Request::of("PING"), [&](const Reply&) {
    std::set<OrderId> seen;
    for (int i = 0; i < kCount; ++i) {
      const auto id = ids.next_id();
      if (id.ok()) seen.insert(*id);
    }
    given.set_value(std::move(seen));
  });
  EXPECT_EQ(given.get_future().get().size(), kCount);
}

TEST_P(OrderIdsThreadsTest, ThreadsShareDraws) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5'000;
  IdGenerator ids(keyspace_.keyspace(), blocks_of(64), &reservations_);
  std::vector<std::vector<OrderId>> given(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : given) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) mine.push_back(*ids.next_id());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<OrderId> all;
  for (const auto& mine : given) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads) * kEach);
}

TEST_P(OrderIdsThreadsTest, GeneratorMayEndBeforeDraw) {
  for (int i = 0; i < 200; ++i) {
    const auto orders = std::make_unique<MemoryOrderStore>();
    OrderIdReservations reservations(*orders);
    IdGenerator ids(keyspace_.keyspace(), blocks_of(2), &reservations);
    EXPECT_TRUE(ids.next_id().ok());  // requests the next block
  }
}

}  // namespace
}  // namespace rushgate
