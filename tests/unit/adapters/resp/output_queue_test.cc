#include "adapters/resp/output_queue.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/random.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using testing::Random;

constexpr std::size_t kLarge = OutputQueue::kLargeBytes;

/// Removes up to `bytes_max` bytes from the front.
std::string take(OutputQueue& queue, std::size_t bytes_max) {
  std::array<std::string_view, 3> views;
  std::string taken;
  const std::size_t filled = queue.front(views);
  for (std::size_t i = 0; i < filled; ++i) taken += views.at(i).substr(0, bytes_max - taken.size());
  queue.consume(taken.size());
  return taken;
}

std::string take_all(OutputQueue& queue) {
  std::string taken;
  while (!queue.empty()) taken += take(queue, 100'000);
  return taken;
}

TEST(OutputQueueTest, LargeStringsAreMoved) {
  Reply large = Reply::bulk(std::string(kLarge, 'x'));
  const char* const bytes = large.text().data();
  OutputQueue queue;
  queue.append(Reply::ok(), RespVersion::k2);
  queue.append(std::move(large), RespVersion::k2);
  std::array<std::string_view, 3> views;
  ASSERT_EQ(queue.front(views), 3U);
  EXPECT_EQ(views[0], "+OK\r\n$16384\r\n");
  EXPECT_EQ(views[1].data(), bytes);
  EXPECT_EQ(views[2], "\r\n");
}

Reply random_reply(Random& random, int depth) {
  const std::size_t size = random.below(10) == 0 ? kLarge + random.below(3) - 1 : random.below(40);
  std::string bytes(size, static_cast<char>('a' + random.below(26)));
  switch (random.below(depth > 0 ? 6 : 3)) {
    case 0:
      return Reply::integer(static_cast<std::int64_t>(size));
    case 1:
      return Reply::verbatim("txt:" + bytes);
    case 2:
      return Reply::bulk(std::move(bytes));
    default:
      break;
  }
  std::vector<Reply> elements;
  for (std::size_t i = 2 * random.below(4); i > 0; --i) {
    elements.push_back(random_reply(random, depth - 1));
  }
  return random.below(2) == 0 ? Reply::map(std::move(elements))
                              : Reply::several(std::move(elements));
}

TEST(OutputQueueTest, RandomRepliesKeepTheirBytes) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  Random random(seed);
  OutputQueue queue;
  std::string expected;
  std::string taken;
  for (int i = 0; i < 3'000; ++i) {
    const RespVersion version = random.below(2) == 0 ? RespVersion::k2 : RespVersion::k3;
    Reply reply = random_reply(random, 2);
    append_reply(reply, version, expected);
    if (random.below(2) == 0) {
      queue.append(reply, version);
    } else {
      queue.append(std::move(reply), version);
    }
    if (random.below(3) == 0) taken += take(queue, random.below(100'000));
    ASSERT_EQ(queue.size(), expected.size() - taken.size());
  }
  taken += take_all(queue);
  EXPECT_TRUE(taken == expected);
}

TEST(OutputQueueTest, EmptyQueueKeepsLittleMemory) {
  OutputQueue queue;
  for (int i = 0; i < 100; ++i)
    queue.append(Reply::bulk(std::string(kLarge, 'x')), RespVersion::k2);
  for (int i = 0; i < 100; ++i) queue.append(Reply::bulk(std::string(5'000, 'x')), RespVersion::k2);
  EXPECT_GT(queue.memory_bytes(), 100 * (kLarge + 5'000));
  take_all(queue);
  EXPECT_LE(queue.memory_bytes(), 2 * OutputQueue::kKeptBytes);
}

TEST(OutputQueueTest, QueueThatIsNeverEmptyStaysSmall) {
  OutputQueue queue;
  queue.append(Reply::bulk(std::string(kLarge, 'x')), RespVersion::k2);
  for (int i = 0; i < 10'000; ++i) {
    queue.append(Reply::bulk(std::string(kLarge, 'x')), RespVersion::k2);
    queue.consume(queue.size() - 1);
    ASSERT_LE(queue.memory_bytes(), 3 * kLarge);
  }
}

}  // namespace
}  // namespace rushgate
