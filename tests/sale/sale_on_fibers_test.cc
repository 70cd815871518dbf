// One sale for fibers, threads and callbacks, on every backend. A fiber that waits lets the others
// of its thread go on.
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/redis/redis_backend.h"
#include "engine/client/fiber_wait.h"
#include "engine/executor/engine.h"
#include "engine/sale/orders/order_worker.h"
#include "engine/sale/sale.h"
#include "storage/memory/memory_order_store.h"
#include "storage/memory/memory_store.h"
#include "storage/rocksdb/rocksdb_store.h"
#include "tests/redis_server/redis_server.h"
#include "tests/temporary_directory.h"

namespace rushgate {
namespace {

constexpr VoucherId kVoucher = 7;
constexpr std::int64_t kStockAtFirst = 60;
constexpr std::int64_t kStockAtLast = 100;

enum class Keyspace : std::uint8_t { kCallersWork, kServiceThreadWorks, kRocksDb, kRedis };

std::string keyspace_name(const ::testing::TestParamInfo<Keyspace>& keyspace) {
  switch (keyspace.param) {
    case Keyspace::kCallersWork:
      return "CallersWork";
    case Keyspace::kServiceThreadWorks:
      return "ServiceThreadWorks";
    case Keyspace::kRocksDb:
      return "RocksDb";
    case Keyspace::kRedis:
      return "Redis";
  }
  return "?";
}

class SaleOnFibersTest : public ::testing::TestWithParam<Keyspace> {
 protected:
  SaleOnFibersTest() {
    backend_ = open_backend();
    client_ = backend_->open_client();
    fiber_client_ = backend_->open_client({.wait = &fiber_wait()});
    fiber_sale_ = open_sale({.wait = &fiber_wait()});
  }

  std::unique_ptr<Backend> open_backend() {
    using Policy = EngineOptions::Policy;
    switch (GetParam()) {
      case Keyspace::kCallersWork:
        return *Engine::open(std::make_unique<MemoryStore>(), {.policy = Policy::kCallers});
      case Keyspace::kServiceThreadWorks:
        return *Engine::open(std::make_unique<MemoryStore>(),
                             {.policy = Policy::kServiceThreadOnly});
      case Keyspace::kRocksDb:
        return *Engine::open(*RocksDbStore::open(directory_.path() / "keyspace"));
      case Keyspace::kRedis:
        server_ = std::make_unique<testing::RedisServer>();
        return *RedisBackend::open(*RedisOptions::from_url(server_->url()));
    }
    return nullptr;
  }

  std::unique_ptr<Sale> open_sale(const ClientOptions& client) {
    constexpr std::int64_t kManyBlocks = 8;
    auto sale = Sale::open(*backend_, orders_, {.id_block_size = kManyBlocks, .client = client});
    EXPECT_TRUE(sale.ok()) << sale.status();
    return *std::move(sale);
  }

  [[nodiscard]] Voucher voucher(VoucherId id, std::int64_t stock) const {
    constexpr std::int64_t kHourMs = 3'600'000;
    const std::int64_t now_ms = start_ms_;
    return {.id = id,
            .title = "voucher",
            .stock = stock,
            .begin_ms = now_ms - kHourMs,
            .end_ms = now_ms + 24 * kHourMs,
            .price_cents = 100,
            .limits = {}};
  }

  /// Again, while another change or rebuild is under way, or a rebuild of ours lost to another.
  void publish(Sale& sale, const Voucher& what) {
    absl::Status published;
    do published = sale.publish(what);
    while (absl::IsUnavailable(published) || absl::IsAborted(published));
    EXPECT_TRUE(published.ok()) << published;
  }

  /// Buys until he has it, or all there will be is sold; and then once more, in vain.
  void buy_as(Sale& sale, UserId user) {
    while (true) {
      const bool all_published = all_published_;
      const BuyResult result = sale.buy(kVoucher, user);
      if (result.outcome == Outcome::kAccepted) break;
      if (result.outcome == Outcome::kSoldOut && all_published) return;
      ASSERT_TRUE(result.outcome == Outcome::kSoldOut || result.outcome == Outcome::kOverloaded)
          << outcome_name(result.outcome) << ' ' << result.detail;
    }
    ++accepted_;
    BuyResult again = sale.buy(kVoucher, user);
    while (again.outcome == Outcome::kOverloaded) again = sale.buy(kVoucher, user);
    EXPECT_TRUE(again.outcome == Outcome::kLimitReached || again.outcome == Outcome::kSoldOut)
        << outcome_name(again.outcome) << ' ' << again.detail;
  }

  void expect_all_sold_and_nobody_twice() {
    EXPECT_EQ(accepted_, kStockAtLast);
    OrderWorker worker(*backend_, orders_, SaleKeys{});
    while (worker.step().kind == OrderWorker::Step::Kind::kWorked) {
    }
    const auto stored = orders_.list(
        {.user = {}, .voucher = kVoucher, .status = {}, .after = 0, .count_max = 1'000});
    ASSERT_TRUE(stored.ok()) << stored.status();
    std::set<UserId> users;
    for (const Order& order : *stored) EXPECT_TRUE(users.insert(order.user).second) << order.user;
    EXPECT_EQ(static_cast<std::int64_t>(users.size()), kStockAtLast);
    const auto report = fiber_sale_->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  }

  /// What happens in the middle of a sale: the stock is lost, and more is published.
  void disturb(Client& client, Sale& sale) {
    while (accepted_ < kStockAtFirst / 3) client("PING");
    client("DEL", SaleKeys{}.stock(kVoucher));
    while (accepted_ < kStockAtFirst / 2) client("PING");
    publish(sale, voucher(kVoucher, kStockAtLast));
    all_published_ = true;
  }

  MemoryOrderStore orders_;
  const TemporaryDirectory directory_;
  std::unique_ptr<testing::RedisServer> server_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Client> fiber_client_;
  std::unique_ptr<Sale> fiber_sale_;
  const std::int64_t start_ms_ = SystemClock().now_ms();
  std::atomic<std::int64_t> accepted_ = 0;
  std::atomic<bool> all_published_ = false;
};

INSTANTIATE_TEST_SUITE_P(Backends, SaleOnFibersTest,
                         ::testing::Values(Keyspace::kCallersWork, Keyspace::kServiceThreadWorks,
                                           Keyspace::kRocksDb, Keyspace::kRedis),
                         keyspace_name);

void join(std::vector<boost::fibers::fiber>& fibers) {
  for (auto& fiber : fibers) fiber.join();
}

TEST_P(SaleOnFibersTest, TwoHundredFibersOfOneThreadBuyWhatThereIs) {
  publish(*fiber_sale_, voucher(kVoucher, kStockAtFirst));
  std::vector<boost::fibers::fiber> fibers;
  for (UserId user = 1; user <= 200; ++user)
    fibers.emplace_back([this, user] { buy_as(*fiber_sale_, user); });
  fibers.emplace_back([this] { disturb(*fiber_client_, *fiber_sale_); });
  join(fibers);
  expect_all_sold_and_nobody_twice();
}

TEST_P(SaleOnFibersTest, AFiberBuysAThousandAtOnce) {
  constexpr std::int64_t kCount = 1'000;
  publish(*fiber_sale_, voucher(kVoucher, kCount - 1));
  std::vector<BuyRequest> requests;
  for (UserId user = 1; user <= kCount; ++user)
    requests.push_back({.voucher = kVoucher, .user = user, .request_key = {}});
  std::vector<BuyResult> results;
  boost::fibers::fiber buyer([&] { results = fiber_sale_->buy_all(requests); });
  buyer.join();
  ASSERT_EQ(results.size(), requests.size());
  for (std::size_t i = 0; i + 1 < results.size(); ++i) {
    ASSERT_EQ(results[i].outcome, Outcome::kAccepted)
        << i << ' ' << outcome_name(results[i].outcome) << ' ' << results[i].detail;
  }
  EXPECT_EQ(results.back().outcome, Outcome::kSoldOut);
}

TEST_P(SaleOnFibersTest, FibersShareDrawsOfIds) {
  constexpr int kFibers = 500;
  constexpr int kBuysEach = 40;
  constexpr std::int64_t kBlock = 64;
  publish(*fiber_sale_, voucher(kVoucher, 1));
  const auto sale =
      Sale::open(*backend_, orders_, {.id_block_size = kBlock, .client = {.wait = &fiber_wait()}});
  ASSERT_TRUE(sale.ok()) << sale.status();
  std::vector<boost::fibers::fiber> fibers;
  for (int i = 0; i < kFibers; ++i) {
    fibers.emplace_back([&, i] {
      for (int buy = 0; buy < kBuysEach; ++buy) {
        const BuyResult result = (*sale)->buy(kVoucher, i + 1);
        EXPECT_TRUE(result.detail.empty()) << result.detail;
      }
    });
  }
  join(fibers);
  // Of today, or, if it is midnight, of both days. A counter begins behind what other sales
  // reserved.
  std::int64_t drawn = 0;
  const Reply counters = (*client_)("KEYS", SaleKeys{}.id_prefix + "*");
  for (const Reply& counter : counters.elements())
    drawn += (*client_)("INCRBY", counter.text(), 0).integer() % IdDraws::kReserved;
  EXPECT_GE(drawn, kFibers * kBuysEach);
  // One block in use and one ahead; the same again if a day ends meanwhile.
  EXPECT_LE(drawn, kFibers * kBuysEach + 4 * kBlock * IdDraws::kGrowthMax);
}

TEST_P(SaleOnFibersTest, FibersAndThreadsBuyFromOneSale) {
  publish(*fiber_sale_, voucher(kVoucher, kStockAtFirst));
  const auto thread_sale = open_sale({});
  std::vector<std::thread> threads;
  for (UserId begin : {1'000, 2'000}) {
    threads.emplace_back([&, begin] {
      for (UserId user = begin; user < begin + 100; ++user) buy_as(*thread_sale, user);
    });
  }
  std::vector<boost::fibers::fiber> fibers;
  for (UserId user = 1; user <= 100; ++user)
    fibers.emplace_back([this, user] { buy_as(*fiber_sale_, user); });
  fibers.emplace_back([this] { disturb(*fiber_client_, *fiber_sale_); });
  join(fibers);
  for (auto& thread : threads) thread.join();
  expect_all_sold_and_nobody_twice();
}

TEST_P(SaleOnFibersTest, CallbacksBuy) {
  constexpr UserId kUsers = 150;
  publish(*fiber_sale_, voucher(kVoucher, kStockAtLast));
  all_published_ = true;
  const auto sale = open_sale({});
  std::latch done(kUsers);
  for (UserId user = 1; user <= kUsers; ++user) {
    client_->submit(Request::of("PING"), [&, user](const Reply&) {
      buy_as(*sale, user);
      done.count_down();
    });
  }
  done.wait();
  expect_all_sold_and_nobody_twice();
  if (GetParam() == Keyspace::kRedis) {  // no callback paused for an id that a later one brings
    const Reply calls = (*client_)("INFO", "commandstats");
    EXPECT_THAT(calls.text(), ::testing::HasSubstr("cmdstat_ping"));
    EXPECT_THAT(calls.text(), ::testing::Not(::testing::HasSubstr("cmdstat_xread:")));
  }
}

TEST_P(SaleOnFibersTest, FibersOfOneThreadPublishAtTheSameTime) {
  std::vector<boost::fibers::fiber> fibers;
  for (VoucherId id = 1; id <= 20; ++id) {
    fibers.emplace_back([this, id] {
      for (const std::int64_t stock : {10, 20, 30}) publish(*fiber_sale_, voucher(id, stock));
    });
  }
  join(fibers);
  for (VoucherId id = 1; id <= 20; ++id)
    EXPECT_EQ((*client_)("GET", SaleKeys{}.stock(id)), Reply::bulk("30"));
}

}  // namespace
}  // namespace rushgate
