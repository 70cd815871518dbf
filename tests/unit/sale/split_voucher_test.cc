// A voucher on several lanes: sold to exactly the last piece, while its pieces move to the lanes that have
// buyers for them.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sale/split_voucher_fixture.h"
#include <rushgate/order_rules.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

class SplitVoucherTest : public SplitVoucherFixture,
                         public ::testing::WithParamInterface<SaleBackendParam> {
 protected:
  SplitVoucherTest() : SplitVoucherFixture(*GetParam()) {}

  /// Sells three pieces, cancels the order of a user of the `from` lane, and sells its piece to another user of the
  /// lane `to`. Returns that order. If `stores`, the three orders are stored before that.
  OrderId sell_cancelled_piece(int from, int to, bool stores) {
    Voucher voucher = split(3);
    voucher.payment_ms = 60'000;
    EXPECT_TRUE(sale_->publish(voucher).ok());
    const BuyResult first = sale_->buy(kSplit, user_of(from));
    EXPECT_EQ(first.outcome, Outcome::kAccepted);
    EXPECT_EQ(sell_out(), 2);
    if (stores) store_all();
    EXPECT_EQ(sale_->cancel(first.order, "", "user").outcome, ChangeOutcome::kDone);
    backend_.advance_ms(200);
    const BuyResult second = sale_->buy(kSplit, user_of(to, 99));
    EXPECT_EQ(second.outcome, Outcome::kAccepted);
    return second.order;
  }
};

TEST_P(SplitVoucherTest, EachLaneBeginsWithItsShare) {
  publish(11);
  EXPECT_EQ(free_on_all(), (std::vector<std::int64_t>{4, 4, 3}));
  EXPECT_EQ(sale_->voucher(kSplit).value()->voucher.stock, 11);
  const auto summary = sale_->summary(kSplit).value();
  EXPECT_EQ(summary->free, 11);
  EXPECT_EQ(summary->admitted, 0);
  EXPECT_EQ(sale_->summaries().value().size(), 1);
  EXPECT_EQ(buy(kSplit, user_of(2)), Outcome::kAccepted);
  EXPECT_EQ(free_on(2), 2);
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, IsSoldToTheLastPiece) {
  publish(1);
  EXPECT_EQ(sell_out(), 1);
  for (const std::int64_t more : {2, 3, 50}) {
    ASSERT_TRUE(sale_->add_stock(kSplit, more).ok());
    EXPECT_EQ(sell_out(1'000 * more), more);
  }
  store_all();
  EXPECT_EQ(sale_->summary(kSplit).value()->admitted, 56);
  const auto report = sale_->audit().value();
  EXPECT_TRUE(report.passed()) << ::testing::PrintToString(report.problems);
  ASSERT_EQ(report.vouchers.size(), 1);
  EXPECT_EQ(report.vouchers.at(0).published, 56);
  EXPECT_EQ(report.vouchers.at(0).created, 56);
}

TEST_P(SplitVoucherTest, OneLaneSellsEverything) {
  publish(30);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(buy(kSplit, user_of(1, i)), Outcome::kAccepted) << i;
  EXPECT_EQ(buy(kSplit, user_of(1, 30)), Outcome::kSoldOut);
  EXPECT_EQ(buy(kSplit, user_of(2)), Outcome::kSoldOut);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, LargeQuantityGetsPiecesOfAllLanes) {
  publish(11);
  BuyRequest request{.voucher = kSplit, .user = user_of(2), .quantity = 12};
  EXPECT_EQ(sale_->buy(request).outcome, Outcome::kSoldOut);
  EXPECT_EQ(free_on_all(), (std::vector<std::int64_t>{4, 4, 3})) << "nothing was moved in vain";
  EXPECT_EQ(buy(kSplit, user_of(0)), Outcome::kAccepted) << "a smaller one is not sold out";
  request.quantity = 10;
  EXPECT_EQ(sale_->buy(request).outcome, Outcome::kAccepted);
  EXPECT_EQ(free_on_all(), (std::vector<std::int64_t>{0, 0, 0}));
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, QuantityAboveLimitMovesNothing) {
  publish(11, {.per_user = 4});
  EXPECT_EQ(sale_->buy({.voucher = kSplit, .user = user_of(2), .quantity = 5}).outcome,
            Outcome::kSoldOut);
  EXPECT_EQ(free_on_all(), (std::vector<std::int64_t>{4, 4, 3}));
  EXPECT_EQ(sale_->buy({.voucher = kSplit, .user = user_of(2), .quantity = 4}).outcome,
            Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, BatchIsSoldToTheLastPiece) {
  publish(20);
  std::vector<BuyRequest> requests;
  for (int i = 0; i < 25; ++i) requests.push_back({.voucher = kSplit, .user = user_of(0, i)});
  const auto accepted = [](const std::vector<BuyResult>& results) {
    return std::ranges::count(results, Outcome::kAccepted, &BuyResult::outcome);
  };
  std::vector<BuyResult> results = sale_->decide_all(std::span(requests).first(12));
  EXPECT_EQ(accepted(results), 7) << "its own share, without a look at the database";
  for (std::size_t i = 0; i < results.size(); ++i) sale_->complete(requests[i], results[i]);
  EXPECT_EQ(accepted(results), 12);
  EXPECT_EQ(accepted(sale_->buy_all(std::span(requests).subspan(12))), 8);
  EXPECT_EQ(accepted(sale_->decide_all(requests)), 0);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, LimitsAndKeysHoldOnAllLanes) {
  publish(30, {.per_user = 2});
  for (int lane = 0; lane < kSplitLanes; ++lane) {
    const std::int64_t user = user_of(lane);
    const BuyResult first = sale_->buy(kSplit, user, "click");
    EXPECT_EQ(first.outcome, Outcome::kAccepted);
    EXPECT_EQ(lane_of_order(first.order), lane);
    EXPECT_EQ(sale_->buy(kSplit, user, "click").order, first.order);
    EXPECT_EQ(buy(kSplit, user), Outcome::kAccepted);
    EXPECT_EQ(buy(kSplit, user), Outcome::kLimitReached);
  }
  restart();
  for (int lane = 0; lane < kSplitLanes; ++lane) {
    EXPECT_EQ(buy(kSplit, user_of(lane)), Outcome::kLimitReached);
  }
}

TEST_P(SplitVoucherTest, ReturnedPieceIsSoldOnAnotherLane) {
  sell_cancelled_piece(0, 1, /*stores=*/false);
  EXPECT_EQ(buy(kSplit, user_of(0, 99)), Outcome::kSoldOut);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, OrderWaitsForCancellationOfAnotherLane) {
  const OrderId second = sell_cancelled_piece(2, 0, /*stores=*/true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(store(sale_->lanes()[0])) << "the lane 2 has not stored the cancellation";
    backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  }
  store_all();
  EXPECT_EQ(sale_->status(second).value().location, OrderLocation::kStored);
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, OrderWaitsIfCancellationIsStoredBehindRefusal) {
  const OrderId second = sell_cancelled_piece(2, 0, /*stores=*/true);
  int writes = 0;
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point point) {
    if (point != faults::FaultyOrderStore::Point::kAfterWrite || ++writes != 2) return;
    EXPECT_TRUE(store(sale_->lanes()[2])) << "between a refusal and the decision about it";
  });
  EXPECT_FALSE(store(sale_->lanes()[0])) << "it was refused for the last time before that";
  backend_.orders().at_every_point({});
  EXPECT_GT(writes, 2);
  store_all();
  EXPECT_EQ(sale_->status(second).value().location, OrderLocation::kStored);
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, OrderWaitsForWorkerWithFastClock) {
  publish(3);
  EXPECT_EQ(put(0, 1, 1), 1) << "a piece from nowhere";
  EXPECT_EQ(sell_out(), 4);
  for (const SaleLane& lane : sale_->lanes()) store(lane);
  ManualClock fast(backend_.clock().now_ms() + 10'000'000);
  BackendWithClock keyspace(backend_.keyspace(), fast);
  const WorkerOptions options{.consumer = "c1"};
  for (const SaleLane& lane : sale_->lanes()) {
    OrderWorker worker(keyspace, lane.stores, lane.keys, options);
    for (int i = 0; i < 3 * options.attempts_max; ++i) {
      EXPECT_EQ(worker.step().buried, 0);
      fast.advance_ms(options.retry_after_ms);
    }
  }
  EXPECT_TRUE(sale_->dead_letters({}, 10).value().empty());
}

TEST_P(SplitVoucherTest, OversoldOrderBecomesDeadLetterAtLast) {
  constexpr std::int64_t kWaitMaxMs = 600'000;
  publish(3);
  EXPECT_EQ(put(0, 1, 1), 1) << "a piece from nowhere";
  EXPECT_EQ(sell_out(), 4);
  const SaleLane* waiting = nullptr;
  for (const SaleLane& lane : sale_->lanes()) {
    if (!store(lane)) waiting = &lane;
  }
  ASSERT_NE(waiting, nullptr);
  EXPECT_FALSE(store(*waiting)) << "it waits for another lane";
  backend_.advance_ms(kWaitMaxMs + 1);
  const WorkerOptions options{.consumer = "c1"};
  OrderWorker worker(backend_.keyspace(), waiting->stores, waiting->keys, options);
  std::size_t buried = 0;
  for (int i = 0; i < 3 * options.attempts_max && buried == 0; ++i) {
    buried = worker.step().buried;
    backend_.advance_ms(options.retry_after_ms);
  }
  EXPECT_EQ(buried, 1);
  const auto letters = sale_->dead_letters({}, 10).value();
  ASSERT_EQ(letters.size(), 1);
  EXPECT_THAT(letters.front().reason, HasSubstr("no lane has given any back"));
}

TEST_P(SplitVoucherTest, ChangeThatLanesCannotMakeIsRefused) {
  Voucher voucher = split(9);
  voucher.lanes = kSplitLanes + 1;
  expect_refused(sale_->publish(voucher), "lanes is 4, and the sale has 3");
  voucher = split(9);
  voucher.waiting_max = kSplitLanes - 1;
  expect_refused(sale_->publish(voucher), "at least 3 users may wait");
  publish(9);
  voucher = split(9);
  voucher.lanes = 1;
  expect_refused(sale_->publish(voucher), "lanes is 3 for good, not 1");
  ASSERT_TRUE(sale_->publish(this->voucher(kSplit + 1, 5)).ok());
  voucher = this->voucher(kSplit + 1, 5);
  voucher.lanes = 2;
  expect_refused(sale_->publish(voucher), "is on the lane 2 alone, not on 2 lanes");
  EXPECT_EQ(sell_out(), 9);
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, AuditCountsVoucherOnce) {
  publish(6);
  bought(user_of(1));
  ASSERT_TRUE(sale_->publish(voucher(kSplit + 1, 5)).ok());
  AuditProgress last;
  ASSERT_TRUE(sale_->audit([&](const AuditProgress& progress) { last = progress; }).ok());
  EXPECT_EQ(last.vouchers, 2);
  EXPECT_EQ(last.vouchers_checked, 2);
}

TEST_P(SplitVoucherTest, InterruptedPublicationIsFinished) {
  publish(6);
  backend_.orders().fail_voucher_writes(absl::UnavailableError("the database is away"));
  EXPECT_FALSE(sale_->publish(split(12)).ok());
  backend_.orders().fail_voucher_writes(absl::OkStatus());
  restart();
  EXPECT_TRUE(sale_->publish(split(12)).ok());
  restart();
  EXPECT_EQ(sell_out(), 12);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, LostVersionIsAppliedWhileProcessRuns) {
  if (!GetParam()->keeps_orders_in_file) return;
  publish(6);
  const std::string standby_file = backend_.orders_file().string() + ".standby";
  backend_.copy_orders(standby_file);
  ASSERT_TRUE(sale_->add_stock(kSplit, 3).ok());
  const auto standby = SqliteOrderStore::open(standby_file).value();
  backend_.orders().fail_over_to(*standby);
  EXPECT_EQ(buy(kSplit, user_of(1)), Outcome::kAccepted);
  store_all();
  EXPECT_EQ(standby->vouchers()->applied(kSplit).value()->voucher.stock, 9);
  EXPECT_EQ(sell_out(), 8);
  store_all();
  expect_audit_passes();
  worker_.reset();
  sale_.reset();
}

TEST_P(SplitVoucherTest, PieceThatWasTakenAloneArrives) {
  publish(9);
  EXPECT_EQ(take(0, 1, 2), 2);
  const auto report = sale_->audit().value();
  EXPECT_TRUE(report.passed()) << ::testing::PrintToString(report.problems);
  EXPECT_THAT(report.warnings,
              ::testing::Contains(HasSubstr("2 pieces are on their way between its lanes")));
  EXPECT_EQ(sell_out(), 9);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, PieceThatWasRecordedAloneArrivesOnce) {
  publish(9);
  EXPECT_EQ(take(2, 1, 2), 2);
  const std::int64_t given = record(2, 1);
  EXPECT_EQ(put(2, 1, given), 2);
  EXPECT_EQ(put(2, 1, given), 0) << "a repetition";
  EXPECT_EQ(free_on_all(), (std::vector<std::int64_t>{3, 5, 1}));
  EXPECT_EQ(take(2, 1, 5), 1) << "there are no more";
  record(2, 1);
  EXPECT_EQ(sell_out(), 9);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, LostLaneHasWhatIsRecorded) {
  publish(30);
  EXPECT_EQ(take(0, 1, 3), 3);
  const std::int64_t given = record(0, 1);
  EXPECT_EQ(take(1, 2, 4), 4);  // not recorded: undone with the keys of the lane 1
  for (int i = 0; i < 5; ++i) EXPECT_EQ(buy(kSplit, user_of(1, i)), Outcome::kAccepted);
  store_all();
  lose_keys_of(1);
  EXPECT_EQ(buy(kSplit, user_of(1, 50)), Outcome::kAccepted);
  EXPECT_EQ(free_on(1), 10 + 3 - 6) << "with what the lane 0 gave, before somebody put it there";
  EXPECT_EQ(put(0, 1, given), 0);
  EXPECT_EQ(sell_out(), 30 - 6);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, EachLostLaneIsRebuilt) {
  publish(30, {.per_user = 1});
  for (int i = 0; i < 14; ++i) EXPECT_EQ(buy(kSplit, user_of(2, i)), Outcome::kAccepted);
  store_all();
  for (int lane = 0; lane < kSplitLanes; ++lane) {
    lose_keys_of(lane);
    EXPECT_EQ(buy(kSplit, user_of(2, lane)), Outcome::kLimitReached);
  }
  EXPECT_EQ(sell_out(), 16);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, LaneAwayStopsNoMovesAmongOthers) {
  publish(9);
  bool is_away = false;
  const std::string key = keys_of(1).stock(kSplit);
  const std::string tag = key.substr(0, key.find('}') + 1);
  faults::FaultyBackend faulty(backend_.keyspace(), [&](const Request& request) {
    const bool is_its = is_away && std::ranges::any_of(request.views(), [&](std::string_view part) {
                          return part.starts_with(tag);
                        });
    using Fault = faults::FaultyBackend::Fault;
    return is_its ? Fault::kRequestLost : Fault::kNone;
  });
  const std::unique_ptr<Sale> sale = open_sale(faulty);
  is_away = true;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(sale->buy(kSplit, user_of(2, i)).outcome, Outcome::kAccepted) << i;
  }
  EXPECT_EQ(sale->buy(kSplit, user_of(2, 6)).outcome, Outcome::kUnavailable)
      << "the lane 1 has pieces";
  EXPECT_NE(sale->buy(kSplit, user_of(1)).outcome, Outcome::kSoldOut);
  EXPECT_FALSE(sale->add_stock(kSplit, 1).ok());
  EXPECT_EQ(sale->voucher(kSplit).value()->version, 1) << "nothing was recorded";
  is_away = false;
  EXPECT_EQ(sale->buy(kSplit, user_of(2, 6)).outcome, Outcome::kAccepted);
  EXPECT_EQ(sell_out(), 2);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitVoucherTest, AuditNamesPiecesFromNowhere) {
  publish(9);
  EXPECT_EQ(put(0, 1, 2), 2);
  const auto report = sale_->audit().value();
  EXPECT_THAT(
      report.problems,
      ::testing::Contains(HasSubstr("the lane 0 gave 0 pieces to the lane 1, which got 2")));
}

TEST_P(SplitVoucherTest, AuditNamesBalanceThatNoLaneGave) {
  publish(9);
  backend_.client()("HINCRBY", keys_of(1).voucher(kSplit), "moved", 2);
  backend_.client()("INCRBY", keys_of(1).stock(kSplit), 2);
  EXPECT_THAT(sale_->audit().value().problems,
              ::testing::ElementsAre(HasSubstr(
                  "the lane 1 has 2 moved pieces, and its numbers of other lanes say 0")));
}

/// Two processes move pieces at the same time.
class SplitVoucherRaceTest : public SplitVoucherFixture,
                             public ::testing::WithParamInterface<SaleBackendParam> {
 protected:
  static constexpr std::int64_t kStock = 300;
  static constexpr int kUsers = 150;  // of each thread

  SplitVoucherRaceTest() : SplitVoucherFixture(*GetParam(), TestTime::kMachines) {}

  /// Buys for users who try again as long as they are told to.
  void buy_for_users(Sale& sale, std::int64_t first) {
    for (std::int64_t user = first; user < first + kUsers; ++user) {
      Outcome outcome = Outcome::kOverloaded;
      while (outcome == Outcome::kOverloaded) outcome = sale.buy(kSplit, user).outcome;
      accepted_ += outcome == Outcome::kAccepted ? 1 : 0;
      refused_ += outcome == Outcome::kSoldOut ? 1 : 0;
    }
  }

  std::atomic<std::int64_t> accepted_ = 0;
  std::atomic<std::int64_t> refused_ = 0;
};

TEST_P(SplitVoucherRaceTest, ConcurrentBuyersGetEachPieceOnce) {
  publish(kStock);
  const std::unique_ptr<Sale> other = open_sale(backend_.keyspace());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      Sale& sale = i % 2 == 0 ? *sale_ : *other;
      threads.emplace_back([this, &sale, i] { buy_for_users(sale, 1 + i * kUsers); });
    }
  }
  EXPECT_EQ(accepted_.load(), kStock);
  EXPECT_EQ(refused_.load(), 4 * kUsers - kStock);
  for (const SaleLane& lane : sale_->lanes()) EXPECT_TRUE(store(lane));
  expect_audit_passes();
}

INSTANTIATE_TEST_SUITE_P(Backends, SplitVoucherRaceTest,
                         each_backend_without_lanes(TestTime::kMachines), backend_name);
INSTANTIATE_TEST_SUITE_P(Backends, SplitVoucherTest, each_backend_without_lanes(), backend_name);

}  // namespace
}  // namespace rushgate
