// Concurrent callers of one sale, on every backend. sale_on_fibers_test.cc runs these tests on
// fibers.
#include <mutex>

#include <gmock/gmock.h>

#include "tests/unit/sale/callers_fixture.h"
#include <rushgate/order_worker_thread.h>

namespace rushgate {
namespace {

void run_on_threads(Client& /*client*/, int count, const std::function<void(int)>& work) {
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int first = 0; first < kThreads; ++first) {
    threads.emplace_back([&, first] {
      for (int i = first; i < count; i += kThreads) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void run_in_callbacks(Client& client, int count, const std::function<void(int)>& work) {
  std::latch done(count);
  for (int i = 0; i < count; ++i) {
    client.submit(Request::of("PING"), [&, i](const Reply&) {
      work(i);
      done.count_down();
    });
  }
  done.wait();
}

const Caller kOnThreads{.name = "Threads", .client = {}, .run = run_on_threads};
const Caller kInCallbacks{.name = "Callbacks", .client = {}, .run = run_in_callbacks};

INSTANTIATE_TEST_SUITE_P(Backends, CallersTest,
                         ::testing::Combine(each_backend(TestTime::kMachines),
                                            ::testing::Values(&kOnThreads, &kInCallbacks)),
                         backend_and_caller);

/// On a server, waiting for an order id blocks in a read. A callback must not wait for a draw that
/// completes after it.
class CallbacksOnServerTest : public ThreadedSaleTest {};
INSTANTIATE_TEST_SUITE_P(Backends, CallbacksOnServerTest,
                         each_backend_that(&SaleBackendKind::is_server, TestTime::kMachines),
                         backend_name);

TEST_P(CallbacksOnServerTest, DrawIdsWithoutBlocking) {
  constexpr int kUsers = 150;
  ASSERT_TRUE(sale_->publish(voucher(1, kUsers)).ok());
  const auto sale =
      *Sale::open(backend_.keyspace(), backend_.orders(), {.id_block_size = 8});  // many blocks
  run_in_callbacks(backend_.client(), kUsers,
                   [&](int i) { EXPECT_EQ(sale->buy(1, 1 + i).outcome, Outcome::kAccepted); });
  const Reply calls = backend_.client()("INFO", "commandstats");
  EXPECT_THAT(calls.text(), ::testing::HasSubstr("cmdstat_ping"));
  EXPECT_THAT(calls.text(), ::testing::Not(::testing::HasSubstr("cmdstat_xread:")));
}

}  // namespace

TEST_P(CallersTest, BuyWholeStock) {
  publish(*own_sale_, voucher(kVoucher, kStockAtFirst));
  std::thread other([this] { disturb(backend_.client(), *own_sale_); });
  run(200, [this](int i) { buy_as(*sale_, 1 + i); });
  other.join();
  expect_all_sold_and_no_user_twice();
}

TEST_P(CallersTest, BuyFromOneSaleWithOtherThreads) {
  publish(*own_sale_, voucher(kVoucher, kStockAtFirst));
  std::vector<std::thread> threads;
  for (std::int64_t begin : {1'000, 2'000}) {
    threads.emplace_back([&, begin] {
      for (std::int64_t user = begin; user < begin + 100; ++user) buy_as(*own_sale_, user);
    });
  }
  threads.emplace_back([this] { disturb(backend_.client(), *own_sale_); });
  run(100, [this](int i) { buy_as(*sale_, 1 + i); });
  for (std::thread& thread : threads) thread.join();
  expect_all_sold_and_no_user_twice();
}

TEST_P(CallersTest, BuySeveralAtOnce) {
  constexpr int kBatches = 10;
  constexpr std::int64_t kBatch = 100;
  publish(*own_sale_, voucher(kVoucher, kBatches * kBatch - 1));
  std::atomic<int> sold_out = 0;
  run(kBatches, [&](int batch) {
    std::vector<BuyRequest> requests;
    for (std::int64_t i = 0; i < kBatch; ++i) {
      requests.push_back(
          {.voucher = kVoucher, .user = 1 + batch * kBatch + i, .idempotency_key = {}});
    }
    for (const BuyResult& result : sale_->buy_all(requests)) {
      if (result.outcome == Outcome::kSoldOut)
        ++sold_out;
      else
        EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    }
  });
  EXPECT_EQ(sold_out, 1);
}

TEST_P(CallersTest, RepeatOneRequestAndGetOneOrder) {
  constexpr int kUsers = 10;
  constexpr int kClicks = 8;
  publish(*own_sale_, voucher(kVoucher, kStockAtLast, {.per_user = 5}));
  std::mutex mutex;
  std::set<OrderId> orders;
  run(kUsers * kClicks, [&](int i) {
    const std::int64_t user = 1 + i % kUsers;
    const BuyResult result = sale_->buy(kVoucher, user, "click of " + std::to_string(user));
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    const std::lock_guard lock(mutex);
    orders.insert(result.order);
  });
  EXPECT_EQ(orders.size(), kUsers);
  EXPECT_EQ(backend_.client()("GET", SaleKeys{}.stock(kVoucher)),
            Reply::bulk(std::to_string(kStockAtLast - kUsers)));
}

TEST_P(CallersTest, SeeTheirOrdersWhileAWorkerStoresThem) {
  publish(*own_sale_, voucher(kVoucher, 1'000));
  OrderWorkerThread worker(make_worker("t", {.batch_max = 3, .block_ms = 1}));
  constexpr int kOrders = 100;
  run(kOrders, [&](int i) {
    const std::int64_t user = 1 + i;
    const BuyResult bought = sale_->buy(kVoucher, user);
    ASSERT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
    const auto state = sale_->status(bought.order);
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_TRUE(state->location == OrderLocation::kQueued ||
                state->location == OrderLocation::kStored);
    const auto of_user = sale_->orders_of(user);
    ASSERT_TRUE(of_user.ok()) << of_user.status();
    EXPECT_EQ(of_user->size(), 1U) << user;
  });
  while (worker.stored() < kOrders) std::this_thread::yield();
  worker.stop();
  run(1, [&](int) { expect_audit_passes(); });
}

TEST_P(CallersTest, PublishAtTheSameTime) {
  constexpr int kVouchers = 20;
  run(kVouchers, [this](int i) {
    for (const std::int64_t stock : {10, 20, 30}) publish(*sale_, voucher(1 + i, stock));
  });
  for (VoucherId id = 1; id <= kVouchers; ++id)
    EXPECT_EQ(backend_.client()("GET", SaleKeys{}.stock(id)), Reply::bulk("30"));
}

TEST_P(CallersTest, AddAndReduceStock) {
  constexpr int kChanges = 20;
  publish(*own_sale_, voucher(kVoucher, 100));
  run(kChanges, [this](int i) {
    absl::Status added;
    do added = sale_->add_stock(kVoucher, i % 2 == 0 ? 7 : -3);
    while (absl::IsUnavailable(added) || absl::IsAborted(added) || absl::IsAlreadyExists(added));
    EXPECT_TRUE(added.ok()) << added;
  });
  EXPECT_EQ(backend_.client()("GET", SaleKeys{}.stock(kVoucher)), Reply::bulk("140"));
  EXPECT_EQ(own_sale_->voucher(kVoucher).value()->voucher.stock, 140);
}

TEST_P(CallersTest, RetryAndDiscardDeadLettersOnce) {
  constexpr int kLetters = 40;
  publish(*own_sale_, voucher(kVoucher, kStockAtLast));
  backend_.orders().poison([](const Order&) { return true; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  for (std::int64_t user = 1; user <= kLetters; ++user) {
    ASSERT_EQ(own_sale_->buy(kVoucher, user).outcome, Outcome::kAccepted);
  }
  drain();
  backend_.orders().poison({});
  const std::vector<DeadLetter> letters = own_sale_->dead_letters().value();
  ASSERT_EQ(letters.size(), kLetters);
  std::atomic<int> retried = 0;
  std::atomic<int> discarded = 0;
  run(2 * kLetters, [&](int i) {  // each id twice
    const std::string& id = letters[static_cast<std::size_t>(i % kLetters)].id;
    const bool is_retried = i % 2 == 0;
    const auto done =
        is_retried ? sale_->retry_dead_letter(id) : sale_->discard_dead_letter(id, "given up");
    ASSERT_TRUE(done.ok()) << done.status();
    if (*done) ++(is_retried ? retried : discarded);
  });
  EXPECT_EQ(retried, kLetters / 2);
  EXPECT_EQ(discarded, kLetters / 2);
  drain();
  EXPECT_EQ(*backend_.orders().count_live(kVoucher), kLetters / 2);
  expect_audit_passes();
}

TEST_P(CallersTest, RebuildLostKeyspaceOnce) {
  constexpr int kBuyers = 50;
  constexpr int kStored = 30;
  publish(*own_sale_, voucher(kVoucher, kStockAtLast));
  for (std::int64_t user = 1; user <= kStored; ++user) {
    ASSERT_EQ(own_sale_->buy(kVoucher, user).outcome, Outcome::kAccepted);
  }
  drain();
  backend_.client()("FLUSHALL");
  all_published_ = true;
  run(kBuyers, [&](int i) {  // some of them have one already
    BuyResult result;
    do result = sale_->buy(kVoucher, 1 + i);
    while (result.outcome == Outcome::kOverloaded);
    EXPECT_EQ(result.outcome, i < kStored ? Outcome::kLimitReached : Outcome::kAccepted)
        << outcome_name(result.outcome) << ' ' << result.detail;
  });
  drain();
  EXPECT_EQ(*backend_.orders().count_live(kVoucher), kBuyers);
  expect_audit_passes();
}

TEST_P(CallersTest, AuditWhileOthersBuy) {
  publish(*own_sale_, voucher(kVoucher, 1'000));
  OrderWorkerThread worker(make_worker("t", {.batch_max = 3, .block_ms = 1}));
  std::atomic<bool> is_over = false;
  std::thread buyer([&] {
    for (std::int64_t user = 1; !is_over && user <= 1'000; ++user) own_sale_->buy(kVoucher, user);
  });
  run(20, [&](int) { expect_audit_passes(); });
  is_over = true;
  buyer.join();
  worker.stop();
  drain();
  expect_audit_passes();
}

TEST_P(CallersTest, SalesOpenWithTheirOwnDatabaseOnly) {
  MemoryOrderStore another;
  run(20, [&](int i) {
    const bool is_ours = i % 2 == 0;
    // A refused sale closes the connection that was compared with its database, and with it the requests
    // of all others on the same backend.
    const auto foreign = is_ours ? nullptr : backend_.open_another();
    const auto sale =
        is_ours ? Sale::open(backend_.keyspace(), backend_.orders(), {.client = caller().client})
                : Sale::open(*foreign, another, {.client = caller().client});
    EXPECT_EQ(sale.ok(), is_ours) << sale.status();
    EXPECT_EQ(absl::IsFailedPrecondition(sale.status()), !is_ours) << sale.status();
  });
}

}  // namespace rushgate
