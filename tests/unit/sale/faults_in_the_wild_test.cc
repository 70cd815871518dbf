// The faults of other systems in docs/faults-in-the-wild.md. The page names the tests that are
// elsewhere.
#include <span>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include "engine/sale/vouchers/voucher_book.h"
#include "tests/unit/sale/payments_fixture.h"
#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

class FaultsInTheWildTest : public SaleTest {
 protected:
  Reply pending_entries() {
    return backend_.client()("XPENDING", "stream.orders", "g1").elements()[0];
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, FaultsInTheWildTest, each_backend(), backend_name);

/// Uses a database file, which another process may lock or delete.
class FaultsWithADatabaseFileTest : public FaultsInTheWildTest {};
INSTANTIATE_TEST_SUITE_P(Backends, FaultsWithADatabaseFileTest,
                         each_backend_that(&SaleBackendKind::keeps_orders_in_file), backend_name);

TEST_P(FaultsInTheWildTest, LostStockIsRebuiltFromBothStores) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  drain();
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);  // queued
  EXPECT_EQ(buy(1, 3), Outcome::kAccepted);  // queued
  backend_.client()("DEL", "seckill:stock:1");
  EXPECT_EQ(buy(1, 4), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
  drain();
  EXPECT_EQ(*backend_.orders().count_live(1), 5);
  expect_audit_passes();
}

TEST_P(FaultsInTheWildTest, RebuiltSaleKnowsBuyersOfBothStores) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 2, .per_user_day = 2})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  drain();
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  backend_.client()("DEL", "seckill:stock:1", "seckill:order:1", "seckill:voucher:1",
                    "seckill:day:1");
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
  drain();
  expect_audit_passes();
}

TEST_P(FaultsInTheWildTest, AdmissionIsClosedDuringForeignRebuild) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  close_as_somebody(0);
  const BuyResult meanwhile = sale_->buy(1, 1);
  EXPECT_EQ(meanwhile.outcome, Outcome::kOverloaded) << meanwhile.detail;
  EXPECT_THAT(meanwhile.detail, ::testing::HasSubstr("being rebuilt"));
}

TEST_P(FaultsInTheWildTest, InterruptedRebuildIsTakenOver) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  close_as_somebody(VoucherRebuilder::kAbandonedMs);
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(FaultsInTheWildTest, RebuildCountsDeadLetters) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  backend_.orders().poison([](const Order&) { return true; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  drain();
  backend_.orders().poison({});
  backend_.client()("DEL", "seckill:stock:1");
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 3), Outcome::kSoldOut);
  expect_audit_passes();
}

TEST_P(FaultsInTheWildTest, RefusedUserIsNotRecordedAsBuyer) {
  ASSERT_TRUE(sale_->publish(voucher(1, 0)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kSoldOut);
  ASSERT_TRUE(sale_->publish(voucher(1, 1)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
}

TEST_P(FaultsInTheWildTest, MessageIsAcknowledgedAfterProcessing) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  backend_.orders().fail_write(1);
  worker_->step();
  EXPECT_EQ(pending_entries(), Reply::integer(1));
}

TEST_P(FaultsInTheWildTest, OrderClaimedDuringTransactionIsStoredOnce) {
  using Point = faults::FaultyOrderStore::Point;
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  std::int64_t user = 0;
  for (const Point moment : {Point::kBeforeWrite, Point::kAfterWrite}) {
    EXPECT_EQ(buy(1, ++user), Outcome::kAccepted);
    const auto heir = make_worker("heir " + std::to_string(user), {.claim_idle_ms = 0});
    OrderWorker::Step claimed;
    bool is_claimed = false;
    backend_.orders().at_every_point([&](Point point) {
      if (point == moment && !std::exchange(is_claimed, true)) claimed = heir->step();
    });
    const OrderWorker::Step first = worker_->step();
    backend_.orders().at_every_point({});
    EXPECT_EQ(claimed.stored, 1U) << claimed.reason;
    EXPECT_EQ(first.stored, 1U) << "it is there already; " << first.reason;
    EXPECT_EQ(first.buried + first.faulted, 0U);
    EXPECT_EQ(*backend_.orders().count_live(1), user);
    EXPECT_EQ(pending_entries(), Reply::integer(0));
  }
  EXPECT_TRUE(sale_->dead_letters()->empty());
  expect_audit_passes();
}

TEST_P(FaultsWithADatabaseFileTest, HeldLockDelaysOrderWithoutAcknowledgement) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  const BuyResult bought = sale_->buy(1, 1);
  SQLite::Database other(backend_.orders_file().string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  for (int i = 0; i < WorkerOptions{}.attempts_max + 1; ++i) {
    const OrderWorker::Step step = worker_->step();
    EXPECT_EQ(step.kind, OrderWorker::Step::Kind::kPaused);
    EXPECT_THAT(step.reason, ::testing::HasSubstr("locked"));
    EXPECT_EQ(pending_entries(), Reply::integer(1));
    backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  }
  EXPECT_EQ(sale_->status(bought.order)->location, OrderLocation::kQueued);
  other.exec("ROLLBACK");
  drain();
  EXPECT_EQ(sale_->status(bought.order)->location, OrderLocation::kStored);
  EXPECT_EQ(pending_entries(), Reply::integer(0));
  expect_audit_passes();
}

TEST_P(FaultsWithADatabaseFileTest, OrdersForDeletedDatabaseStayPending) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  drain();
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  const std::filesystem::path file = backend_.orders_file();
  const std::filesystem::path elsewhere = file.string() + ".elsewhere";
  std::filesystem::rename(file, elsewhere);
  const OrderWorker::Step step = worker_->step();
  EXPECT_EQ(step.kind, OrderWorker::Step::Kind::kPaused);
  EXPECT_EQ(step.stored, 0U);
  EXPECT_THAT(step.reason, ::testing::HasSubstr(file.string()));
  EXPECT_EQ(pending_entries(), Reply::integer(1));
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, ::testing::ElementsAre(::testing::HasSubstr(file.string())));
  std::filesystem::rename(elsewhere, file);
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  drain();
  EXPECT_EQ(*backend_.orders().count_live(1), 2);
  expect_audit_passes();
}

TEST_P(FaultsInTheWildTest, WorkerContinuesAfterAnyFailure) {
  ASSERT_TRUE(sale_->publish(voucher(1, 50)).ok());
  for (std::int64_t user = 1; user <= 20; ++user) {
    EXPECT_EQ(buy(1, user), Outcome::kAccepted);
    if (user % 3 == 0) backend_.orders().fail_write(1);
    if (user % 5 == 0)
      backend_.orders().fail_write(
          1, faults::FaultyOrderStore::Kept::kNo,
          user % 2 == 0 ? absl::InternalError("bug") : absl::InvalidArgumentError("bug"));
    worker_->step();
    backend_.advance_ms(1'000);
  }
  drain();
  EXPECT_EQ(*backend_.orders().count_live(1), 20);
  expect_audit_passes();
}

TEST_P(FaultsInTheWildTest, FirstExceptionDoesNotEndWorkerLoop) {
  ASSERT_TRUE(sale_->publish(voucher(1, 50)).ok());
  for (std::int64_t user = 1; user <= 5; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
  int throws = 2;
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point) {
    if (throws == 0) return;
    if (--throws == 1) throw std::runtime_error("a user's store threw this");
    throw 42;
  });
  const auto first = worker_->step();
  EXPECT_EQ(first.kind, OrderWorker::Step::Kind::kPaused);
  EXPECT_THAT(first.reason, ::testing::HasSubstr("a user's store threw this"));
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  const auto second = worker_->step();
  EXPECT_EQ(second.kind, OrderWorker::Step::Kind::kPaused);
  EXPECT_THAT(second.reason, ::testing::HasSubstr("no exception"));
  drain();  // the next retry reads the entries again, without a restart
  EXPECT_EQ(*backend_.orders().count_live(1), 5);
  EXPECT_TRUE(sale_->dead_letters()->empty());
  EXPECT_EQ(backend_.client()("EXISTS", "stream.orders.faults"), Reply::integer(0));
  expect_audit_passes();
}

TEST_P(FaultsInTheWildTest, DatabaseChecksUserNotOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 50)).ok());
  // Two orders of one user under limit 1, as a faulty producer writes them.
  backend_.client()("XADD", "stream.orders", "*", "userId", "5", "voucherId", "1", "id", "1001");
  backend_.client()("XADD", "stream.orders", "*", "userId", "5", "voucherId", "1", "id", "1002");
  drain();
  EXPECT_EQ(sale_->status(1'001)->location, OrderLocation::kStored);
  EXPECT_EQ(sale_->status(1'002)->location, OrderLocation::kDeadLetter);
}

TEST_P(FaultsInTheWildTest, OrdersBeforeGroupCreationAreNotSkipped) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  drain();
  EXPECT_EQ(*backend_.orders().count_live(1), 2);
}

TEST_P(FaultsInTheWildTest, RefusedOrderBecomesDeadLetter) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  const BuyResult bought = sale_->buy(1, 1);
  backend_.orders().poison([](const Order&) { return true; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  drain();
  EXPECT_EQ(sale_->status(bought.order)->location, OrderLocation::kDeadLetter);
  EXPECT_EQ(sale_->dead_letters()->size(), 1U);
}

TEST_P(FaultsInTheWildTest, AlwaysFailingMessageBecomesDeadLetter) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  const BuyResult bad = sale_->buy(1, 1);
  const BuyResult good = sale_->buy(1, 2);  // after it in the stream
  backend_.orders().poison([&](const Order& order) { return order.id == bad.order; });
  EXPECT_EQ(worker_->step().stored, 1U);
  EXPECT_EQ(sale_->status(good.order)->location, OrderLocation::kStored);
  EXPECT_EQ(sale_->status(bad.order)->location, OrderLocation::kQueued) << "it will be tried again";
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  drain();
  EXPECT_EQ(sale_->status(bad.order)->location, OrderLocation::kDeadLetter);
  EXPECT_EQ(sale_->dead_letters()->size(), 1U);
  const int writes = backend_.orders().writes();
  drain();
  EXPECT_EQ(backend_.orders().writes(), writes);
}

TEST_P(FaultsInTheWildTest, RefusedDuplicateLeaksNoStock) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
}

TEST_P(FaultsInTheWildTest, RestartKeepsBuyers) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  restart();
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  drain();
  restart();
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
}

TEST_P(FaultsInTheWildTest, MissingStockKeyIsNoSuchSale) {
  const BuyResult result = sale_->buy(42, 1);
  EXPECT_EQ(result.outcome, Outcome::kUnknownVoucher);
  EXPECT_TRUE(result.detail.empty()) << result.detail;
}

TEST_P(FaultsInTheWildTest, MissingStockOfUnknownSaleIsNoSale) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  backend_.client()("COPY", "seckill:voucher:1", "seckill:voucher:42");
  for (int i = 0; i < 2; ++i) {
    const BuyResult result = sale_->buy(42, 1);
    EXPECT_EQ(result.outcome, Outcome::kUnknownVoucher) << outcome_name(result.outcome);
    EXPECT_TRUE(result.detail.empty()) << result.detail;
  }
}

TEST_P(FaultsInTheWildTest, LimitPerUserIsNotShared) {
  ASSERT_TRUE(sale_->publish(voucher(1, 50, {.per_user = 2, .per_user_day = 1})).ok());
  for (std::int64_t user = 1; user <= 10; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
}

TEST_P(FaultsInTheWildTest, EmptyHistoryReadDoesNotSpin) {
  // The worker reads its pending entries once after a start, then only when a retry is due.
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  int histories_read = 0;
  int news_read = 0;
  HookedBackend keyspace(backend_.keyspace(), {.before = [&](const Request& request) {
                           if (request[0] != "XREADGROUP") return;
                           ++(request[request.size() - 1] == ">" ? news_read : histories_read);
                         }});
  OrderWorker worker(keyspace, backend_.orders(), SaleKeys{});
  backend_.orders().poison([](const Order&) { return true; });
  EXPECT_EQ(worker.step().faulted, 1U);
  EXPECT_EQ(std::exchange(histories_read, 0), 1) << "which found nothing";
  EXPECT_EQ(std::exchange(news_read, 0), 1);
  constexpr int kSteps = 100;
  for (int i = 0; i < kSteps; ++i) EXPECT_EQ(worker.step().kind, OrderWorker::Step::Kind::kIdle);
  EXPECT_EQ(std::exchange(histories_read, 0), 0);
  EXPECT_EQ(std::exchange(news_read, 0), kSteps);
  EXPECT_EQ(backend_.orders().writes(), 1);

  backend_.orders().poison({});
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  while (worker.step().kind == OrderWorker::Step::Kind::kWorked) {
  }
  EXPECT_EQ(std::exchange(histories_read, 0), 2) << "one with the order, one with nothing";
  EXPECT_EQ(*backend_.orders().count_live(1), 1);
}

TEST_P(FaultsInTheWildTest, ClobberedKeyFailsRequestCompletely) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  backend_.client()("SET", "stream.orders", "not a stream");
  const BuyResult result = sale_->buy(1, 1);
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_THAT(result.detail, ::testing::HasSubstr("WRONGTYPE"));
  backend_.client()("DEL", "stream.orders");
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:1"), Reply::bulk("5"));
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
}

// ---- Giving back, and payment ----

class FaultsOfPaymentTest : public PaidSaleTest {
 protected:
  /// Publishes one piece, and returns its order.
  OrderId only_order() {
    publish(1);
    return bought(5);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, FaultsOfPaymentTest, each_backend(), backend_name);

TEST_P(FaultsOfPaymentTest, RepeatedCancelGivesStockBackOnce) {
  const OrderId order = only_order();
  for (const bool is_stored : {false, true}) {
    if (is_stored) drain();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
      EXPECT_EQ(free_stock(), 1);
    }
  }
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(free_stock(), 1) << "the timeout gives nothing back either";
  expect_audit_passes();
}

TEST_P(FaultsOfPaymentTest, PaymentAfterTimeoutIsDueBack) {
  const OrderId order = only_order();
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(buy(1, 6), Outcome::kAccepted) << "the stock was given back";

  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kTooLate);

  drain();
  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  EXPECT_EQ(payments(), std::vector<std::string>{"p1 due"});
  EXPECT_EQ(*backend_.orders().count_live(1), 1);
  expect_audit_passes();
}

TEST_P(FaultsOfPaymentTest, CancelBeforeOrderIsStoredStays) {
  const OrderId order = only_order();

  EXPECT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);

  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  drain();
  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
  EXPECT_EQ(*backend_.orders().count_live(1), 1);
  expect_audit_passes();
}

TEST_P(FaultsOfPaymentTest, PriceIsReadAtAdmissionNotPayment) {
  const OrderId order = only_order();
  Voucher dearer = paid_voucher(1);
  dearer.price_cents = 3 * kPrice;
  ASSERT_TRUE(sale_->publish(dearer).ok());

  EXPECT_EQ(pay(order, "dear", 3 * kPrice).outcome, ChangeOutcome::kRefused);
  EXPECT_EQ(pay(order, "right").outcome, ChangeOutcome::kDone);

  drain();
  EXPECT_EQ(stored(order).price_cents, kPrice);
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
