#include "engine/redis/keyspace/streams.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "engine/redis/keyspace/copies.h"
#include "engine/redis/keyspace/keyspace.h"
#include "tests/unit/keyspace/stream_test_store.h"
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

const absl::Status kDiskIsGone = absl::UnavailableError("the disk is gone");

class StreamsTest : public ::testing::Test {
 protected:
  StreamsTest() { open(); }

  void open() {
    keyspace_ = std::make_unique<Keyspace>(faulty_, 7);
    ASSERT_TRUE(keyspace_->load().ok());
    keyspace_->set_now_ms(now_ms_);
  }
  void reopen() {
    commit();
    open();
  }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }
  Changes& changes() { return keyspace_->changes(); }
  Database& db() { return keyspace_->db(0); }
  Object& object() {
    Object* found = db().find("s");
    return found != nullptr ? *found : streams::create(db(), "s");
  }
  Stream& stream() { return object().stream(); }
  StreamLog& log() { return stream().log(); }
  StreamGroup& group() {
    StreamGroup* found = stream().groups().find("g");
    return found != nullptr ? *found : streams::create_group(db(), object(), "g", {}, 0);
  }

  void set_now_ms(std::int64_t now_ms) { keyspace_->set_now_ms(now_ms_ = now_ms); }

  void append(StreamId id, std::string_view value = "1") {
    const StreamField field{"f", value};
    EXPECT_TRUE(streams::append(db(), object(), id, {&field, 1}).ok());
  }
  StreamId append_automatic() {
    const StreamField field{"f", "1"};
    return streams::append_automatic(db(), object(), {&field, 1}).value_or(StreamId{});
  }
  /// Appends entries 1-0 to `last`-0, each in a batch of its own.
  void append_up_to(std::uint64_t last, std::string_view value = "1") {
    for (std::uint64_t ms = 1; ms <= last; ++ms) {
      append({ms, 0}, value);
      commit();
    }
  }
  std::uint64_t erase(std::vector<StreamId> ids) {
    std::uint64_t erased = 0;
    EXPECT_TRUE(streams::erase(db(), object(), ids, erased).ok());
    return erased;
  }
  std::uint64_t trim_to(std::uint64_t length_max) {
    std::uint64_t removed = 0;
    EXPECT_TRUE(streams::trim(db(), object(), {.length_max = length_max}, removed).ok());
    return removed;
  }

  std::vector<StreamId> ids(StreamId from = StreamId::min(), StreamId to = StreamId::max()) {
    std::vector<StreamId> ids;
    const absl::Status read = log().read(from, to, [&](const StreamEntry& entry) {
      ids.push_back(entry.id());
      return true;
    });
    EXPECT_TRUE(read.ok()) << read.message();
    return ids;
  }
  std::size_t segments_in_store() {
    std::vector<StreamSegment> segments;
    EXPECT_TRUE(
        store_.read_stream(log().object_id(), StreamId::min(), StreamId::max(), 1 << 30, segments)
            .ok());
    return segments.size();
  }

  StreamTestStore store_;
  faults::FaultyStore faulty_{store_};
  std::int64_t now_ms_ = 1'000;
  std::unique_ptr<Keyspace> keyspace_;
};

// ---- Ids ----

TEST_F(StreamsTest, AutomaticIdsAscendWhenClockGoesBack) {
  set_now_ms(5'000);
  streams::create(db(), "s");
  EXPECT_EQ(append_automatic(), (StreamId{5'000, 0}));
  EXPECT_EQ(append_automatic(), (StreamId{5'000, 1}));
  set_now_ms(4'000);
  EXPECT_EQ(append_automatic(), (StreamId{5'000, 2}));
  reopen();
  EXPECT_EQ(append_automatic(), (StreamId{5'000, 3}));
  set_now_ms(5'001);
  EXPECT_EQ(append_automatic(), (StreamId{5'001, 0}));
}

TEST_F(StreamsTest, IdsOfDeletedEntriesAreNotReused) {
  append({9'000, 7});
  EXPECT_EQ(erase({{9'000, 7}}), 1U);
  reopen();
  EXPECT_EQ(append_automatic(), (StreamId{9'000, 8}));
}

TEST_F(StreamsTest, NoIdFollowsGreatestId) {
  const StreamField field{"f", "1"};
  append(StreamId::max());
  EXPECT_TRUE(absl::IsOutOfRange(streams::append_automatic(db(), object(), {&field, 1}).status()));
  EXPECT_EQ(ids(), std::vector<StreamId>{StreamId::max()});
}

TEST_F(StreamsTest, RowsAreAppendedOnlyWithEnoughIds) {
  static constexpr std::array<std::string_view, 1> kNames = {"f"};
  const std::vector<std::int64_t> values = {1, 2, 3};
  const StreamId last{StreamId::max().ms, StreamId::max().seq - 2};
  append(last);
  EXPECT_TRUE(absl::IsOutOfRange(streams::append_rows(db(), object(), kNames, values)));
  EXPECT_EQ(ids(), std::vector<StreamId>{last});
  EXPECT_TRUE(streams::append_rows(db(), object(), kNames, std::span(values).first(2)).ok());
  EXPECT_EQ(ids().size(), 3U);
}

// ---- Memory and the store ----

TEST_F(StreamsTest, BacklogMayExceedMemory) {
  const std::string value(1'000, 'x');
  append_up_to(4'000, value);
  EXPECT_LT(stream().memory_bytes() + log().cache_bytes(), 1'500'000U);
  EXPECT_EQ(ids().size(), 4'000U);
  EXPECT_GT(store_.reads, 0U);
  EXPECT_LT(stream().memory_bytes() + log().cache_bytes(), 1'500'000U);

  store_.reads = 0;
  EXPECT_EQ(ids({3'500, 0}).size(), 501U);
  EXPECT_EQ(store_.reads, 0U) << "the tail is cached";
}

TEST_F(StreamsTest, EntriesAreReadInPortionsAfterReopening) {
  append_up_to(4'000, std::string(1'000, 'x'));
  reopen();
  EXPECT_LT(stream().memory_bytes() + log().cache_bytes(), 10'000U);
  EXPECT_EQ(ids().size(), 4'000U);
  EXPECT_LT(stream().memory_bytes() + log().cache_bytes(), 200'000U);
  EXPECT_EQ(ids({3'999, 0}), (std::vector<StreamId>{{3'999, 0}, {4'000, 0}}));
}

TEST_F(StreamsTest, SequentialReaderReadsStoreOncePerPortion) {
  append_up_to(1'000);
  reopen();
  for (std::uint64_t ms = 1; ms <= 1'000; ++ms) {
    bool found = false;
    ASSERT_TRUE(log().contains({ms, 0}, found).ok());
    ASSERT_TRUE(found);
  }
  EXPECT_LE(store_.reads, 3U);
}

TEST_F(StreamsTest, NewStreamNeverReadsStore) {
  append_up_to(100);
  append({200, 0});
  EXPECT_EQ(ids().size(), 101U);
  EXPECT_EQ(erase({{1, 0}, {50, 0}}), 2U);
  EXPECT_EQ(trim_to(10), 89U);
  EXPECT_EQ(ids().size(), 10U);
  EXPECT_EQ(store_.reads, 0U);
}

TEST_F(StreamsTest, TrimmedSegmentsLeaveStore) {
  append_up_to(3'000);
  EXPECT_EQ(trim_to(5), 2'995U);
  commit();
  EXPECT_EQ(segments_in_store(), 5U);
  EXPECT_EQ(trim_to(0), 5U);
  EXPECT_EQ(ids().size(), 0U);
  reopen();
  EXPECT_EQ(ids().size(), 0U);
  append({9'000, 0});
  reopen();
  EXPECT_EQ(ids(), (std::vector<StreamId>{{9'000, 0}}));
}

TEST_F(StreamsTest, DeletionAtHeadNeedsNoRecord) {
  append_up_to(10);
  EXPECT_EQ(erase({{3, 0}, {2, 0}, {5, 0}}), 3U);
  EXPECT_EQ(log().deletions().count(), 3U);
  EXPECT_EQ(erase({{1, 0}}), 1U);
  EXPECT_EQ(log().first_id(), (StreamId{4, 0}));
  EXPECT_EQ(log().deletions().count(), 1U) << "only 5-0 has to be skipped";
  reopen();
  EXPECT_EQ(log().deletions().count(), 1U);
  EXPECT_EQ(ids({1, 0}, {6, 0}), (std::vector<StreamId>{{4, 0}, {6, 0}}));
}

TEST_F(StreamsTest, StreamRemovedInSameBatchLeavesNothing) {
  append({1, 0});
  streams::create_consumer(db(), object(), group(), "c");
  db().remove(object());
  reopen();
  EXPECT_EQ(db().find("s"), nullptr);
}

TEST_F(StreamsTest, MovedStreamKeepsEverything) {
  append_up_to(3);
  StreamConsumer& consumer = streams::create_consumer(db(), object(), group(), "c");
  streams::assign_pending(db(), object(), group(), {2, 0}, {&consumer, 5, 1});
  db().move(object(), keyspace_->db(3), "t");
  append({1, 0});  // in a new stream at the old key
  reopen();
  Stream& moved = keyspace_->db(3).find("t")->stream();
  EXPECT_EQ(moved.log().length(), 3U);
  EXPECT_TRUE(moved.groups().find("g")->pending.contains({2, 0}));
  EXPECT_EQ(ids(), (std::vector<StreamId>{{1, 0}}));
  EXPECT_TRUE(stream().groups().empty());
}

// ---- Failures ----

TEST_F(StreamsTest, FailedReadChangesNothing) {
  append_up_to(10);
  reopen();
  faulty_.fail_reads(kDiskIsGone);
  const StreamCounters before = log().counters();
  std::uint64_t count = 0;
  const StreamId id{1, 0};
  EXPECT_EQ(streams::erase(db(), object(), {&id, 1}, count).message(), "the disk is gone");
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(streams::trim(db(), object(), {.length_max = 3}, count).message(), "the disk is gone");
  EXPECT_EQ(count, 0U);
  EXPECT_FALSE(
      log().read(StreamId::min(), StreamId::max(), [](const StreamEntry&) { return true; }).ok());
  EXPECT_FALSE(
      log()
          .read_back(StreamId::min(), StreamId::max(), [](const StreamEntry&) { return true; })
          .ok());
  EXPECT_EQ(log().counters(), before);
  EXPECT_TRUE(changes().empty());

  faulty_.fail_reads(absl::OkStatus());
  EXPECT_EQ(ids().size(), 10U);
  EXPECT_EQ(erase({id}), 1U);
}

TEST_F(StreamsTest, HalfFailedDeletionIsUndone) {
  store_.chunk_bytes = 1;
  append_up_to(10);
  reopen();
  bool found = false;
  ASSERT_TRUE(log().contains({1, 0}, found).ok());  // caches this segment only
  faulty_.fail_reads(kDiskIsGone);
  std::uint64_t count = 0;
  const StreamId id{1, 0};
  EXPECT_FALSE(streams::erase(db(), object(), {&id, 1}, count).ok());
  faulty_.fail_reads(absl::OkStatus());
  EXPECT_EQ(ids().size(), 10U);
  EXPECT_EQ(log().length(), 10U);
  EXPECT_EQ(log().deletions().count(), 0U);
  EXPECT_EQ(log().max_deleted_id(), StreamId{});
}

TEST_F(StreamsTest, InvalidSegmentIsDataLoss) {
  append_up_to(3);
  commit();
  ASSERT_TRUE(make_unreadable(store_, log().object_id()).ok());
  open();
  const absl::Status read =
      log().read(StreamId::min(), StreamId::max(), [](const StreamEntry&) { return true; });
  EXPECT_TRUE(absl::IsDataLoss(read));
}

TEST_F(StreamsTest, EntriesAboveLastIdAreDataLoss) {
  static constexpr std::array<std::string_view, 1> kNames = {"f"};
  const StreamField field{"f", "1"};
  append_up_to(2);
  append({1'000'000, 3});
  StreamCounters counters = log().counters();
  counters.last_id = {2, 0};
  log().set_counters(counters);
  reopen();
  EXPECT_TRUE(absl::IsDataLoss(streams::append(db(), object(), {4, 0}, {&field, 1})));
  const absl::StatusOr<StreamId> id = streams::append_automatic(db(), object(), {&field, 1});
  EXPECT_EQ(id.status().message(),
            "the store holds entry 1000000-3 of stream 1, whose last id is 2-0");
  const std::vector<std::int64_t> values = {1};
  EXPECT_TRUE(absl::IsDataLoss(streams::append_rows(db(), object(), kNames, values)));
  for (const StreamId last : {StreamId{1, 0}, StreamId{2'000'000, 0}}) {
    EXPECT_TRUE(absl::IsDataLoss(streams::set_history(db(), object(), last, 3, {})));
  }
  reopen();
  EXPECT_EQ(log().last_id(), (StreamId{2, 0}));
  EXPECT_EQ(log().length(), 3U);
}

TEST_F(StreamsTest, OrphanedSegmentsJoinNoNewStream) {
  append({5, 0});
  commit();
  StoreBatch batch;
  const std::uint64_t next = log().object_id() + 1;
  batch.append_segment(next, {1, 0}, "nobody's");
  ASSERT_TRUE(store_.commit(batch).ok());
  open();
  ASSERT_TRUE(copy_object(object(), db(), "copy").ok());
  EXPECT_EQ(db().find("copy")->stream().log().object_id(), next + 1);
}

TEST_F(StreamsTest, UnassignedStreamNumberIsDataLoss) {
  constexpr std::uint64_t kFirstNotGiven = std::uint64_t{1} << 61;
  StoreBatch batch;
  batch.append_segment(kFirstNotGiven - 1, {1, 0}, "nobody's");
  ASSERT_TRUE(store_.commit(batch).ok());
  EXPECT_TRUE(Keyspace(faulty_, 7).load().ok());
  batch.clear();
  batch.append_segment(kFirstNotGiven, {1, 0}, "nobody's");
  ASSERT_TRUE(store_.commit(batch).ok());
  EXPECT_EQ(Keyspace(faulty_, 7).load().message(),
            "the store holds object 2305843009213693952, a number that is never given");
}

TEST_F(StreamsTest, UnknownLastStreamPreventsOpening) {
  faulty_.fail_reads(kDiskIsGone);
  EXPECT_TRUE(absl::IsUnavailable(Keyspace(faulty_, 7).load()));
}

TEST_F(StreamsTest, StoreEndIsReadOnceAfterOpening) {
  append_up_to(2);
  EXPECT_EQ(store_.reads, 0U);
  reopen();
  append({3, 0});
  commit();
  append({4, 0});
  EXPECT_EQ(store_.reads, 1U);
}

TEST_F(StreamsTest, UnknownStoreEndPreventsAppends) {
  append_up_to(2);
  reopen();
  faulty_.fail_reads(kDiskIsGone);
  const StreamField field{"f", "1"};
  EXPECT_TRUE(absl::IsUnavailable(streams::append(db(), object(), {3, 0}, {&field, 1})));
  faulty_.fail_reads(absl::OkStatus());
  append({3, 0});
  EXPECT_EQ(ids().size(), 3U);
}

/// A store whose stream header has a wrong count: there are three entries.
class MiscountedStreamTest : public StreamsTest {
 protected:
  void count_as(std::uint64_t length) {
    append_up_to(3);
    append({4, 0});
    EXPECT_EQ(erase({{4, 0}}), 1U);  // so that the last id is not an entry's
    StreamCounters counters = log().counters();
    counters.length = length;
    counters.entries_added = length;
    log().set_counters(counters);
    reopen();
    ASSERT_EQ(log().length(), length);
  }
  void erasing_is_data_loss(const std::vector<StreamId>& erased_ids) {
    std::uint64_t erased = 0;
    EXPECT_TRUE(absl::IsDataLoss(streams::erase(db(), object(), erased_ids, erased)));
    nothing_has_changed();
  }
  void trimming_is_data_loss(const StreamLog::TrimTo& to) {
    std::uint64_t removed = 0;
    EXPECT_TRUE(absl::IsDataLoss(streams::trim(db(), object(), to, removed)));
    nothing_has_changed();
  }
  void copying_is_data_loss() {
    EXPECT_TRUE(absl::IsDataLoss(copy_object(object(), db(), "copy")));
    nothing_has_changed();
  }
  void a_lower_last_id_is_data_loss() {
    EXPECT_TRUE(
        absl::IsDataLoss(streams::set_history(db(), object(), {3, 0}, log().entries_added(), {})));
    nothing_has_changed();
  }

 private:
  void nothing_has_changed() {
    const std::uint64_t length = log().length();
    reopen();
    EXPECT_EQ(db().size(), 1U);
    EXPECT_EQ(log().length(), length);
    EXPECT_EQ(ids(), (std::vector<StreamId>{{1, 0}, {2, 0}, {3, 0}}));
    EXPECT_EQ(log().deletions().count(), 1U);
  }
};

TEST_F(MiscountedStreamTest, LostEntriesAreDetectedAtEnd) {
  count_as(5);
  erasing_is_data_loss({{1, 0}, {2, 0}, {3, 0}});
  trimming_is_data_loss({.length_max = 1});
  copying_is_data_loss();
  a_lower_last_id_is_data_loss();
  trimming_is_data_loss({.length_max = {}, .min_id = {4, 1}, .whole_nodes = true});
  EXPECT_EQ(trim_to(3), 2U);  // stops before the end
}

TEST_F(MiscountedStreamTest, DeletionBeyondCountIsDetected) {
  count_as(1);
  erasing_is_data_loss({{2, 0}});
  erasing_is_data_loss({{1, 0}, {2, 0}});
  copying_is_data_loss();
  a_lower_last_id_is_data_loss();
  trimming_is_data_loss({.length_max = {}, .min_id = {2, 0}});
  trimming_is_data_loss({.length_max = {}, .min_id = {3, 0}});
}

// ---- Groups ----

TEST_F(StreamsTest, RemovedGroupOfNewStreamIsKept) {
  append({1, 0});
  StreamConsumer& consumer = streams::create_consumer(db(), object(), group(), "c");
  streams::remove_consumer(db(), object(), group(), consumer);
  streams::destroy_group(db(), object(), group());
  // The lists of pending records refer to both, so the undo steps own them.
  EXPECT_EQ(changes().savepoint().undo_steps, 3U) << "stream, consumer, group";
  reopen();
  EXPECT_TRUE(stream().groups().empty());
}

TEST_F(StreamsTest, RecreatedGroupIsEmpty) {
  append_up_to(3);
  StreamConsumer& consumer = streams::create_consumer(db(), object(), group(), "c");
  streams::assign_pending(db(), object(), group(), {2, 0}, {&consumer, 5, 1});
  commit();
  streams::destroy_group(db(), object(), group());
  streams::create_group(db(), object(), "g", {7, 0}, 3);
  reopen();
  EXPECT_EQ(group().last_delivered, (StreamId{7, 0}));
  EXPECT_EQ(group().entries_read, 3);
  EXPECT_TRUE(group().consumers.empty());
  EXPECT_TRUE(group().pending.empty());
}

TEST_F(StreamsTest, NamesWithCommonPrefixStaySeparate) {
  append({1, 0});
  for (const std::string_view name : {"g", "gg", ""}) {
    StreamGroup& made = streams::create_group(db(), object(), name, {}, 0);
    StreamConsumer& consumer = streams::create_consumer(db(), object(), made, name);
    streams::assign_pending(db(), object(), made, {1, 0}, {&consumer, 5, 1});
  }
  commit();
  streams::destroy_group(db(), object(), *stream().groups().find("g"));
  reopen();
  ASSERT_EQ(stream().groups().size(), 2U);
  EXPECT_EQ(stream().groups().find("gg")->pending.size(), 1U);
  EXPECT_EQ(stream().groups().find("")->pending.size(), 1U);
}

TEST_F(StreamsTest, RestoredConsumerHasItsEntries) {
  append_up_to(3);
  StreamConsumer& a = streams::create_consumer(db(), object(), group(), "a");
  streams::assign_pending(db(), object(), group(), {1, 0}, {&a, 5, 1});
  streams::assign_pending(db(), object(), group(), {2, 0}, {&a, 6, 2});
  commit();
  const Changes::Savepoint savepoint = changes().savepoint();
  EXPECT_EQ(streams::remove_consumer(db(), object(), group(), a), 2U);
  StreamConsumer& again = streams::create_consumer(db(), object(), group(), "a");
  streams::assign_pending(db(), object(), group(), {3, 0}, {&again, 7, 1});
  changes().roll_back_to(savepoint);
  EXPECT_EQ(group().find_consumer("a"), &a);
  EXPECT_EQ(a.pending.size(), 2U);
  EXPECT_EQ(*group().find_pending({2, 0}), (PendingEntry{&a, 6, 2}));
  EXPECT_EQ(group().find_pending({3, 0}), nullptr);
  reopen();
  EXPECT_EQ(group().find_consumer("a")->pending.size(), 2U);
}

TEST_F(StreamsTest, SecondAcknowledgementReturnsFalse) {
  append({1, 0});
  StreamConsumer& consumer = streams::create_consumer(db(), object(), group(), "c");
  streams::assign_pending(db(), object(), group(), {1, 0}, {&consumer, 5, 1});
  EXPECT_TRUE(streams::acknowledge(db(), object(), group(), {1, 0}));
  EXPECT_FALSE(streams::acknowledge(db(), object(), group(), {1, 0}));
  reopen();
  EXPECT_TRUE(group().pending.empty());
  EXPECT_TRUE(group().find_consumer("c")->pending.empty());
}

}  // namespace
}  // namespace rushgate
