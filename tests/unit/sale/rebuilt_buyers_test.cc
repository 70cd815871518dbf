// What a rebuild gives back to a voucher, from orders alone.
#include "engine/sale/vouchers/rebuilt_buyers.h"

#include <string>

#include <gmock/gmock.h>

#include "engine/core/base/time_units.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Order order_of(OrderId id, std::int64_t user, std::int64_t at_ms = 0) {
  return {.id = id,
          .user = user,
          .voucher = 1,
          .limit = 2,
          .admitted_at_ms = at_ms,
          .entry = {static_cast<std::uint64_t>(id), 0}};
}

TEST(RebuiltBuyersTest, EndedOrdersTakeWhatTheyKeep) {
  RebuiltBuyers buyers;
  Order keeps_stock = order_of(1, 7);
  keeps_stock.status = OrderStatus::kCancelled;
  keeps_stock.keeps_stock = true;
  Order keeps_allowance = order_of(2, 7);
  keeps_allowance.status = OrderStatus::kRefunded;
  keeps_allowance.keeps_allowance = true;
  buyers.add(keeps_stock, {});
  buyers.add(keeps_allowance, {});
  buyers.add(order_of(3, 8), {});
  EXPECT_EQ(buyers.taken, 2);
  EXPECT_EQ(buyers.withheld, 1);
  EXPECT_EQ(buyers.given_back, 1);
  EXPECT_EQ(buyers.bought.at(7).count, 1);
  EXPECT_FALSE(buyers.counted) << "nobody has two";
}

TEST(RebuiltBuyersTest, OnlyLatestDayIsCounted) {
  RebuiltBuyers buyers;
  buyers.add(order_of(1, 7, kDayMs), {});
  buyers.add(order_of(2, 7, 0), {});
  EXPECT_EQ(buyers.bought.at(7).count, 2);
  EXPECT_EQ(buyers.bought.at(7).day, 1);
  EXPECT_EQ(buyers.bought.at(7).on_day, 1);
}

TEST(RebuiltBuyersTest, LostOrderMustFitIn) {
  const Limits limits{.per_user = 2, .per_user_day = 2};
  RebuiltBuyers buyers;
  Order first = order_of(1, 7);
  first.idempotency_key = "click";
  first.key_expires_at_ms = 100;
  buyers.add(first, limits);
  EXPECT_EQ(buyers.find_excess(order_of(2, 7), limits, 2), "");
  EXPECT_EQ(buyers.find_excess(order_of(2, 7), limits, 1), "its stock was sold again");
  Order repeated = order_of(3, 7);
  repeated.idempotency_key = "click";
  repeated.key_expires_at_ms = 100;
  EXPECT_THAT(buyers.find_excess(repeated, limits, 5), HasSubstr("order 1"));
  buyers.add(order_of(2, 7), limits);
  EXPECT_EQ(buyers.find_excess(order_of(4, 7), limits, 5), "its user bought again");
  EXPECT_EQ(buyers.find_excess(order_of(5, 8), limits, 5), "");
}

TEST(RebuiltBuyersTest, WaitingUserWithOrderIsServed) {
  RebuiltBuyers buyers;
  buyers.waiting = {{1, 7}, {2, 8}};
  buyers.add(order_of(1, 7), {});
  buyers.note_used(3);
  EXPECT_THAT(buyers.served, ElementsAre(UserId(7)));
}

}  // namespace
}  // namespace rushgate
