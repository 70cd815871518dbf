// A stream with one consumer, whose position is stored.
#include <memory>
#include <string>

#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/queues.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SingleConsumerQueueTest : public QueueRecipeTest {
 protected:
  std::unique_ptr<SingleConsumerQueue> open_single() {
    return open_queue<SingleConsumerQueue>(SingleConsumerQueueOptions{.size_max = 3});
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, SingleConsumerQueueTest, all_recipe_kinds(), recipe_name);

TEST_P(SingleConsumerQueueTest, DeliversInOrderAndOnce) {
  expect_delivery_in_order_and_once(*open_single());
}

TEST_P(SingleConsumerQueueTest, RestartContinuesAtStoredPosition) {
  {
    const auto queue = open_single();
    push(*queue, {"done", "taken"});
    EXPECT_EQ(finish(*queue, take(*queue, 1)), 1U);
    EXPECT_THAT(bodies_of(take(*queue)), ElementsAre("taken"));
    push(*queue, {"new"});
  }
  // The classic way: only the consumer knows its position, and it reads from $ after a restart.
  EXPECT_TRUE((*client_)("XREAD", "STREAMS", "orders", "$").is_nil());
  EXPECT_THAT(bodies_of(take(*open_single())), ElementsAre("taken", "new"));
}

TEST_P(SingleConsumerQueueTest, DoneIncludesEarlierMessages) {
  {
    const auto queue = open_single();
    push(*queue, {"a", "b", "c"});
    EXPECT_EQ(finish(*queue, {take(*queue)[1]}), 1U);
  }
  EXPECT_THAT(bodies_of(take(*open_single())), ElementsAre("c"));
}

TEST_P(SingleConsumerQueueTest, DoneFreesSpace) {
  const auto queue = open_single();
  push(*queue, {"a", "b", "c"});
  const absl::Status refused = queue->push("d");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("orders: 3 messages wait"));
  EXPECT_EQ(finish(*queue, take(*queue)), 3U);
  EXPECT_EQ((*client_)("XLEN", "orders"), Reply::integer(0));
  push(*queue, {"d"});
  EXPECT_THAT(bodies_of(take(*queue)), ElementsAre("d"));
}

TEST_P(SingleConsumerQueueTest, OlderDoneKeepsPosition) {
  const auto queue = open_single();
  push(*queue, {"a", "b", "c"});
  const auto messages = take(*queue);
  EXPECT_EQ(finish(*queue, {messages[1]}), 1U);
  EXPECT_EQ(finish(*queue, {messages[0]}), 0U);
  EXPECT_EQ((*client_)("GET", "{orders}:position"), Reply::bulk(messages[1].id));
}

TEST_P(SingleConsumerQueueTest, WrongIdIsError) {
  EXPECT_THAT(std::string(open_single()->done({{QueueMessage{.id = "x"}}}).status().message()),
              HasSubstr("Invalid stream ID"));
}

}  // namespace
}  // namespace rushgate
