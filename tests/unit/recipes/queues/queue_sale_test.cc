// A sale as the field builds it, with a choice of queues. A script admits and pushes the order, and
// a worker stores it. Each queue loses in a crash as many orders as its header states.
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/queues.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

constexpr int kStock = 5;
constexpr int kUsers = 8;
constexpr std::size_t kStored = 2;  // before the crash; one more was taken

struct QueueChoice {
  std::string name;
  std::string key;     // KEYS[3] of the script
  std::string script;  // pushes the order ARGV[2]; empty: the caller pushes after the script
  std::size_t lost;    // orders, by the crash
  std::function<std::unique_ptr<Queue>(Backend&)> make;
};

template <class QueueType>
std::unique_ptr<Queue> make(Backend& backend) {
  return *QueueType::create(backend, "orders");
}

std::vector<QueueChoice> choices() {
  constexpr std::size_t kWaiting = kStock - kStored - 1;
  return {
      {"stream", "orders", "redis.call('XADD', KEYS[3], '*', 'body', ARGV[2])", 0,
       make<StreamQueue>},
      {"single consumer", "orders", "redis.call('XADD', KEYS[3], '*', 'body', ARGV[2])", 0,
       make<SingleConsumerQueue>},
      {"list", "orders", "redis.call('LPUSH', KEYS[3], ARGV[2])", 0, make<ListQueue>},
      {"delayed", DelayedQueueKeys::of("delayed:", "orders").due,
       "redis.call('ZADD', KEYS[3], 'NX', redis.call('TIME')[1] * 1000, ARGV[2])", 0,
       make<DelayedQueue>},
      {"unsafe list", "orders", "redis.call('LPUSH', KEYS[3], ARGV[2])", 1, make<UnsafeListQueue>},
      {"publish/subscribe", "orders", "redis.call('PUBLISH', KEYS[3], ARGV[2])", 1 + kWaiting,
       make<PubSubQueue>},
      {"in process", "orders", "", 1 + kWaiting,
       [](Backend& /*backend*/) -> std::unique_ptr<Queue> { return *InProcessQueue::create(); }},
  };
}

class QueueSaleTest : public QueueRecipeTest {
 protected:
  /// Returns true if the user gets the order.
  bool buy(const QueueChoice& choice, Queue& queue, int user, const std::string& order) {
    const Script script(R"lua(
if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 2 end
redis.call('DECR', KEYS[1])
)lua" + choice.script + "\nreturn 0");
    const std::string name = std::to_string(user);
    const std::string_view keys[] = {"stock", "buyers", choice.key};
    const std::string_view arguments[] = {name, order};
    const Reply reply = client_->run(script, keys, arguments);
    EXPECT_TRUE(reply.is_integer()) << to_debug_string(reply);
    if (reply.integer() != 0) return false;
    if (choice.script.empty()) push(queue, {order});
    return true;
  }

  /// Takes one message. A Redis sends the messages of a channel with a delay.
  static QueueMessage take_one(Queue& queue) {
    constexpr std::int64_t kLongMs = 10 * 60'000;
    const auto messages = queue.take(1, kLongMs);
    EXPECT_TRUE(messages.ok()) << messages.status();
    return messages.ok() && messages->size() == 1 ? messages->front() : QueueMessage();
  }
  /// Returns the order. In the delayed queue, scripts pass only its id.
  static std::string order_of(const QueueMessage& message) {
    return message.body.empty() ? message.id : message.body;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, QueueSaleTest, all_recipe_kinds(), recipe_name);

TEST_P(QueueSaleTest, CrashLosesDocumentedOrders) {
  for (const QueueChoice& choice : choices()) {
    SCOPED_TRACE(choice.name);
    (*client_)("FLUSHALL");
    (*client_)("SET", "stock", kStock);
    auto queue = choice.make(manual_backend_);
    std::size_t admitted = 0;
    for (int user = 0; user < kUsers; ++user) {
      if (buy(choice, *queue, user, "order " + std::to_string(user))) ++admitted;
      EXPECT_FALSE(buy(choice, *queue, user, "second order")) << "of user " << user;
    }
    EXPECT_EQ(admitted, kStock);

    std::set<std::string> stored;
    for (std::size_t i = 0; i < kStored; ++i) {
      const QueueMessage message = take_one(*queue);
      EXPECT_TRUE(stored.insert(order_of(message)).second);
      if (i == 0) finish(*queue, {message});  // it crashes before finishing the second one
    }
    take_one(*queue);
    queue = choice.make(manual_backend_);
    advance_ms(60'000);
    for (auto messages = take(*queue); !messages.empty(); messages = take(*queue)) {
      for (const QueueMessage& message : messages) stored.insert(order_of(message));
    }
    EXPECT_EQ(admitted - stored.size(), choice.lost);
  }
}

}  // namespace
}  // namespace rushgate
