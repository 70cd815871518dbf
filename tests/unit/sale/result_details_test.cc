// The other parts of a result, and summaries of vouchers.
#include <gmock/gmock.h>

#include "engine/sale/orders/recent_orders.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/stream/dead_letters.h"
#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/engine.h>
#include <rushgate/store.h>

namespace rushgate {
namespace {

// ---- Repeated purchases ----

class RepeatedPurchaseTest : public SaleTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RepeatedPurchaseTest, each_backend(), backend_name);

TEST_P(RepeatedPurchaseTest, ResultReportsRepetition) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  const BuyResult first = sale_->buy(1, 101, "click");
  EXPECT_FALSE(first.is_repeated);
  const BuyResult second = sale_->buy(1, 101, "click");
  EXPECT_TRUE(second.is_repeated);
  EXPECT_EQ(second.order, first.order);
  EXPECT_FALSE(sale_->buy(1, 102).is_repeated);
  EXPECT_FALSE(sale_->buy(1, 102).is_repeated) << "refused";
  const std::vector<BuyRequest> requests = {
      {1, 101, "click"}, {1, 103, "other"}, {1, 103, "other"}};
  const std::vector<BuyResult> results = sale_->buy_all(requests);
  EXPECT_TRUE(results[0].is_repeated);
  EXPECT_FALSE(results[1].is_repeated);
  EXPECT_TRUE(results[2].is_repeated);
}

class RepeatedPurchaseStatusTest : public PaidSaleTest {
 protected:
  BuyResult click(std::int64_t user) { return sale_->buy(1, user, concat("click-", user)); }
  std::optional<OrderStatus> status_of(std::int64_t user) {
    const BuyResult again = click(user);
    EXPECT_EQ(again.outcome, Outcome::kAccepted);
    EXPECT_TRUE(again.is_repeated);
    return again.status;
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, RepeatedPurchaseStatusTest, each_backend(), backend_name);

TEST_P(RepeatedPurchaseStatusTest, CancelledOrderIsReported) {
  publish();
  const BuyResult first = click(1);
  EXPECT_EQ(first.status, std::nullopt);
  EXPECT_EQ(status_of(1), OrderStatus::kUnpaid) << "queued";
  drain();
  EXPECT_EQ(status_of(1), OrderStatus::kUnpaid);
  ASSERT_EQ(sale_->cancel(first.order, "no").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(status_of(1), OrderStatus::kCancelled) << "its end is queued";
  drain();
  EXPECT_EQ(status_of(1), OrderStatus::kCancelled);
  const std::vector<BuyRequest> both = {{1, 1, "click-1"}, {1, 2, "click-2"}};
  const std::vector<BuyResult> results = sale_->buy_all(both);
  EXPECT_EQ(results[0].status, OrderStatus::kCancelled);
  EXPECT_EQ(results[1].status, std::nullopt) << "it is new";
}

TEST_P(RepeatedPurchaseStatusTest, PaidAndRefundedOrderIsReported) {
  publish();
  const OrderId order = click(1).order;
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(status_of(1), OrderStatus::kPaid) << "queued";
  drain();
  EXPECT_EQ(status_of(1), OrderStatus::kPaid);
  ASSERT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(status_of(1), OrderStatus::kRefunded);
}

TEST_P(RepeatedPurchaseStatusTest, UnreadableDatabaseLeavesItEmpty) {
  publish();
  click(1);
  drain();
  backend_.orders().fail_reads();
  EXPECT_EQ(status_of(1), std::nullopt);
}

TEST_P(RepeatedPurchaseStatusTest, OrderWithoutPaymentIsCreated) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  click(1);
  EXPECT_EQ(status_of(1), OrderStatus::kCreated) << "queued";
  drain();
  EXPECT_EQ(status_of(1), OrderStatus::kCreated);
}

// ---- The order of a user at the limit ----

class OrderAtLimitTest : public SaleTest {
 protected:
  void SetUp() override {
    auto naming =
        Sale::open(backend_.keyspace(), backend_.orders(), {.names_order_at_limit = true});
    ASSERT_TRUE(naming.ok()) << naming.status();
    naming_ = *std::move(naming);
  }

  /// Buys through a process with its own memory of orders.
  OrderId buy_elsewhere(std::int64_t user) { return sale_->buy(1, user).order; }

  std::unique_ptr<Sale> naming_;
};
INSTANTIATE_TEST_SUITE_P(Backends, OrderAtLimitTest, each_backend(), backend_name);

TEST_P(OrderAtLimitTest, QueuedOrderIsNamed) {
  ASSERT_TRUE(naming_->publish(voucher(1, 5)).ok());
  const OrderId order = naming_->buy(1, 101).order;
  const BuyResult refused = naming_->buy(1, 101);
  EXPECT_EQ(refused.outcome, Outcome::kLimitReached);
  EXPECT_EQ(refused.order, order);
  const std::vector<BuyRequest> requests = {{1, 101}, {1, 102}, {1, 102}};
  const std::vector<BuyResult> results = naming_->buy_all(requests);
  EXPECT_EQ(results[0].order, order);
  EXPECT_EQ(results[2].outcome, Outcome::kLimitReached);
  EXPECT_EQ(results[2].order, results[1].order);
}

TEST_P(OrderAtLimitTest, StoredOrderIsLookedUpOnce) {
  ASSERT_TRUE(naming_->publish(voucher(1, 5)).ok());
  const OrderId order = buy_elsewhere(101);
  EXPECT_EQ(naming_->buy(1, 101).order, 0) << "queued by another process";
  drain();
  EXPECT_EQ(naming_->buy(1, 101).order, order);
  backend_.orders().fail_reads();
  EXPECT_EQ(naming_->buy(1, 101).order, order) << "remembered";
  EXPECT_EQ(naming_->buy(1, 101).outcome, Outcome::kLimitReached);
}

TEST_P(OrderAtLimitTest, FailedLookUpNamesNone) {
  ASSERT_TRUE(naming_->publish(voucher(1, 5)).ok());
  buy_elsewhere(101);
  drain();
  backend_.orders().fail_reads();
  const BuyResult refused = naming_->buy(1, 101);
  EXPECT_EQ(refused.outcome, Outcome::kLimitReached);
  EXPECT_EQ(refused.order, 0);
}

TEST_P(OrderAtLimitTest, DayLimitNamesOrder) {
  ASSERT_TRUE(naming_->publish(voucher(1, 5, {.per_user = 2, .per_user_day = 1})).ok());
  const OrderId order = naming_->buy(1, 101).order;
  const BuyResult refused = naming_->buy(1, 101);
  EXPECT_EQ(refused.outcome, Outcome::kDayLimitReached);
  EXPECT_EQ(refused.order, order);
}

TEST_P(OrderAtLimitTest, WithoutOptionNoneIsNamed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_NE(sale_->buy(1, 101).order, 0);
  EXPECT_EQ(sale_->buy(1, 101).order, 0);
}

TEST(RecentOrdersTest, NewerOrdersReplaceOlderOnes) {
  const auto recent = std::make_unique<RecentOrders>();
  EXPECT_EQ(recent->find(1, 1), 0);
  constexpr std::int64_t kUsers = 3 * RecentOrders::kOrdersMax;
  for (std::int64_t user = 1; user <= kUsers; ++user) recent->add(1, user, user + 1'000'000);
  EXPECT_EQ(recent->find(1, kUsers), kUsers + 1'000'000);
  EXPECT_EQ(recent->find(2, kUsers), 0);
  std::size_t known = 0;
  for (std::int64_t user = 1; user <= kUsers; ++user) {
    const OrderId order = recent->find(1, user);
    EXPECT_TRUE(order == 0 || order == user + 1'000'000) << user;
    known += order == 0 ? 0 : 1;
  }
  EXPECT_GT(known, RecentOrders::kOrdersMax / 2);
  EXPECT_LE(known, RecentOrders::kOrdersMax);
  recent->clear();
  EXPECT_EQ(recent->find(1, kUsers), 0);
}

// ---- Vouchers ----

class VoucherSummaryTest : public SaleTest {};
INSTANTIATE_TEST_SUITE_P(Backends, VoucherSummaryTest, each_backend(), backend_name);

TEST_P(VoucherSummaryTest, CountsFreeAndAdmitted) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  buy(1, 101);
  buy(1, 102);
  drain();
  buy(1, 103);
  const auto summary = sale_->summary(1);
  ASSERT_TRUE(summary.ok()) << summary.status();
  ASSERT_TRUE(summary->has_value());
  EXPECT_EQ((*summary)->voucher, voucher(1, 5));
  EXPECT_EQ((*summary)->version, 1);
  EXPECT_EQ((*summary)->free, 2);
  EXPECT_EQ((*summary)->admitted, 3);
  ASSERT_TRUE(sale_->add_stock(1, 10).ok());
  EXPECT_EQ((*sale_->summary(1))->version, 2);
  EXPECT_EQ((*sale_->summary(1))->free, 12);
  EXPECT_EQ((*sale_->summary(1))->admitted, 3);
  EXPECT_FALSE(sale_->summary(2)->has_value());
}

TEST_P(VoucherSummaryTest, EachVoucherIsListed) {
  EXPECT_TRUE(sale_->summaries()->empty());
  for (const VoucherId id : {3, 1, 2}) ASSERT_TRUE(sale_->publish(voucher(id, id)).ok());
  buy(2, 101);
  const auto summaries = sale_->summaries();
  ASSERT_TRUE(summaries.ok()) << summaries.status();
  ASSERT_EQ(summaries->size(), 3U);
  for (const VoucherId id : {1, 2, 3}) {
    const VoucherSummary& summary = (*summaries)[static_cast<std::size_t>(id) - 1];
    EXPECT_EQ(summary.voucher.id, id);
    EXPECT_EQ(summary.free, id == 2 ? 1 : id);
    EXPECT_EQ(summary.admitted, id == 2 ? 1 : 0);
  }
}

TEST_P(VoucherSummaryTest, LostVoucherHasNoCounts) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  buy(1, 101);
  drain();
  backend_.client()("DEL", "seckill:stock:1");
  const auto lost = sale_->summary(1);
  ASSERT_TRUE(lost.ok() && lost->has_value());
  EXPECT_EQ((*lost)->voucher.stock, 5);
  EXPECT_FALSE((*lost)->free.has_value());
  EXPECT_FALSE((*lost)->admitted.has_value());
  buy(1, 102);
  EXPECT_EQ((*sale_->summary(1))->free, 3) << "rebuilt";
}

// ---- Names ----

TEST(EnumNamesTest, EachValueHasItsName) {
  EXPECT_EQ(order_location_name(OrderLocation::kUnknown), "unknown");
  EXPECT_EQ(order_location_name(OrderLocation::kQueued), "queued");
  EXPECT_EQ(order_location_name(OrderLocation::kStored), "stored");
  EXPECT_EQ(order_location_name(OrderLocation::kDeadLetter), "dead letter");
  EXPECT_EQ(order_status_name(OrderStatus::kCreated), "created");
  EXPECT_EQ(order_result_name(OrderResult::Kind::kStored), "stored");
  EXPECT_EQ(order_result_name(OrderResult::Kind::kAlreadyStored), "already stored");
  EXPECT_EQ(order_result_name(OrderResult::Kind::kRefused), "refused");
  EXPECT_EQ(version_state_name(VoucherVersion::State::kPending), "pending");
  EXPECT_EQ(version_state_name(VoucherVersion::State::kApplied), "applied");
  EXPECT_EQ(version_state_name(VoucherVersion::State::kRefused), "refused");
  EXPECT_EQ(step_name(OrderWorker::Step::Kind::kWorked), "worked");
  EXPECT_EQ(step_name(OrderWorker::Step::Kind::kIdle), "idle");
  EXPECT_EQ(step_name(OrderWorker::Step::Kind::kPaused), "paused");
  EXPECT_EQ(retry_name(Retry::kNone), "none");
  EXPECT_EQ(retry_name(Retry::kDone), "done");
  EXPECT_EQ(retry_name(Retry::kNeedsRestore), "needs restore");
  EXPECT_EQ(end_of_scripts_name(EndOfScripts::kAwait), "await");
  EXPECT_EQ(end_of_scripts_name(EndOfScripts::kKill), "kill");
  EXPECT_EQ(policy_name(EngineOptions::Policy::kCallers), "callers");
  EXPECT_EQ(policy_name(EngineOptions::Policy::kServiceThreadOnly), "service thread only");
}

/// The codes of an admission script have the names of their outcomes.
TEST(EnumNamesTest, AdmissionCodesAreNamedLikeOutcomes) {
  EXPECT_EQ(admission_code_name(AdmissionCode::kAccepted), outcome_name(Outcome::kAccepted));
  EXPECT_EQ(admission_code_name(AdmissionCode::kSoldOut), outcome_name(Outcome::kSoldOut));
  EXPECT_EQ(admission_code_name(AdmissionCode::kLimitReached),
            outcome_name(Outcome::kLimitReached));
  EXPECT_EQ(admission_code_name(AdmissionCode::kDayLimitReached),
            outcome_name(Outcome::kDayLimitReached));
  EXPECT_EQ(admission_code_name(AdmissionCode::kNotStarted), outcome_name(Outcome::kNotStarted));
  EXPECT_EQ(admission_code_name(AdmissionCode::kEnded), outcome_name(Outcome::kEnded));
  EXPECT_EQ(admission_code_name(AdmissionCode::kUnknownVoucher),
            outcome_name(Outcome::kUnknownVoucher));
  EXPECT_EQ(admission_code_name(AdmissionCode::kKeyReused), outcome_name(Outcome::kKeyReused));
  EXPECT_EQ(admission_code_name(AdmissionCode::kStockMissing), "stock missing");
  EXPECT_EQ(admission_code_name(AdmissionCode::kRebuilding), "rebuilding");
  EXPECT_EQ(admission_code_name(AdmissionCode::kServesFirst), "serves waiting users first");
}

TEST(EnumNamesTest, DurabilityIsParsedByName) {
  for (const Durability durability :
       {Durability::kMemory, Durability::kOs, Durability::kEverySec, Durability::kSync}) {
    EXPECT_NE(durability_name(durability), "?");
    EXPECT_EQ(parse_durability(durability_name(durability)), durability);
  }
  EXPECT_EQ(parse_durability("none"), std::nullopt);
}

}  // namespace
}  // namespace rushgate
