// A queue of messages with due times.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/random.h"
#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/queues.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kVisibilityMs = 1'000;

class DelayedQueueTest : public QueueRecipeTest {
 protected:
  std::unique_ptr<DelayedQueue> open_delayed() {
    return open_queue<DelayedQueue>(
        DelayedQueueOptions{.size_max = 100, .visibility_ms = kVisibilityMs});
  }
  static std::vector<std::string> ids_of(const std::vector<QueueMessage>& messages) {
    std::vector<std::string> ids;
    for (const QueueMessage& message : messages) ids.push_back(message.id);
    return ids;
  }
  std::int64_t now_ms() { return clock_.now_ms(); }
  /// Returns the keys of the queue, without the stream that wakes consumers.
  Reply keys_left() {
    return (*client_)("EXISTS", "delayed:{orders}:due", "delayed:{orders}:bodies",
                      "delayed:{orders}:deliveries");
  }

  std::unique_ptr<DelayedQueue> queue_ = open_delayed();
};

INSTANTIATE_TEST_SUITE_P(Backends, DelayedQueueTest, all_recipe_kinds(), recipe_name);

TEST_P(DelayedQueueTest, MessagesArriveInOrderWhenDue) {
  ASSERT_TRUE(queue_->push_in("late", "2", 200).ok());
  ASSERT_TRUE(queue_->push_at("early", "1", now_ms() + 100).ok());
  ASSERT_TRUE(queue_->push_in("never", "", 10'000).ok());
  advance_ms(99);
  EXPECT_THAT(take(*queue_), IsEmpty());
  advance_ms(1);
  EXPECT_THAT(ids_of(take(*queue_)), ElementsAre("early"));
  advance_ms(100);
  const auto late = take(*queue_);
  EXPECT_THAT(bodies_of(late), ElementsAre("2"));
  EXPECT_EQ(late[0].deliveries, 1);
  EXPECT_EQ(late[0].visible_at_ms, now_ms() + kVisibilityMs);
  EXPECT_EQ(*queue_->size(), 3);
}

TEST_P(DelayedQueueTest, BatchHasOldestMessages) {
  for (const char* id : {"c", "a", "b"}) ASSERT_TRUE(queue_->push_at(id, "", *id).ok());
  EXPECT_THAT(ids_of(take(*queue_, 2)), ElementsAre("a", "b"));
  EXPECT_THAT(ids_of(take(*queue_, 2)), ElementsAre("c"));
}

TEST_P(DelayedQueueTest, ConsumersTakeDifferentMessages) {
  push(*queue_, {"a"});
  // The classic way reads due messages and removes them in a second step.
  const auto read_due = [&] {
    return (*client_)("ZRANGEBYSCORE", "delayed:{orders}:due", "-inf", now_ms()).elements().size();
  };
  EXPECT_EQ(read_due() + read_due(), 2U) << "both get it";

  EXPECT_EQ(take(*queue_).size() + take(*open_delayed()).size(), 1U);
}

TEST_P(DelayedQueueTest, CrashAfterTakeLosesNothing) {
  // The classic way removes a message when it is taken.
  (*client_)("ZADD", "wrong", 1, "a");
  EXPECT_EQ((*client_)("ZPOPMIN", "wrong").elements()[0], Reply::bulk("a"));
  EXPECT_TRUE((*client_)("ZPOPMIN", "wrong").elements().empty()) << "after the crash it is lost";

  push(*queue_, {"a"});
  EXPECT_THAT(bodies_of(take(*queue_)), ElementsAre("a"));
  queue_.reset();
  const auto other = open_delayed();
  advance_ms(kVisibilityMs - 1);
  EXPECT_THAT(take(*other), IsEmpty());
  advance_ms(1);
  const auto messages = take(*other);
  EXPECT_THAT(bodies_of(messages), ElementsAre("a"));
  EXPECT_EQ(messages[0].deliveries, 2);
}

TEST_P(DelayedQueueTest, DoneOrCancelWinsOnce) {
  ASSERT_TRUE(queue_->push_in("order 1", "", 0).ok());
  ASSERT_TRUE(queue_->push_in("order 2", "", 0).ok());
  const auto messages = take(*queue_);
  EXPECT_TRUE(*queue_->cancel("order 1")) << "it is paid while its timeout is under way";
  EXPECT_FALSE(*queue_->cancel("order 1"));
  EXPECT_EQ(finish(*queue_, {messages[0]}), 0U);
  EXPECT_EQ(finish(*queue_, {messages[1]}), 1U);
  EXPECT_EQ(finish(*queue_, {messages[1]}), 0U);
  EXPECT_FALSE(*queue_->cancel("order 2"));
  EXPECT_EQ(keys_left(), Reply::integer(0));
}

TEST_P(DelayedQueueTest, LateDoneKeepsNextDelivery) {
  push(*queue_, {"a"});
  const auto slow = take(*queue_);
  advance_ms(kVisibilityMs);
  const auto other = open_delayed();
  const auto again = take(*other);
  EXPECT_EQ(finish(*queue_, slow), 0U) << "another consumer has it";
  EXPECT_EQ(finish(*other, again), 1U);
  ASSERT_TRUE(queue_->push_in(slow[0].id, "new", 0).ok());
  EXPECT_EQ(finish(*other, again), 0U) << "this is another message";
  EXPECT_EQ(take(*queue_)[0].deliveries, 1);
}

TEST_P(DelayedQueueTest, LateDoneCountsIfUnclaimed) {
  push(*queue_, {"a"});
  const auto slow = take(*queue_);
  advance_ms(10 * kVisibilityMs);
  EXPECT_EQ(finish(*queue_, slow), 1U);
}

TEST_P(DelayedQueueTest, SameIdIsPushedOnce) {
  ASSERT_TRUE(queue_->push_in("order 1", "first", 100).ok());
  const absl::Status again = queue_->push_in("order 1", "second", 0);
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(again.message()), HasSubstr("order 1 is there already"));
  EXPECT_THAT(take(*queue_), IsEmpty());
  advance_ms(100);
  EXPECT_THAT(bodies_of(take(*queue_)), ElementsAre("first"));
}

TEST_P(DelayedQueueTest, FailingMessageDelaysNoOther) {
  ASSERT_TRUE(queue_->push_in("bad", "", 0).ok());
  for (int round = 1; round <= 3; ++round) {
    ASSERT_TRUE(queue_->push_in("good", "", 0).ok());
    auto messages = take(*queue_);
    ASSERT_THAT(ids_of(messages), ElementsAre("bad", "good"));
    EXPECT_EQ(messages[0].deliveries, round) << "by which it can be given up";
    EXPECT_EQ(finish(*queue_, {messages[1]}), 1U);
    EXPECT_TRUE(*queue_->postpone(messages[0], 10));
    EXPECT_THAT(take(*queue_), IsEmpty());
    advance_ms(10);
  }
}

TEST_P(DelayedQueueTest, PostponeKeepsMessageOfLongWork) {
  push(*queue_, {"a"});
  auto messages = take(*queue_);
  for (int i = 0; i < 3; ++i) {
    advance_ms(kVisibilityMs - 1);
    EXPECT_TRUE(*queue_->postpone(messages[0], kVisibilityMs));
    EXPECT_THAT(take(*open_delayed()), IsEmpty());
  }
  EXPECT_EQ(finish(*queue_, messages), 1U);
  EXPECT_FALSE(*queue_->postpone(messages[0], 0));
}

/// The consumer's clock is an hour ahead.
TEST_P(DelayedQueueTest, ServersTimeDecides) {
  ManualClock ahead(clock_.now_ms() + 3'600'000);
  BackendWithClock backend(*backend_, ahead);
  const auto queue = *DelayedQueue::create(backend, "orders");
  ASSERT_TRUE(queue->push_in("order 1", "", 100).ok());
  EXPECT_THAT(take(*queue), IsEmpty());
  advance_ms(100);
  EXPECT_THAT(ids_of(take(*queue)), ElementsAre("order 1"));
}

TEST_P(DelayedQueueTest, ScriptsPushAndWinBySetAlone) {
  const DelayedQueueKeys keys = DelayedQueueKeys::of("delayed:", "orders");
  (*client_)("ZADD", keys.due, "NX", now_ms() + 100, "order 1");
  (*client_)("ZADD", keys.due, "NX", now_ms() + 100, "order 2");
  EXPECT_EQ((*client_)("ZREM", keys.due, "order 2"), Reply::integer(1));
  EXPECT_FALSE(*queue_->cancel("order 2"));
  advance_ms(100);
  const auto messages = take(*queue_);
  EXPECT_THAT(ids_of(messages), ElementsAre("order 1"));
  EXPECT_EQ((*client_)("ZREM", keys.due, "order 1"), Reply::integer(1));
  EXPECT_EQ(finish(*queue_, messages), 0U);
}

TEST_P(DelayedQueueTest, FullQueueRefuses) {
  const auto queue = open_queue<DelayedQueue>(DelayedQueueOptions{.size_max = 1}, "small");
  push(*queue, {"a"});
  const auto taken = take(*queue);
  const absl::Status refused = queue->push("b");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("small: 1 messages wait"));
  EXPECT_EQ(finish(*queue, taken), 1U);
  push(*queue, {"b"});
}

TEST_P(DelayedQueueTest, ClockBackLosesNothing) {
  ASSERT_TRUE(queue_->push_in("order 1", "", 100).ok());
  set_now_ms(now_ms() - 3'600'000);
  EXPECT_THAT(take(*queue_), IsEmpty());
  set_now_ms(now_ms() + 3'600'100);
  EXPECT_THAT(ids_of(take(*queue_)), ElementsAre("order 1"));
}

/// Consumers take, finish, postpone and crash, and messages are cancelled, in random order.
TEST_P(DelayedQueueTest, RandomHistoryFinishesEachOnce) {
  constexpr int kMessages = 60;
  constexpr std::size_t kConsumers = 3;
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  std::vector<std::unique_ptr<DelayedQueue>> consumers;
  for (std::size_t i = 0; i < kConsumers; ++i) consumers.push_back(open_delayed());
  std::vector<std::vector<QueueMessage>> held(kConsumers);
  struct State {
    std::int64_t due_ms = 0;
    std::int64_t held_until_ms = 0;
    int finished = 0;
    std::int64_t deliveries = 0;
  };
  std::map<std::string, State> messages;
  int finished = 0;
  int pushed = 0;
  while (finished < kMessages) {
    advance_ms(random.between(0, 400));
    const std::size_t i = random.below(kConsumers);
    switch (random.below(6)) {
      case 0:
      case 1: {
        if (pushed == kMessages) break;
        const std::string id = std::to_string(pushed++);
        const std::int64_t delay_ms = random.between(0, 3'000);
        messages[id].due_ms = now_ms() + delay_ms;
        ASSERT_TRUE(queue_->push_in(id, "body " + id, delay_ms).ok());
        break;
      }
      case 2: {
        for (const QueueMessage& message : take(*consumers[i], 1 + random.below(4))) {
          State& state = messages[message.id];
          EXPECT_EQ(state.finished, 0) << message.id;
          EXPECT_LE(state.due_ms, now_ms()) << message.id;
          EXPECT_LE(state.held_until_ms, now_ms()) << message.id << ": two consumers have it";
          EXPECT_EQ(message.body, "body " + message.id);
          EXPECT_EQ(message.deliveries, ++state.deliveries);
          state.held_until_ms = message.visible_at_ms;
          held[i].push_back(message);
        }
        break;
      }
      case 3: {
        if (held[i].empty()) break;
        const QueueMessage message = held[i].back();
        held[i].pop_back();
        const bool has_won = finish(*consumers[i], {message}) == 1;
        messages[message.id].finished += static_cast<int>(has_won);
        finished += static_cast<int>(has_won);
        break;
      }
      case 4: {
        if (pushed == 0 || random.below(4) != 0) break;
        const std::string id = std::to_string(random.below(static_cast<std::uint64_t>(pushed)));
        const bool has_won = *queue_->cancel(id);
        messages[id].finished += static_cast<int>(has_won);
        finished += static_cast<int>(has_won);
        break;
      }
      default:
        if (random.below(3) == 0) {  // a crash
          held[i].clear();
          consumers[i] = open_delayed();
        } else if (!held[i].empty()) {
          QueueMessage& message = held[i].front();
          if (*consumers[i]->postpone(message, random.between(0, 500))) {
            messages[message.id].held_until_ms = message.visible_at_ms;
          }
        }
    }
  }
  for (const auto& [id, state] : messages) EXPECT_EQ(state.finished, 1) << id;
  EXPECT_EQ(keys_left(), Reply::integer(0));
}

/// An in-process timer would be lost.
TEST(DelayedQueueOnRocksDbTest, MessagesSurviveRestart) {
  TemporaryDirectory directory;
  ManualClock clock;
  const auto open = [&] {
    return *Engine::open(*RocksDbStore::open(directory.path()), {.manual_clock = &clock});
  };
  {
    const auto engine = open();
    const auto queue = *DelayedQueue::create(*engine, "orders");
    ASSERT_TRUE(queue->push_in("taken", "", 0).ok());
    ASSERT_TRUE(queue->push_in("waits", "body", 1'000).ok());
    EXPECT_EQ(take(*queue).size(), 1U);
  }
  clock.advance_ms(60'000);
  const auto engine = open();
  const auto queue = *DelayedQueue::create(*engine, "orders");
  const auto messages = take(*queue);
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_THAT(bodies_of(messages), ElementsAre("body", ""));
  EXPECT_EQ(messages[1].deliveries, 2);
}

TEST(DelayedQueueOnRedisTest, MessagesSurviveRestart) {
  rushgate::testing::RedisServer server({.append_only = true});
  const auto open = [&] { return *RedisBackend::open(*RedisOptions::from_url(server.url())); };
  ASSERT_TRUE((*DelayedQueue::create(*open(), "orders"))->push_in("order 1", "body", 0).ok());
  server.restart();
  const auto backend = open();
  EXPECT_THAT(bodies_of(take(**DelayedQueue::create(*backend, "orders"))), ElementsAre("body"));
}

TEST(DelayedQueueArgumentsTest, OutOfRangeIsNamed) {
  const auto backend = *Engine::open(std::make_unique<MemoryStore>());
  const auto expect_error = [](const absl::Status& status, const std::string& text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  expect_error(DelayedQueue::create(*backend, "").status(), "the name is empty");
  expect_error(DelayedQueue::create(*backend, "a", {.visibility_ms = 0}).status(),
               "visibility_ms is 0");
  const auto queue = *DelayedQueue::create(*backend, "orders");
  expect_error(queue->push_at("", "", 0), "the length of an id is 0");
  expect_error(queue->push_at(std::string(257, 'x'), "", 0), "the length of an id is 257");
  expect_error(queue->push_at("a", "", -1), "due_ms is -1");
  expect_error(queue->push_at("a", "", DelayedQueue::kTimeMsMax + 1), "due_ms is 9007199254740993");
  expect_error(queue->push_in("a", "", -1), "delay_ms is -1");
  expect_error(queue->cancel("").status(), "the length of an id is 0");
  QueueMessage message{.id = "a"};
  expect_error(queue->postpone(message, -1).status(), "delay_ms is -1");
}

}  // namespace
}  // namespace rushgate
