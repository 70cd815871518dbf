// The memory cache of stored stream data: one budget for all streams.
#include "engine/redis/keyspace/stream_cache.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/streams.h"
#include "tests/unit/keyspace/stream_test_store.h"

namespace rushgate {
namespace {

class StreamCacheTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBudget = std::size_t{1} << 20;

  StreamCacheTest() { open(); }

  void open() {
    keyspace_ = std::make_unique<Keyspace>(store_, 7);
    ASSERT_TRUE(keyspace_->load().ok());
    caches().set_bytes_max(kBudget);
  }
  StreamCaches& caches() { return keyspace_->stream_caches(); }
  Database& db() { return keyspace_->db(0); }
  StreamLog& log(int number) { return db().find(std::to_string(number))->stream().log(); }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }

  /// Appends entries of about 1 KB each.
  void append(int number, int count) {
    const std::string key = std::to_string(number);
    Object* object = db().find(key);
    if (object == nullptr) object = &streams::create(db(), key);
    const std::string value(1'000, 'x');
    const StreamField field{"f", value};
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(streams::append_automatic(db(), *object, {&field, 1}).ok());
    }
    commit();
  }
  std::size_t count_entries(int number) {
    std::size_t count = 0;
    EXPECT_TRUE(log(number)
                    .read(StreamId::min(), StreamId::max(),
                          [&](const StreamEntry&) { return ++count, true; })
                    .ok());
    return count;
  }
  /// Returns the sum over all streams.
  std::size_t measured_bytes() {
    std::size_t bytes = 0;
    db().for_each([&](Object& object) { bytes += object.stream().log().cache_bytes(); });
    return bytes;
  }

  StreamTestStore store_;
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(StreamCacheTest, OneBudgetBoundsAllStreams) {
  constexpr int kStreams = 50;
  for (int i = 0; i < kStreams; ++i) {
    append(i, 100);
    ASSERT_LE(caches().bytes(), kBudget);
    ASSERT_EQ(caches().bytes(), measured_bytes());
  }
  EXPECT_GT(caches().bytes(), kBudget / 2) << "the budget is used";
  for (int i = 0; i < kStreams; ++i) {
    ASSERT_EQ(count_entries(i), 100U);
    ASSERT_LE(caches().bytes(), kBudget);
    ASSERT_EQ(caches().bytes(), measured_bytes());
  }
}

TEST_F(StreamCacheTest, LeastRecentlyUsedIsDropped) {
  append(1, 400);
  caches().set_bytes_max(caches().bytes() * 5 / 2);
  append(2, 400);
  count_entries(1);
  append(3, 400);
  EXPECT_GT(log(1).cache_bytes(), 0U);
  EXPECT_EQ(log(2).cache_bytes(), 0U);
  EXPECT_GT(log(3).cache_bytes(), 0U);
  store_.reads = 0;
  EXPECT_EQ(count_entries(1), 400U);
  EXPECT_EQ(store_.reads, 0U);
  EXPECT_EQ(count_entries(2), 400U);
  EXPECT_GT(store_.reads, 0U);
}

TEST_F(StreamCacheTest, CachesAreCreatedOnDemand) {
  for (int i = 0; i < 100; ++i) append(i, 1);
  EXPECT_GT(caches().bytes(), 0U);
  open();
  EXPECT_EQ(caches().bytes(), 0U);
  EXPECT_EQ(count_entries(7), 1U);
  EXPECT_EQ(caches().bytes(), log(7).cache_bytes());
}

TEST_F(StreamCacheTest, ZeroBudgetDisablesCache) {
  caches().set_bytes_max(0);
  append(1, 100);
  EXPECT_EQ(caches().bytes(), 0U);
  EXPECT_EQ(count_entries(1), 100U);
  EXPECT_EQ(caches().bytes(), 0U);
}

TEST_F(StreamCacheTest, RemovedStreamHasNoCache) {
  append(1, 100);
  db().remove(*db().find("1"));
  append(2, 100);
  keyspace_->remove_all();
  commit();
  EXPECT_EQ(caches().bytes(), 0U);
}

TEST_F(StreamCacheTest, WritesTakePrecedenceOverCaches) {
  caches().set_bytes_max(StreamCaches::kBytesMax);
  append(1, 400);
  append(2, 400);
  const std::size_t all = keyspace_->memory_bytes();
  const std::size_t cached = caches().bytes();
  EXPECT_FALSE(keyspace_->needs_more_than(all));
  EXPECT_EQ(caches().bytes(), cached);
  EXPECT_FALSE(keyspace_->needs_more_than(all - 1));
  EXPECT_EQ(log(1).cache_bytes(), 0U);
  EXPECT_GT(log(2).cache_bytes(), 0U);
  EXPECT_FALSE(keyspace_->needs_more_than(all - cached));
  EXPECT_EQ(caches().bytes(), 0U);
  EXPECT_TRUE(keyspace_->needs_more_than(all - cached - 1));
}

}  // namespace
}  // namespace rushgate
