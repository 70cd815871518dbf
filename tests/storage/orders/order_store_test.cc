// What order_store.h promises about orders.
#include <limits>
#include <thread>

#include "tests/storage/orders/order_store_fixture.h"
#include "tests/storage/orders/write_now.h"

namespace rushgate {
namespace {

INSTANTIATE_TEST_SUITE_P(All, OrderStoreTest, ::testing::ValuesIn(order_store_kinds()), kind_name);

// ---- Storing ----------------------------------------------------------------------------------

TEST_P(OrderStoreTest, AnOrderIsFoundAsItWasStored) {
  Order stored = order(1);
  stored.limit = 3;
  EXPECT_EQ(write_one(stored), Kind::kStored);
  EXPECT_EQ(store().find(stored.id).value(), stored);
  EXPECT_EQ(store().find(stored.id + 1).value(), std::nullopt);
}

TEST_P(OrderStoreTest, TheGreatestNumbersAreKept) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const Order stored{.id = kMax,
                     .user = std::numeric_limits<UserId>::min(),
                     .voucher = kMax,
                     .limit = kMax,
                     .admitted_at_ms = kMax,
                     .entry = StreamId::max(),
                     .created_at_ms = kMax};
  EXPECT_EQ(write_one(stored), Kind::kStored);
  EXPECT_EQ(store().find(kMax).value(), stored);
  EXPECT_EQ(write_one(stored), Kind::kAlreadyStored);
}

TEST_P(OrderStoreTest, AnEmptyBatchIsStored) { EXPECT_TRUE(write({}).empty()); }

TEST_P(OrderStoreTest, TheGreatestIdBelowABoundIsTold) {
  EXPECT_EQ(store().greatest_id(std::numeric_limits<OrderId>::max()).value(), 0);
  const Order first = order(1);
  const Order second = order(2);
  write({second, first});
  EXPECT_EQ(store().greatest_id(first.id).value(), 0);
  EXPECT_EQ(store().greatest_id(second.id).value(), first.id);
  EXPECT_EQ(store().greatest_id(second.id + 1).value(), second.id);
  EXPECT_EQ(store().greatest_id(std::numeric_limits<OrderId>::max()).value(), second.id);
}

TEST_P(OrderStoreTest, IdsAreReservedOnce) {
  constexpr std::int64_t kDay = 20'000;
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 0);
  EXPECT_EQ(store().reserve_ids(kDay, 0, 100).value(), 100);
  EXPECT_EQ(store().reserve_ids(kDay, 50, 100).value(), 200);
  EXPECT_EQ(store().reserve_ids(kDay, 1'000, 100).value(), 1'100);
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 1'100);
  EXPECT_EQ(store().reserve_ids(kDay, 2'000, 0).value(), 2'000) << "not recorded";
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 1'100);
  EXPECT_EQ(store().reserve_ids(kDay + 1, 0, 7).value(), 7) << "each day has its own";
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 1'100) << "a clock may go back over midnight";
  EXPECT_EQ(store().reserve_ids(kDay + 2, 0, 7).value(), 7);
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 0) << "forgotten";
}

TEST_P(OrderStoreTest, VouchersWithOrdersAreTold) {
  EXPECT_EQ(store().vouchers_with_orders().value(), std::vector<VoucherId>{});
  write({order(1, 1, /*voucher=*/12), order(2, 1, 3), order(3, 3, 12), order(4, 0, 7)});
  EXPECT_EQ(store().vouchers_with_orders().value(), (std::vector<VoucherId>{3, 7, 12}));
}

TEST_P(OrderStoreTest, AnOrderStoredTwiceIsStoredOnce) {
  for (const std::int64_t limit : {1, 3, 0}) {
    const Order stored = order(1, limit, /*voucher=*/10 + limit);
    EXPECT_EQ(write_one(stored), Kind::kStored);
    EXPECT_EQ(write_one(stored), Kind::kAlreadyStored);
    EXPECT_EQ(store().count_live(stored.voucher).value(), 1);
  }
}

TEST_P(OrderStoreTest, RedeliveredOrderKeepsTimeAndStatus) {
  const Order stored = order(1);
  EXPECT_EQ(write_one(stored), Kind::kStored);
  Order again = stored;
  again.admitted_at_ms += 5;
  again.created_at_ms += 5;
  again.status = kNotLive;
  EXPECT_EQ(write_one(again), Kind::kAlreadyStored);
  EXPECT_EQ(store().find(stored.id).value(), stored);
}

TEST_P(OrderStoreTest, AnIdTakenByAnotherOrderIsRefused) {
  const Order stored = order(1, 3);
  EXPECT_EQ(write_one(stored), Kind::kStored);
  const auto refuses = [&](auto change) {
    Order other = stored;
    change(other);
    const OrderResult result = write({other}).at(0);
    EXPECT_EQ(result.kind, Kind::kRefused);
    EXPECT_NE(result.reason.find("belongs to another order"), std::string::npos) << result.reason;
  };
  refuses([](Order& other) { other.user = 2; });
  refuses([](Order& other) { other.voucher = 8; });
  refuses([](Order& other) { other.limit = 4; });
  refuses([](Order& other) { ++other.entry.ms; });
  refuses([](Order& other) { ++other.entry.seq; });
  EXPECT_EQ(store().find(stored.id).value(), stored);
  EXPECT_EQ(list_ids({}), std::vector{stored.id});
}

TEST_P(OrderStoreTest, AnOrderThatCannotBeIsRefused) {
  Order no_id = order(1);
  no_id.id = 0;
  EXPECT_EQ(write_one(no_id), Kind::kRefused);
  EXPECT_EQ(write_one(order(1, /*limit=*/-1)), Kind::kRefused);
  EXPECT_EQ(store().count_live(kVoucher).value(), 0);
}

TEST_P(OrderStoreTest, OneRefusalDoesNotAffectBatch) {
  const Order first = order(1);
  const Order second = order(2);
  EXPECT_EQ(write_kinds({first, order(1), second}),
            (std::vector{Kind::kStored, Kind::kRefused, Kind::kStored}));
  EXPECT_EQ(list_ids({}), (std::vector{first.id, second.id}));
}

TEST_P(OrderStoreTest, ABatchMayHoldAnOrderTwice) {
  const Order twice = order(1);
  Order other = order(2);
  other.id = twice.id;
  EXPECT_EQ(
      write_kinds({twice, twice, other, twice}),
      (std::vector{Kind::kStored, Kind::kAlreadyStored, Kind::kRefused, Kind::kAlreadyStored}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 1);
}

TEST_P(OrderStoreTest, IdsMayComeInAnyOrder) {
  const Order low = order(1);
  const Order high = order(2);
  EXPECT_EQ(write_one(high), Kind::kStored);
  EXPECT_EQ(write_one(low), Kind::kStored);
  EXPECT_EQ(list_ids({}), (std::vector{low.id, high.id}));
}

// ---- Limits -----------------------------------------------------------------------------------

TEST_P(OrderStoreTest, ASecondOrderUnderLimitOneIsRefused) {
  EXPECT_EQ(write_one(order(1)), Kind::kStored);
  const OrderResult result = write({order(1)}).at(0);
  EXPECT_EQ(result.kind, Kind::kRefused);
  EXPECT_EQ(result.reason, "user 1 has 1 live orders of voucher 7 already, the limit");
  EXPECT_EQ(store().count_live(kVoucher).value(), 1);
}

TEST_P(OrderStoreTest, AFourthOrderUnderLimitThreeIsRefused) {
  EXPECT_EQ(write_kinds({order(1, 3), order(1, 3)}), (std::vector{Kind::kStored, Kind::kStored}));
  EXPECT_EQ(write_kinds({order(1, 3), order(1, 3)}), (std::vector{Kind::kStored, Kind::kRefused}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 3);
}

TEST_P(OrderStoreTest, LimitNoneAllowsAnyNumber) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(write_one(order(1, 0)), Kind::kStored);
  EXPECT_EQ(store().count_live(kVoucher).value(), 20);
}

TEST_P(OrderStoreTest, LimitsHoldPerUserAndVoucher) {
  EXPECT_EQ(write_kinds({order(1), order(2), order(1, 1, /*voucher=*/8)}),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kStored}));
}

TEST_P(OrderStoreTest, EachOrderIsCheckedAgainstItsOwnLimit) {
  EXPECT_EQ(write_kinds({order(1, 1), order(1, 2), order(1, 2), order(1, 1), order(1, 0),
                         order(1, 3), order(1, 4)}),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused, Kind::kRefused,
                         Kind::kStored, Kind::kRefused, Kind::kStored}));
}

TEST_P(OrderStoreTest, LimitOneCountsOrdersUnderOtherLimits) {
  for (const std::int64_t limit : {0, 3}) {
    const UserId user = 10 + limit;
    EXPECT_EQ(write_one(order(user, limit)), Kind::kStored);
    EXPECT_EQ(write_one(order(user, 1)), Kind::kRefused);
  }
}

TEST_P(OrderStoreTest, LimitOneCountsOtherOrdersOfBatch) {
  for (const std::int64_t limit : {0, 3}) {
    const UserId user = 10 + limit;
    EXPECT_EQ(write_kinds({order(user, limit), order(user, 1), order(user + 1, 1)}),
              (std::vector{Kind::kStored, Kind::kRefused, Kind::kStored}));
  }
}

TEST_P(OrderStoreTest, OnlyLiveOrdersCount) {
  for (const std::int64_t limit : {1, 3, 0}) {
    const VoucherId voucher = 10 + limit;
    Order cancelled = order(1, limit, voucher);
    cancelled.status = kNotLive;
    Order another = order(1, limit, voucher);
    another.status = kNotLive;
    EXPECT_EQ(write_kinds({cancelled, another, order(1, limit, voucher)}),
              (std::vector{Kind::kStored, Kind::kStored, Kind::kStored}));
    EXPECT_EQ(store().count_live(voucher).value(), 1);
    EXPECT_EQ(list_ids(filter_of(kAny, voucher)).size(), 3U);
    EXPECT_EQ(list_ids(filter_of(1, voucher)).size(), 3U);
  }
}

// ---- Listing ----------------------------------------------------------------------------------

TEST_P(OrderStoreTest, AllConditionsOfAListMustHold) {
  std::vector<Order> orders = {order(1), order(2), order(1, 3, 8), order(1, 1, 8), order(2, 0, 8)};
  orders[3].status = kNotLive;
  write(orders);
  const auto expect = [&](const OrderFilter& filter, const std::vector<std::size_t>& places) {
    std::vector<Order> expected;
    expected.reserve(places.size());
    for (const std::size_t place : places) expected.push_back(orders[place]);
    EXPECT_EQ(store().list(filter).value(), expected);
  };
  expect({}, {0, 1, 2, 3, 4});
  expect(filter_of(1), {0, 2, 3});
  expect(filter_of(kAny, 8), {2, 3, 4});
  expect(filter_of(kAny, kAny, OrderStatus::kCreated), {0, 1, 2, 4});
  expect(filter_of(1, 8), {2, 3});
  expect(filter_of(1, kAny, OrderStatus::kCreated), {0, 2});
  expect(filter_of(kAny, 8, kNotLive), {3});
  expect(filter_of(1, 8, OrderStatus::kCreated), {2});
  expect(filter_of(3), {});
  expect(filter_of(kAny, 9), {});
}

TEST_P(OrderStoreTest, AListIsReadInPages) {
  write({order(1), order(2), order(1, 0), order(1, 3), order(3), order(1, 0), order(1, 0),
         order(2, 1, 8), order(1, 0, 8), order(1, 0)});
  for (OrderFilter filter :
       {filter_of(1), filter_of(1, kVoucher), filter_of(kAny, kVoucher), OrderFilter()}) {
    const std::vector<OrderId> all = list_ids(filter);
    EXPECT_GE(all.size(), 6U);
    std::vector<OrderId> paged;
    filter.count_max = 2;
    for (std::vector<OrderId> page; !(page = list_ids(filter)).empty();) {
      EXPECT_LE(page.size(), 2U);
      paged.insert(paged.end(), page.begin(), page.end());
      filter.after = page.back();
    }
    EXPECT_EQ(paged, all);
  }
}

TEST_P(OrderStoreTest, AListOfNothingIsEmpty) {
  write({order(1)});
  EXPECT_TRUE(list_ids(at_most(0)).empty());
  EXPECT_EQ(list_ids(at_most(std::numeric_limits<std::size_t>::max())).size(), 1U);
}

// ---- Stock ------------------------------------------------------------------------------------

TEST_P(OrderStoreTest, OrderBeyondTheStockIsRefused) {
  publish(/*stock=*/2);
  const Order first = order(1);
  EXPECT_EQ(write_kinds({first, order(2), order(3)}),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused}));
  EXPECT_EQ(write({order(3)}).at(0).reason, "voucher 7 has 2 live orders of a stock of 2");
  EXPECT_EQ(write_one(first), Kind::kAlreadyStored) << "a redelivery takes no room";
  EXPECT_EQ(store().count_live(kVoucher).value(), 2);
}

TEST_P(OrderStoreTest, GreatestOfAppliedAndPendingStocksCounts) {
  publish(/*stock=*/1);
  EXPECT_EQ(write_kinds({order(1), order(2)}), (std::vector{Kind::kStored, Kind::kRefused}));
  const auto record = [&](std::int64_t version, std::int64_t stock) {
    return store().record_pending(
        {.voucher = {.id = kVoucher, .stock = stock}, .version = version});
  };
  ASSERT_TRUE(record(2, 3).ok());
  EXPECT_EQ(write_one(order(2)), Kind::kStored);
  ASSERT_TRUE(store().settle(kVoucher, 2, State::kRefused, "no").ok());
  EXPECT_EQ(write_one(order(3)), Kind::kRefused);
  ASSERT_TRUE(record(3, 1).ok());
  ASSERT_TRUE(store().settle(kVoucher, 3, State::kApplied, "").ok());
  EXPECT_EQ(write_one(order(3)), Kind::kRefused);
}

TEST_P(OrderStoreTest, OrderOfUnpublishedVoucherIsRefused) {
  const auto state = store().state();
  ASSERT_TRUE(state.ok()) << state.status();
  const Order unknown = order(1, 1, /*voucher=*/99);
  const auto results = store().write(std::span(&unknown, 1), {.epoch = state->epoch});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->at(0).kind, Kind::kRefused);
  EXPECT_EQ(results->at(0).reason, "voucher 99 was never published here");
}

TEST_P(OrderStoreTest, OrderThatIsNotLiveTakesNoStock) {
  publish(/*stock=*/1);
  Order cancelled = order(1);
  cancelled.status = kNotLive;
  EXPECT_EQ(write_kinds({cancelled, order(2)}), (std::vector{Kind::kStored, Kind::kStored}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 1);
}

// ---- The keyspace -----------------------------------------------------------------------------

TEST_P(OrderStoreTest, BatchOfAnOlderEpochChangesNothing) {
  publish(/*stock=*/5);
  const auto before = store().state();
  ASSERT_TRUE(before.ok()) << before.status();
  const auto after = store().fence();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->epoch, before->epoch + 1);
  const Order late = order(1);
  const auto refused =
      store().write(std::span(&late, 1), {.epoch = before->epoch, .checkpoint = 99});
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_EQ(store().find(late.id).value(), std::nullopt);
  EXPECT_EQ(store().state()->checkpoint, before->checkpoint);
  EXPECT_EQ(write_one(late), Kind::kStored);
}

TEST_P(OrderStoreTest, CheckpointCommitsWithBatchAndNeverFalls) {
  publish(/*stock=*/5);
  const std::int64_t epoch = store().state()->epoch;
  const Order first = order(1);
  ASSERT_TRUE(store().write(std::span(&first, 1), {.epoch = epoch, .checkpoint = 7}).ok());
  EXPECT_EQ(store().state()->checkpoint, 7);
  ASSERT_TRUE(store().write({}, {.epoch = epoch, .checkpoint = 3}).ok());
  EXPECT_EQ(store().state()->checkpoint, 7);
  ASSERT_TRUE(store().record_checkpoint(9).ok());
  ASSERT_TRUE(store().record_checkpoint(8).ok());
  EXPECT_EQ(store().state()->checkpoint, 9);
}

TEST_P(OrderStoreTest, IdentityStaysAndIsNoOthers) {
  const std::string identity = store().state()->identity;
  EXPECT_EQ(identity.size(), 16U);
  EXPECT_EQ(store().fence()->identity, identity);
  const auto other = GetParam().make();
  EXPECT_NE(other->store().state()->identity, identity);
}

// ---- Threads ----------------------------------------------------------------------------------

TEST_P(OrderStoreTest, ThreadsMayWriteAndReadAtOnce) {
  std::vector<std::vector<Order>> batches(4);
  for (UserId user = 1; user <= 400; ++user) {
    for (std::vector<Order>& batch : batches) batch.push_back(order(user, 1));
  }
  write({order(0)});  // publishes the voucher
  std::vector<std::thread> threads;
  threads.reserve(batches.size());
  for (const std::vector<Order>& batch : batches) {
    threads.emplace_back([this, &batch] {
      for (std::size_t at = 0; at < batch.size(); at += 20) {
        EXPECT_TRUE(write_now(store(), std::span(batch).subspan(at, 20)).ok());
        EXPECT_TRUE(store().find(batch[at].id).ok());
        EXPECT_LE(store().count_live(kVoucher).value(), 401);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store().count_live(kVoucher).value(), 401);
}

}  // namespace
}  // namespace rushgate
