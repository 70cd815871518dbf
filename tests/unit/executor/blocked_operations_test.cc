#include "engine/executor/blocked_operations.h"

#include <gtest/gtest.h>

namespace rushgate {
namespace {

struct Waiter : Operation {
  Waiter() { session = &own_session; }
  Session own_session;
};

Block park_on(std::vector<std::string> keys, std::int64_t timeout_ms = 0) {
  return {.keys = std::move(keys), .timeout_ms = timeout_ms, .retry = {}, .on_timeout = {}};
}

TEST(BlockedOperationsTest, WaitersOfKeyComeInArrivalOrder) {
  BlockedOperations lot;
  Waiter first;
  Waiter second;
  lot.add(first, 0, park_on({"a"}), 0);
  lot.add(second, 0, park_on({"b", "a"}), 0);
  const auto one = lot.next_waiting(0, "a");
  ASSERT_TRUE(one);
  EXPECT_EQ(lot.find(*one)->operation, &first);
  const auto two = lot.next_waiting(0, "a", *one);
  ASSERT_TRUE(two);
  EXPECT_EQ(lot.find(*two)->operation, &second);
  EXPECT_EQ(lot.next_waiting(0, "a", *two), std::nullopt);
  EXPECT_FALSE(lot.anyone_waits_for(1, "a")) << "another database";
  EXPECT_EQ(lot.next_waiting(1, "a"), std::nullopt);
  lot.remove(*one);
  EXPECT_EQ(lot.next_waiting(0, "a", *one), two) << "a removed waiter is still a valid position";
}

TEST(BlockedOperationsTest, RemovedWaiterWaitsForNoKey) {
  BlockedOperations lot;
  Waiter operation;
  lot.add(operation, 3, park_on({"a", "b", "a"}, 10), 100);
  lot.remove(*lot.next_waiting(3, "b"));
  EXPECT_TRUE(lot.empty());
  EXPECT_FALSE(lot.anyone_waits_for(3, "a"));
  EXPECT_EQ(lot.next_deadline_ms(), std::nullopt);
}

TEST(BlockedOperationsTest, WaiterIsFoundBySession) {
  BlockedOperations lot;
  Waiter operation;
  operation.own_session.id = 7;
  lot.add(operation, 0, park_on({"a"}), 0);
  ASSERT_TRUE(lot.find_session(7));
  EXPECT_EQ(lot.remove(*lot.find_session(7)).operation, &operation);
  EXPECT_EQ(lot.find_session(7), std::nullopt);
}

TEST(BlockedOperationsTest, EarliestDeadlineIsDueFirst) {
  BlockedOperations lot;
  Waiter late;
  Waiter soon;
  lot.add(late, 0, park_on({"a"}, 50), 100);
  lot.add(soon, 0, park_on({"a"}, 10), 100);
  EXPECT_EQ(lot.next_deadline_ms(), 110);
  EXPECT_EQ(lot.first_due(109), std::nullopt);
  EXPECT_EQ(lot.find(*lot.first_due(110))->operation, &soon);
}

}  // namespace
}  // namespace rushgate
