// Consumers wait by blocking commands, and fibers by the engine's clock.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/queues.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kLongMs = 10 * 60'000;

using MakeQueue = std::function<std::unique_ptr<Queue>(Backend&)>;

struct WaitingQueue {
  std::string name;
  std::string blocking_command;
  MakeQueue make;
};

std::vector<WaitingQueue> waiting_queues() {
  return {{"stream", "XREADGROUP",
           [](Backend& backend) -> std::unique_ptr<Queue> {
             return *StreamQueue::create(backend, "stream");
           }},
          {"list", "BLMOVE",
           [](Backend& backend) -> std::unique_ptr<Queue> {
             return *ListQueue::create(backend, "list");
           }},
          {"single consumer", "XREAD",
           [](Backend& backend) -> std::unique_ptr<Queue> {
             return *SingleConsumerQueue::create(backend, "single");
           }},
          {"delayed", "XREAD",
           [](Backend& backend) -> std::unique_ptr<Queue> {
             return *DelayedQueue::create(backend, "delayed");
           }},
          {"unsafe list", "BRPOP", [](Backend& backend) -> std::unique_ptr<Queue> {
             return *UnsafeListQueue::create(backend, "unsafe");
           }}};
}

/// Runs on the engine with its threads, and on a Redis.
class QueueWaitTest : public ::testing::TestWithParam<RecipeKind> {
 protected:
  QueueWaitTest() {
    if (GetParam() == RecipeKind::kRedis) {
      server_ = std::make_unique<rushgate::testing::RedisServer>();
      backend_ = *RedisBackend::open(*RedisOptions::from_url(server_->url()));
    } else {
      backend_ = *Engine::open(std::make_unique<MemoryStore>());
    }
  }

  /// Starts a long wait. Returns when the blocking command was sent.
  std::future<Bodies> begin_wait(const WaitingQueue& queue) {
    requests_ = 0;
    const auto blocked = std::make_shared<std::promise<void>>();
    const auto has_blocked = std::make_shared<std::atomic<bool>>(false);
    hooked_ = std::make_unique<HookedBackend>(
        *backend_,
        RequestHooks{.before = [this, blocked, has_blocked,
                                command = queue.blocking_command](const Request& request) {
          ++requests_;
          if (request[0] == command && !has_blocked->exchange(true)) blocked->set_value();
        }});
    consumer_ = queue.make(*hooked_);
    auto taken = std::async(std::launch::async, [this] {
      const auto messages = consumer_->take(10, kLongMs);
      EXPECT_TRUE(messages.ok()) << messages.status();
      return messages.ok() ? bodies_of(*messages) : Bodies();
    });
    blocked->get_future().wait();
    return taken;
  }

  std::unique_ptr<rushgate::testing::RedisServer> server_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<HookedBackend> hooked_;
  std::unique_ptr<Queue> consumer_;
  std::atomic<int> requests_{0};
};

INSTANTIATE_TEST_SUITE_P(Backends, QueueWaitTest,
                         ::testing::Values(RecipeKind::kMemory, RecipeKind::kRedis), recipe_name);

TEST_P(QueueWaitTest, MessageEndsWaitWithoutPolling) {
  for (const WaitingQueue& queue : waiting_queues()) {
    SCOPED_TRACE(queue.name);
    auto taken = begin_wait(queue);
    const int requests = requests_;
    push(*queue.make(*backend_), {"a"});
    EXPECT_THAT(taken.get(), ElementsAre("a"));
    EXPECT_LE(requests_, requests + 1);
    consumer_.reset();
  }
}

/// The first waiter takes a message and is busy. The others also learn of the next one.
TEST_P(QueueWaitTest, DelayedMessagesReachAllWaiters) {
  const WaitingQueue delayed{"delayed", "XREAD", [](Backend& backend) -> std::unique_ptr<Queue> {
                               return *DelayedQueue::create(backend, "orders");
                             }};
  const auto producer = *DelayedQueue::create(*backend_, "orders");
  ASSERT_TRUE(producer->push_in("much later", "", kLongMs * 10).ok());
  auto first = begin_wait(delayed);
  const auto other = delayed.make(*backend_);
  auto second = std::async(std::launch::async, [&] { return bodies_of(*other->take(1, kLongMs)); });
  ASSERT_TRUE(producer->push_in("1", "a", 0).ok());
  ASSERT_TRUE(producer->push_in("2", "b", 20).ok());
  Bodies found = first.get();
  if (found.size() == 1) {
    const Bodies rest = second.get();
    found.insert(found.end(), rest.begin(), rest.end());
  } else {
    while (second.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
      other->interrupt();
    }
  }
  EXPECT_THAT(found, ::testing::UnorderedElementsAre("a", "b"));
}

TEST_P(QueueWaitTest, InterruptEndsWait) {
  for (const WaitingQueue& queue : waiting_queues()) {
    SCOPED_TRACE(queue.name);
    auto taken = begin_wait(queue);
    do {  // the command may not block yet
      consumer_->interrupt();
    } while (taken.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready);
    EXPECT_THAT(taken.get(), IsEmpty());
    consumer_.reset();
  }
}

TEST(QueueArgumentsTest, OutOfRangeIsNamed) {
  const auto backend = *Engine::open(std::make_unique<MemoryStore>());
  for (const WaitingQueue& kind : waiting_queues()) {
    SCOPED_TRACE(kind.name);
    const auto queue = kind.make(*backend);
    const auto expect_error = [](const absl::Status& status, std::string_view text) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(std::string(text)));
    };
    expect_error(queue->push(std::string(Queue::kBodyBytesMax + 1, 'x')), "65537 bytes");
    expect_error(queue->take(0, 0).status(), "count_max is 0");
    expect_error(queue->take(Queue::kCountMax + 1, 0).status(), "count_max is 1001");
    expect_error(queue->take(1, -1).status(), "wait_ms is -1");
    expect_error(queue->take(1, Queue::kWaitMsMax + 1).status(), "wait_ms is 86400001");
    expect_error(queue->done(std::vector<QueueMessage>(Queue::kCountMax + 1)).status(),
                 "1001 messages");
  }
  EXPECT_THAT(std::string(StreamQueue::create(*backend, "").status().message()),
              ::testing::HasSubstr("the name is empty"));
  EXPECT_THAT(
      std::string(StreamQueue::create(*backend, "a", {.claim_idle_ms = 0}).status().message()),
      ::testing::HasSubstr("claim_idle_ms is 0"));
  EXPECT_THAT(
      std::string(
          StreamQueue::create(*backend, "a", {.client = {.protocol = 3}}).status().message()),
      ::testing::HasSubstr("client.protocol is 3"));
  EXPECT_THAT(std::string(ListQueue::create(*backend, "a", {.size_max = 0}).status().message()),
              ::testing::HasSubstr("size_max is 0"));
}

}  // namespace
}  // namespace rushgate
