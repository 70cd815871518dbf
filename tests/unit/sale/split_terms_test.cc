// What the terms of a voucher on several lanes say of all of them together: less stock, a total limit, waiting
// lists, purchase tokens; and its end: archiving, moving.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sale/split/piece_mover.h"
#include "tests/unit/sale/split_voucher_fixture.h"
#include <rushgate/engine.h>
#include <rushgate/limits.h>
#include <rushgate/memory_store.h>
#include <rushgate/move_sale.h>

namespace rushgate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SplitTermsTest : public SplitVoucherFixture,
                       public ::testing::WithParamInterface<SaleBackendParam> {
 protected:
  SplitTermsTest() : SplitVoucherFixture(*GetParam()) {}

  void expect_sold_out_after(std::int64_t pieces, std::int64_t first_user) {
    EXPECT_EQ(sell_out(first_user), pieces);
    store_all();
    expect_audit_passes();
  }

  /// Publishes three pieces with a waiting list, and sells one on each lane.
  void sell_three_with_list() {
    Voucher voucher = split(3, {.per_user = 1});
    voucher.payment_ms = kPaymentMs;
    voucher.waiting_max = 2 * kSplitLanes;
    ASSERT_TRUE(sale_->publish(voucher).ok());
    for (int lane = 0; lane < kSplitLanes; ++lane) orders_.push_back(bought(user_of(lane)));
  }
  OrderId wait(std::int64_t user) {
    const WaitResult result = sale_->wait_for(kSplit, user);
    EXPECT_EQ(result.outcome, WaitOutcome::kWaiting) << wait_outcome_name(result.outcome);
    return result.order;
  }
  bool is_known(OrderId order) {
    return sale_->status(order).value().location != OrderLocation::kUnknown;
  }
  static bool names(const Request& request, std::string_view key) {
    return std::ranges::count(request.views(), key) > 0;
  }
  /// Sells pieces to a user of the lane 0.
  void sell_pieces(std::int64_t pieces) {
    while (pieces > 0) {
      const std::int64_t quantity = std::min(pieces, BuyRequest::kQuantityMax);
      const BuyRequest request{.voucher = kSplit, .user = user_of(0), .quantity = quantity};
      EXPECT_EQ(sale_->buy(request).outcome, Outcome::kAccepted);
      pieces -= quantity;
    }
  }
  /// A backend to which publishing on a lane does not get through.
  auto without_versions_on(int lane) {
    return std::make_unique<faults::FaultyBackend>(
        backend_.keyspace(), [this, lane](const Request& request) {
          return names(request, keys_of(lane).applied_versions())
                     ? faults::FaultyBackend::Fault::kRequestLost
                     : faults::FaultyBackend::Fault::kNone;
        });
  }
  /// Returns a field of the voucher on each lane.
  std::vector<std::string> terms(std::string_view field) {
    std::vector<std::string> values;
    for (int lane = 0; lane < kSplitLanes; ++lane) {
      values.push_back(backend_.client()("HGET", keys_of(lane).voucher(kSplit), field).text());
    }
    return values;
  }
  /// Expects that users of each lane, from `nth` on, buy so many pieces one by one and no more.
  void expect_limit(int pieces, int nth, Outcome refusal = Outcome::kLimitReached) {
    for (int lane = 0; lane < kSplitLanes; ++lane) {
      for (int i = 0; i < pieces; ++i) bought(user_of(lane, nth));
      EXPECT_EQ(buy(kSplit, user_of(lane, nth)), refusal) << lane;
    }
  }
  /// Its scripts convert at most two buyers.
  std::unique_ptr<Sale> open_sale_for_two_buyers(Backend& keyspace) {
    return Sale::open(keyspace, backend_.orders(),
                      {.lanes = kSplitLanes, .buyers_converted_max = 2})
        .value();
  }
  void cancel(OrderId order) {
    EXPECT_EQ(sale_->cancel(order, "", "user").outcome, ChangeOutcome::kDone);
  }

  static constexpr std::int64_t kPaymentMs = 60'000;
  std::vector<OrderId> orders_;  // of each lane
};
INSTANTIATE_TEST_SUITE_P(Backends, SplitTermsTest, each_backend_without_lanes(), backend_name);

// ---- Less stock ----

TEST_P(SplitTermsTest, LessStockIsTakenFromAllLanes) {
  publish(11);
  ASSERT_TRUE(sale_->add_stock(kSplit, -7).ok());
  EXPECT_EQ(free_in_all(), 4);
  EXPECT_EQ(sale_->summary(kSplit).value()->free, 4);
  expect_audit_passes();
  for (int lane = 0; lane < kSplitLanes; ++lane) {
    lose_keys_of(lane);
    EXPECT_EQ(buy(kSplit, user_of(lane)), Outcome::kAccepted) << "with its share";
  }
  expect_sold_out_after(1, 1'000);
}

TEST_P(SplitTermsTest, LessStockThanIsFreeIsRefused) {
  publish(11);
  for (int i = 0; i < 5; ++i) bought(user_of(0, i));
  const std::vector<std::int64_t> before = free_on_all();
  expect_refused(sale_->add_stock(kSplit, -7), "1 more are sold than a stock of 4 allows");
  EXPECT_EQ(free_on_all(), before) << "nothing was moved in vain";
  ASSERT_TRUE(sale_->add_stock(kSplit, -6).ok());
  expect_sold_out_after(0, 1'000);
}

TEST_P(SplitTermsTest, StockShrinksAndGrowsAgain) {
  publish(9);
  ASSERT_TRUE(sale_->add_stock(kSplit, -8).ok());
  ASSERT_TRUE(sale_->add_stock(kSplit, 4).ok());
  expect_sold_out_after(5, 1'000);
  ASSERT_TRUE(sale_->add_stock(kSplit, 10).ok());
  restart();
  EXPECT_EQ(free_in_all(), 10);
  expect_sold_out_after(10, 2'000);
}

TEST_P(SplitTermsTest, ForeignKeyOfOneLaneRefusesFirstVersion) {
  backend_.client()("SET", keys_of(1).stock(kSplit), 5);
  expect_refused(sale_->publish(split(9)), "another system made");
  EXPECT_EQ(sale_->voucher(kSplit).value(), std::nullopt);
  EXPECT_EQ(backend_.client()("EXISTS", keys_of(2).voucher(kSplit)), Reply::integer(0));
  EXPECT_EQ(buy(kSplit, user_of(2)), Outcome::kUnknownVoucher);
  backend_.client()("DEL", keys_of(1).stock(kSplit));
  publish(9);
  expect_sold_out_after(9, 1'000);
}

TEST_P(SplitTermsTest, StockShrinksWhileFirstLaneSells) {
  constexpr std::int64_t kStock = 100'000;
  publish(kStock);
  int versions = 0;
  faults::FaultyBackend selling(backend_.keyspace(), [&](const Request& request) {
    if (names(request, keys_of(0).applied_versions()) && names(request, keys_of(0).stock(kSplit))) {
      ++versions;
      sell_pieces(2 * BuyRequest::kQuantityMax);
    }
    return faults::FaultyBackend::Fault::kNone;
  });
  const std::unique_ptr<Sale> sale = open_sale(selling);
  const absl::Status shrunk = sale->add_stock(kSplit, -40'000);
  ASSERT_TRUE(shrunk.ok()) << shrunk;
  EXPECT_EQ(versions, 3) << "what buyers left was too little, with a quarter to spare, too";
  EXPECT_EQ(free_in_all(), kStock - 40'000 - versions * 2 * BuyRequest::kQuantityMax);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitTermsTest, TooSmallStockIsRefusedWhileLaneSells) {
  publish(60);
  faults::FaultyBackend selling(backend_.keyspace(), [&](const Request& request) {
    const bool looks = request.views().front() == "HGETALL";
    if (looks && names(request, keys_of(0).voucher(kSplit))) sell_pieces(1);
    return faults::FaultyBackend::Fault::kNone;
  });
  const std::unique_ptr<Sale> sale = open_sale(selling);
  expect_refused(sale->add_stock(kSplit, -59), "more are sold than a stock of 1 allows");
  EXPECT_LT(free_in_all(), 59);
  EXPECT_GT(free_in_all(), 0);
  const absl::Status closed = sale->close(kSplit);
  EXPECT_TRUE(closed.ok()) << closed;
  store_all();
  expect_audit_passes();
}

/// Publishes with a process that is interrupted when the last lane has a version, before that is recorded.
class SplitVersionTest : public SplitTermsTest {
 protected:
  /// Runs `happens` there, once.
  absl::Status add_stock(std::int64_t delta, std::function<void()> happens) {
    const auto puts_in_force = [this](const Request& request) {
      return names(request, keys_of(kSplitLanes - 1).applied_versions()) &&
             names(request, keys_of(kSplitLanes - 1).stock(kSplit));
    };
    HookedBackend publishing(backend_.keyspace(), once_behind(puts_in_force, std::move(happens)));
    return open_sale(publishing)->add_stock(kSplit, delta);
  }
  void refuse_version(std::int64_t version) {
    const absl::Status refused = backend_.orders().vouchers()->resolve(
        kSplit, version, VoucherVersion::State::kRefused, "a rebuild found more sold");
    EXPECT_TRUE(refused.ok()) << refused;
  }
  void expect_version(std::string_view version) {
    for (int lane = 0; lane < kSplitLanes; ++lane) {
      EXPECT_EQ(backend_.client()("HGET", keys_of(lane).voucher(kSplit), "version"),
                Reply::bulk(std::string(version)))
          << "on the lane " << lane;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, SplitVersionTest, each_backend_without_lanes(), backend_name);

TEST_P(SplitVersionTest, RebuiltLaneFollowsVersion) {
  publish(9);
  const absl::Status published = add_stock(6, [this] {
    lose_keys_of(2);
    bought(user_of(2));
  });
  ASSERT_TRUE(published.ok()) << published;
  expect_version("2");
  expect_sold_out_after(14, 1'000);
}

TEST_P(SplitVersionTest, LaneFollowsVersionOfEndedProcess) {
  publish(9);
  EXPECT_THROW(static_cast<void>(add_stock(
                   6,
                   [this] {
                     EXPECT_TRUE(backend_.orders()
                                     .vouchers()
                                     ->resolve(kSplit, 2, VoucherVersion::State::kApplied, "")
                                     .ok());
                     backend_.client()("HSET", keys_of(2).voucher(kSplit), "version", 1,
                                       "published", 3);
                     backend_.client()("DECRBY", keys_of(2).stock(kSplit), 2);
                     throw Killed();
                   })),
               Killed);
  restart();
  expect_version("2");
  expect_sold_out_after(15, 1'000);
}

TEST_P(SplitVersionTest, VersionThatRebuildRefusesIsPublishedAnew) {
  publish(9);
  const absl::Status published = add_stock(-2, [this] {
    EXPECT_EQ(sell_out(), 7);
    refuse_version(2);
  });
  EXPECT_TRUE(published.ok()) << "since the pieces were taken back: " << published;
  expect_version("3");
  expect_sold_out_after(0, 2'000);
}

TEST_P(SplitVersionTest, RefusedVersionIsTakenBack) {
  publish(9);
  EXPECT_THROW(static_cast<void>(add_stock(-2,
                                           [this] {
                                             refuse_version(2);
                                             throw Killed();
                                           })),
               Killed);
  expect_version("2");
  restart();
  expect_version("1");
  expect_sold_out_after(9, 1'000);
}

TEST_P(SplitTermsTest, OversoldLaneRefusesOnlyLessStock) {
  publish(3);
  backend_.client()("SET", keys_of(0).stock(kSplit), -2);
  Voucher changed = split(3);
  changed.price_cents = 700;
  EXPECT_EQ(sale_->publish(changed), absl::OkStatus());
  EXPECT_THAT(terms("price"), ElementsAre("700", "700", "700"));
  EXPECT_EQ(sale_->add_stock(kSplit, 3), absl::OkStatus());
  EXPECT_THAT(free_on_all(), ElementsAre(-1, 2, 2));
  expect_refused(sale_->add_stock(kSplit, -4), "1 more are sold than a stock of 2 allows");
  EXPECT_EQ(sale_->close(kSplit), absl::OkStatus());
}

TEST_P(SplitVersionTest, OversoldLaneThatIsRebuiltRefusesNoVersion) {
  publish(3);
  backend_.client()("SET", keys_of(1).stock(kSplit), 3);
  for (int nth = 0; nth < 3; ++nth) bought(user_of(1, nth));
  store_all();
  backend_.client()("SET", keys_of(1).stock(kSplit), -2);
  ASSERT_EQ(sale_->publish(split(2, {.per_user = 0, .per_user_day = 2})), absl::OkStatus());
  expect_version("2");
  EXPECT_THAT(free_on_all(), ElementsAre(0, -2, 1));
}

// ---- Limits per user ----

TEST_P(SplitTermsTest, LimitPerUserChanges) {
  publish(60, {.per_user = 1});
  expect_limit(1, 0);
  publish(60, {.per_user = 3});
  expect_limit(2, 0);
  store_all();
  lose_keys_of(1);
  expect_limit(0, 0);
  expect_limit(3, 1);
  publish(60, {.per_user = 0});
  for (int lane = 0; lane < kSplitLanes; ++lane) bought(user_of(lane));
  publish(60, {.per_user = 1});
  expect_limit(0, 0);
  expect_limit(1, 2);
  expect_sold_out_after(60 - 8 * kSplitLanes, 1'000);
}

TEST_P(SplitTermsTest, LimitPerDayChanges) {
  publish(60, {.per_user = 0});
  for (int lane = 0; lane < kSplitLanes; ++lane) bought(user_of(lane));
  publish(60, {.per_user = 0, .per_user_day = 2});
  expect_limit(1, 0, Outcome::kDayLimitReached);
  publish(60, {.per_user = 0, .per_user_day = 3, .utc_offset_minutes = 60});
  expect_limit(1, 0, Outcome::kDayLimitReached);
  expect_limit(3, 1, Outcome::kDayLimitReached);
  publish(60, {.per_user = 4});
  expect_limit(1, 0);
  expect_sold_out_after(60 - 7 * kSplitLanes, 1'000);
}

TEST_P(SplitTermsTest, InterruptedLimitIsFinished) {
  publish(30, {.per_user = 1});
  expect_limit(1, 0);
  const auto interrupted = without_versions_on(2);
  EXPECT_TRUE(absl::IsUnavailable(open_sale(*interrupted)->publish(split(30, {.per_user = 2}))));
  EXPECT_THAT(terms("per_user"), ElementsAre("1", "2", "1"));
  restart();
  EXPECT_THAT(terms("per_user"), ElementsAre("2", "2", "2"));
  expect_limit(1, 0);
  expect_sold_out_after(30 - 2 * kSplitLanes, 1'000);
}

TEST_P(SplitTermsTest, TooManyBuyersOnLaneRefuseLimit) {
  publish(30, {.per_user = 1});
  for (int nth = 0; nth < 3; ++nth) bought(user_of(2, nth));
  const std::unique_ptr<Sale> sale = open_sale_for_two_buyers(backend_.keyspace());
  expect_refused(sale->publish(split(30, {.per_user = 2})), "it has 3 buyers");
  EXPECT_THAT(terms("per_user"), ElementsAre("1", "1", "1"));
  EXPECT_EQ(backend_.orders().vouchers()->latest(kSplit).value()->version, 1);
}

TEST_P(SplitTermsTest, LaneWithTooManyLateBuyersGetsLimit) {
  publish(30, {.per_user = 1});
  bool has_bought = false;
  faults::FaultyBackend selling(backend_.keyspace(), [&](const Request& request) {
    if (names(request, keys_of(1).applied_versions()) && !std::exchange(has_bought, true)) {
      for (int nth = 0; nth < 3; ++nth) bought(user_of(2, nth));
    }
    return faults::FaultyBackend::Fault::kNone;
  });
  const std::unique_ptr<Sale> sale = open_sale_for_two_buyers(selling);
  EXPECT_EQ(sale->publish(split(30, {.per_user = 2})), absl::OkStatus());
  EXPECT_TRUE(has_bought);
  for (int nth = 0; nth < 3; ++nth) {
    bought(user_of(2, nth));
    EXPECT_EQ(buy(kSplit, user_of(2, nth)), Outcome::kLimitReached);
  }
  expect_sold_out_after(24, 1'000);
}

// ---- The total limit ----

TEST_P(SplitTermsTest, TotalLimitHoldsForAllLanes) {
  publish(30, {.total = 10, .per_user = 0});
  EXPECT_EQ(sale_->summary(kSplit).value()->free, 30);
  lose_keys_of(2);
  EXPECT_EQ(sell_out(), 10);
  EXPECT_EQ(sale_->summary(kSplit).value()->free, 20) << "as on one lane";
  EXPECT_EQ(sale_->summaries().value().front().free, 20);
  ASSERT_TRUE(sale_->publish(split(30, {.total = 14, .per_user = 0})).ok());
  EXPECT_EQ(sell_out(2'000), 4);
  expect_refused(sale_->publish(split(30, {.total = 13, .per_user = 0})),
                 "1 more are sold than a total limit of 13 allows");
  ASSERT_TRUE(sale_->publish(split(30, {.per_user = 0})).ok());
  restart();
  EXPECT_EQ(sale_->voucher(kSplit).value()->voucher.limits.total, 0);
  expect_sold_out_after(16, 3'000);
}

// ---- Waiting lists ----

TEST_P(SplitTermsTest, ReturnedPieceIsSoldToOwnLaneFirst) {
  sell_three_with_list();
  const OrderId other = wait(user_of(2, 1));
  const OrderId own = wait(user_of(0, 1));
  cancel(orders_[0]);
  EXPECT_TRUE(is_known(own));
  EXPECT_FALSE(is_known(other)) << "though it waits for longer";
  cancel(orders_[1]);
  EXPECT_TRUE(is_known(other)) << "nobody waits on the lane of this piece";
  EXPECT_THAT(sale_->waiting_list(kSplit).value(), IsEmpty());
  EXPECT_EQ(free_in_all(), 0);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitTermsTest, UnpaidPieceMovesToWaitingUser) {
  sell_three_with_list();
  store_all();
  const OrderId order = wait(user_of(2, 1));
  for (const int lane : {1, 2}) {
    const std::size_t place = static_cast<std::size_t>(lane);
    ASSERT_EQ(sale_->pay({orders_[place], "p" + std::to_string(lane), 100}).outcome,
              ChangeOutcome::kDone);
  }
  store_all();
  backend_.advance_ms(kPaymentMs);
  EXPECT_TRUE(store(sale_->lanes()[0]));
  EXPECT_EQ(free_on(0), 1);
  EXPECT_THAT(sale_->audit().value().warnings,
              Contains(HasSubstr("1 users wait, and 1 pieces are free on other lanes")));
  backend_.advance_ms(1'000);
  EXPECT_TRUE(is_known(order));
  store_all();
  EXPECT_THAT(sale_->audit().value().warnings, IsEmpty());
}

TEST_P(SplitTermsTest, PieceOfAnotherLaneIsNotWaitedFor) {
  sell_three_with_list();
  backend_.advance_ms(PieceMover::kSoldOutMs);
  cancel(orders_[1]);
  EXPECT_EQ(sale_->wait_for(kSplit, user_of(2, 1)).outcome, WaitOutcome::kFree);
  EXPECT_EQ(buy(kSplit, user_of(2, 1)), Outcome::kAccepted);
}

TEST_P(SplitTermsTest, WaitingUsersComeBeforeBuyersOfOtherLanes) {
  sell_three_with_list();
  const OrderId order = wait(user_of(2, 1));
  const std::unique_ptr<Sale> other = open_sale(backend_.keyspace());
  other->cancel(orders_[0], "", "user");
  backend_.advance_ms(PieceMover::kSoldOutMs);
  EXPECT_EQ(buy(kSplit, user_of(1, 1)), Outcome::kSoldOut);
  EXPECT_TRUE(is_known(order));
}

TEST_P(SplitTermsTest, MoreStockIsSoldToAllLists) {
  sell_three_with_list();
  std::vector<OrderId> waiting;
  for (int nth = 1; nth <= 2; ++nth) {
    for (int lane = 0; lane < kSplitLanes; ++lane) waiting.push_back(wait(user_of(lane, nth)));
  }
  EXPECT_EQ(sale_->wait_for(kSplit, user_of(1, 3)).outcome, WaitOutcome::kFull);
  EXPECT_THAT(sale_->waiting_list(kSplit).value(),
              ElementsAre(user_of(0, 1), user_of(1, 1), user_of(2, 1), user_of(0, 2), user_of(1, 2),
                          user_of(2, 2)));
  const auto page = sale_->waiting_users(kSplit, 0, 4).value();
  ASSERT_EQ(page.size(), 4);
  const auto rest = sale_->waiting_users(kSplit, page.back().arrival, 4).value();
  ASSERT_EQ(rest.size(), 2);
  EXPECT_EQ(rest.front().user, UserId(user_of(1, 2)));
  EXPECT_TRUE(sale_->leave_waiting_list(kSplit, user_of(2, 1)).value());
  ASSERT_TRUE(sale_->add_stock(kSplit, 6).ok());
  EXPECT_THAT(sale_->waiting_list(kSplit).value(), IsEmpty());
  EXPECT_EQ(free_in_all(), 1);
  EXPECT_EQ(std::ranges::count_if(waiting, [&](OrderId order) { return is_known(order); }), 5);
  store_all();
  expect_audit_passes();
}

TEST_P(SplitTermsTest, ListOfOtherProcessIsServedWithinSecond) {
  Voucher voucher = split(3, {.per_user = 1});
  voucher.payment_ms = kPaymentMs;
  ASSERT_TRUE(sale_->publish(voucher).ok());
  for (int lane = 0; lane < kSplitLanes; ++lane) orders_.push_back(bought(user_of(lane)));
  store_all();
  backend_.advance_ms(kPaymentMs - 500);
  voucher.waiting_max = kSplitLanes;
  ASSERT_TRUE(open_sale(backend_.keyspace())->publish(voucher).ok());
  const OrderId order = wait(user_of(2, 1));
  backend_.advance_ms(500);
  EXPECT_TRUE(store(sale_->lanes()[0]));
  EXPECT_FALSE(is_known(order));
  backend_.advance_ms(1'000);
  EXPECT_TRUE(is_known(order));
}

TEST_P(SplitTermsTest, VoucherWithoutListIsSeldomLookedAt) {
  constexpr VoucherId kListed = kSplit + 1;
  constexpr int kSeconds = 9;
  int looks = 0;
  int looks_at_list = 0;
  faults::FaultyBackend counting(backend_.keyspace(), [&](const Request& request) {
    looks += names(request, keys_of(1).stock(kSplit)) ? 1 : 0;
    looks_at_list += names(request, keys_of(1).stock(kListed)) ? 1 : 0;
    return faults::FaultyBackend::Fault::kNone;
  });
  publish(3);
  Voucher listed = split(3);
  listed.id = kListed;
  listed.waiting_max = kSplitLanes;
  ASSERT_TRUE(sale_->publish(listed).ok());
  const std::unique_ptr<Sale> sale = open_sale(counting);
  backend_.advance_ms(1'000);
  looks = looks_at_list = 0;
  for (int i = 0; i < kSeconds; ++i) backend_.advance_ms(1'000);
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(looks_at_list, kSeconds);
}

// ---- Purchase tokens ----

TEST_P(SplitTermsTest, TokenBuysOnTheLaneOfItsUser) {
  Voucher voucher = split(5);
  voucher.needs_token = true;
  ASSERT_TRUE(sale_->publish(voucher).ok());
  for (int lane = 0; lane < kSplitLanes; ++lane) {
    const std::int64_t user = user_of(lane);
    const SaleLane its = sale_->lane_of(kSplit, user).value();
    EXPECT_EQ(its.number, lane);
    const auto tokens =
        PurchaseTokens::create(backend_.keyspace(), {.key_prefix = its.keys.purchase_tokens()})
            .value();
    BuyRequest request{.voucher = kSplit, .user = user};
    EXPECT_EQ(sale_->buy(request).outcome, Outcome::kTokenRefused);
    const std::string token = tokens->issue(user, kSplit).value();
    request.purchase_token = token;
    EXPECT_EQ(sale_->buy(request).outcome, Outcome::kAccepted);
    EXPECT_EQ(sale_->buy(request).outcome, Outcome::kTokenRefused) << "spent";
  }
}

// ---- Archiving ----

TEST_P(SplitTermsTest, IsArchivedWithAllItsLanes) {
  publish(6);
  const std::vector<OrderId> orders = {bought(user_of(0)), bought(user_of(1)), bought(user_of(2))};
  expect_refused(sale_->archive(kSplit), "its sale has not ended");
  ASSERT_TRUE(sale_->close(kSplit).ok());
  backend_.advance_ms(1);
  EXPECT_TRUE(store(sale_->lanes()[0]) && store(sale_->lanes()[1]));
  expect_refused(sale_->archive(kSplit), "is queued");
  EXPECT_NE(sale_->voucher(kSplit).value(), std::nullopt) << "nothing was archived";
  store_all();
  ASSERT_TRUE(sale_->archive(kSplit).ok());
  for (int lane = 0; lane < kSplitLanes; ++lane) {
    EXPECT_EQ(backend_.client()("EXISTS", keys_of(lane).voucher(kSplit),
                                keys_of(lane).stock(kSplit), keys_of(lane).buyers(kSplit)),
              Reply::integer(0));
  }
  expect_audit_passes();
  // As a process leaves a lane that ends before it has removed the keys there.
  backend_.client()("SADD", keys_of(2).vouchers(), kSplit);
  backend_.client()("HSET", keys_of(2).voucher(kSplit), "version", 1);
  restart();
  EXPECT_EQ(backend_.client()("EXISTS", keys_of(2).voucher(kSplit)), Reply::integer(0));
  EXPECT_TRUE(sale_->archive(kSplit).ok()) << "a repetition";
  for (const OrderId order : orders) EXPECT_TRUE(is_known(order));
  EXPECT_EQ(buy(kSplit, user_of(1, 1)), Outcome::kUnknownVoucher);
  expect_audit_passes();
  EXPECT_EQ(sale_->delete_archived(kSplit).value(), 3);
  for (const OrderId order : orders) EXPECT_FALSE(is_known(order));
}

TEST_P(SplitTermsTest, ArchivedVoucherIsNotLookedAt) {
  publish(3);
  int looks = 0;
  faults::FaultyBackend counting(backend_.keyspace(), [&](const Request& request) {
    looks += names(request, keys_of(1).stock(kSplit)) ? 1 : 0;
    return faults::FaultyBackend::Fault::kNone;
  });
  const std::unique_ptr<Sale> archiver = open_sale(counting);
  const std::unique_ptr<Sale> other = open_sale(counting);
  ASSERT_TRUE(archiver->close(kSplit).ok());
  backend_.advance_ms(1);
  ASSERT_TRUE(archiver->archive(kSplit).ok());
  looks = 0;
  backend_.advance_ms(1'000);
  EXPECT_GT(looks, 0) << "the other process notices it";
  looks = 0;
  const std::unique_ptr<Sale> later = open_sale(counting);
  for (int i = 0; i < 12; ++i) backend_.advance_ms(1'000);
  EXPECT_EQ(looks, 0);
}

// ---- Moving ----

TEST_P(SplitTermsTest, SaleIsMovedWithPiecesOnTheirWay) {
  Voucher voucher = split(12);
  voucher.waiting_max = kSplitLanes;
  ASSERT_TRUE(sale_->publish(voucher).ok());
  bought(user_of(0));
  EXPECT_EQ(take(0, 1, 2), 2);
  const std::int64_t given = record(0, 1);
  EXPECT_EQ(take(1, 2, 3), 3);  // not recorded
  EXPECT_EQ(take(2, 0, 1), 1);
  EXPECT_EQ(put(2, 0, record(2, 0)), 1);
  ManualClock clock(backend_.clock().now_ms() + 1);  // stream ids are not reused
  const auto elsewhere =
      Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}).value();
  const auto moved =
      move_sale(backend_.keyspace(), *elsewhere, backend_.orders(), {.to_name = "elsewhere"});
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(sale_->buy(kSplit, user_of(1)).outcome, Outcome::kOverloaded) << "it has left";
  EXPECT_EQ(put(0, 1, given), 0) << "a late step of another process, in the old place";
  sale_ = Sale::open(*elsewhere, backend_.orders()).value();
  EXPECT_EQ(sale_->summary(kSplit).value()->free, 11);
  EXPECT_EQ(sell_out(), 11);
  EXPECT_EQ(sale_->audit().value().problems, std::vector<std::string>());
  sale_.reset();
}

}  // namespace
}  // namespace rushgate
