// The queue in the memory of the process counts refused and lost messages.
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/queues.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kTakeMs = 10 * 60'000;

TEST(InProcessQueueTest, DeliversInOrderAndOnce) {
  expect_delivery_in_order_and_once(**InProcessQueue::create());
}

TEST(InProcessQueueTest, CrashLossesAreCounted) {
  const auto queue = *InProcessQueue::create();
  push(*queue, {"waits", "taken", "done"});
  const auto messages = take(*queue, 2);
  EXPECT_EQ(finish(*queue, {messages[1]}), 1U);
  EXPECT_EQ(queue->counts().pushed, 3U);
  EXPECT_EQ(queue->counts().at_risk(), 2U);
}

TEST(InProcessQueueTest, RefusalsAreCounted) {
  const auto queue = *InProcessQueue::create({.size_max = 2});
  push(*queue, {"a", "b"});
  const absl::Status refused = queue->push("c");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("2 messages wait"));
  EXPECT_EQ(queue->counts().refused, 1U);
  EXPECT_EQ(queue->counts().pushed, 2U);
  const auto taken = take(*queue);
  EXPECT_EQ(queue->take(1, 0).status().code(), absl::StatusCode::kResourceExhausted)
      << "none of two is done";
  EXPECT_EQ(finish(*queue, taken), 2U);
  push(*queue, {"c"});
  EXPECT_THAT(bodies_of(take(*queue)), ElementsAre("c"));
}

TEST(InProcessQueueTest, ThreadsDeliverEachMessageOnce) {
  constexpr std::size_t kThreads = 2;
  constexpr std::size_t kEach = 5'000;
  const auto queue = *InProcessQueue::create({.size_max = 64});
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t n = 0; n < kEach; ++n) {
        const std::string body = std::to_string(i) + ' ' + std::to_string(n);
        while (!queue->push(body).ok()) std::this_thread::yield();
      }
    });
  }
  std::mutex mutex;
  std::multiset<std::string> found;  // guarded by mutex
  std::atomic<bool> has_all{false};
  std::atomic<std::size_t> ended{0};
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!has_all) {
        const auto messages = *queue->take(7, kTakeMs);
        EXPECT_EQ(finish(*queue, messages), messages.size());
        const std::lock_guard lock(mutex);
        for (const QueueMessage& message : messages) found.insert(message.body);
        if (found.size() >= kThreads * kEach) has_all = true;
      }
      ++ended;
    });
  }
  while (ended < kThreads) {
    if (has_all) queue->interrupt();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found.size(), kThreads * kEach);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), kThreads * kEach);
  EXPECT_EQ(queue->counts().at_risk(), 0U);
}

TEST(InProcessQueueTest, InterruptEndsWait) {
  const auto queue = *InProcessQueue::create();
  std::atomic<bool> has_ended{false};
  std::thread consumer([&] {
    EXPECT_THAT(*queue->take(1, kTakeMs), IsEmpty());
    has_ended = true;
  });
  while (!has_ended) queue->interrupt();  // its wait may not have begun
  consumer.join();
}

TEST(InProcessQueueTest, OutOfRangeIsNamed) {
  EXPECT_THAT(std::string(InProcessQueue::create({.size_max = 0}).status().message()),
              HasSubstr("size_max is 0"));
  EXPECT_THAT(std::string(InProcessQueue::create({.size_max = 65'535}).status().message()),
              HasSubstr("size_max is 65535"));
  const auto queue = *InProcessQueue::create();
  EXPECT_THAT(std::string(queue->take(0, 0).status().message()), HasSubstr("count_max is 0"));
  EXPECT_THAT(*queue->done({{QueueMessage{.id = "no id"}}}), 0U);
}

}  // namespace
}  // namespace rushgate
