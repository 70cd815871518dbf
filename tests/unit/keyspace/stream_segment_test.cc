#include "engine/redis/keyspace/stream_segment.h"

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/keyspace/stream_entries.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

std::string encode(const std::vector<Entry>& entries) {
  SegmentWriter writer;
  for (const Entry& entry : entries) append(writer, entry);
  return writer.bytes();
}

void expect_round_trip(const std::vector<Entry>& entries) {
  const std::string bytes = encode(entries);
  DecodedSegment segment;
  ASSERT_TRUE(segment.read(entries.front().id, bytes));
  EXPECT_EQ(entries_of(segment, bytes), entries);
}

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

TEST(StreamSegmentTest, EntriesStayUnchanged) {
  expect_round_trip({{{5, 0}, {{"a", "1"}}}});
  expect_round_trip({{{0, 1}, {{"", ""}}}, {{0, 2}, {{"", ""}}}});
  expect_round_trip({{{5, 0}, {{"a", "1"}, {"b", "text"}}},
                     {{5, 1}, {{"a", "-7"}, {"b", "12"}}},
                     {{6, 0}, {{"a", "007"}, {"b", std::string("\0\r\n", 3)}}},
                     {{6, 9}, {{"a", "x"}}},
                     {{7, 0}, {{"b", "1"}, {"a", "1"}}},
                     {{8, 0}, {{"a", "1"}, {"a", "2"}, {"a", "3"}}}});
}

TEST(StreamSegmentTest, ExtremeNumbersAndIdsStayUnchanged) {
  expect_round_trip({{{1, 0}, {{"n", std::to_string(kLowest)}}},
                     {{1, 1}, {{"n", std::to_string(kHighest)}}},
                     {{1, 2}, {{"n", std::to_string(kLowest)}}},
                     {{1, 3}, {{"n", "9223372036854775808"}}},
                     {{1, 4}, {{"n", "-0"}}}});
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  expect_round_trip({{{top, 0}, {{"n", "1"}}}, {{top, top}, {{"n", "1"}}}});
  expect_round_trip(
      {{{0, top}, {{"n", "1"}}}, {{(std::uint64_t{1} << 62) - 1, top}, {{"n", "1"}}}});
}

TEST(StreamSegmentTest, RowsAreWrittenAsSingleEntries) {
  static constexpr std::array<std::string_view, 2> kNames = {"user",
                                                             "a rather long name of a field"};
  std::mt19937_64 random(5);
  for (const std::uint64_t rows : {1U, 2U, 500U, 5'000U}) {
    SegmentWriter single;
    SegmentWriter together;
    for (SegmentWriter* writer : {&single, &together}) append(*writer, {{5, 1}, {{"user", "7"}}});
    std::vector<std::int64_t> values(2 * rows);
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random());
    const std::size_t appended = together.append_rows({9, 3}, kNames, values);
    EXPECT_TRUE(appended == rows || !together.takes({9, 3 + appended}));
    for (std::size_t i = 0; i < appended; ++i) {
      ASSERT_TRUE(single.takes({9, 3 + i}));
      append(single, {{9, 3 + i},
                      {{std::string(kNames[0]), std::to_string(values[2 * i])},
                       {std::string(kNames[1]), std::to_string(values[2 * i + 1])}}});
    }
    EXPECT_EQ(together.bytes(), single.bytes());
    EXPECT_EQ(together.last(), single.last());
    // Later rows have the same columns.
    const std::uint64_t next = 3 + appended;
    if (!single.takes({9, next})) continue;
    append(single, {{9, next}, {{std::string(kNames[0]), "1"}, {std::string(kNames[1]), "2"}}});
    together.append_rows({9, next}, kNames, std::vector<std::int64_t>{1, 2});
    EXPECT_EQ(together.bytes(), single.bytes());
  }
}

TEST(StreamSegmentTest, OrderTakesAboutTenBytes) {
  std::mt19937_64 random(1);
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < 500; ++i) {
    entries.push_back({{1'700'000'000'000 + i / 10, i % 10},
                       {{"userId", std::to_string(random() % 10'000'000)},
                        {"voucherId", "17"},
                        {"id", std::to_string(346'345'633'123'123'123 + i)},
                        {"limit", "1"}}});
  }
  EXPECT_LT(encode(entries).size(), entries.size() * 11);
  expect_round_trip(entries);
}

TEST(StreamSegmentTest, PositionOfIdIsFound) {
  const std::string bytes =
      encode({{{5, 0}, {{"a", "1"}}}, {{5, 4}, {{"a", "1"}}}, {{9, 0}, {{"a", "1"}}}});
  DecodedSegment segment;
  ASSERT_TRUE(segment.read({5, 0}, bytes));
  EXPECT_EQ(segment.lower_bound({0, 0}), 0U);
  EXPECT_EQ(segment.lower_bound({5, 0}), 0U);
  EXPECT_EQ(segment.lower_bound({5, 1}), 1U);
  EXPECT_EQ(segment.lower_bound({9, 0}), 2U);
  EXPECT_EQ(segment.lower_bound({9, 1}), 3U);
  EXPECT_EQ(segment.last(), (StreamId{9, 0}));
}

TEST(StreamSegmentTest, GrownSegmentIsReadFromOldEnd) {
  SegmentWriter writer;
  DecodedSegment segment;
  std::vector<Entry> entries;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    entries.push_back(
        {{i, 0}, {{i % 7 == 0 ? "other" : "name", i % 5 == 0 ? "text" : std::to_string(i * i)}}});
    append(writer, entries.back());
    ASSERT_TRUE(segment.read(writer.first(), writer.bytes()));
    ASSERT_EQ(entries_of(segment, writer.bytes()), entries);
  }
}

TEST(StreamSegmentTest, RolledBackEntryLeavesNoTrace) {
  SegmentWriter writer;
  append(writer, {{1, 0}, {{"a", "100"}}});
  const SegmentWriter::Savepoint savepoint = writer.savepoint();
  append(writer, {{2, 0}, {{"a", "200"}}});
  append(writer, {{3, 0}, {{"b", "x"}}});
  writer.roll_back_to(savepoint);
  EXPECT_EQ(writer.last(), (StreamId{1, 0}));
  append(writer, {{2, 0}, {{"a", "300"}}});
  append(writer, {{2, 1}, {{"a", "301"}}});
  DecodedSegment segment;
  ASSERT_TRUE(segment.read(writer.first(), writer.bytes()));
  EXPECT_EQ(entries_of(segment, writer.bytes()),
            (std::vector<Entry>{
                {{1, 0}, {{"a", "100"}}}, {{2, 0}, {{"a", "300"}}}, {{2, 1}, {{"a", "301"}}}}));

  writer.roll_back_to({});
  EXPECT_TRUE(writer.empty());
  append(writer, {{1, 5}, {{"a", "1"}}});
  EXPECT_EQ(writer.first(), (StreamId{1, 5}));
}

TEST(StreamSegmentTest, SegmentIsBounded) {
  SegmentWriter writer;
  std::uint64_t ms = 0;
  while (writer.takes({++ms, 0})) append(writer, {{ms, 0}, {{"name", std::string(100, 'x')}}});
  EXPECT_GE(writer.bytes().size(), SegmentWriter::kBytesMax);
  EXPECT_LT(writer.bytes().size(), SegmentWriter::kBytesMax + 200);

  SegmentWriter early;
  append(early, {{1, 0}, {{"a", "1"}}});
  EXPECT_TRUE(early.takes({std::uint64_t{1} << 62, 0}));
  EXPECT_FALSE(early.takes({(std::uint64_t{1} << 62) + 1, 0}));
}

TEST(StreamSegmentTest, TruncatedSegmentIsShorterOrInvalid) {
  const std::vector<Entry> entries = {{{5, 0}, {{"a", "1"}, {"b", "text"}}},
                                      {{5, 1}, {{"a", "-7"}, {"b", "12"}}},
                                      {{6, 0}, {{"c", "300"}}}};
  const std::string bytes = encode(entries);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string_view cut = std::string_view(bytes).substr(0, size);
    DecodedSegment segment;
    if (!segment.read({5, 0}, cut)) {
      EXPECT_EQ(segment.size(), 0U);
      continue;
    }
    const std::vector<Entry> read = entries_of(segment, cut);
    ASSERT_LT(read.size(), entries.size());
    EXPECT_TRUE(std::equal(read.begin(), read.end(), entries.begin()));
  }
}

TEST(StreamSegmentTest, RandomBytesAreReadSafely) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const std::string sound = encode({{{5, 0}, {{"a", "1"}, {"b", "text"}, {"c", "9000000000"}}},
                                    {{5, 1}, {{"a", "-7"}, {"b", "12"}, {"c", "1"}}},
                                    {{6, 0}, {{"c", "300"}}}});
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = random() % 2 == 0 ? sound : std::string(random() % 40, '\0');
    for (std::size_t changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    DecodedSegment segment;
    if (!segment.read({5, 0}, bytes)) continue;
    const std::vector<Entry> read = entries_of(segment, bytes);
    for (std::size_t i = 1; i < read.size(); ++i) ASSERT_LT(read[i - 1].id, read[i].id);
  }
}

}  // namespace
}  // namespace rushgate
