// The sizes by which the keyspace divides a stream into nodes are those of listpacks.
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/stream_nodes.h"
#include "engine/redis/keyspace/stream_segment.h"
#include "engine/redis/rdb/stream_node.h"
#include <rushgate/random_seed.h>

namespace rushgate::rdb {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// Entries, and their walk through nodes.
class StreamNodeSizeTest : public ::testing::Test {
 protected:
  void append(StreamId id, const Fields& fields) {
    const std::vector<StreamField> views(fields.begin(), fields.end());
    SegmentWriter segment;
    segment.append(id, views);
    segments_.emplace_back(id, segment.take());
  }
  /// Compares the size of the node after each entry.
  void compare(const EncodingLimits& limits) {
    StreamNodeWalk walk(limits, {});
    StreamNodeWriter node;
    for (const auto& [id, bytes] : segments_) {
      DecodedSegment decoded;
      ASSERT_TRUE(decoded.read(id, bytes));
      const StreamEntry entry = decoded.entry(0, bytes);
      if (walk.begins_node(entry)) node = {};
      walk.pass(entry);
      node.append(entry);
      ASSERT_EQ(walk.position().listpack_bytes(), node.bytes().size()) << id.to_string();
      ASSERT_EQ(walk.position().node_id, node.first());
    }
  }

 private:
  std::vector<std::pair<StreamId, std::string>> segments_;  // of one entry each
};

TEST_F(StreamNodeSizeTest, SizesOfStringsAreThoseOfListpacks) {
  std::uint64_t seq = 0;
  constexpr std::array<std::size_t, 17> kSizes = {
      0,      1,      63,     64,     125,       126,       127,       4'095,    4'096,
      16'377, 16'378, 16'379, 16'380, 2'097'140, 2'097'146, 2'097'147, 2'097'150};
  for (const std::size_t size : kSizes) {
    append({1, ++seq}, {{"f", std::string(size, 'x')}});
    append({1, ++seq}, {{std::string(size, 'y'), "v"}, {"", ""}});
  }
  compare({.stream_node_entries = 0, .stream_node_bytes = 0});
}

TEST_F(StreamNodeSizeTest, SizesOfNumbersAreThoseOfListpacks) {
  std::uint64_t seq = 0;
  for (unsigned bit = 0; bit < 63; ++bit) {
    const std::int64_t bound = std::int64_t{1} << bit;
    for (const std::int64_t value : {bound - 1, bound, bound + 1, -bound - 1, -bound, 1 - bound}) {
      append({1, ++seq}, {{"f", std::to_string(value)}});
      append({1, ++seq}, {{"f", std::to_string(value) + "."}});
    }
    append({1, seq += static_cast<std::uint64_t>(bound)}, {{"12", "0"}});
  }
  compare({.stream_node_entries = 0, .stream_node_bytes = 0});
}

TEST_F(StreamNodeSizeTest, SizesOfRandomNodesAreThoseOfListpacks) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  StreamId id{1, 0};
  for (int i = 0; i < 2'000; ++i) {
    id = {id.ms + random() % 3 * (random() % 5'000), id.seq + 1 + random() % 300};
    Fields fields;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
      fields.emplace_back(std::string(1, static_cast<char>('a' + random() % 2)),
                          std::to_string(random() >> random() % 64) +
                              std::string(random() % 8 == 0 ? random() % 300 : 0, 'x'));
    }
    append(id, fields);
  }
  compare({});
  compare({.stream_node_entries = 300, .stream_node_bytes = 20'000});
}

}  // namespace
}  // namespace rushgate::rdb
