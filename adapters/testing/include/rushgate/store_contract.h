// The contract of Store as a test suite. Include this in one file of a test program, and
// instantiate StoreTest with a way to make your store:
//
//   namespace rushgate::store_contract {
//   INSTANTIATE_TEST_SUITE_P(Mine, StoreTest, ::testing::Values(Maker{"Mine", make_mine}));
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rushgate/random_seed.h>
#include <rushgate/store.h>

namespace rushgate {

inline bool operator==(const StreamSegment& a, const StreamSegment& b) {
  return a.first == b.first && a.bytes == b.bytes;
}
inline void PrintTo(const StreamSegment& segment, std::ostream* out) {
  *out << segment.first.to_string() << ':' << ::testing::PrintToString(segment.bytes);
}

namespace store_contract {

using Records = std::vector<std::pair<std::string, std::string>>;
using Segments = std::vector<StreamSegment>;

inline constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();

/// A store and everything that it needs.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual Store& store() = 0;
  /// Closes the store and opens it again, as a new process does. Then load() may be called.
  virtual void reopen() = 0;
};

struct Maker {
  std::string name;
  std::function<std::unique_ptr<Subject>()> make;
};

class StoreTest : public ::testing::TestWithParam<Maker> {
 protected:
  StoreTest() : subject_(GetParam().make()) {}

  Store& store() { return subject_->store(); }
  void reopen() { subject_->reopen(); }

  Records load() {
    Records records;
    EXPECT_TRUE(store()
                    .load([&](std::string_view key, std::string_view value) {
                      records.emplace_back(key, value);
                    })
                    .ok());
    return records;
  }

  void commit(const std::function<void(StoreBatch&)>& fill) {
    StoreBatch batch;
    fill(batch);
    const absl::Status status = store().commit(batch);
    ASSERT_TRUE(status.ok()) << status;
  }

  // Appends segments that begin at the given ms, which is also their content.
  void append(std::uint64_t stream, const std::vector<std::uint64_t>& firsts) {
    for (const std::uint64_t ms : firsts) {
      commit([&](StoreBatch& batch) { batch.append_segment(stream, {ms, 0}, std::to_string(ms)); });
    }
  }

  Segments read(std::uint64_t stream, StreamId from = StreamId::min(),
                StreamId to = StreamId::max(), std::size_t bytes_max = kNoBound) {
    Segments segments;
    const absl::Status status = store().read_stream(stream, from, to, bytes_max, segments);
    EXPECT_TRUE(status.ok()) << status;
    return segments;
  }

  Segments read_back(std::uint64_t stream, StreamId from = StreamId::max(),
                     StreamId to = StreamId::min(), std::size_t bytes_max = kNoBound) {
    Segments segments;
    const absl::Status status = store().read_stream_back(stream, from, to, bytes_max, segments);
    EXPECT_TRUE(status.ok()) << status;
    return segments;
  }

  std::uint64_t last_stream() {
    std::uint64_t stream = 1;
    const absl::Status status = store().find_last_stream(stream);
    EXPECT_TRUE(status.ok()) << status;
    return stream;
  }

  // The segments that append() writes.
  static Segments segments(const std::vector<std::uint64_t>& firsts) {
    Segments expected;
    for (const std::uint64_t ms : firsts) expected.push_back({{ms, 0}, std::to_string(ms)});
    return expected;
  }

 private:
  std::unique_ptr<Subject> subject_;
};

TEST_P(StoreTest, LoadVisitsStateInAscendingOrderOfKeys) {
  load();
  commit([](StoreBatch& batch) {
    batch.put("b", "2");
    batch.put(std::string("a\0z", 3), "");
    batch.put("\xff", "last");
  });
  commit([](StoreBatch& batch) { batch.put("a", std::string("1\0", 2)); });
  reopen();
  EXPECT_EQ(load(), (Records{{"a", std::string("1\0", 2)},
                             {std::string("a\0z", 3), ""},
                             {"b", "2"},
                             {"\xff", "last"}}));
}

TEST_P(StoreTest, OperationsOfABatchTakeEffectInOrder) {
  load();
  commit([](StoreBatch& batch) {
    batch.put("k1", "old");
    batch.put("k2", "old");
    batch.remove("k1");
    batch.put("k1", "new");
    batch.remove_range("k2", "k3");
    batch.put("k3", "old");
    batch.remove("k3");
  });
  reopen();
  EXPECT_EQ(load(), (Records{{"k1", "new"}}));
}

TEST_P(StoreTest, RemoveRangeExcludesItsEnd) {
  load();
  commit([](StoreBatch& batch) {
    for (const char* key :
         {"a", "a\xff", "a\xff\xff", "a\xff\xff\x01", "b", "\xff", "\xff\xff\xff"}) {
      batch.put(key, "");
    }
  });
  commit([](StoreBatch& batch) { batch.remove_range("a\xff", "b"); });
  commit([](StoreBatch& batch) { batch.remove_range("\xff\x01", "\xff\xff\xff\xff"); });
  reopen();
  EXPECT_EQ(load(), (Records{{"a", ""}, {"b", ""}, {"\xff", ""}}));
}

TEST_P(StoreTest, EmptyRangeRemovesNothing) {
  load();
  commit([](StoreBatch& batch) { batch.put("b", ""); });
  commit([](StoreBatch& batch) { batch.remove_range("b", "b"); });
  commit([](StoreBatch& batch) { batch.remove_range("c", "a"); });
  reopen();
  EXPECT_EQ(load(), (Records{{"b", ""}}));
}

TEST_P(StoreTest, DropStreamsDropsStreamsInRange) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  load();
  commit([](StoreBatch& batch) {
    for (const std::uint64_t stream :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5}, kLast}) {
      batch.append_segment(stream, {6, 0}, "stored");
    }
  });
  commit([](StoreBatch& batch) {
    batch.append_segment(3, {6, 0}, "appended");
    batch.drop_streams(2, 4);
    batch.append_segment(4, {7, 0}, "later");
    batch.trim_stream(2, {9, 0});
  });
  const auto check = [&] {
    EXPECT_EQ(read(1), (Segments{{{6, 0}, "stored"}}));
    EXPECT_EQ(read(2), Segments());
    EXPECT_EQ(read(3), Segments());
    EXPECT_EQ(read(4), (Segments{{{7, 0}, "later"}}));
    EXPECT_EQ(read(5), (Segments{{{6, 0}, "stored"}}));
  };
  check();
  reopen();
  load();
  check();
  commit([](StoreBatch& batch) { batch.drop_streams(0, kLast); });
  for (const std::uint64_t stream : {std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{5}, kLast}) {
    EXPECT_EQ(read(stream), Segments()) << stream;
  }
}

TEST_P(StoreTest, AnEmptyBatchIsFine) {
  load();
  commit([](StoreBatch&) {});
  commit([](StoreBatch& batch) {
    batch.trim_stream(1, {5, 0});
    batch.drop_stream(2);
  });
  EXPECT_TRUE(store().sync().ok());
}

TEST_P(StoreTest, ReadStreamStartsInsideSegment) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read(1, {20, 0}), segments({20, 30}));
  EXPECT_EQ(read(1, {29, 5}), segments({20, 30}));
  EXPECT_EQ(read(1, {19, 9}), segments({10, 20, 30}));
  EXPECT_EQ(read(1, {99, 0}), segments({30}));
}

TEST_P(StoreTest, ReadStreamFromBelowStartsWithFirstSegment) {
  load();
  append(1, {10, 20});
  EXPECT_EQ(read(1, {3, 0}), segments({10, 20}));
}

TEST_P(StoreTest, ReadStreamEndsInsideSegment) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read(1, {0, 0}, {20, 0}), segments({10, 20}));
  EXPECT_EQ(read(1, {0, 0}, {29, 9}), segments({10, 20}));
  EXPECT_EQ(read(1, {12, 0}, {14, 0}), segments({10}));
  EXPECT_TRUE(read(1, {0, 0}, {9, 9}).empty());
  EXPECT_TRUE(read(1, {30, 0}, {20, 0}).empty());
}

TEST_P(StoreTest, ReadStreamStopsOnceBytesMaxIsPassed) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read(1, {0, 0}, StreamId::max(), 0), segments({10}));
  EXPECT_EQ(read(1, {0, 0}, StreamId::max(), 2), segments({10, 20}));
  EXPECT_EQ(read_back(1, StreamId::max(), {0, 0}, 0), segments({30}));
  EXPECT_EQ(read_back(1, StreamId::max(), {0, 0}, 3), segments({30, 20}));
}

TEST_P(StoreTest, ReadStreamAppendsToOutput) {
  load();
  append(1, {10});
  Segments found = segments({5});
  ASSERT_TRUE(store().read_stream(1, StreamId::min(), StreamId::max(), 0, found).ok());
  EXPECT_EQ(found, segments({5, 10}));
}

TEST_P(StoreTest, ReadStreamBackStartsInsideSegment) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read_back(1), segments({30, 20, 10}));
  EXPECT_EQ(read_back(1, {20, 0}), segments({20, 10}));
  EXPECT_EQ(read_back(1, {29, 9}), segments({20, 10}));
  EXPECT_TRUE(read_back(1, {9, 9}).empty());
}

TEST_P(StoreTest, ReadStreamBackEndsInsideSegment) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read_back(1, StreamId::max(), {20, 0}), segments({30, 20}));
  EXPECT_EQ(read_back(1, StreamId::max(), {19, 9}), segments({30, 20, 10}));
  EXPECT_EQ(read_back(1, {14, 0}, {12, 0}), segments({10}));
  EXPECT_TRUE(read_back(1, {20, 0}, {30, 0}).empty());
}

TEST_P(StoreTest, StreamsDoNotMix) {
  load();
  append(1, {10, 20});
  append(2, {15});
  append(0, {1});
  EXPECT_EQ(read(1), segments({10, 20}));
  EXPECT_EQ(read_back(2), segments({15}));
  EXPECT_EQ(read(2, {17, 0}), segments({15}));
  EXPECT_TRUE(read(3).empty());
  commit([](StoreBatch& batch) {
    batch.drop_stream(1);
    batch.trim_stream(2, {99, 0});
  });
  EXPECT_EQ(read(0), segments({1}));
  EXPECT_EQ(read(2), segments({15}));
}

TEST_P(StoreTest, TheGreatestStreamAndIdAreOrdinary) {
  load();
  const std::uint64_t stream = std::numeric_limits<std::uint64_t>::max();
  commit([&](StoreBatch& batch) {
    batch.append_segment(stream, StreamId::min(), "first");
    batch.append_segment(stream, StreamId::max(), "last");
  });
  EXPECT_EQ(read(stream), (Segments{{StreamId::min(), "first"}, {StreamId::max(), "last"}}));
  EXPECT_EQ(read_back(stream, StreamId::max(), StreamId::max()),
            (Segments{{StreamId::max(), "last"}}));
  commit([&](StoreBatch& batch) { batch.trim_stream(stream, StreamId::max()); });
  EXPECT_EQ(read(stream), (Segments{{StreamId::max(), "last"}}));
  commit([&](StoreBatch& batch) { batch.drop_stream(stream); });
  EXPECT_TRUE(read(stream).empty());
}

TEST_P(StoreTest, SegmentsOfAnySizeAreReadUnchanged) {
  load();
  Segments expected;
  std::string bytes("\0\xff\x80", 3);
  for (std::uint64_t seq = 0; seq < 24; ++seq) {
    expected.push_back({{7, seq * seq}, bytes});
    commit([&](StoreBatch& batch) { batch.append_segment(1, {7, seq * seq}, bytes); });
    if (bytes.size() < 100'000) bytes += bytes;
  }
  EXPECT_EQ(read(1), expected);
  EXPECT_EQ(read(1, {7, 30}, {7, 40}), (Segments{expected[5], expected[6]}));
}

TEST_P(StoreTest, TrimKeepsTheSegmentInWhichBeforeFalls) {
  load();
  append(1, {10, 20, 30});
  commit([](StoreBatch& batch) { batch.trim_stream(1, {9, 0}); });
  EXPECT_EQ(read(1), segments({10, 20, 30}));
  commit([](StoreBatch& batch) { batch.trim_stream(1, {25, 0}); });
  EXPECT_EQ(read(1), segments({20, 30}));
  commit([](StoreBatch& batch) { batch.trim_stream(1, {30, 0}); });
  EXPECT_EQ(read(1), segments({30}));
  EXPECT_EQ(read(1, {12, 0}), segments({30}));
  EXPECT_TRUE(read_back(1, {25, 0}).empty());
  commit([](StoreBatch& batch) { batch.trim_stream(1, StreamId::max()); });
  EXPECT_EQ(read(1), segments({30}));
}

TEST_P(StoreTest, TrimCountsTheSegmentsOfItsOwnBatch) {
  load();
  append(1, {10, 20});
  commit([](StoreBatch& batch) {
    batch.append_segment(1, {30, 0}, "30");
    batch.append_segment(1, {40, 0}, "40");
    batch.trim_stream(1, {35, 0});
    batch.append_segment(1, {50, 0}, "50");
  });
  EXPECT_EQ(read(1), segments({30, 40, 50}));
  commit([](StoreBatch& batch) {
    batch.append_segment(1, {60, 0}, "60");
    batch.trim_stream(1, {45, 0});
  });
  EXPECT_EQ(read(1), segments({40, 50, 60}));
}

TEST_P(StoreTest, TrimIsNotUndoneByReopening) {
  load();
  append(1, {10, 20, 30});
  commit([](StoreBatch& batch) { batch.trim_stream(1, {20, 0}); });
  reopen();
  load();
  EXPECT_EQ(read(1), segments({20, 30}));
  append(1, {40});
  commit([](StoreBatch& batch) { batch.trim_stream(1, {30, 0}); });
  EXPECT_EQ(read(1), segments({30, 40}));
}

TEST_P(StoreTest, TrimOfManySegmentsLeavesTheRest) {
  load();
  constexpr std::uint64_t kSegments = 5000;
  commit([](StoreBatch& batch) {
    for (std::uint64_t ms = 0; ms < kSegments; ++ms)
      batch.append_segment(1, {ms, 0}, std::to_string(ms));
    batch.append_segment(2, {1, 0}, "1");
  });
  for (const std::uint64_t before : std::vector<std::uint64_t>{0, 1, 3000, 3001, 4998}) {
    commit([&](StoreBatch& batch) { batch.trim_stream(1, {before, 5}); });
    EXPECT_EQ(read(1, StreamId::min(), StreamId::max(), 0), segments({before}));
    EXPECT_EQ(read(1).size(), kSegments - before);
  }
  append(1, {kSegments});
  EXPECT_EQ(read(1), segments({4998, 4999, kSegments}));
  reopen();
  load();
  EXPECT_EQ(read(1), segments({4998, 4999, kSegments}));
  EXPECT_EQ(read(2), segments({1}));
}

TEST_P(StoreTest, RemovedSegmentsAreGoneAnywhere) {
  load();
  append(1, {10, 20, 30, 40});
  append(2, {20});
  commit([](StoreBatch& batch) {
    batch.remove_segment(1, {20, 0});
    batch.remove_segment(1, {21, 0});  // there is none
  });
  EXPECT_EQ(read(1), segments({10, 30, 40}));
  EXPECT_EQ(read(1, {25, 0}, {30, 0}), segments({10, 30}));
  commit([](StoreBatch& batch) {
    batch.remove_segment(1, {10, 0});
    batch.remove_segment(1, {40, 0});
    batch.trim_stream(1, StreamId::max());
  });
  reopen();
  load();
  EXPECT_EQ(read(1), segments({30}));
  commit([](StoreBatch& batch) { batch.remove_segment(1, {30, 0}); });
  EXPECT_TRUE(read(1).empty());
  EXPECT_EQ(last_stream(), 2U);
  EXPECT_EQ(read(2), segments({20}));
  append(1, {50});
  EXPECT_EQ(read(1), segments({50}));
}

TEST_P(StoreTest, DropStreamRemovesAllItsSegments) {
  load();
  append(1, {10, 20});
  commit([](StoreBatch& batch) {
    batch.append_segment(1, {30, 0}, "30");
    batch.drop_stream(1);
  });
  EXPECT_TRUE(read(1).empty());
  append(1, {5});  // below the ids before the drop
  EXPECT_EQ(read(1), segments({5}));
  reopen();
  load();
  EXPECT_EQ(read(1), segments({5}));
}

TEST_P(StoreTest, LastStreamIsGreatestWithSegments) {
  constexpr std::uint64_t kGreatest = 0x1'0000'0000'0001;
  load();
  EXPECT_EQ(last_stream(), 0U);
  append(1, {10});
  append(kGreatest, {10, 20});
  append(0x300, {10});
  EXPECT_EQ(last_stream(), kGreatest);
  reopen();
  load();
  EXPECT_EQ(last_stream(), kGreatest);
  commit([](StoreBatch& batch) { batch.drop_stream(kGreatest); });
  EXPECT_EQ(last_stream(), 0x300U);
}

TEST_P(StoreTest, DropAndAppendShareOneBatch) {
  load();
  commit([](StoreBatch& batch) {
    for (std::uint64_t ms = 0; ms < 3000; ++ms)
      batch.append_segment(1, {ms, 0}, std::to_string(ms));
  });
  commit([](StoreBatch& batch) {
    batch.trim_stream(1, {2000, 0});
    batch.drop_stream(1);
    batch.append_segment(1, {5, 0}, "5");
    batch.append_segment(1, {6, 0}, "6");
    batch.append_segment(1, {7, 0}, "7");
    batch.trim_stream(1, {6, 0});
  });
  EXPECT_EQ(read(1), segments({6, 7}));
  reopen();
  load();
  EXPECT_EQ(read(1), segments({6, 7}));
}

TEST_P(StoreTest, RemovalLeavesLaterAppendOfSameId) {
  load();
  commit([](StoreBatch& batch) { batch.append_segment(1, {5, 0}, "5"); });
  commit([](StoreBatch& batch) {
    for (const std::uint64_t stream : {1U, 2U}) {  // the second one does not exist yet
      batch.remove_segment(stream, {6, 0});
      batch.append_segment(stream, {6, 0}, "6");
    }
  });
  EXPECT_EQ(read(1), segments({5, 6}));
  EXPECT_EQ(read(2), segments({6}));
}

// The simplest possible store.
class Model final : public StoreBatch::Visitor {
 public:
  using Stream = std::map<StreamId, std::string>;

  void put(std::string_view key, std::string_view value) override {
    state[std::string(key)] = value;
  }
  void remove(std::string_view key) override { state.erase(std::string(key)); }
  void remove_range(std::string_view begin, std::string_view end) override {
    std::erase_if(state, [&](const auto& record) {
      return std::string_view(record.first) >= begin && std::string_view(record.first) < end;
    });
  }
  void append_segment(std::uint64_t stream, StreamId first, std::string_view bytes) override {
    streams[stream][first] = bytes;
  }
  void trim_stream(std::uint64_t stream, StreamId before) override {
    Stream& segments = streams[stream];
    while (segments.size() > 1 && std::next(segments.begin())->first <= before)
      segments.erase(segments.begin());
  }
  void remove_segment(std::uint64_t stream, StreamId first) override {
    streams[stream].erase(first);
  }
  void drop_streams(std::uint64_t first, std::uint64_t last) override {
    std::erase_if(
        streams, [&](const auto& stream) { return stream.first >= first && stream.first <= last; });
  }

  Segments read(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max) {
    Stream& segments = streams[stream];
    auto segment = segments.upper_bound(from);
    if (segment != segments.begin()) --segment;
    Segments found;
    std::size_t bytes = 0;
    for (; from <= to && segment != segments.end() && segment->first <= to && bytes <= bytes_max;
         ++segment) {
      found.push_back({segment->first, segment->second});
      bytes += segment->second.size();
    }
    return found;
  }

  Segments read_back(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max) {
    Stream& segments = streams[stream];
    Segments found;
    std::size_t bytes = 0;
    for (auto segment = segments.upper_bound(from); from >= to && segment != segments.begin();) {
      --segment;
      found.push_back({segment->first, segment->second});
      bytes += segment->second.size();
      if (segment->first <= to || bytes > bytes_max) break;
    }
    return found;
  }

  std::map<std::string, std::string> state;
  std::map<std::uint64_t, Stream> streams;
};

class RandomOperations {
 public:
  explicit RandomOperations(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::uint64_t stream() { return below(4); }
  std::string key() {
    std::string key;
    for (std::uint64_t length = below(5); key.size() < length;) key += "ab\xff\0"[below(4)];
    return key;
  }
  // Mostly where the streams are now.
  StreamId id() {
    return {below(4) == 0 ? below(now_ + 5) : now_ - below(std::min(now_, 40UL)), below(3)};
  }

  void add_to(StoreBatch& batch) {
    const std::uint64_t kind = below(100);
    if (kind < 20) return batch.put(key(), std::to_string(below(1000)));
    if (kind < 25) return batch.remove(key());
    if (kind < 28) return batch.remove_range(key(), key());
    if (kind < 29) {
      const std::uint64_t first = stream();
      return batch.drop_streams(first, std::max(first, stream()));
    }
    if (kind < 40) return batch.trim_stream(stream(), id());
    if (kind < 50) return batch.remove_segment(stream(), id());
    const std::uint64_t length = below(50) == 0 ? 1 + below(6000) : 1 + below(60);
    batch.append_segment(stream(), {now_ += 1 + below(3), below(3)},
                         std::string(length, static_cast<char>(below(256))));
  }

 private:
  std::mt19937_64 random_;
  std::uint64_t now_ = 1;  // ms of the latest id
};

TEST_P(StoreTest, BehavesAsTheModelDoes) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  RandomOperations random(seed);
  Model model;
  load();
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    StoreBatch batch;
    for (std::uint64_t count = 1 + random.below(12); count > 0; --count) random.add_to(batch);
    ASSERT_TRUE(store().commit(batch).ok());
    batch.visit(model);
    if (random.below(300) == 0) {
      reopen();
      EXPECT_EQ(load(), Records(model.state.begin(), model.state.end()));
    }
    const std::uint64_t stream = random.stream();
    const StreamId from = random.id();
    const StreamId to = random.below(3) == 0 ? StreamId::max() : random.id();
    const std::size_t bytes_max = random.below(500);
    EXPECT_EQ(read(stream, from, to, bytes_max), model.read(stream, from, to, bytes_max));
    EXPECT_EQ(read_back(stream, to, from, bytes_max), model.read_back(stream, to, from, bytes_max));
    if (round % 50 == 0) {
      EXPECT_EQ(read(stream), model.read(stream, StreamId::min(), StreamId::max(), kNoBound));
    }
  }
}

inline std::string name_of(const ::testing::TestParamInfo<Maker>& info) { return info.param.name; }

}  // namespace store_contract
}  // namespace rushgate
