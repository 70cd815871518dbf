// What the tests of order stores share.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/sale/orders/order_store.h"
#include "tests/storage/orders/order_store_backends.h"
#include "tests/storage/orders/write_now.h"

namespace rushgate {

// gtest prints what differs.
inline void PrintTo(const Order& order, std::ostream* out) {
  *out << "order " << order.id << " (user " << order.user << ", voucher " << order.voucher
       << ", status " << static_cast<int>(order.status) << ", limit " << order.limit << ", at "
       << order.admitted_at_ms << ", entry " << order.entry.to_string() << ", created at "
       << order.created_at_ms << ")";
}

/// Orders that meet these conditions; those left out hold always.
inline OrderFilter filter_of(std::optional<UserId> user, std::optional<VoucherId> voucher = {},
                             std::optional<OrderStatus> status = {}) {
  OrderFilter filter;
  filter.user = user;
  filter.voucher = voucher;
  filter.status = status;
  return filter;
}
inline OrderFilter at_most(std::size_t count) {
  OrderFilter filter;
  filter.count_max = count;
  return filter;
}
inline constexpr std::nullopt_t kAny = std::nullopt;

class OrderStoreTest : public ::testing::TestWithParam<OrderStoreKind> {
 protected:
  using Kind = OrderResult::Kind;
  using State = VoucherVersion::State;

  static constexpr VoucherId kVoucher = 7;
  /// A status that counts against nothing, as cancelled orders will have one.
  static constexpr auto kNotLive = OrderStatus{200};

  /// An order with a new id and entry.
  Order order(UserId user, std::int64_t limit = 1, VoucherId voucher = kVoucher) {
    const OrderId id = ++last_id_;
    return {.id = id,
            .user = user,
            .voucher = voucher,
            .limit = limit,
            .admitted_at_ms = 1'700'000'000'000 + id,
            .entry = {1'700'000'000'000 + static_cast<std::uint64_t>(id), 3},
            .created_at_ms = 1'700'000'100'000 + id};
  }

  std::vector<OrderResult> write(const std::vector<Order>& orders) {
    auto results = write_now(store(), orders);
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) return {};
    EXPECT_EQ(results->size(), orders.size());
    for (const OrderResult& result : *results) {
      EXPECT_EQ(result.kind == Kind::kRefused, !result.reason.empty()) << result.reason;
    }
    return *std::move(results);
  }
  std::vector<Kind> write_kinds(const std::vector<Order>& orders) {
    std::vector<Kind> kinds;
    for (const OrderResult& result : write(orders)) kinds.push_back(result.kind);
    return kinds;
  }
  Kind write_one(const Order& order) { return write_kinds({order}).at(0); }

  /// Puts version 1 of kVoucher in force.
  void publish(std::int64_t stock) {
    ASSERT_TRUE(
        store().record_pending({.voucher = {.id = kVoucher, .stock = stock}, .version = 1}).ok());
    ASSERT_TRUE(store().settle(kVoucher, 1, State::kApplied, "").ok());
  }

  std::vector<OrderId> list_ids(const OrderFilter& filter) {
    const std::vector<Order> orders = store().list(filter).value();
    std::vector<OrderId> ids;
    ids.reserve(orders.size());
    for (const Order& order : orders) ids.push_back(order.id);
    return ids;
  }

  OrderStore& store() { return backend_->store(); }

 private:
  std::unique_ptr<OrderStoreBackend> backend_ = GetParam().make();
  OrderId last_id_ = 1000;
};

inline std::string kind_name(const ::testing::TestParamInfo<OrderStoreKind>& info) {
  return info.param.name;
}

}  // namespace rushgate
