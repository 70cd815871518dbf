// Concurrent callers of one sale (callers_test.cc), as fibers of one thread. A waiting fiber lets
// the others of its thread run.
#include <boost/fiber/fiber.hpp>
#include <gmock/gmock.h>

#include "engine/recipes/ids/id_draws.h"
#include "tests/unit/sale/callers_fixture.h"
#include <rushgate/fiber_wait.h>

namespace rushgate {
namespace {

void run_on_fibers(Client& /*client*/, int count, const std::function<void(int)>& work) {
  std::vector<boost::fibers::fiber> fibers;
  for (int i = 0; i < count; ++i) fibers.emplace_back([&work, i] { work(i); });
  for (auto& fiber : fibers) fiber.join();
}

const Caller kOnFibers{.name = "Fibers", .client = {.wait = &fiber_wait()}, .run = run_on_fibers};

INSTANTIATE_TEST_SUITE_P(BackendsOnFibers, CallersTest,
                         ::testing::Combine(each_backend(TestTime::kMachines),
                                            ::testing::Values(&kOnFibers)),
                         backend_and_caller);

class SaleOnFibersTest : public ThreadedSaleTest {};
INSTANTIATE_TEST_SUITE_P(Backends, SaleOnFibersTest, each_backend(TestTime::kMachines),
                         backend_name);

TEST_P(SaleOnFibersTest, FibersShareDrawsOfIds) {
  constexpr int kFibers = 500;
  constexpr int kBuysEach = 40;
  constexpr std::int64_t kBlock = 64;
  ASSERT_TRUE(sale_->publish(voucher(7, kFibers * kBuysEach, {.per_user = 0})).ok());
  const auto sale = Sale::open(backend_.keyspace(), backend_.orders(),
                               {.id_block_size = kBlock, .client = {.wait = &fiber_wait()}});
  ASSERT_TRUE(sale.ok()) << sale.status();
  run_on_fibers(backend_.client(), kFibers, [&](int i) {
    for (int buy = 0; buy < kBuysEach; ++buy) {
      const BuyResult result = (*sale)->buy(7, i + 1);
      EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    }
  });
  // Drawn today or, around midnight, on both days. A counter begins after the ids that other sales
  // reserved: multiples of what a lane reserves.
  constexpr std::int64_t kReservedByLane = std::int64_t{1} << 17;
  std::int64_t drawn = 0;
  const Reply counters = backend_.client()("KEYS", SaleKeys{}.id_prefix + "*");
  for (const Reply& counter : counters.elements())
    drawn += backend_.client()("INCRBY", counter.text(), 0).integer() % kReservedByLane;
  EXPECT_GE(drawn, kFibers * kBuysEach);
  // One block in use and one ahead, twice if a day ends meanwhile.
  EXPECT_LE(drawn, kFibers * kBuysEach + 4 * kBlock * IdDraws::kGrowthMax);
}

}  // namespace
}  // namespace rushgate
