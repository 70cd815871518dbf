#include "engine/sale/ids/id_generator.h"

#include <set>

#include <gtest/gtest.h>

#include "engine/executor/engine.h"
#include "storage/memory/memory_store.h"

namespace rushgate {
namespace {

class IdGeneratorTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  std::unique_ptr<Engine> engine_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
  std::unique_ptr<Client> client_ = engine_->open_client();
};

constexpr std::int64_t kDayMs = 86'400'000;

TEST_F(IdGeneratorTest, TheUpperHalfIsTheTimeAndTheLowerTheDaysCounter) {
  IdGenerator ids(*client_, clock_, SaleKeys{}, 10);
  const OrderId id = *ids.next();
  EXPECT_EQ(id >> 32, ManualClock::kStartMs / 1'000 - IdGenerator::kEpochSeconds);
  EXPECT_EQ(id & 0xFFFFFFFF, 1);
  EXPECT_EQ(IdGenerator::made_at_ms(id), ManualClock::kStartMs);
  EXPECT_EQ((*client_)("GET", "icr:order:20231114"), Reply::bulk("10"));
}

TEST_F(IdGeneratorTest, ABlockIsDroppedWhenTheDayChanges) {
  IdGenerator ids(*client_, clock_, SaleKeys{}, 10);
  const OrderId today = *ids.next();
  engine_->advance_ms(kDayMs);
  const OrderId tomorrow = *ids.next();
  EXPECT_GT(tomorrow, today);
  EXPECT_EQ(tomorrow & 0xFFFFFFFF, 1) << "the new day's first, not yesterday's second";
  EXPECT_EQ((*client_)("GET", "icr:order:20231115"), Reply::bulk("10"));
}

TEST_F(IdGeneratorTest, IdsAscendEvenIfTheClockGoesBack) {
  IdGenerator ids(*client_, clock_, SaleKeys{}, 3);
  OrderId last = 0;
  for (int i = 0; i < 20; ++i) {
    clock_.set_now_ms(ManualClock::kStartMs - i * kDayMs / 4);
    const OrderId id = *ids.next();
    EXPECT_GT(id, last);
    last = id;
  }
}

TEST_F(IdGeneratorTest, GeneratorsNeverGiveTheSameId) {
  IdGenerator first(*client_, clock_, SaleKeys{}, 7);
  IdGenerator second(*client_, clock_, SaleKeys{}, 5);
  std::set<OrderId> seen;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(seen.insert(*first.next()).second);
    EXPECT_TRUE(seen.insert(*second.next()).second);
    if (i % 100 == 0) engine_->advance_ms(1'000);
  }
}

TEST_F(IdGeneratorTest, AnErrorOfTheDrawIsToldAndTheNextCallTriesAgain) {
  IdGenerator ids(*client_, clock_, SaleKeys{}, 10);
  (*client_)("SET", "icr:order:20231114", "not a number");
  EXPECT_FALSE(ids.next().ok());
  (*client_)("DEL", "icr:order:20231114");
  EXPECT_TRUE(ids.next().ok());
}

}  // namespace
}  // namespace rushgate
