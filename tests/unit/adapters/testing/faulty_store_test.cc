#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/memory_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate::faults {
namespace {

class FaultyStoreTest : public ::testing::Test {
 protected:
  absl::Status append(std::uint64_t ms) {
    StoreBatch batch;
    batch.append_segment(1, {ms, 0}, "x");
    return store_.commit(batch);
  }
  std::size_t run_count() {
    std::vector<StreamSegment> segments;
    EXPECT_TRUE(memory_.read_stream(1, StreamId::min(), StreamId::max(), 1000, segments).ok());
    return segments.size();
  }

  MemoryStore memory_;
  FaultyStore store_{memory_};
};

TEST_F(FaultyStoreTest, NthCommitFailsWithoutEffect) {
  store_.fail_commit(2, FaultyStore::Kept::kNo);
  EXPECT_TRUE(append(1).ok());
  EXPECT_EQ(append(2), FaultyStore::default_error());
  EXPECT_TRUE(append(3).ok());
  EXPECT_EQ(run_count(), 2U);
  EXPECT_EQ(store_.commits(), 3);
}

TEST_F(FaultyStoreTest, FailedCommitMayTakeEffect) {
  store_.fail_commit(1, FaultyStore::Kept::kYes, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(append(1), absl::ResourceExhaustedError("full"));
  EXPECT_EQ(run_count(), 1U);
}

TEST_F(FaultyStoreTest, NthSyncFails) {
  store_.fail_sync(1, FaultyStore::Kept::kYes);
  EXPECT_FALSE(store_.sync().ok());
  EXPECT_TRUE(store_.sync().ok());
  EXPECT_EQ(store_.syncs(), 2);
}

TEST_F(FaultyStoreTest, ReadsFailUntilReset) {
  std::vector<StreamSegment> segments;
  std::uint64_t last_stream = 0;
  store_.fail_reads();
  EXPECT_FALSE(store_.read_stream(1, {}, StreamId::max(), 0, segments).ok());
  EXPECT_FALSE(store_.read_stream_back(1, StreamId::max(), {}, 0, segments).ok());
  EXPECT_FALSE(store_.find_last_stream(last_stream).ok());
  store_.fail_reads(absl::OkStatus());
  EXPECT_TRUE(store_.read_stream(1, {}, StreamId::max(), 0, segments).ok());
  EXPECT_TRUE(store_.find_last_stream(last_stream).ok());
  store_.fail_loads();
  EXPECT_FALSE(store_.load([](std::string_view, std::string_view) {}).ok());
}

TEST_F(FaultyStoreTest, HookSurroundsEachSuccessfulCommitAndSync) {
  std::vector<FaultyStore::Point> points;
  store_.at_every_point([&](FaultyStore::Point point) { points.push_back(point); });
  store_.fail_commit(2, FaultyStore::Kept::kNo);
  append(1).IgnoreError();
  append(2).IgnoreError();
  store_.sync().IgnoreError();
  using Point = FaultyStore::Point;
  EXPECT_EQ(points,
            (std::vector<Point>{Point::kBeforeCommit, Point::kAfterCommit, Point::kBeforeCommit,
                                Point::kBeforeSync, Point::kAfterSync}));
}

TEST_F(FaultyStoreTest, NumbersStartAtOne) {
  EXPECT_THROW(store_.fail_commit(0, FaultyStore::Kept::kNo), std::invalid_argument);
  EXPECT_THROW(store_.fail_sync(-1, FaultyStore::Kept::kNo), std::invalid_argument);
  EXPECT_TRUE(append(1).ok());
}

TEST(FaultyStoreNamesTest, EachValueHasItsName) {
  EXPECT_EQ(point_name(FaultyStore::Point::kBeforeCommit), "before commit");
  EXPECT_EQ(point_name(FaultyStore::Point::kAfterCommit), "after commit");
  EXPECT_EQ(point_name(FaultyStore::Point::kBeforeSync), "before sync");
  EXPECT_EQ(point_name(FaultyStore::Point::kAfterSync), "after sync");
  EXPECT_EQ(kept_name(FaultyStore::Kept::kNo), "not kept");
  EXPECT_EQ(kept_name(FaultyStore::Kept::kYes), "kept");
}

}  // namespace
}  // namespace rushgate::faults
