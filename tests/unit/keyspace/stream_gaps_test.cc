// Segments whose entries are all deleted leave the store, regardless of earlier segments.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/streams.h"
#include <rushgate/memory_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

class StreamGapsTest : public ::testing::Test {
 protected:
  StreamGapsTest() { open(); }

  void open() {
    keyspace_ = std::make_unique<Keyspace>(store_, 7);
    ASSERT_TRUE(keyspace_->load().ok());
  }
  Database& db() { return keyspace_->db(0); }
  Object& object(std::string_view key = "s") {
    Object* const found = db().find(key);
    return found != nullptr ? *found : streams::create(db(), key);
  }
  Stream& stream(std::string_view key = "s") { return object(key).stream(); }
  StreamLog& log(std::string_view key = "s") { return stream(key).log(); }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }

  void append(std::uint64_t ms, std::string_view key = "s") {
    const StreamField field{"f", "1"};
    ASSERT_TRUE(streams::append(db(), object(key), {ms, 0}, {&field, 1}).ok());
  }
  void erase(std::uint64_t ms, std::string_view key = "s") {
    const StreamId id{ms, 0};
    std::uint64_t erased = 0;
    ASSERT_TRUE(streams::erase(db(), object(key), {&id, 1}, erased).ok());
    ASSERT_EQ(erased, 1U);
  }
  std::vector<std::uint64_t> ids(std::string_view key = "s") {
    std::vector<std::uint64_t> ids;
    EXPECT_TRUE(log(key)
                    .read(StreamId::min(), StreamId::max(),
                          [&](const StreamEntry& entry) {
                            ids.push_back(entry.id().ms);
                            return true;
                          })
                    .ok());
    std::vector<std::uint64_t> back;
    EXPECT_TRUE(log(key)
                    .read_back(StreamId::min(), StreamId::max(),
                               [&](const StreamEntry& entry) {
                                 back.push_back(entry.id().ms);
                                 return true;
                               })
                    .ok());
    std::ranges::reverse(back);
    EXPECT_EQ(ids, back);
    return ids;
  }
  std::size_t stored_segments(std::string_view key = "s") {
    std::vector<StreamSegment> segments;
    EXPECT_TRUE(store_
                    .read_stream(log(key).object_id(), StreamId::min(), StreamId::max(),
                                 ~std::size_t{0}, segments)
                    .ok());
    return segments.size();
  }
  std::size_t stored_records() {
    std::size_t records = 0;
    EXPECT_TRUE(store_.load([&](std::string_view, std::string_view) { ++records; }).ok());
    return records;
  }

  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(StreamGapsTest, StuckHeadKeepsNothingBehindIt) {
  append(1);
  commit();
  for (std::uint64_t ms = 2; ms <= 3'000; ++ms) {
    append(ms);
    commit();
    erase(ms);
    commit();
  }
  EXPECT_EQ(log().deletions().gaps().size(), 1U);
  EXPECT_EQ(log().deletions().count(), 2'999U);
  EXPECT_EQ(stored_segments(), 1U);
  EXPECT_EQ(stored_records(), 2U) << "header and gap";
  EXPECT_LT(stream().memory_bytes(), 2'000U);
  open();
  EXPECT_EQ(log().deletions().count(), 2'999U);
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{1}));
  append(3'001);
  commit();
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{1, 3'001}));
  erase(1);
  commit();
  EXPECT_EQ(log().deletions().count(), 0U);
  EXPECT_EQ(stored_records(), 1U);
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{3'001}));
}

TEST_F(StreamGapsTest, AnyOrderOfDeletionMakesOneGap) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::vector<std::uint64_t> erased;
  for (std::uint64_t ms = 1; ms <= 500; ++ms) {
    append(ms);
    if (ms % 3 == 0) commit();  // segments of three entries
    if (ms > 3 && ms <= 498) erased.push_back(ms);
  }
  commit();
  std::ranges::shuffle(erased, std::mt19937_64(seed));
  for (const std::uint64_t ms : erased) {
    erase(ms);
    if (ms % 5 == 0) commit();
    if (ms % 50 == 0) open();
  }
  commit();
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{1, 2, 3, 499, 500}));
  EXPECT_EQ(log().deletions().gaps().size(), 1U);
  EXPECT_EQ(log().deletions().count(), 495U);
  EXPECT_EQ(stored_segments(), 2U);
  EXPECT_EQ(stored_records(), 2U);
}

TEST_F(StreamGapsTest, RollbackRestoresSegments) {
  for (std::uint64_t ms = 1; ms <= 5; ++ms) {
    append(ms);
    commit();
  }
  erase(2);
  commit();
  erase(3);
  erase(4);
  EXPECT_EQ(log().deletions().gaps().size(), 1U);
  keyspace_->changes().roll_back_to({});
  EXPECT_EQ(log().deletions().count(), 1U);
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{1, 3, 4, 5}));
  EXPECT_EQ(stored_segments(), 4U);
}

TEST_F(StreamGapsTest, SegmentDeletedByItsBatchLeavesLater) {
  append(1);
  commit();
  append(2);
  erase(2);
  commit();
  EXPECT_EQ(stored_segments(), 2U);
  append(3);
  commit();
  erase(3);
  commit();
  EXPECT_EQ(stored_segments(), 1U);
  EXPECT_EQ(log().deletions().gaps().size(), 1U);
}

TEST_F(StreamGapsTest, RemovedStreamLeavesNoRecord) {
  for (std::uint64_t ms = 1; ms <= 3; ++ms) {
    append(ms);
    commit();
  }
  erase(2);
  commit();
  EXPECT_EQ(stored_records(), 2U);
  db().remove(object());
  commit();
  EXPECT_EQ(stored_records(), 0U);
}

/// A trim counts deleted entries at any place.
TEST_F(StreamGapsTest, TrimsAreSameWithGaps) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; ++round) {
    keyspace_->remove_all();
    commit();
    std::vector<std::uint64_t> all;
    for (std::uint64_t ms = 1; ms <= 600; ++ms) {
      append(ms, "single");  // a segment for each entry
      commit();
      all.push_back(ms);
    }
    for (const std::uint64_t ms : all) append(ms, "together");  // in a few segments
    commit();
    for (std::uint64_t ms = 2; ms <= 600; ++ms) {
      const bool in_stretch = ms / 64 % 2 == 0;
      if (random() % 8 >= (in_stretch ? 7U : 1U)) continue;
      erase(ms, "single");
      erase(ms, "together");
    }
    commit();
    EXPECT_GT(log("single").deletions().gaps().size(), 1U);
    for (int trims = 0; trims < 3; ++trims) {
      StreamLog::TrimTo to;
      to.length_max = random() % (log("single").length() + 1);
      to.whole_nodes = random() % 3 != 0;
      std::uint64_t removed = 0;
      std::uint64_t removed_together = 0;
      ASSERT_TRUE(streams::trim(db(), object("single"), to, removed).ok());
      ASSERT_TRUE(streams::trim(db(), object("together"), to, removed_together).ok());
      EXPECT_EQ(removed, removed_together);
      EXPECT_EQ(ids("single"), ids("together"));
      EXPECT_EQ(log("single").counters(), log("together").counters());
      commit();
    }
  }
}

}  // namespace
}  // namespace rushgate
