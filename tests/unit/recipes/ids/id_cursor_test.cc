#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/ids.h>

namespace rushgate {
namespace {

TEST(IdCursorTest, UsedBlockEnds) {
  IdCursor cursor;
  EXPECT_EQ(cursor.take(1).count, 0U);
  cursor.publish({.first = 100, .count = 5}, 2);
  EXPECT_EQ(cursor.take(2).first, 100);
  EXPECT_FALSE(cursor.take(0).is_low);
  const IdCursor::Taken low = cursor.take(1);
  EXPECT_EQ(low.first, 102);
  EXPECT_TRUE(low.is_low);
  const IdCursor::Taken rest = cursor.take(10);
  EXPECT_EQ(rest.first, 103);
  EXPECT_EQ(rest.count, 2U);
  EXPECT_EQ(cursor.take(1).count, 0U);
}

TEST(IdCursorTest, RetiredBlockReturnsRest) {
  IdCursor cursor;
  cursor.publish({.first = 100, .count = 5}, 0);
  cursor.take(2);
  const IdCursor::Block rest = cursor.retire();
  EXPECT_EQ(rest.first, 102);
  EXPECT_EQ(rest.count, 3);
  EXPECT_EQ(cursor.take(1).count, 0U);
}

TEST(IdCursorTest, ThreadsGetEveryIdOnceWhileBlocksChange) {
  constexpr int kTakers = 3;
  constexpr std::int64_t kIds = 300'000;
  IdCursor cursor;
  std::vector<std::atomic<int>> given(kIds);
  std::atomic<bool> is_done = false;
  std::vector<std::thread> takers;
  for (int taker = 0; taker < kTakers; ++taker) {
    takers.emplace_back([&, taker] {
      while (!is_done) {
        const IdCursor::Taken taken = cursor.take(static_cast<std::uint32_t>(taker + 1));
        for (std::uint32_t i = 0; i < taken.count; ++i) {
          ++given[static_cast<std::size_t>(taken.first + i)];
        }
        if (taken.count == 0) std::this_thread::yield();
      }
    });
  }
  std::int64_t next = 0;
  for (std::int64_t count = 1; next < kIds; count = count % 97 + 1) {
    const IdCursor::Block rest = cursor.retire();
    const std::int64_t first = rest.count > 0 ? rest.first : next;
    const std::int64_t size = rest.count > 0 ? rest.count : std::min(count, kIds - next);
    if (rest.count == 0) next += size;
    cursor.publish({.first = first, .count = size}, 0);
    if (rest.count > 0) std::this_thread::yield();  // the takers may not be running
  }
  while (cursor.left() > 0) std::this_thread::yield();
  is_done = true;
  for (std::thread& taker : takers) taker.join();
  for (const auto& times : given) ASSERT_EQ(times, 1);
}

}  // namespace
}  // namespace rushgate
