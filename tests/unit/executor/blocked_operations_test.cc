#include "engine/redis/executor/blocked_operations.h"

#include <gtest/gtest.h>

namespace rushgate {
namespace {

struct Waiter : Operation {
  Waiter() { session = &own_session; }
  Session own_session;
};

BlockRequest block_on(std::vector<std::string> keys, std::int64_t timeout_ms = 0,
                      const char* command = "BLPOP") {
  return {.keys = std::move(keys),
          .timeout_ms = timeout_ms,
          .retry = Request::of(command),
          .on_timeout = {}};
}

TEST(BlockedOperationsTest, WaitersOfKeyComeInArrivalOrder) {
  BlockedOperations blocked;
  Waiter first;
  Waiter second;
  blocked.add(first, 0, block_on({"a"}), 0);
  blocked.add(second, 0, block_on({"b", "a"}), 0);
  const auto one = blocked.next_waiting(0, "a");
  ASSERT_TRUE(one);
  EXPECT_EQ(blocked.find(*one)->operation, &first);
  const auto two = blocked.next_waiting(0, "a", *one);
  ASSERT_TRUE(two);
  EXPECT_EQ(blocked.find(*two)->operation, &second);
  EXPECT_EQ(blocked.next_waiting(0, "a", *two), std::nullopt);
  EXPECT_FALSE(blocked.has_waiter(1, "a")) << "another database";
  EXPECT_EQ(blocked.next_waiting(1, "a"), std::nullopt);
  blocked.remove(*one);
  EXPECT_EQ(blocked.next_waiting(0, "a", *one), two)
      << "a removed waiter is still a valid position";
}

TEST(BlockedOperationsTest, RemovedWaiterWaitsForNoKey) {
  BlockedOperations blocked;
  Waiter operation;
  blocked.add(operation, 3, block_on({"a", "b", "a"}, 10), 100);
  blocked.remove(*blocked.next_waiting(3, "b"));
  EXPECT_TRUE(blocked.empty());
  EXPECT_FALSE(blocked.has_waiter(3, "a"));
  EXPECT_EQ(blocked.next_deadline_ms(), std::nullopt);
}

TEST(BlockedOperationsTest, WaitersAreCountedByType) {
  BlockedOperations blocked;
  Waiter first;
  Waiter second;
  blocked.add(first, 0, block_on({"a"}, 0, "bzpopmin"), 0);
  blocked.add(second, 0, block_on({"b"}, 0, "XREAD"), 0);
  EXPECT_TRUE(blocked.has_waiter_for(ValueType::kSortedSet));
  EXPECT_TRUE(blocked.has_waiter_for(ValueType::kStream));
  EXPECT_FALSE(blocked.has_waiter_for(ValueType::kList));
  blocked.remove(*blocked.next_waiting(0, "a"));
  EXPECT_FALSE(blocked.has_waiter_for(ValueType::kSortedSet));
}

TEST(BlockedOperationsTest, WaiterIsFoundBySession) {
  BlockedOperations blocked;
  Waiter operation;
  operation.own_session.id = 7;
  blocked.add(operation, 0, block_on({"a"}), 0);
  ASSERT_TRUE(blocked.find_session(7));
  EXPECT_EQ(blocked.remove(*blocked.find_session(7)).operation, &operation);
  EXPECT_EQ(blocked.find_session(7), std::nullopt);
}

TEST(BlockedOperationsTest, EarliestDeadlineIsDueFirst) {
  BlockedOperations blocked;
  Waiter late;
  Waiter soon;
  blocked.add(late, 0, block_on({"a"}, 50), 100);
  blocked.add(soon, 0, block_on({"a"}, 10), 100);
  EXPECT_EQ(blocked.next_deadline_ms(), 110);
  EXPECT_EQ(blocked.first_due(109), std::nullopt);
  EXPECT_EQ(blocked.find(*blocked.first_due(110))->operation, &soon);
}

// ---- Timed retries ----

BlockRequest block_with(std::vector<TimedRetry> retries) {
  BlockRequest request = block_on({"a", "b"});
  request.timed_retries = std::move(retries);
  return request;
}

TEST(BlockedOperationsTest, EarliestRetryIsTakenFirst) {
  BlockedOperations blocked;
  Waiter first;
  Waiter second;
  blocked.add(first, 0, block_with({{"b", 30}, {"a", 20}}), 0);
  blocked.add(second, 0, block_with({{"a", 25}}), 0);
  EXPECT_EQ(blocked.next_retry_ms(), 20);
  EXPECT_FALSE(blocked.take_due_retry(19));
  std::string taken;
  while (const auto due = blocked.take_due_retry(30)) {
    taken += blocked.find(due->ticket)->operation == &first ? "first " : "second ";
    taken += due->key + ' ';
  }
  EXPECT_EQ(taken, "first a second a first b ");
  EXPECT_EQ(blocked.next_retry_ms(), BlockedOperations::kNever);
}

TEST(BlockedOperationsTest, NewRetriesReplaceThoseOfKey) {
  BlockedOperations blocked;
  Waiter operation;
  blocked.add(operation, 0, block_with({{"a", 20}, {"b", 30}}), 0);
  const std::uint64_t ticket = *blocked.first();
  blocked.set_timed_retries(ticket, "a", {{"a", 40}});
  EXPECT_EQ(blocked.next_retry_ms(), 30);
  blocked.set_timed_retries(ticket, "b", {});
  EXPECT_EQ(blocked.next_retry_ms(), 40);
  blocked.set_timed_retries(ticket, "a", {{"a", 10}});
  EXPECT_EQ(blocked.next_retry_ms(), 10);
  blocked.remove(ticket);
  EXPECT_EQ(blocked.next_retry_ms(), BlockedOperations::kNever);
}

}  // namespace
}  // namespace rushgate
