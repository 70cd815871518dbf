// A fiber waits for messages by the engine's clock. Other fibers of its thread run meanwhile.
#include <algorithm>
#include <memory>
#include <string>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/fiber_wait.h>
#include <rushgate/queues.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FiberQueuesTest : public ::testing::Test {
 protected:
  void expect_waits_by_engines_clock(Queue& queue) {
    Bodies found;
    bool has_ended = false;
    const auto wait = [&] {
      has_ended = false;
      return boost::fibers::fiber(boost::fibers::launch::dispatch, [&] {
        const auto messages = queue.take(10, kWaitMs);
        EXPECT_TRUE(messages.ok()) << messages.status();
        if (messages.ok()) found = bodies_of(*messages);
        has_ended = true;
      });
    };
    auto waiter = wait();
    pass_ms(kWaitMs - 1);
    EXPECT_FALSE(has_ended);
    pass_ms(1);
    EXPECT_TRUE(has_ended);
    EXPECT_THAT(found, IsEmpty());
    waiter.join();

    waiter = wait();
    pass_ms(1);
    push(queue, {"a"});
    waiter.join();
    EXPECT_THAT(found, ElementsAre("a"));
  }
  /// Moves the clock. Runs the fibers whose wait has ended.
  void pass_ms(std::int64_t duration_ms) {
    constexpr std::int64_t kStepMs = 1'000;
    for (; duration_ms > 0; duration_ms -= kStepMs) {
      engine_->advance_ms(std::min(duration_ms, kStepMs));
      for (int i = 0; i < 10; ++i) boost::this_fiber::yield();
    }
  }

  static constexpr std::int64_t kWaitMs = 300'000;  // longer than claim_idle_ms
  ManualClock clock_;
  std::unique_ptr<Engine> engine_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
};

TEST_F(FiberQueuesTest, StreamQueueWaitsByEnginesClock) {
  expect_waits_by_engines_clock(
      **StreamQueue::create(*engine_, "orders", {.client = {.wait = &fiber_wait()}}));
}

TEST_F(FiberQueuesTest, ListQueueWaitsByEnginesClock) {
  expect_waits_by_engines_clock(
      **ListQueue::create(*engine_, "orders", {.client = {.wait = &fiber_wait()}}));
}

TEST_F(FiberQueuesTest, DelayedQueueWaitsByEnginesClock) {
  expect_waits_by_engines_clock(
      **DelayedQueue::create(*engine_, "mails", {.client = {.wait = &fiber_wait()}}));

  const auto queue = *DelayedQueue::create(*engine_, "orders", {.client = {.wait = &fiber_wait()}});
  Bodies found;
  ASSERT_TRUE(queue->push_in("order 1", "timeout", 15 * 60'000).ok());
  boost::fibers::fiber waiter(boost::fibers::launch::dispatch, [&] {
    const auto messages = queue->take(10, 60 * 60'000);
    found = bodies_of(*messages);
  });
  pass_ms(15 * 60'000 - 1);
  EXPECT_THAT(found, IsEmpty());
  pass_ms(1);
  EXPECT_THAT(found, ElementsAre("timeout"));
  waiter.join();
}

/// ZADD wakes no consumer. XADD does.
TEST_F(FiberQueuesTest, MessageOfScriptIsFoundInTime) {
  constexpr std::int64_t kSecondMs = 1'000;
  const auto queue = *DelayedQueue::create(*engine_, "orders", {.client = {.wait = &fiber_wait()}});
  Bodies found;
  boost::fibers::fiber waiter(boost::fibers::launch::dispatch, [&] {
    const auto messages = *queue->take(10, 60 * 60'000);
    for (const QueueMessage& message : messages) found.push_back(message.id);
  });
  const DelayedQueueKeys keys = DelayedQueueKeys::of("delayed:", "orders");
  const auto client = engine_->open_client();
  pass_ms(500);
  (*client)("ZADD", keys.due, clock_.now_ms(), "order 1");
  pass_ms(kSecondMs);
  EXPECT_THAT(found, ElementsAre("order 1"));
  waiter.join();

  boost::fibers::fiber woken(boost::fibers::launch::dispatch, [&] {
    const auto messages = *queue->take(10, 60 * 60'000);
    for (const QueueMessage& message : messages) found.push_back(message.id);
  });
  pass_ms(1);
  (*client)("ZADD", keys.due, clock_.now_ms(), "order 2");
  (*client)("XADD", keys.wake, "MAXLEN", 1, "*", "due", clock_.now_ms());
  pass_ms(1);
  EXPECT_THAT(found, ElementsAre("order 1", "order 2"));
  woken.join();
}

}  // namespace
}  // namespace rushgate
