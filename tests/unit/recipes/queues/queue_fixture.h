// Parts that the queue tests share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hooked_backend.h"
#include "tests/unit/recipes/recipe_fixture.h"
#include <rushgate/queues.h>

namespace rushgate {

using Bodies = std::vector<std::string>;

inline Bodies bodies_of(const std::vector<QueueMessage>& messages) {
  Bodies bodies;
  bodies.reserve(messages.size());
  for (const QueueMessage& message : messages) bodies.push_back(message.body);
  return bodies;
}

inline std::vector<QueueMessage> take(Queue& queue, std::size_t count_max = 10) {
  auto messages = queue.take(count_max, 0);
  EXPECT_TRUE(messages.ok()) << messages.status();
  return messages.ok() ? *std::move(messages) : std::vector<QueueMessage>();
}

inline void push(Queue& queue, const Bodies& bodies) {
  for (const std::string& body : bodies) {
    const absl::Status pushed = queue.push(body);
    EXPECT_TRUE(pushed.ok()) << pushed;
  }
}

inline std::size_t finish(Queue& queue, const std::vector<QueueMessage>& messages) {
  const auto count = queue.done(messages);
  EXPECT_TRUE(count.ok()) << count.status();
  return count.value_or(0);
}

/// Pushes three messages and takes them in two batches. Returns the first batch.
inline std::vector<QueueMessage> expect_delivery_in_order_and_once(Queue& queue) {
  using ::testing::ElementsAre;
  push(queue, {"a", "b", "c"});
  const auto first = take(queue, 2);
  EXPECT_THAT(bodies_of(first), ElementsAre("a", "b"));
  EXPECT_THAT(bodies_of(take(queue)), ElementsAre("c"));
  EXPECT_THAT(take(queue), ::testing::IsEmpty());
  EXPECT_EQ(finish(queue, first), 2U);
  EXPECT_EQ(finish(queue, first), 0U) << "they are done already";
  EXPECT_THAT(take(queue), ::testing::IsEmpty());
  return first;
}

/// Destroying and reopening a queue acts like a crash of its process.
class QueueRecipeTest : public RecipeTest {
 protected:
  template <class QueueType, class Options>
  std::unique_ptr<QueueType> open_queue(Options options, const std::string& name = "orders") {
    return value(QueueType::create(manual_backend_, name, std::move(options)));
  }

  BackendWithClock manual_backend_{*backend_, clock_};  // a Redis uses the manual clock too
};

}  // namespace rushgate
