// A sale whose voucher demands payment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "engine/sale/holds/holds.h"
#include "engine/sale/scripts/held_orders.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/payment_store.h>

namespace rushgate {

/// Returns true if the keyspace knows the order as unpaid.
inline bool is_order_held(Client& client, OrderId order) {
  const auto hold = find_hold(client, SaleKeys{}, order);
  EXPECT_TRUE(hold.ok()) << hold.status();
  return hold.ok() && hold->has_value() && !(*hold)->ended;
}

/// Returns the number of ended holds whose end is not stored.
inline int count_ended_holds(Client& client) {
  int ended = 0;
  const absl::Status read = for_each_hold(client, SaleKeys{}, [&](OrderId, const KnownHold& hold) {
    if (hold.ended) ++ended;
  });
  EXPECT_TRUE(read.ok()) << read;
  return ended;
}

/// Returns the number of payments in the keyspace that are not noted as stored.
inline std::int64_t count_unstored_payments(Client& client) {
  const SaleKeys keys;
  std::set<std::string> stored;
  const Reply batches = client("XRANGE", keys.stored_payments(), "-", "+");
  for (const Reply& batch : batches.elements()) {
    const std::string ids(batch.elements().at(1).elements().at(1).text());
    for (std::size_t begin = 0; begin < ids.size();) {
      const std::size_t end = std::min(ids.find(' ', begin), ids.size());
      stored.insert(ids.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  std::int64_t unstored = 0;
  const Reply known = client("HKEYS", keys.payments());
  for (const Reply& payment : known.elements()) {
    unstored += stored.contains(std::string(payment.text())) ? 0 : 1;
  }
  return unstored;
}

class PaidSaleTest : public SaleTest {
 protected:
  static constexpr std::int64_t kPrice = 250;
  static constexpr std::int64_t kPaymentMs = 60'000;

  Voucher paid_voucher(std::int64_t stock = 10) {
    Voucher paid = voucher(1, stock);
    paid.price_cents = kPrice;
    paid.payment_ms = kPaymentMs;
    return paid;
  }
  void publish(std::int64_t stock = 10) {
    const absl::Status published = sale_->publish(paid_voucher(stock));
    ASSERT_TRUE(published.ok()) << published;
  }

  /// Returns the accepted order of a purchase.
  OrderId bought(std::int64_t user) {
    const BuyResult result = sale_->buy(1, user);
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    return result.order;
  }
  ChangeResult pay(OrderId order, const std::string& payment, std::int64_t amount = kPrice) {
    return sale_->pay({.order = order, .payment = payment, .amount_cents = amount});
  }

  /// Makes the keyspace hold an order as `hold` says; "" loses its hold.
  void set_hold(OrderId order, std::string_view hold) {
    const std::string id = concat(order);
    const std::string_view name = HeldBlock::name_of(id);
    HeldBlock block;
    const Reply value = backend_.client()("HGET", SaleKeys{}.held(), name);
    ASSERT_TRUE(block.read(value.is_text() ? value.text() : ""));
    block.holds[HeldBlock::place_of(id)] = hold;
    backend_.client()("HSET", SaleKeys{}.held(), name, block.value());
  }

  Order stored(OrderId order) {
    const auto found = backend_.orders().find(order);
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok() || !found->has_value()) return {};
    return **found;
  }
  std::vector<OrderChange> changes() { return backend_.orders().changes(0, 1'000, {}).value(); }
  /// Returns the states of a stored order: "unpaid>paid".
  std::string states_of(OrderId order) {
    std::string states;
    const auto changes = backend_.orders().changes(0, 1'000, order).value();
    for (const OrderChange& change : changes) {
      if (states.empty()) states = order_status_name(change.from);
      states += '>';
      states += order_status_name(change.to);
    }
    return states;
  }
  /// Returns "<id> <state>" of every payment.
  std::vector<std::string> payments() {
    std::vector<std::string> all;
    const auto found = backend_.orders().list_payments({}).value();
    for (const Payment& payment : found) {
      all.push_back(payment.id + ' ' + std::string(payment_state_name(payment.state)));
    }
    return all;
  }
  /// Returns the problems that an audit names.
  std::vector<std::string> problems() {
    const auto report = sale_->audit();
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->problems : std::vector<std::string>{};
  }
  std::int64_t free_stock() { return sale_->summary(1).value()->free.value_or(-1); }
};

}  // namespace rushgate
