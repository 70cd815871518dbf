#include <string>

#include <gtest/gtest.h>

#include "tests/unit/sale/documents.h"
#include <rushgate/order_status.h>

namespace rushgate {
namespace {

/// Returns the states from which an order may become `status`: "created, paid".
std::string origins_of(OrderStatus status) {
  std::string origins;
  for (const OrderStatus from : kOrderStatuses) {
    if (!may_become(from, status)) continue;
    origins += (origins.empty() ? "" : ", ") + std::string(order_status_name(from));
  }
  return origins;
}

TEST(OrderStatusTest, DocumentedTransitionsAreThoseOfTable) {
  const std::string page = document("docs/orders.md");
  for (const OrderStatus status : kOrderStatuses) {
    const std::string name(order_status_name(status));
    const bool is_first = order_status_traits(status).is_first;
    const std::string transition =
        is_first ? "→ " + name : "| " + origins_of(status) + " → " + name + " |";
    EXPECT_NE(page.find(transition), std::string::npos) << transition;
  }
}

TEST(OrderStatusTest, PictureHasEachState) {
  const std::string picture = document("docs/pictures/orders.svg");
  for (const OrderStatus status : kOrderStatuses) {
    EXPECT_NE(picture.find('>' + std::string(order_status_name(status)) + '<'), std::string::npos)
        << order_status_name(status);
  }
}

TEST(OrderStatusTest, NamesAreFound) {
  for (const OrderStatus status : kOrderStatuses) {
    EXPECT_EQ(find_order_status(order_status_name(status)), status);
  }
  EXPECT_EQ(find_order_status("?"), std::nullopt);
  EXPECT_EQ(order_status_name(OrderStatus{200}), "?");
}

TEST(OrderStatusTest, NumbersOutsideTableAreNoStates) {
  for (const int number : {0, 8, 31, 32, 255}) {
    const auto damaged = static_cast<OrderStatus>(number);
    EXPECT_FALSE(is_order_status(damaged) || is_live(damaged)) << number;
    for (const OrderStatus status : kOrderStatuses) {
      EXPECT_FALSE(may_become(status, damaged) || may_become(damaged, status)) << number;
    }
  }
}

TEST(OrderStatusTest, EndedStatesHaveNoSuccessorAndTakeNothing) {
  for (const OrderStatus status : kOrderStatuses) {
    bool has_next = false;
    for (const OrderStatus to : kOrderStatuses) has_next = has_next || may_become(status, to);
    EXPECT_EQ(is_live(status), has_next) << order_status_name(status);
  }
}

}  // namespace
}  // namespace rushgate
