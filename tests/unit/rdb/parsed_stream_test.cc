// Streams that contradict themselves are refused.
#include "engine/redis/rdb/parsed_stream.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/rdb/listpack.h"
#include "engine/redis/rdb/rdb_reader.h"
#include "engine/redis/rdb/rdb_writer.h"

namespace rushgate::rdb {
namespace {

/// The parts of a stream with two entries in a node, 5-1 and 5-2 (which is deleted), and a group
/// with a pending entry.
struct Parts {
  StreamId first = {5, 1};
  std::vector<std::int64_t> node = {1, 1, 1, 7, 0,         // one field, named 7
                                    2, 0, 0, 8, 4,         // 5-1: 7 = 8
                                    1, 0, 1, 1, 9, 8, 6};  // 5-2: 9 = 8, deleted
  std::uint64_t nodes = 1;
  std::uint64_t length = 1;
  StreamId last_id = {5, 2};
  StreamId max_deleted_id = {5, 2};
  std::uint64_t entries_added = 2;
  std::vector<std::string> groups = {"g"};
  std::uint64_t entries_read = 1;
  std::vector<StreamId> pending = {{5, 1}};
  std::int64_t delivered_ms = 1;
  std::vector<std::string> consumers = {"c"};
  std::int64_t seen_ms = 1;
  std::vector<StreamId> its_pending = {{5, 1}};
};

std::string bytes_of_stream(const Parts& parts) {
  constexpr std::uint64_t kIdBytes = 16;
  std::string bytes;
  RdbWriter out(bytes);
  ListpackWriter node;
  for (const std::int64_t element : parts.node) node.append(element);
  out.length(parts.nodes);
  for (std::uint64_t i = 0; i < parts.nodes; ++i) {
    out.length(kIdBytes).id(parts.first).string(node.bytes());
  }
  out.length(parts.length).id_pair(parts.last_id).id_pair(parts.first);
  out.id_pair(parts.max_deleted_id).length(parts.entries_added).length(parts.groups.size());
  for (const std::string& group : parts.groups) {
    out.string(group).id_pair({5, 1}).length(parts.entries_read).length(parts.pending.size());
    for (const StreamId id : parts.pending) out.id(id).time_ms(parts.delivered_ms).length(1);
    out.length(parts.consumers.size());
    for (const std::string& consumer : parts.consumers) {
      out.string(consumer).time_ms(parts.seen_ms).length(parts.its_pending.size());
      for (const StreamId id : parts.its_pending) out.id(id);
    }
  }
  return bytes;
}

bool is_valid_stream(const Parts& parts) {
  const std::string bytes = bytes_of_stream(parts);
  RdbReader reader(bytes);
  read_stream(reader, StreamFormat::k7);
  return reader.ok();
}

bool is_valid_with(const std::function<void(Parts&)>& change) {
  Parts parts;
  change(parts);
  return is_valid_stream(parts);
}

TEST(ParsedStreamTest, ConsistentStreamIsRead) {
  const std::string bytes = bytes_of_stream({});
  RdbReader reader(bytes);
  const ParsedStream stream = read_stream(reader, StreamFormat::k7);
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ(stream.nodes.size(), 1U);
  EXPECT_EQ(stream.nodes[0].first, (StreamId{5, 1}));
  EXPECT_EQ(stream.entries_added, 2U);
  ASSERT_EQ(stream.groups.size(), 1U);
  EXPECT_EQ(stream.groups[0].entries_read, 1);
  EXPECT_EQ(stream.groups[0].pending.at({5, 1}).consumer, 0U);
}

TEST(ParsedStreamTest, EveryPartIsNeeded) {
  const std::string bytes = bytes_of_stream({});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string part = bytes.substr(0, size);
    RdbReader reader(part);
    read_stream(reader, StreamFormat::k7);
    EXPECT_FALSE(reader.ok()) << size;
  }
}

TEST(ParsedStreamTest, EveryElementOfNodeCounts) {
  for (std::size_t i = 0; i < Parts().node.size(); ++i) {
    const bool is_content = i == 3 || i == 8 || i == 14 || i == 15;  // names and values
    EXPECT_EQ(is_valid_with([&](Parts& parts) { parts.node[i] += 4; }), is_content) << i;
    const auto place = static_cast<std::ptrdiff_t>(i);
    EXPECT_FALSE(is_valid_with([&](Parts& parts) { parts.node.erase(parts.node.begin() + place); }))
        << i;
  }
}

TEST(ParsedStreamTest, WrongCountersAreRefused) {
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.length = 2; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.length = 0; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.last_id = {5, 1}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.max_deleted_id = {5, 3}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.entries_added = 0; }));
  EXPECT_TRUE(is_valid_with([](Parts& parts) { parts.entries_added = 1ULL << 63; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.entries_added = (3ULL << 62) + 1; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.first = {0, 0}; }));
}

TEST(ParsedStreamTest, RepeatedNodeIsRefused) {
  EXPECT_FALSE(is_valid_with([](Parts& parts) {
    parts.nodes = 2;
    parts.length = 2;
  }));
}

TEST(ParsedStreamTest, WrongGroupsAreRefused) {
  EXPECT_TRUE(is_valid_with([](Parts& parts) { parts.entries_read = ~std::uint64_t{0}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.entries_read = ~std::uint64_t{1}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.groups = {"g", "g"}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.delivered_ms = -1; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.seen_ms = -1; }));
}

TEST(ParsedStreamTest, PendingEntryHasOneConsumer) {
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.its_pending = {}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.its_pending = {{5, 1}, {5, 1}}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.its_pending = {{5, 1}, {5, 2}}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.pending = {{5, 1}, {5, 1}}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) { parts.consumers = {"c", "d"}; }));
  EXPECT_FALSE(is_valid_with([](Parts& parts) {
    parts.consumers = {"c", "c"};
    parts.pending = parts.its_pending = {};
  }));
}

}  // namespace
}  // namespace rushgate::rdb
