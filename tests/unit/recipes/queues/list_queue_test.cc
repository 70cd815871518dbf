// Queues on lists: the common one, and one without losses.
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/recipes/locks/lock_fixture.h"
#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/queues.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyBackend;
using Fault = FaultyBackend::Fault;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ListQueueTest : public QueueRecipeTest {
 protected:
  std::unique_ptr<ListQueue> open_list(const std::string& consumer = "c1") {
    return open_queue<ListQueue>(ListQueueOptions{.consumer = consumer, .claim_idle_ms = 1'000});
  }
  std::unique_ptr<UnsafeListQueue> open_unsafe() {
    return open_queue<UnsafeListQueue>(UnsafeListQueueOptions{}, "unsafe");
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, ListQueueTest, all_recipe_kinds(), recipe_name);

TEST_P(ListQueueTest, DeliversInOrderAndOnce) { expect_delivery_in_order_and_once(*open_list()); }

TEST_P(ListQueueTest, CrashBetweenPopAndStoreLosesNothing) {
  {
    const auto wrong = open_unsafe();
    push(*wrong, {"a", "b"});
    EXPECT_THAT(bodies_of(take(*wrong)), ElementsAre("a", "b"));
    const auto right = open_list();
    push(*right, {"a", "b"});
    EXPECT_THAT(bodies_of(take(*right)), ElementsAre("a", "b"));
  }  // both crash before they store a message
  EXPECT_THAT(take(*open_unsafe()), IsEmpty()) << "they are lost";
  EXPECT_THAT(bodies_of(take(*open_list())), ElementsAre("a", "b"));
}

TEST_P(ListQueueTest, RecoveredMessagesPrecedeNewOnes) {
  {
    const auto queue = open_list();
    push(*queue, {"a", "b", "c", "d"});
    const auto taken = take(*queue, 3);
    EXPECT_EQ(finish(*queue, {taken[1]}), 1U);
  }
  const auto again = open_list();
  push(*again, {"e"});
  EXPECT_THAT(bodies_of(take(*again)), ElementsAre("a", "c", "d", "e"));
}

TEST_P(ListQueueTest, LostReplyLosesNoMessage) {
  bool is_lossy = false;
  FaultyBackend lossy(manual_backend_, [&](const Request& request) {
    const bool takes = request[0] != "LPUSH" && std::exchange(is_lossy, false);
    return takes ? Fault::kReplyLost : Fault::kNone;
  });
  const auto queue = *ListQueue::create(lossy, "orders");
  EXPECT_THAT(take(*queue), IsEmpty());
  push(*queue, {"a", "b"});
  is_lossy = true;
  EXPECT_EQ(queue->take(1, 0).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(bodies_of(take(*queue)), ElementsAre("a", "b"));
}

TEST_P(ListQueueTest, DeadConsumersMessagesAreClaimed) {
  const auto dead = open_list("dead");
  const auto living = open_list("living");
  push(*dead, {"a"});
  const auto taken = take(*dead);
  EXPECT_THAT(bodies_of(taken), ElementsAre("a"));
  EXPECT_THAT(take(*living), IsEmpty());
  advance_ms(999);
  EXPECT_THAT(take(*living), IsEmpty());
  advance_ms(1);
  EXPECT_THAT(bodies_of(take(*living)), ElementsAre("a"));
  EXPECT_EQ(finish(*dead, taken), 0U) << "it has another consumer now";
}

TEST_P(ListQueueTest, CallingConsumerIsAlive) {
  const auto slow = open_list("slow");
  push(*slow, {"a", "b", "c"});
  const auto taken = take(*slow, 2);
  constexpr int kRounds = 8;
  for (int i = 0; i < kRounds; ++i) {
    advance_ms(600);
    if (i < kRounds / 2) {
      EXPECT_EQ(take(*slow, 1).size(), i == 0 ? 1U : 0U);
    } else {
      EXPECT_EQ(finish(*slow, {taken[0]}), i == kRounds / 2 ? 1U : 0U);
    }
    EXPECT_THAT(take(*open_list("other")), IsEmpty());
  }
  EXPECT_EQ(finish(*slow, {taken[1]}), 1U) << "it is still its own";
}

TEST_P(ListQueueTest, DeadConsumerLeavesNoKeys) {
  push(*open_list("dead"), {"a"});
  EXPECT_THAT(bodies_of(take(*open_list("dead"))), ElementsAre("a"));
  const auto living = open_list("living");
  advance_ms(1'000);
  EXPECT_EQ(finish(*living, take(*living)), 1U);
  EXPECT_EQ((*client_)("ZRANGE", "{orders}:consumers", 0, -1),
            Reply::array({Reply::bulk("living")}));
  EXPECT_EQ(
      (*client_)("EXISTS", "orders", "{orders}:processing:dead", "{orders}:processing:living"),
      Reply::integer(0));
}

TEST_P(ListQueueTest, RecoveryExceedsOneBatch) {
  constexpr int kMessages = 2'500;
  Bodies all;
  {
    const auto queue = open_list();
    for (int i = 0; i < kMessages; ++i) all.push_back("message " + std::to_string(i));
    push(*queue, all);
    for (int i = 0; i < 3; ++i) static_cast<void>(take(*queue, 1'000));
  }
  const auto again = open_list();
  Bodies found;
  while (true) {
    const auto messages = take(*again, 1'000);
    if (messages.empty()) break;
    for (const QueueMessage& message : messages) found.push_back(message.body);
    EXPECT_EQ(finish(*again, messages), messages.size());
  }
  EXPECT_EQ(found, all);
}

TEST_P(ListQueueTest, PlainCommandsShareList) {
  const auto queue = open_list();
  (*client_)("LPUSH", "orders", "theirs");
  push(*queue, {"ours"});
  EXPECT_THAT(bodies_of(take(*queue, 1)), ElementsAre("theirs"));
  EXPECT_EQ((*client_)("RPOP", "orders"), Reply::bulk("ours"));
}

TEST_P(ListQueueTest, FullQueueRefuses) {
  const auto queue = open_queue<ListQueue>(ListQueueOptions{.size_max = 2});
  push(*queue, {"a", "b"});
  EXPECT_EQ(queue->push("c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(queue->push("c").message()), HasSubstr("orders: 2 messages wait"));
  static_cast<void>(take(*queue));
  push(*queue, {"c"});
  EXPECT_EQ(queue->take(1, 0).status().code(), absl::StatusCode::kResourceExhausted)
      << "none of two is done";
}

TEST_P(ListQueueTest, UnsafeQueueIsBoundedToo) {
  const auto queue = open_queue<UnsafeListQueue>(UnsafeListQueueOptions{.size_max = 1});
  push(*queue, {"a"});
  EXPECT_EQ(queue->push("b").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(bodies_of(take(*queue)), ElementsAre("a"));
  EXPECT_THAT(take(*queue), IsEmpty());
}

TEST_P(ListQueueTest, KeyOfWrongTypeIsError) {
  (*client_)("SET", "orders", "a string");
  EXPECT_THAT(std::string(open_list()->push("a").message()), HasSubstr("WRONGTYPE"));
  EXPECT_THAT(std::string(open_list()->take(1, 0).status().message()), HasSubstr("WRONGTYPE"));
}

}  // namespace
}  // namespace rushgate
