#include "engine/sale/ids/id_generator.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "engine/executor/engine.h"
#include "storage/memory/memory_order_store.h"
#include "storage/memory/memory_store.h"
#include "tests/faults/faulty_order_store.h"

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
    ASSERT_TRUE(orders_.write(batch).ok());
  }
};

constexpr std::int64_t kDayMs = 86'400'000;

TEST_F(IdGeneratorTest, TheUpperHalfIsTheTimeAndTheLowerTheDaysCounter) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  const OrderId id = *ids.next();
  EXPECT_EQ(id >> 32, ManualClock::kStartMs / 1'000 - IdGenerator::kEpochSeconds);
  EXPECT_EQ(id & 0xFFFFFFFF, 1);
  EXPECT_EQ(IdGenerator::made_at_ms(id), ManualClock::kStartMs);
  EXPECT_EQ((*client_)("GET", "icr:order:20231114"), Reply::bulk("10"));
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
  (*client_)("SET", "icr:order:20231114", "text");
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

TEST_F(IdGeneratorTest, ACounterThatIsLostUnderARunningGeneratorIsRaised) {
  IdGenerator ids(*client_, orders_, clock_, SaleKeys{}, 10);
  OrderId last = 0;
  for (int i = 0; i < 1'000; ++i) last = *ids.next();
  (*client_)("FLUSHALL");
  const OrderId next = *ids.next();
  EXPECT_EQ(next & 0xFFFFFFFF, (last & 0xFFFFFFFF) + 1);
  EXPECT_EQ((*client_)("GET", "icr:order:20231114"), Reply::bulk("1010"));
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
  (*client_)("SET", "icr:order:20231114", "not a number");
  EXPECT_FALSE(ids.next().ok());
  (*client_)("DEL", "icr:order:20231114");
  EXPECT_TRUE(ids.next().ok());
}

}  // namespace
}  // namespace rushgate
