// Waiting for a piece of a sold-out voucher, on every backend.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/time_units.h"
#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WaitingListTest : public PaidSaleTest {
 protected:
  /// Publishes a voucher with two pieces, which users 1 and 2 have bought.
  void sell_out(std::int64_t waiting_max = 3) {
    voucher_ = paid_voucher(2);
    voucher_.waiting_max = waiting_max;
    ASSERT_TRUE(sale_->publish(voucher_).ok());
    orders_ = {bought(1), bought(2)};
  }
  OrderId wait(std::int64_t user) {
    const WaitResult result = sale_->wait_for(1, user);
    EXPECT_EQ(result.outcome, WaitOutcome::kWaiting) << wait_outcome_name(result.outcome);
    return result.order;
  }
  /// Sells out and lets user 3 wait. Then publishes one more piece, on sale in an hour. Returns the order
  /// that the user will get.
  OrderId wait_for_later_begin() {
    sell_out();
    for (const OrderId order : orders_) pay(order, "p" + std::to_string(order));
    const OrderId third = wait(3);
    voucher_.stock = 3;
    voucher_.begin_ms = backend_.clock().now_ms() + kHourMs;
    EXPECT_TRUE(sale_->publish(voucher_).ok());
    EXPECT_THAT(waiting(), ElementsAre(3));
    return third;
  }
  /// Lets 600 users wait for as many pieces and one more, which are on sale now.
  void wait_for_long_list() {
    constexpr std::int64_t kUsers = 600;
    sell_out(kUsers);
    for (const OrderId order : orders_) pay(order, "p" + std::to_string(order));
    for (std::int64_t user = 3; user < 3 + kUsers; ++user) wait(user);
    voucher_.stock = 2 + kUsers + 1;
    voucher_.begin_ms = backend_.clock().now_ms() + kHourMs;
    ASSERT_TRUE(sale_->publish(voucher_).ok());
    backend_.advance_ms(kHourMs);
  }
  WaitOutcome outcome(std::int64_t user) { return sale_->wait_for(1, user).outcome; }
  std::vector<UserId> waiting() { return sale_->waiting_list(1).value(); }

  Voucher voucher_;
  std::vector<OrderId> orders_;
};
INSTANTIATE_TEST_SUITE_P(Backends, WaitingListTest, each_backend(), backend_name);

/// Excludes memory: such a keyspace has no older state to return to.
class RolledBackWaitingTest : public WaitingListTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RolledBackWaitingTest,
                         each_backend_that(&SaleBackendKind::can_roll_back), backend_name);

TEST_P(RolledBackWaitingTest, RollBackDropsList) {
  sell_out();
  drain();
  const OrderId third = wait(3);
  save();
  ASSERT_EQ(sale_->cancel(orders_[0], "no").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->cancel(third, "no").outcome, ChangeOutcome::kDone) << "it was served";
  drain();
  ASSERT_EQ(stored(third).status, OrderStatus::kCancelled);
  roll_back();

  const OrderId fourth = bought(4);
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(outcome(3), WaitOutcome::kWaiting) << "with another order";
  drain();
  EXPECT_EQ(stored(fourth).user, 4);
  EXPECT_EQ(stored(third).status, OrderStatus::kCancelled);
  EXPECT_THAT(*sale_->dead_letters(), IsEmpty());
  expect_audit_passes();
}

TEST_P(WaitingListTest, OverloadedRequestUsesNoId) {
  sell_out();
  drain();
  backend_.client()("DEL", SaleKeys{}.stock(1));
  backend_.orders().fail_reads();
  for (int again = 0; again < 3; ++again) EXPECT_EQ(outcome(3), WaitOutcome::kOverloaded);
  backend_.orders().fail_reads(absl::OkStatus());
  EXPECT_EQ(wait(3), orders_[1] + 1);
}

TEST_P(WaitingListTest, RebuildDropsUsersWithUsedOrders) {
  sell_out();
  const OrderId third = wait(3);
  const OrderId fourth = wait(4);
  ASSERT_EQ(sale_->cancel(orders_[0], "no").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->cancel(orders_[1], "no").outcome, ChangeOutcome::kDone);
  drain();
  ASSERT_EQ(sale_->cancel(third, "no").outcome, ChangeOutcome::kDone) << "still queued";
  const SaleKeys keys;
  backend_.client()("ZADD", keys.waiting(1), 1, 3, 2, 4, 3, 5);
  backend_.client()("HSET", keys.waiting_orders(1), 3, third, 4, fourth, 5, fourth + 500);
  backend_.client()("DEL", keys.stock(1));

  EXPECT_EQ(buy(1, 6), Outcome::kSoldOut);
  drain();
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(stored(fourth + 500).user, 5) << "served by the rebuild";
  EXPECT_EQ(stored(third).status, OrderStatus::kCancelled);
  EXPECT_THAT(*sale_->dead_letters(), IsEmpty());
  expect_audit_passes();
}

TEST_P(WaitingListTest, ReturnedPieceGoesToFirst) {
  sell_out();
  const OrderId third = wait(3);
  wait(4);
  ASSERT_THAT(waiting(), ElementsAre(3, 4));

  ASSERT_EQ(sale_->cancel(orders_[0], "no").outcome, ChangeOutcome::kDone);

  EXPECT_EQ(buy(1, 5), Outcome::kSoldOut);
  EXPECT_THAT(waiting(), ElementsAre(4));
  EXPECT_EQ(pay(third, "p3").outcome, ChangeOutcome::kDone);
  drain();
  EXPECT_EQ(stored(third).user, 3);
  EXPECT_EQ(stored(third).status, OrderStatus::kPaid);
  expect_audit_passes();
}

/// The user pays, uses or cancels the order that wait_for() named, at the moment when it is admitted. That
/// is no lost hold: no such call may close the voucher.
TEST_P(WaitingListTest, ChangeDuringServiceRebuildsNothing) {
  constexpr int kReadsMax = 6;
  sell_out();
  OrderId holder = orders_[0];
  std::int64_t user = 2;
  const auto change = [&](int which, OrderId order) {
    if (which == 0) return pay(order, "p", 1);  // an amount that is refused
    return which == 1 ? sale_->cancel(order, "no") : sale_->use(order);
  };
  const std::int64_t epoch = backend_.orders().state()->epoch;
  for (int which = 0; which < 3; ++which) {
    for (int read = 1; read <= kReadsMax; ++read) {
      const OrderId order = wait(++user);
      bool is_served = false;
      const auto serve = [&] {
        is_served = true;
        EXPECT_EQ(sale_->cancel(holder, "no").outcome, ChangeOutcome::kDone);
      };
      backend_.orders().before_every_read([&, reads = 0]() mutable {
        if (++reads == read && !is_served) serve();
      });
      const ChangeResult result = change(which, order);
      backend_.orders().before_every_read({});
      if (!is_served) serve();
      // A cancellation may have come after the service. Then the piece is free.
      holder = result.outcome == ChangeOutcome::kDone ? bought(++user) : order;
      drain();
    }
  }
  EXPECT_EQ(backend_.orders().state()->epoch, epoch);
  expect_audit_passes();
}

TEST_P(WaitingListTest, PieceHasHoldOfItsOwn) {
  sell_out();
  const OrderId third = wait(3);
  const OrderId fourth = wait(4);
  pay(orders_[1], "p2");
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(stored(third).status, OrderStatus::kUnpaid) << "from the timeout";
  EXPECT_EQ(stored(third).due_at_ms, stored(third).admitted_at_ms + kPaymentMs);

  backend_.advance_ms(kPaymentMs);
  drain();

  EXPECT_EQ(stored(third).status, OrderStatus::kCancelled);
  EXPECT_EQ(stored(fourth).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

TEST_P(WaitingListTest, RefundServesToo) {
  sell_out();
  pay(orders_[0], "p1");
  drain();
  const OrderId third = wait(3);

  ASSERT_EQ(sale_->refund(orders_[0], "broken").outcome, ChangeOutcome::kDone);

  drain();
  EXPECT_EQ(stored(third).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

TEST_P(WaitingListTest, MorePiecesThanOneScriptServesAreSold) {
  constexpr std::int64_t kPieces = 600;
  voucher_ = paid_voucher(kPieces);
  voucher_.waiting_max = 1'000;
  voucher_.limits.per_user = kPieces;
  ASSERT_TRUE(sale_->publish(voucher_).ok());
  const BuyResult all = sale_->buy({.voucher = 1, .user = 1, .quantity = kPieces});
  ASSERT_EQ(all.outcome, Outcome::kAccepted);
  for (std::int64_t user = 2; user <= 700; ++user) wait(user);

  ASSERT_EQ(sale_->cancel(all.order, "no").outcome, ChangeOutcome::kDone);

  EXPECT_EQ(waiting().size(), 699U - kPieces);
  EXPECT_EQ(waiting().front(), kPieces + 2);
  EXPECT_EQ(free_stock(), 0);
  drain();
  expect_audit_passes();
}

TEST_P(WaitingListTest, AddedStockIsSoldToWaitingUsers) {
  sell_out();
  wait(3);
  wait(4);

  ASSERT_TRUE(sale_->add_stock(1, 3).ok());

  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(free_stock(), 1);
  drain();
  expect_audit_passes();
}

TEST_P(WaitingListTest, PieceCountsForEntrysDay) {
  const std::int64_t midnight_ms = (backend_.clock().now_ms() / kDayMs + 1) * kDayMs;
  backend_.set_now_ms(midnight_ms + kMinuteMs);
  voucher_ = paid_voucher(1);
  voucher_.begin_ms = midnight_ms - kDayMs;
  voucher_.waiting_max = 3;
  voucher_.limits = {.per_user = 0, .per_user_day = 1};
  ASSERT_TRUE(sale_->publish(voucher_).ok());
  const OrderId first = bought(1);
  backend_.set_now_ms(midnight_ms - kMinuteMs);  // yesterday; ids only ascend
  wait(2);
  ASSERT_EQ(sale_->cancel(first, "no").outcome, ChangeOutcome::kDone);
  ASSERT_THAT(waiting(), IsEmpty());

  backend_.set_now_ms(midnight_ms + 2 * kMinuteMs);
  ASSERT_TRUE(sale_->add_stock(1, 1).ok());

  EXPECT_EQ(buy(1, 2), Outcome::kDayLimitReached);
  expect_audit_passes();
}

TEST_P(WaitingListTest, LaterBeginServesListBeforeBuyers) {
  const OrderId third = wait_for_later_begin();
  EXPECT_EQ(buy(1, 5), Outcome::kNotStarted);
  expect_audit_passes();

  backend_.advance_ms(kHourMs);
  expect_audit_passes();

  EXPECT_EQ(buy(1, 5), Outcome::kSoldOut);
  EXPECT_THAT(waiting(), IsEmpty());
  drain();
  EXPECT_EQ(stored(third).user, 3);
  expect_audit_passes();
}

TEST_P(WaitingListTest, LaterBeginServesBatchAfterList) {
  wait_for_later_begin();
  backend_.advance_ms(kHourMs);

  std::vector<Outcome> outcomes;
  for (const BuyResult& result : sale_->buy_all(
           std::vector<BuyRequest>{{.voucher = 1, .user = 5}, {.voucher = 1, .user = 3}})) {
    outcomes.push_back(result.outcome);
  }

  EXPECT_THAT(outcomes, ElementsAre(Outcome::kSoldOut, Outcome::kSoldOut));
  expect_audit_passes();
}

TEST_P(WaitingListTest, BuyerServesOnePortionOfLongList) {
  wait_for_long_list();
  const auto buy_as = [this](std::int64_t user) { return sale_->buy(1, user); };

  const BuyResult first = buy_as(1'000);
  EXPECT_EQ(first.outcome, Outcome::kOverloaded);
  EXPECT_THAT(first.detail, HasSubstr("waiting list"));
  EXPECT_EQ(waiting().size(), 600U - 256U);
  const std::vector<BuyResult> batch = sale_->buy_all(
      std::vector<BuyRequest>{{.voucher = 1, .user = 1'001}, {.voucher = 1, .user = 1'002}});
  for (const BuyResult& result : batch) EXPECT_EQ(result.outcome, Outcome::kOverloaded);
  EXPECT_EQ(waiting().size(), 600U - 2 * 256U) << "one portion in a call";
  EXPECT_EQ(buy_as(1'000).outcome, Outcome::kAccepted);
  EXPECT_THAT(waiting(), IsEmpty());
  drain();
  expect_audit_passes();
}

TEST_P(WaitingListTest, LongListRefusesBatchAtOnce) {
  constexpr std::int64_t kBuyers = 100;
  wait_for_long_list();
  ASSERT_TRUE(sale_->publish(voucher(2, 5)).ok());
  int requests_made = 0;
  HookedBackend hooked(backend_.keyspace(), {.before = [&](const Request&) { ++requests_made; }});
  const auto other = open_sale(hooked);
  const OrderId first = other->buy(2, 1).order;
  std::vector<BuyRequest> requests;
  for (std::int64_t user = 1'000; user < 1'000 + kBuyers; ++user) {
    requests.push_back({.voucher = 1, .user = user});
  }
  requests_made = 0;
  for (const BuyResult& result : other->buy_all(requests)) {
    EXPECT_EQ(result.outcome, Outcome::kOverloaded);
  }
  EXPECT_LT(requests_made, 10) << "one decides for all, one serves a portion";
  EXPECT_EQ(other->buy(2, 2).order, first + 1) << "refused requests use no ids up";
}

TEST_P(WaitingListTest, WorkerServesLongListToItsEnd) {
  wait_for_long_list();
  EXPECT_EQ(sale_->buy(1, 1'000).outcome, Outcome::kOverloaded);
  drain();
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(buy(1, 1'000), Outcome::kAccepted);
}

/// A cancellation that gives many pieces back serves the list in portions.
TEST_P(WaitingListTest, NobodyBuysBetweenPortions) {
  constexpr std::int64_t kPieces = 300;
  constexpr std::size_t kUsers = kPieces;
  constexpr std::size_t kPortion = 256;
  std::optional<Outcome> between;
  HookedBackend hooked(backend_.keyspace(), {.after = [&](const Request&, const Reply&) {
                         const bool is_between = waiting().size() == kUsers - kPortion;
                         if (is_between && !between) between = buy(1, 1'000);
                       }});
  voucher_ = paid_voucher(kPieces);
  voucher_.waiting_max = 1'000;
  voucher_.limits.per_user = kPieces;
  ASSERT_TRUE(sale_->publish(voucher_).ok());
  const BuyResult all = sale_->buy({.voucher = 1, .user = 1, .quantity = kPieces});
  for (std::size_t user = 0; user < kUsers; ++user) wait(static_cast<std::int64_t>(2 + user));
  const auto other = open_sale(hooked);

  ASSERT_EQ(other->cancel(all.order, "no").outcome, ChangeOutcome::kDone);

  ASSERT_TRUE(between.has_value());
  EXPECT_EQ(*between, Outcome::kSoldOut);
  EXPECT_THAT(waiting(), IsEmpty());
  EXPECT_EQ(free_stock(), 0);
  expect_audit_passes();
}

TEST_P(WaitingListTest, WorkerServesListWhenWindowOpens) {
  const OrderId third = wait_for_later_begin();
  drain();
  backend_.advance_ms(kHourMs);

  drain();

  EXPECT_EQ(stored(third).user, 3);
  EXPECT_EQ(stored(third).admitted_at_ms, voucher_.begin_ms);
  expect_audit_passes();
}

TEST_P(WaitingListTest, ListIsServedWhereScriptsAreInLua) {
  wait_for_later_begin();
  LuaOnlyBackend lua_only(backend_.keyspace());
  const auto other = open_sale(lua_only);
  backend_.advance_ms(kHourMs);

  EXPECT_EQ(other->buy(1, 5).outcome, Outcome::kSoldOut);
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_P(WaitingListTest, EndedListLetsOthersBuy) {
  wait_for_later_begin();
  voucher_.waiting_max = 0;
  ASSERT_TRUE(sale_->publish(voucher_).ok());
  backend_.advance_ms(kHourMs);

  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(WaitingListTest, PlaceAndOrderStay) {
  sell_out();
  wait(3);
  const WaitResult first = sale_->wait_for(1, 4);
  const WaitResult again = sale_->wait_for(1, 4);
  EXPECT_EQ(first.place, 2);
  EXPECT_EQ(again.place, 2);
  EXPECT_EQ(again.order, first.order);
}

TEST_P(WaitingListTest, RefusalsAreNamed) {
  EXPECT_EQ(outcome(3), WaitOutcome::kUnknownVoucher);
  sell_out(1);
  EXPECT_EQ(outcome(1), WaitOutcome::kLimitReached) << "has a piece";
  wait(3);
  EXPECT_EQ(outcome(4), WaitOutcome::kFull);
  voucher_.waiting_max = 0;
  ASSERT_TRUE(sale_->publish(voucher_).ok());
  EXPECT_EQ(outcome(4), WaitOutcome::kNoWaitingList);
  voucher_.waiting_max = 5;
  voucher_.stock = 10;
  ASSERT_TRUE(sale_->publish(voucher_).ok());
  EXPECT_EQ(outcome(4), WaitOutcome::kFree);
  ASSERT_TRUE(sale_->close(1).ok());
  EXPECT_EQ(outcome(4), WaitOutcome::kNotOnSale);
}

TEST_P(WaitingListTest, UserMayWaitAfterLostReply) {
  sell_out();
  bool is_lost = false;
  faults::FaultyBackend faulty(backend_.keyspace(), [&](const Request& request) {
    using Fault = faults::FaultyBackend::Fault;
    const bool is_its = std::ranges::count(request.views(), SaleKeys{}.waiting(1)) > 0;
    return is_lost && is_its ? Fault::kReplyLost : Fault::kNone;
  });
  const auto sale = open_sale(faulty);
  ASSERT_EQ(sale->wait_for(1, 3).outcome, WaitOutcome::kWaiting);
  is_lost = true;
  const WaitResult lost = sale->wait_for(1, 4);
  is_lost = false;
  EXPECT_EQ(lost.outcome, WaitOutcome::kOutcomeUnknown) << lost.detail;
  EXPECT_THAT(waiting(), ElementsAre(3, 4));
  EXPECT_EQ(sale->wait_for(1, 4).place, 2);
}

TEST_P(WaitingListTest, UserMayLeave) {
  sell_out();
  wait(3);
  EXPECT_TRUE(*sale_->leave_waiting_list(1, 3));
  EXPECT_FALSE(*sale_->leave_waiting_list(1, 3));
  sale_->cancel(orders_[0], "no");
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
}

TEST_P(WaitingListTest, ClosedSaleServesNoUser) {
  sell_out();
  wait(3);
  ASSERT_TRUE(sale_->close(1).ok());
  sale_->cancel(orders_[0], "no");
  EXPECT_EQ(free_stock(), 1);
  EXPECT_THAT(waiting(), ElementsAre(3));
  expect_audit_passes();
}

TEST_P(WaitingListTest, RebuildKeepsTheList) {
  sell_out();
  const OrderId third = wait(3);
  backend_.client()("DEL", "seckill:stock:1", "seckill:voucher:1");
  EXPECT_EQ(outcome(4), WaitOutcome::kWaiting);
  sale_->cancel(orders_[0], "no");
  drain();
  EXPECT_EQ(stored(third).status, OrderStatus::kUnpaid);
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
