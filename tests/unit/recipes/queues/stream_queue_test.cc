// The queue on a stream with a consumer group, and the errors of its imitations.
#include <memory>
#include <string>

#include "tests/unit/recipes/queues/queue_fixture.h"
#include <rushgate/queues.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StreamQueueTest : public QueueRecipeTest {
 protected:
  std::unique_ptr<StreamQueue> open_stream(const std::string& consumer = "c1",
                                           const std::string& group = "g1") {
    return open_queue<StreamQueue>(
        StreamQueueOptions{.group = group, .consumer = consumer, .claim_idle_ms = kIdleMs});
  }
  /// Returns the bodies in a reply of XREADGROUP or XREAD for one stream.
  static Bodies bodies_of_entries(const Reply& reply) {
    Bodies bodies;
    if (reply.is_nil()) return bodies;
    for (const Reply& entry : reply.elements()[0].elements()[1].elements()) {
      bodies.push_back(entry.elements()[1].elements()[1].text());
    }
    return bodies;
  }
  std::int64_t length() { return (*client_)("XLEN", "orders").integer(); }

  static constexpr std::int64_t kIdleMs = 1'000;
};

INSTANTIATE_TEST_SUITE_P(Backends, StreamQueueTest, all_recipe_kinds(), recipe_name);

TEST_P(StreamQueueTest, DeliversInOrderAndOnce) {
  const auto first = expect_delivery_in_order_and_once(*open_stream());
  EXPECT_EQ(first[0].deliveries, 1);
}

TEST_P(StreamQueueTest, CrashBeforeDoneLosesNothing) {
  // The classic way acknowledges before it processes.
  (*client_)("XADD", "wrong", "*", "body", "a");
  (*client_)("XGROUP", "CREATE", "wrong", "g1", "0");
  const Reply read =
      (*client_)("XREADGROUP", "GROUP", "g1", "c1", "NOACK", "STREAMS", "wrong", ">");
  EXPECT_THAT(bodies_of_entries(read), ElementsAre("a"));
  EXPECT_THAT(
      bodies_of_entries((*client_)("XREADGROUP", "GROUP", "g1", "c1", "STREAMS", "wrong", "0")),
      IsEmpty())
      << "after the crash it is lost";

  {
    const auto queue = open_stream();
    push(*queue, {"a", "b"});
    EXPECT_THAT(bodies_of(take(*queue)), ElementsAre("a", "b"));
  }
  const auto again = open_stream();
  const auto messages = take(*again);
  EXPECT_THAT(bodies_of(messages), ElementsAre("a", "b"));
  EXPECT_EQ(messages[0].deliveries, 2);
  EXPECT_EQ(finish(*again, messages), 2U);
}

TEST_P(StreamQueueTest, MessagesBeforeGroupAreDelivered) {
  const auto queue = open_stream();
  push(*queue, {"early"});
  // The classic way creates the group at $.
  (*client_)("XGROUP", "CREATE", "orders", "wrong", "$");
  EXPECT_THAT(
      bodies_of_entries((*client_)("XREADGROUP", "GROUP", "wrong", "c", "STREAMS", "orders", ">")),
      IsEmpty());
  EXPECT_THAT(bodies_of(take(*queue)), ElementsAre("early"));
}

TEST_P(StreamQueueTest, DeadConsumersMessagesAreClaimed) {
  const auto dead = open_stream("dead");
  const auto living = open_stream("living");
  push(*dead, {"a"});
  EXPECT_THAT(bodies_of(take(*dead)), ElementsAre("a"));
  EXPECT_THAT(take(*living), IsEmpty());
  advance_ms(kIdleMs);
  const auto messages = take(*living);
  EXPECT_THAT(bodies_of(messages), ElementsAre("a"));
  EXPECT_EQ(messages[0].deliveries, 2);
}

TEST_P(StreamQueueTest, FailingMessageDelaysNoOther) {
  const auto queue = open_stream();
  push(*queue, {"bad", "good 1"});
  // The classic way reads its pending messages first, until there is none.
  const auto wrong = [&] {
    Reply read =
        (*client_)("XREADGROUP", "GROUP", "wrong", "c", "COUNT", 1, "STREAMS", "orders", 0);
    if (read.elements()[0].elements()[1].elements().empty()) {
      read = (*client_)("XREADGROUP", "GROUP", "wrong", "c", "COUNT", 1, "STREAMS", "orders", ">");
    }
    return bodies_of_entries(read);
  };
  (*client_)("XGROUP", "CREATE", "orders", "wrong", "0");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(wrong(), ElementsAre("bad"));

  EXPECT_THAT(bodies_of(take(*queue, 1)), ElementsAre("bad"));  // it fails and is not acknowledged
  const auto good = take(*queue, 1);
  EXPECT_THAT(bodies_of(good), ElementsAre("good 1"));
  EXPECT_EQ(finish(*queue, good), 1U);
  for (int round = 2; round <= 3; ++round) {
    advance_ms(kIdleMs);
    push(*queue, {"good"});
    const auto again = take(*queue, 1);
    EXPECT_THAT(bodies_of(again), ElementsAre("bad"));
    EXPECT_EQ(again[0].deliveries, round) << "by which it can be given up";
    const auto next = take(*queue, 1);
    EXPECT_THAT(bodies_of(next), ElementsAre("good"));
    EXPECT_EQ(finish(*queue, next), 1U);
  }
}

TEST_P(StreamQueueTest, EachGroupGetsEachMessage) {
  const auto orders = open_stream("c1", "orders");
  const auto mails = open_stream("c1", "mails");
  push(*orders, {"a"});
  EXPECT_EQ(finish(*orders, take(*orders)), 1U);
  EXPECT_THAT(bodies_of(take(*mails)), ElementsAre("a"));
}

TEST_P(StreamQueueTest, DoneMessagesLeaveStream) {
  const auto queue = open_stream();
  push(*queue, {"a", "b", "c"});
  const auto other = open_stream("c1", "other");
  const auto theirs = take(*other);
  EXPECT_EQ(finish(*queue, take(*queue)), 3U);
  EXPECT_EQ(length(), 3) << "the other group has not done them";
  EXPECT_EQ(finish(*other, theirs), 3U);
  EXPECT_LE(length(), 1);
}

TEST_P(StreamQueueTest, DeletedEntryIsNotDelivered) {
  {
    const auto queue = open_stream();
    push(*queue, {"a", "b"});
    (*client_)("XDEL", "orders", take(*queue)[0].id);
  }
  EXPECT_THAT(bodies_of(take(*open_stream())), ElementsAre("b"));
  const Reply pending = (*client_)("XPENDING", "orders", "g1");
  EXPECT_EQ(pending.elements()[0], Reply::integer(1));
}

TEST_P(StreamQueueTest, LostGroupIsRecreated) {
  const auto queue = open_stream();
  push(*queue, {"a"});
  EXPECT_EQ(finish(*queue, take(*queue)), 1U);
  (*client_)("DEL", "orders");
  push(*queue, {"b"});
  EXPECT_THAT(bodies_of(take(*queue)), ElementsAre("b"));
}

TEST_P(StreamQueueTest, EntriesOfOtherSystemAreRead) {
  const auto queue = open_stream();
  (*client_)("XADD", "orders", "*", "userId", "5", "body", "a", "id", "7");
  (*client_)("XADD", "orders", "*", "userId", "6");
  const auto messages = take(*queue);
  EXPECT_THAT(bodies_of(messages), ElementsAre("a", ""));
  EXPECT_EQ(finish(*queue, messages), 2U) << "it blocks nothing";
}

TEST_P(StreamQueueTest, FullQueueRefuses) {
  const auto queue = open_queue<StreamQueue>(StreamQueueOptions{.size_max = 2});
  push(*queue, {"a", "b", "c"});
  const auto taken = take(*queue, 2);
  const absl::Status refused = queue->push("d");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("orders: 2 messages wait"));
  EXPECT_EQ(finish(*queue, taken), 2U);
  push(*queue, {"d"});
}

TEST_P(StreamQueueTest, KeyOfWrongTypeIsError) {
  (*client_)("SET", "orders", "a string");
  EXPECT_THAT(std::string(open_stream()->push("a").message()), HasSubstr("WRONGTYPE"));
  EXPECT_THAT(std::string(open_stream()->take(1, 0).status().message()), HasSubstr("WRONGTYPE"));
}

}  // namespace
}  // namespace rushgate
