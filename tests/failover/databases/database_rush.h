// A sale that sells at full rate while something happens to its order database.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sweep.h"
#include <rushgate/flash_sale.h>
#include <rushgate/order_store.h>

namespace rushgate {

/// Sells one voucher from a keyspace in this process, and stores with two workers, which retain what they have
/// stored. In `./dev test full` the workers are never without orders. finish() must be called.
class DatabaseRush {
 public:
  explicit DatabaseRush(const std::string& orders_url) {
    FlashSaleOptions options;
    options.orders = orders_url;
    options.workers = 2;
    options.worker.retain_ms = 600'000;
    options.worker.batch_max = 500;
    options.worker.retry_after_ms = 20;
    options.worker.pause_ms_max = 100;
    options.worker.on_stored = [this](std::span<const OrderId> orders) {
      last_stored_ = counter_of(orders.back());
    };
    auto opened = FlashSale::open("memory:", options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    sale_ = *std::move(opened);
    EXPECT_TRUE(sale_->publish({.id = 1, .stock = 1'000'000'000}).ok());
    buyer_ = std::thread([this] { sell(); });
  }
  ~DatabaseRush() {
    stops_ = true;
    if (buyer_.joinable()) buyer_.join();
  }
  DatabaseRush(const DatabaseRush&) = delete;
  DatabaseRush& operator=(const DatabaseRush&) = delete;

  /// Waits until `is_there` returns true; fails the test after 90 s.
  template <class Is>
  static void wait_until(Is is_there, const std::string& otherwise) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (!is_there()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << otherwise;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  FlashSale& sale() { return *sale_; }
  [[nodiscard]] std::int64_t sold() const { return sold_; }

  /// Waits until this many more orders are accepted.
  void wait_for_sold(std::int64_t more) {
    const std::int64_t goal = sold_ + more;
    wait_until([&] { return sold_ >= goal; }, "the sale no longer sells");
  }
  /// Waits until a buyer's order that is accepted from now on is stored.
  void wait_for_stored() {
    const OrderId last = last_order_;
    OrderId next = last;
    wait_until(
        [&] {
          if (next == last) next = last_order_;
          if (next == last) return false;
          const auto status = sale_->status(next);
          return status.ok() && status->location == OrderLocation::kStored;
        },
        "nothing is stored");
  }
  /// Waits until the workers pause for a reason with this text. The sale goes on selling meanwhile.
  void expect_paused_for(const std::string& text) {
    std::string reason;
    wait_until(
        [&] {
          if (std::string now = pause_reason(); !now.empty()) reason = std::move(now);
          return reason.find(text) != std::string::npos;
        },
        "not paused for " + text);
    EXPECT_THAT(reason, ::testing::HasSubstr(text));
    wait_for_sold(100);
  }
  /// Returns why workers pause; empty if they do not.
  std::string pause_reason() {
    const auto backlog = sale_->backlog();
    return backlog.ok() ? backlog->pause_reason : "";
  }

  /// Ends the rush, stores what is queued, and expects that exactly the accepted orders are stored.
  void finish() {
    stops_ = true;
    buyer_.join();
    absl::Status drained;
    wait_until(
        [&] {
          drained = sale_->drain();
          return drained.ok();
        },
        "the queued orders are not stored");
    EXPECT_TRUE(drained.ok()) << drained;
    std::set<OrderId> stored;
    EXPECT_TRUE(for_each_order(sale_->orders(), {.count_max = 10'000}, [&](const Order& order) {
                  stored.insert(order.id);
                }).ok());
    EXPECT_EQ(stored.size(), accepted_.size());
    EXPECT_TRUE(stored == accepted_) << "other orders are stored than were accepted";
    const auto audit = sale_->audit();
    ASSERT_TRUE(audit.ok()) << audit.status();
    EXPECT_TRUE(audit->passed());
  }

 private:
  void sell() {
    for (std::int64_t user = 1; !stops_; ++user) {
      const BuyResult bought = sale_->buy(1, user);
      ASSERT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
      accepted_.insert(bought.order);
      last_order_ = bought.order;
      ++sold_;
      if (user % 25 == 0 && !has_few_queued()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }

  /// Otherwise 2,500 are sold a second: an order is stored after those that were sold before it.
  [[nodiscard]] bool has_few_queued() const {
    constexpr std::int64_t kFew = 5'000;
    return testing::is_full_run() && counter_of(last_order_) - last_stored_ < kFew;
  }
  /// Returns the part of an id that counts orders.
  static std::int64_t counter_of(OrderId order) { return order & 0xffff'ffff; }

  std::set<OrderId> accepted_;  // of the buyer, until it has ended
  std::atomic<std::int64_t> sold_{0};
  std::atomic<OrderId> last_order_{0};
  std::atomic<std::int64_t> last_stored_{0};
  std::atomic<bool> stops_{false};
  std::unique_ptr<FlashSale> sale_;
  std::thread buyer_;
};

}  // namespace rushgate
