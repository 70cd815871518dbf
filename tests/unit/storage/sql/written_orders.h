// Orders for the tests of databases on servers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sweep.h"
#include <rushgate/order_rules.h>
#include <rushgate/order_store.h>

namespace rushgate {

/// Returns `count` orders of different users, with ids from `first` on.
inline std::vector<Order> orders_from(OrderId first, int count) {
  std::vector<Order> orders;
  for (OrderId id = first; id < first + count; ++id) {
    orders.push_back({.id = id,
                      .user = id,
                      .voucher = 1,
                      .admitted_at_ms = 1'700'000'000'000 + id,
                      .entry = {1'700'000'000'000 + static_cast<std::uint64_t>(id), 0}});
  }
  return orders;
}

/// Writes orders with stock for all of them.
inline absl::StatusOr<std::vector<OrderResult>> write_orders(OrderStore& store,
                                                             const std::vector<Order>& orders) {
  const auto state = store.state();
  if (!state.ok()) return state.status();
  const std::map<VoucherId, std::int64_t> stock = {{1, 1'000'000}};
  return store.write(orders, {.epoch = state->epoch, .session = state->session, .stock = stock});
}

/// Returns how many results are of this kind.
inline std::size_t count_kind(const std::vector<OrderResult>& results, OrderResult::Kind kind) {
  std::size_t count = 0;
  for (const OrderResult& result : results) count += result.kind == kind ? 1 : 0;
  return count;
}

/// Expects that an order is not stored, and that this is not its fault. Returns the error.
inline std::string error_of(OrderStore& store, OrderId id) {
  const auto written = write_orders(store, orders_from(id, 1));
  EXPECT_FALSE(written.ok());
  EXPECT_FALSE(is_fault_of_an_order(written.status())) << written.status();
  return written.status().ToString();
}

inline void expect_writes(OrderStore& store, OrderId id) {
  const auto written = write_orders(store, orders_from(id, 1));
  EXPECT_TRUE(written.ok()) << written.status();
}

/// Opens a database by six processes at once, which all must see the same one.
inline void expect_opened_at_once(const std::function<std::unique_ptr<OrderStore>()>& open_store) {
  std::vector<std::string> identities(6);
  std::vector<std::thread> threads;
  for (std::string& identity : identities) {
    threads.emplace_back([&] { identity = open_store()->state().value().identity; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(identities, std::vector(identities.size(), identities.front()));
}

/// Adds lanes, and records the vouchers 1 and 2, each on the lane of its number.
inline void put_vouchers_on_lanes(OrderStore& store) {
  ASSERT_TRUE(store.lanes()->add_lanes(3).ok());
  for (const VoucherId voucher : {1, 2}) {
    const auto lane = store.lanes()->put_on_lane(voucher, static_cast<int>(voucher));
    ASSERT_TRUE(lane.ok() && *lane == voucher) << lane.status();
    ASSERT_TRUE(store.vouchers()
                    ->record_pending({.voucher = {.id = voucher, .stock = 5}, .version = 1})
                    .ok());
  }
}

/// Writes a new order of a lane. Each `number` is another one.
inline absl::Status write_on_lane(OrderStore& store, int lane, OrderId number) {
  const auto state = store.lanes()->state_of(lane);
  if (!state.ok()) return state.status();
  const BatchFence fence{.epoch = state->epoch,
                         .session = state->session,
                         .lane = lane,
                         .stock = {{{lane, 1'000'000}}}};
  std::vector<Order> orders = orders_from(counters_of_lane(lane).first + number, 1);
  orders[0].voucher = lane;
  return store.write(orders, fence).status();
}

/// Writes batch after batch, each until it is stored.
class BatchWriter {
 public:
  static constexpr int kBatch = 100;

  BatchWriter(std::unique_ptr<OrderStore> store, OrderId first)
      : store_(std::move(store)), next_(first) {}

  void run(const std::atomic<bool>& ends) {
    while (!ends) {
      const auto written = write_orders(*store_, orders_from(next_, kBatch));
      if (!written.ok()) {
        EXPECT_TRUE(absl::IsUnavailable(written.status())) << written.status();
        continue;
      }
      EXPECT_EQ(count_kind(*written, OrderResult::Kind::kStored) +
                    count_kind(*written, OrderResult::Kind::kAlreadyStored),
                static_cast<std::size_t>(kBatch));
      next_ += kBatch;
      ++batches_;
    }
  }
  [[nodiscard]] int batches() const { return batches_; }
  [[nodiscard]] OrderId next() const { return next_; }

 private:
  const std::unique_ptr<OrderStore> store_;
  OrderId next_;
  std::atomic<int> batches_{0};
};

/// Lets two workers write at full rate while `restart` is called 3 times, in `./dev test full` 50 times. Expects that
/// no batch is lost or stored twice. Returns how many orders are stored.
inline std::int64_t write_through_restarts(
    const std::function<std::unique_ptr<OrderStore>()>& open_store,
    const std::function<void()>& restart) {
  constexpr OrderId kSecond = 10'000'000;
  BatchWriter first(open_store(), 1);
  BatchWriter second(open_store(), kSecond);
  std::atomic<bool> ends{false};
  std::thread one([&] { first.run(ends); });
  std::thread two([&] { second.run(ends); });
  const int restarts = testing::is_full_run() ? 50 : 3;
  for (int i = 0; i < restarts; ++i) {
    const int before = first.batches();
    while (first.batches() < before + 5) std::this_thread::yield();
    restart();
  }
  ends = true;
  one.join();
  two.join();
  // The last batch of each may be stored, too: its error left that open.
  const auto store = open_store();
  const std::int64_t acknowledged = first.next() - 1 + second.next() - kSecond;
  const std::int64_t stored = store->count_live(1).value();
  EXPECT_GE(stored, acknowledged);
  EXPECT_LE(stored, acknowledged + 2 * BatchWriter::kBatch);
  std::int64_t listed = 0;
  std::int64_t of_first = 0;
  EXPECT_TRUE(for_each_order(*store, {}, [&](const Order& order) {
                ++listed;
                of_first += order.id < first.next() ? 1 : 0;
              }).ok());
  EXPECT_EQ(listed, stored);
  EXPECT_EQ(of_first, first.next() - 1);
  return stored;
}

}  // namespace rushgate
