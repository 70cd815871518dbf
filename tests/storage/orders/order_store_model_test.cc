// Random batches, compared with the simplest possible store.
#include <algorithm>
#include <random>

#include "tests/random_seed.h"
#include "tests/storage/orders/order_store_fixture.h"

namespace rushgate {
namespace {

/// order_store.h in the simplest way: a list that is searched from end to end.
class Model {
 public:
  OrderResult::Kind store(const Order& order) {
    std::int64_t live = 0;
    for (const Order& other : orders_) {
      if (other.id == order.id) {
        const bool same = other.user == order.user && other.voucher == order.voucher &&
                          other.limit == order.limit && other.entry == order.entry;
        return same ? OrderResult::Kind::kAlreadyStored : OrderResult::Kind::kRefused;
      }
      live += is_live(other) && other.user == order.user && other.voucher == order.voucher;
    }
    if (is_live(order) && order.limit != 0 && live >= order.limit) {
      return OrderResult::Kind::kRefused;
    }
    orders_.push_back(order);
    return OrderResult::Kind::kStored;
  }

  [[nodiscard]] std::vector<Order> list(const OrderFilter& filter) const {
    std::vector<Order> found;
    for (const Order& order : orders_) {
      if (filter.user.value_or(order.user) == order.user &&
          filter.voucher.value_or(order.voucher) == order.voucher &&
          filter.status.value_or(order.status) == order.status && order.id > filter.after) {
        found.push_back(order);
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Order& a, const Order& b) { return a.id < b.id; });
    found.resize(std::min(found.size(), filter.count_max));
    return found;
  }

  [[nodiscard]] OrderId greatest_id(OrderId below) const {
    OrderId greatest = 0;
    for (const Order& order : orders_) {
      if (order.id < below) greatest = std::max(greatest, order.id);
    }
    return greatest;
  }

  [[nodiscard]] std::int64_t count_live(VoucherId voucher) const {
    return std::count_if(orders_.begin(), orders_.end(), [&](const Order& order) {
      return order.voucher == voucher && is_live(order);
    });
  }

  static bool is_live(const Order& order) { return order.status == OrderStatus::kCreated; }

 private:
  std::vector<Order> orders_;
};

class OrderStoreModelTest : public OrderStoreTest {
 protected:
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }

  // From small ranges, so that ids, users and limits collide all the time.
  Order random_order() {
    const OrderId id = 1 + below(2000);
    return {.id = id,
            .user = below(40),
            .voucher = below(3),
            .status = below(8) == 0 ? kNotLive : OrderStatus::kCreated,
            .limit = std::vector<std::int64_t>{1, 1, 1, 3, 0}[static_cast<std::size_t>(below(5))],
            .admitted_at_ms = below(1'000'000),
            .entry = {static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(below(50) / 49)}};
  }

  // New orders, and now and then those of before.
  std::vector<Order> random_batch() {
    std::vector<Order> batch;
    for (std::int64_t left = below(30); left > 0; --left) {
      const bool again = !sent_.empty() && below(4) == 0;
      batch.push_back(
          again ? sent_[static_cast<std::size_t>(below(static_cast<std::int64_t>(sent_.size())))]
                : random_order());
      sent_.push_back(batch.back());
    }
    return batch;
  }

  OrderFilter random_filter() {
    OrderFilter filter;
    if (below(2) == 0) filter.user = below(41);
    if (below(2) == 0) filter.voucher = below(4);
    if (below(2) == 0) filter.status = below(2) == 0 ? kNotLive : OrderStatus::kCreated;
    if (below(2) == 0) filter.after = below(2000);
    filter.count_max = static_cast<std::size_t>(below(30));
    return filter;
  }

  void compare(const std::vector<Order>& batch) {
    std::vector<Kind> expected;
    expected.reserve(batch.size());
    for (const Order& order : batch) expected.push_back(model_.store(order));
    EXPECT_EQ(write_kinds(batch), expected);
    const OrderFilter filter = random_filter();
    EXPECT_EQ(store().list(filter).value(), model_.list(filter));
    const OrderId bound = below(2100);
    EXPECT_EQ(store().greatest_id(bound).value(), model_.greatest_id(bound));
    const VoucherId voucher = below(3);
    EXPECT_EQ(store().count_live(voucher).value(), model_.count_live(voucher));
  }

  const std::uint64_t seed_ = random_seed();
  std::mt19937_64 random_{seed_};
  std::vector<Order> sent_;
  Model model_;
};

INSTANTIATE_TEST_SUITE_P(All, OrderStoreModelTest, ::testing::ValuesIn(order_store_kinds()),
                         kind_name);

TEST_P(OrderStoreModelTest, RandomBatchesLeaveWhatTheModelHolds) {
  SCOPED_TRACE(seed_text(seed_));
  for (int round = 0; round < 200 && !HasFailure(); ++round) compare(random_batch());
  EXPECT_EQ(store().list(at_most(10'000)).value(), model_.list(at_most(10'000)));
}

}  // namespace
}  // namespace rushgate
