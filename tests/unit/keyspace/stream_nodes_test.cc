// The nodes of streams that trims, deletions and a reopened store leave behind.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/streams.h"
#include "tests/unit/keyspace/stream_test_store.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

class StreamNodesTest : public ::testing::Test {
 protected:
  StreamNodesTest() { open(); }

  void open() {
    keyspace_ = std::make_unique<Keyspace>(store_, 7);
    ASSERT_TRUE(keyspace_->load().ok());
  }
  void reopen() {
    commit();
    open();
  }
  Database& db() { return keyspace_->db(0); }
  Object& object() {
    Object* const found = db().find("s");
    return found != nullptr ? *found : streams::create(db(), "s");
  }
  StreamLog& log() { return object().stream().log(); }
  void commit() { ASSERT_TRUE(keyspace_->commit().ok()); }

  /// Appends an entry of 100 bytes, and some for its numbers. A node has 36 of them.
  void append(std::uint64_t ms, const std::string& name = "f") {
    const std::string value(100, 'x');
    const StreamField field{name, value};
    ASSERT_TRUE(streams::append(db(), object(), {ms, 0}, {&field, 1}).ok());
  }
  void append_up_to(std::uint64_t last, std::uint64_t first = 1) {
    for (std::uint64_t ms = first; ms <= last; ++ms) {
      append(ms);
      commit();
    }
  }
  void erase(std::uint64_t ms) {
    const StreamId id{ms, 0};
    std::uint64_t erased = 0;
    ASSERT_TRUE(streams::erase(db(), object(), {&id, 1}, erased).ok());
    ASSERT_EQ(erased, 1U);
  }
  std::uint64_t trim(const StreamLog::TrimTo& to) {
    std::uint64_t removed = 0;
    EXPECT_TRUE(streams::trim(db(), object(), to, removed).ok());
    return removed;
  }
  std::uint64_t trim_nodes(std::uint64_t length_max) {
    return trim({.length_max = length_max, .whole_nodes = true});
  }
  std::uint64_t nodes() {
    std::uint64_t count = 0;
    EXPECT_TRUE(log().count_nodes(keyspace_->limits(), 10'000, count).ok());
    return count;
  }

  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Keyspace> keyspace_;
};

TEST_F(StreamNodesTest, PlaceInNodeSurvivesReopening) {
  append_up_to(100);
  EXPECT_EQ(nodes(), 3U);
  EXPECT_EQ(trim({.length_max = 70}), 30U);
  const StreamNodePosition position = log().counters().position;
  EXPECT_EQ(position.entries, 30U);
  EXPECT_EQ(position.node_id, (StreamId{1, 0}));
  reopen();
  EXPECT_EQ(log().counters().position, position);
  EXPECT_EQ(nodes(), 3U);
  EXPECT_EQ(trim_nodes(10), 6U + 36U);
  EXPECT_TRUE(log().counters().position.begins_node());
}

TEST_F(StreamNodesTest, OlderHeaderBeginsNode) {
  append_up_to(100);
  trim({.length_max = 70});
  commit();
  std::string key;
  std::string header;
  ASSERT_TRUE(store_
                  .load([&](std::string_view found, std::string_view value) {
                    key = found;
                    header = value;
                  })
                  .ok());
  StreamNodePosition position = log().counters().position;
  std::string written;
  RecordWriter writer(written);
  position.write(writer);
  ASSERT_TRUE(header.ends_with(written));
  header.resize(header.size() - written.size() + 1);  // the number of entries is one byte
  StoreBatch batch;
  batch.put(key, header);
  ASSERT_TRUE(store_.commit(batch).ok());
  open();
  EXPECT_TRUE(log().counters().position.begins_node());
  EXPECT_EQ(log().length(), 70U);
  EXPECT_EQ(nodes(), 2U);
}

TEST_F(StreamNodesTest, GapKeepsPlaceInNode) {
  append_up_to(40);
  for (std::uint64_t ms = 10; ms <= 20; ++ms) {
    erase(ms);
    commit();
  }
  ASSERT_EQ(log().deletions().gaps().size(), 1U);
  EXPECT_EQ(log().deletions().gaps().begin()->second.next.entries, 20U);
  reopen();
  EXPECT_EQ(log().deletions().gaps().begin()->second.next.entries, 20U);
  EXPECT_EQ(trim_nodes(3), 36U - 11U);
  EXPECT_EQ(log().first_id(), (StreamId{37, 0}));
}

TEST_F(StreamNodesTest, FarGapBeginsNode) {
  append_up_to(1'200);
  erase(1'100);
  commit();
  ASSERT_EQ(log().deletions().gaps().size(), 1U);
  EXPECT_TRUE(log().deletions().gaps().begin()->second.next.begins_node());
}

TEST_F(StreamNodesTest, DeletedLastNodeIsGone) {
  append_up_to(45);
  for (std::uint64_t ms = 37; ms <= 45; ++ms) erase(ms);
  commit();
  append_up_to(81, 46);
  EXPECT_EQ(nodes(), 2U);
  EXPECT_EQ(trim_nodes(36), 36U);
}

TEST_F(StreamNodesTest, RollbackForgetsFirstNode) {
  append_up_to(20);
  const Changes::Savepoint before = keyspace_->changes().savepoint();
  for (std::uint64_t ms = 21; ms <= 60; ++ms) append(ms);
  EXPECT_EQ(trim_nodes(40), 0U) << "reads the first node";
  keyspace_->changes().roll_back_to(before);
  for (std::uint64_t ms = 21; ms <= 60; ++ms) append(ms, std::string(200, 'n'));
  EXPECT_EQ(trim_nodes(20), 20U + 5U);
}

TEST_F(StreamNodesTest, NewLimitsReadFirstNodeAgain) {
  append_up_to(60);
  EXPECT_EQ(trim_nodes(50), 0U);
  EncodingLimits limits;
  limits.stream_node_entries = 5;
  keyspace_->set_limits(limits);
  EXPECT_EQ(trim_nodes(50), 10U);
  EXPECT_EQ(nodes(), 10U);
}

TEST_F(StreamNodesTest, UnreadableEntriesTrimNothing) {
  append_up_to(60);
  commit();
  ASSERT_TRUE(make_unreadable(store_, log().object_id()).ok());
  open();
  std::uint64_t removed = 0;
  EXPECT_FALSE(streams::trim(db(), object(), {.length_max = 5, .whole_nodes = true}, removed).ok());
  EXPECT_EQ(removed, 0U);
  EXPECT_EQ(log().length(), 60U);
}

}  // namespace
}  // namespace rushgate
