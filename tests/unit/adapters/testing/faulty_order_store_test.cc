#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/memory_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate::faults {
namespace {

using ResultKind = OrderResult::Kind;
using OrderPoint = FaultyOrderStore::Point;

Order order_of(std::int64_t user) {
  Order order;
  order.id = user;
  order.user = user;
  order.voucher = 7;
  return order;
}

class FaultyOrderStoreTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::vector<OrderResult>> write(const std::vector<std::int64_t>& users) {
    std::vector<Order> orders;
    orders.reserve(users.size());
    for (const std::int64_t user : users) orders.push_back(order_of(user));
    return write_now(store_, orders);
  }
  absl::StatusOr<std::vector<OrderResult>> apply(const std::vector<std::int64_t>& users) {
    std::vector<OrderEvent> events;
    events.reserve(users.size());
    for (const std::int64_t user : users) events.push_back({.order = order_of(user)});
    return apply_now(store_, events);
  }
  std::int64_t count() { return *memory_.count_live(7); }

  MemoryOrderStore memory_;
  FaultyOrderStore store_{memory_};
};

TEST_F(FaultyOrderStoreTest, TheNthWriteFailsAndIsNotKept) {
  store_.fail_write(2);
  EXPECT_TRUE(write({1}).ok());
  EXPECT_EQ(write({2}).status(), FaultyOrderStore::default_error());
  EXPECT_TRUE(write({3}).ok());
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(store_.writes(), 3);
}

TEST_F(FaultyOrderStoreTest, AFailedWriteMayHaveBeenKept) {
  store_.fail_write(1, FaultyOrderStore::Kept::kYes, absl::AbortedError("lost"));
  EXPECT_EQ(write({1}).status(), absl::AbortedError("lost"));
  EXPECT_EQ(count(), 1);
}

TEST_F(FaultyOrderStoreTest, WritesFailUntilReset) {
  store_.fail_writes();
  EXPECT_FALSE(write({1}).ok());
  EXPECT_FALSE(write({1}).ok());
  store_.fail_writes(absl::OkStatus());
  EXPECT_TRUE(write({1}).ok());
  EXPECT_EQ(store_.writes(), 3);
}

TEST_F(FaultyOrderStoreTest, PoisonFailsTheWholeBatch) {
  store_.poison([](const Order& order) { return order.user == 2; });
  EXPECT_EQ(write({1, 2, 3}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(write({1, 3}).ok());
  store_.poison(nullptr);
  EXPECT_TRUE(write({2}).ok());
  EXPECT_EQ(count(), 3);
}

TEST_F(FaultyOrderStoreTest, PoisonIsRefusedAlone) {
  store_.poison([](const Order& order) { return order.user == 2; },
                FaultyOrderStore::Poison::kIsRefused);
  const auto results = write({1, 2, 3, 1});
  ASSERT_TRUE(results.ok());
  std::vector<ResultKind> kinds;
  for (const OrderResult& result : *results) kinds.push_back(result.kind);
  EXPECT_EQ(kinds, (std::vector{ResultKind::kStored, ResultKind::kRefused, ResultKind::kStored,
                                ResultKind::kAlreadyStored}));
  EXPECT_EQ(count(), 2);
}

TEST_F(FaultyOrderStoreTest, HookSurroundsEverySuccessfulWrite) {
  std::vector<OrderPoint> points;
  store_.at_every_point([&](OrderPoint point) { points.push_back(point); });
  store_.fail_write(2);
  EXPECT_TRUE(write({1}).ok());
  EXPECT_FALSE(write({2}).ok());
  EXPECT_EQ(points, (std::vector{OrderPoint::kBeforeWrite, OrderPoint::kAfterWrite,
                                 OrderPoint::kBeforeWrite}));
}

TEST_F(FaultyOrderStoreTest, ReadsAndVouchersFailUntilReset) {
  VoucherVersion version;
  version.voucher.id = 7;
  version.version = 1;
  store_.fail_voucher_writes();
  EXPECT_FALSE(store_.record_pending(version).ok());
  EXPECT_FALSE(store_.resolve(7, 1, VoucherVersion::State::kApplied, "").ok());
  store_.fail_voucher_writes(absl::OkStatus());
  EXPECT_TRUE(store_.record_pending(version).ok());
  store_.fail_reads();
  EXPECT_FALSE(store_.find(1).ok());
  EXPECT_FALSE(store_.pending().ok());
  store_.fail_reads(absl::OkStatus());
  EXPECT_EQ(store_.pending()->size(), 1U);
}

TEST_F(FaultyOrderStoreTest, WriteFaultsHitMovedPieces) {
  ASSERT_TRUE(store_.add_lanes(2).ok());
  const auto record = [&](std::int64_t pieces) {
    const MovedPieces moved{.voucher = 7, .from = 0, .to = 1, .pieces = pieces};
    return store_.record_moved(moved, {.epoch = store_.state()->epoch});
  };
  store_.fail_write(1);
  EXPECT_EQ(record(1), FaultyOrderStore::default_error());
  EXPECT_TRUE(store_.moved_pieces(7)->empty());
  store_.fail_write(1, FaultyOrderStore::Kept::kYes);
  EXPECT_EQ(record(2), FaultyOrderStore::default_error());
  EXPECT_EQ(store_.moved_pieces(7)->at(0).pieces, 2);
  EXPECT_TRUE(record(3).ok());
}

TEST_F(FaultyOrderStoreTest, WriteFaultsHitEvents) {
  std::vector<OrderPoint> points;
  store_.at_every_point([&](OrderPoint point) { points.push_back(point); });
  store_.fail_write(2);
  EXPECT_TRUE(write({1}).ok());
  EXPECT_EQ(apply({2}).status(), FaultyOrderStore::default_error());
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(apply({2}).ok());
  EXPECT_EQ(store_.writes(), 3);
  EXPECT_EQ(points, (std::vector{OrderPoint::kBeforeWrite, OrderPoint::kAfterWrite,
                                 OrderPoint::kBeforeWrite, OrderPoint::kBeforeWrite,
                                 OrderPoint::kAfterWrite}));
  store_.fail_write(1, FaultyOrderStore::Kept::kYes);
  EXPECT_FALSE(apply({3}).ok());
  EXPECT_EQ(count(), 3);
  store_.fail_writes();
  EXPECT_FALSE(apply({4}).ok());
  EXPECT_EQ(count(), 3);
}

TEST_F(FaultyOrderStoreTest, PoisonHitsEvents) {
  const auto is_poison = [](const Order& order) { return order.id == 2; };
  store_.poison(is_poison);
  EXPECT_EQ(apply({1, 2, 3}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(count(), 0);
  store_.poison(is_poison, FaultyOrderStore::Poison::kIsRefused);
  const auto results = apply({1, 2, 3});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(results->at(1).kind, ResultKind::kRefused);
  EXPECT_EQ(count(), 2);
}

TEST_F(FaultyOrderStoreTest, ReadFaultsHitPayments) {
  ASSERT_TRUE(apply({1}).ok());
  const OrderEvent surplus{
      .kind = OrderEvent::Kind::kSurplusPayment, .order = order_of(1), .payment = {.id = "p"}};
  ASSERT_TRUE(apply_now(store_, std::span(&surplus, 1)).ok());
  store_.fail_reads();
  EXPECT_FALSE(store_.find_payment("p").ok());
  EXPECT_FALSE(store_.list_payments({}).ok());
  EXPECT_FALSE(store_.changes(0, 1, std::nullopt).ok());
  store_.fail_reads(absl::OkStatus());
  EXPECT_TRUE(store_.find_payment("p")->has_value());
  EXPECT_EQ(store_.list_payments({})->size(), 1U);
  EXPECT_TRUE(store_.changes(0, 1, std::nullopt)->empty());
}

/// Forwards the five methods that an order store needs.
class StoreWithoutPayments final : public OrderStore {
 public:
  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override {
    return memory_.write(orders, fence);
  }
  absl::StatusOr<std::vector<Order>> list(const OrderFilter& filter) override {
    return memory_.list(filter);
  }
  absl::StatusOr<DatabaseState> state() override { return memory_.state(); }
  absl::StatusOr<DatabaseState> fence() override { return memory_.fence(); }
  absl::StatusOr<std::int64_t> reserve_ids(std::int64_t day, std::int64_t above,
                                           std::int64_t count) override {
    return memory_.reserve_ids(day, above, count);
  }

 private:
  MemoryOrderStore memory_;
};

TEST_F(FaultyOrderStoreTest, PaymentsAreThoseOfInnerStore) {
  EXPECT_EQ(store_.payments(), &store_);
  StoreWithoutPayments without;
  EXPECT_EQ(FaultyOrderStore(without).payments(), nullptr);
}

TEST(FaultyOrderStoreNamesTest, EachValueHasItsName) {
  EXPECT_EQ(point_name(FaultyOrderStore::Point::kBeforeWrite), "before write");
  EXPECT_EQ(point_name(FaultyOrderStore::Point::kAfterWrite), "after write");
  EXPECT_EQ(point_name(FaultyOrderStore::Point::kBeforeList), "before list");
  EXPECT_EQ(kept_name(FaultyOrderStore::Kept::kNo), "not kept");
  EXPECT_EQ(kept_name(FaultyOrderStore::Kept::kYes), "kept");
  EXPECT_EQ(poison_name(FaultyOrderStore::Poison::kFailsTheBatch), "fails the batch");
  EXPECT_EQ(poison_name(FaultyOrderStore::Poison::kFailsAsAnOutage), "fails as an outage");
  EXPECT_EQ(poison_name(FaultyOrderStore::Poison::kThrows), "throws");
  EXPECT_EQ(poison_name(FaultyOrderStore::Poison::kIsRefused), "is refused");
}

}  // namespace
}  // namespace rushgate::faults
