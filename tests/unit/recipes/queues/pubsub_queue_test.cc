// Publish/subscribe delivers to all current subscribers. Visible losses are counted.
#include <memory>
#include <string>

#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/queues.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PubSubQueueTest : public QueueRecipeTest {
 protected:
  std::unique_ptr<PubSubQueue> open_consumer(std::size_t size_max = 100) {
    return open_queue<PubSubQueue>(PubSubQueueOptions{.size_max = size_max});
  }
  std::unique_ptr<PubSubQueue> open_producer() {
    return open_queue<PubSubQueue>(PubSubQueueOptions{.subscribes = false});
  }
  /// Returns the next messages. A Redis sends them with a delay.
  static Bodies next(Queue& queue, std::size_t count) {
    constexpr std::int64_t kLongMs = 10 * 60'000;
    Bodies bodies;
    while (bodies.size() < count) {
      const auto messages = queue.take(count - bodies.size(), kLongMs);
      EXPECT_TRUE(messages.ok()) << messages.status();
      if (!messages.ok()) break;
      for (const QueueMessage& message : *messages) bodies.push_back(message.body);
    }
    return bodies;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, PubSubQueueTest, all_recipe_kinds(), recipe_name);

TEST_P(PubSubQueueTest, EachConsumerGetsEachMessage) {
  const auto first = open_consumer();
  const auto second = open_consumer();
  push(*open_producer(), {"a", "b"});
  EXPECT_THAT(next(*first, 2), ElementsAre("a", "b"));
  EXPECT_THAT(next(*second, 2), ElementsAre("a", "b"));
}

/// A restarting worker shows why this queue is unfit for orders.
TEST_P(PubSubQueueTest, RestartLosesMessagesUnlikeStream) {
  const auto right = open_queue<StreamQueue>(StreamQueueOptions{}, "stream");
  const auto producer = open_producer();
  open_consumer().reset();  // the consumer stops
  if (GetParam() == RecipeKind::kRedis) {
    while ((*client_)("PUBSUB", "NUMSUB", "orders").elements()[1] != Reply::integer(0)) {
    }
  }
  push(*producer, {"while it restarts"});
  push(*right, {"while it restarts"});
  const auto consumer = open_consumer();
  push(*producer, {"afterwards"});
  EXPECT_THAT(next(*consumer, 1), ElementsAre("afterwards")) << "the first one is lost";
  EXPECT_EQ(producer->losses().unheard, 1U);
  EXPECT_THAT(bodies_of(take(*open_queue<StreamQueue>(StreamQueueOptions{}, "stream"))),
              ElementsAre("while it restarts"));
}

TEST_P(PubSubQueueTest, FullInboxDropsAndCounts) {
  const auto consumer = open_consumer(2);
  const auto sentinel = open_consumer();
  push(*open_producer(), {"a", "b", "c", "d"});
  EXPECT_THAT(next(*sentinel, 4), ElementsAre("a", "b", "c", "d"));
  while (consumer->losses().dropped < 2) {  // messages of another connection arrive with a delay
  }
  EXPECT_THAT(next(*consumer, 2), ElementsAre("a", "b"));
  EXPECT_EQ(consumer->losses().dropped, 2U);
}

TEST_P(PubSubQueueTest, TooLongForeignMessageIsDropped) {
  const auto consumer = open_consumer();
  (*client_)("PUBLISH", "orders", std::string(Queue::kBodyBytesMax + 1, 'x'));
  push(*open_producer(), {"short"});
  EXPECT_THAT(next(*consumer, 1), ElementsAre("short"));
  EXPECT_EQ(consumer->losses().dropped, 1U);
}

TEST_P(PubSubQueueTest, ProducerCannotTake) {
  EXPECT_EQ(open_producer()->take(1, 0).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(PubSubQueueTest, EmptyTakeIsNoError) {
  const auto consumer = open_consumer();
  EXPECT_THAT(take(*consumer), IsEmpty());
  EXPECT_EQ(finish(*consumer, {}), 0U);
}

TEST(PubSubQueueOnRedisTest, LostConnectionIsCounted) {
  rushgate::testing::RedisServer server;
  const auto backend = *RedisBackend::open(*RedisOptions::from_url(server.url()));
  const auto consumer = *PubSubQueue::create(*backend, "orders");
  server.restart();
  const auto producer = *PubSubQueue::create(*backend, "orders", {.subscribes = false});
  while (consumer->losses().gaps == 0) {
  }
  // Messages arrive again after the new subscription. A client that has not noticed the restart may
  // be refused.
  constexpr std::int64_t kShortMs = 10;
  while (consumer->take(1, kShortMs)->empty()) producer->push("a").IgnoreError();
  EXPECT_EQ(consumer->losses().gaps, 1U);
}

TEST(PubSubQueueOptionsTest, OutOfRangeIsNamed) {
  const auto backend = *Engine::open(std::make_unique<MemoryStore>());
  EXPECT_THAT(std::string(PubSubQueue::create(*backend, "").status().message()),
              HasSubstr("the name is empty"));
  EXPECT_THAT(std::string(PubSubQueue::create(*backend, "a", {.size_max = 0}).status().message()),
              HasSubstr("size_max is 0"));
}

}  // namespace
}  // namespace rushgate
