// The keys of lanes, and the lanes of ids.
#include <array>
#include <cstdint>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/core/client/key_slot.h"
#include <rushgate/order_rules.h>
#include <rushgate/sale_keys.h>

namespace rushgate {
namespace {

TEST(SaleKeysTest, KeysOfLaneShareOneSlot) {
  for (int lane = 0; lane < kLanesMax; ++lane) {
    const SaleKeys keys = SaleKeys{}.of_lane(lane);
    std::set<int> slots;
    for (const std::string& key :
         {keys.voucher(7), keys.vouchers(), keys.stock(8), keys.request("click"), keys.held(),
          keys.payments(), keys.order_stream, keys.stream_owner(), keys.prefix_owner(),
          keys.dead_letters(), keys.faults(), keys.id_prefix + "20260801"}) {
      slots.insert(key_slot(key));
    }
    EXPECT_EQ(slots.size(), 1U) << lane;
  }
}

TEST(SaleKeysTest, LanesAreSpreadEvenlyOverSlots) {
  for (int lanes = 1; lanes <= kLanesMax; lanes *= 2) {
    std::set<int> parts;
    for (int lane = 0; lane < lanes; ++lane) {
      parts.insert(key_slot(SaleKeys{}.of_lane(lane).order_stream) * lanes / 16'384);
    }
    EXPECT_EQ(parts.size(), static_cast<std::size_t>(lanes))
        << "one lane in each part of the slots";
  }
}

TEST(SaleKeysTest, NamesOfLaneFollowTheirTag) {
  const SaleKeys keys = SaleKeys{.prefix = "shop:", .group = "g2"}.of_lane(7);
  EXPECT_EQ(keys.stock(9), "{rg:07hy}shop:stock:9");
  EXPECT_EQ(keys.order_stream, "{rg:07hy}stream.orders");
  EXPECT_EQ(keys.group, "g2");
}

TEST(SaleKeysTest, LaneOfLaneIsThatLane) {
  const SaleKeys keys = SaleKeys{}.of_lane(3).of_lane(7);
  EXPECT_EQ(keys.order_stream, "{rg:07hy}stream.orders");
  EXPECT_EQ(keys.stock(9), SaleKeys{}.of_lane(7).stock(9));
}

TEST(SaleKeysTest, TagThatIsNoLanesStays) {
  const SaleKeys keys = SaleKeys{.prefix = "{rg:shop}seckill:", .order_stream = "{rg:07xx}orders"};
  EXPECT_EQ(keys.of_lane(3).of_lane(7).stock(9), "{rg:07hy}{rg:shop}seckill:stock:9");
  EXPECT_EQ(keys.of_lane(7).order_stream, "{rg:07hy}{rg:07xx}orders");
}

TEST(SaleKeysTest, ClusterTagsKeysWithoutTag) {
  EXPECT_FALSE(SaleKeys{}.have_common_tag());
  EXPECT_EQ(SaleKeys{}.on_cluster().stock(9), "{rg:00rp}seckill:stock:9");
  const SaleKeys tagged{.prefix = "{shop}seckill:",
                        .id_prefix = "{shop}icr:order:",
                        .order_stream = "{shop}stream.orders"};
  EXPECT_TRUE(tagged.have_common_tag());
  EXPECT_EQ(tagged.on_cluster().stock(9), "{shop}seckill:stock:9");
  EXPECT_EQ(tagged.of_lane(7).stock(9), "{rg:07hy}{shop}seckill:stock:9");
  const SaleKeys in_part{.prefix = "{shop}seckill:"};
  EXPECT_TRUE(in_part.on_cluster().have_common_tag());
}

TEST(LaneRulesTest, CountersOfLanesDoNotMeet) {
  EXPECT_EQ(counters_of_lane(0).first, 0);
  for (int lane = 1; lane < kLanesMax; ++lane) {
    EXPECT_EQ(counters_of_lane(lane).first, counters_of_lane(lane - 1).last + 1);
  }
  EXPECT_EQ(counters_of_lane(kLanesMax - 1).last, (std::int64_t{1} << 32) - 1);
}

TEST(LaneRulesTest, OrderIdTellsItsLane) {
  for (const std::int64_t seconds :
       {std::int64_t{0}, std::int64_t{1}, (std::int64_t{1} << 31) - 1}) {
    for (int lane = 0; lane < kLanesMax; ++lane) {
      const LaneCounters counters = counters_of_lane(lane);
      for (const std::int64_t counter : {counters.first, counters.first + 1, counters.last}) {
        EXPECT_EQ(lane_of_order(seconds << 32 | counter), lane);
      }
    }
  }
}

TEST(LaneRulesTest, ConsecutiveVouchersBeginOnDifferentLanes) {
  std::array<int, 16> vouchers{};
  for (VoucherId voucher = -16; voucher < 16; ++voucher) {
    ++vouchers.at(static_cast<std::size_t>(first_lane(voucher, 16)));
  }
  for (const int count : vouchers) EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace rushgate
