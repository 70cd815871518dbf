// The contract of engine/store/store.h as a test suite. Include this in one file of a test program,
// and instantiate StoreTest with a way to make your store:
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

#include "adapters/testing/random_seed.h"
#include <rushgate/store.h>

namespace rushgate {

inline bool operator==(const StreamRun& a, const StreamRun& b) {
  return a.first == b.first && a.bytes == b.bytes;
}
inline void PrintTo(const StreamRun& run, std::ostream* out) {
  *out << run.first.to_string() << ':' << ::testing::PrintToString(run.bytes);
}

namespace store_contract {

using Records = std::vector<std::pair<std::string, std::string>>;
using Runs = std::vector<StreamRun>;

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

  // Appends runs that begin at the given ms, which is also their content.
  void append(std::uint64_t stream, const std::vector<std::uint64_t>& firsts) {
    for (const std::uint64_t ms : firsts) {
      commit([&](StoreBatch& batch) { batch.append_run(stream, {ms, 0}, std::to_string(ms)); });
    }
  }

  Runs read(std::uint64_t stream, StreamId from = StreamId::min(), StreamId to = StreamId::max(),
            std::size_t bytes_max = kNoBound) {
    Runs runs;
    const absl::Status status = store().read_stream(stream, from, to, bytes_max, runs);
    EXPECT_TRUE(status.ok()) << status;
    return runs;
  }

  Runs read_back(std::uint64_t stream, StreamId from = StreamId::max(),
                 StreamId to = StreamId::min(), std::size_t bytes_max = kNoBound) {
    Runs runs;
    const absl::Status status = store().read_stream_back(stream, from, to, bytes_max, runs);
    EXPECT_TRUE(status.ok()) << status;
    return runs;
  }

  std::uint64_t last_stream() {
    std::uint64_t stream = 1;
    const absl::Status status = store().find_last_stream(stream);
    EXPECT_TRUE(status.ok()) << status;
    return stream;
  }

  // The runs that append() writes.
  static Runs runs(const std::vector<std::uint64_t>& firsts) {
    Runs expected;
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
      batch.append_run(stream, {6, 0}, "stored");
    }
  });
  commit([](StoreBatch& batch) {
    batch.append_run(3, {6, 0}, "appended");
    batch.drop_streams(2, 4);
    batch.append_run(4, {7, 0}, "later");
    batch.trim_stream(2, {9, 0});
  });
  const auto check = [&] {
    EXPECT_EQ(read(1), (Runs{{{6, 0}, "stored"}}));
    EXPECT_EQ(read(2), Runs());
    EXPECT_EQ(read(3), Runs());
    EXPECT_EQ(read(4), (Runs{{{7, 0}, "later"}}));
    EXPECT_EQ(read(5), (Runs{{{6, 0}, "stored"}}));
  };
  check();
  reopen();
  load();
  check();
  commit([](StoreBatch& batch) { batch.drop_streams(0, kLast); });
  for (const std::uint64_t stream : {std::uint64_t{1}, std::uint64_t{4}, std::uint64_t{5}, kLast}) {
    EXPECT_EQ(read(stream), Runs()) << stream;
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

TEST_P(StoreTest, ReadStreamStartsInsideRun) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read(1, {20, 0}), runs({20, 30}));
  EXPECT_EQ(read(1, {29, 5}), runs({20, 30}));
  EXPECT_EQ(read(1, {19, 9}), runs({10, 20, 30}));
  EXPECT_EQ(read(1, {99, 0}), runs({30}));
}

TEST_P(StoreTest, ReadStreamFromBelowStartsWithFirstRun) {
  load();
  append(1, {10, 20});
  EXPECT_EQ(read(1, {3, 0}), runs({10, 20}));
}

TEST_P(StoreTest, ReadStreamEndsInsideRun) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read(1, {0, 0}, {20, 0}), runs({10, 20}));
  EXPECT_EQ(read(1, {0, 0}, {29, 9}), runs({10, 20}));
  EXPECT_EQ(read(1, {12, 0}, {14, 0}), runs({10}));
  EXPECT_TRUE(read(1, {0, 0}, {9, 9}).empty());
  EXPECT_TRUE(read(1, {30, 0}, {20, 0}).empty());
}

TEST_P(StoreTest, ReadStreamStopsOnceBytesMaxIsPassed) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read(1, {0, 0}, StreamId::max(), 0), runs({10}));
  EXPECT_EQ(read(1, {0, 0}, StreamId::max(), 2), runs({10, 20}));
  EXPECT_EQ(read_back(1, StreamId::max(), {0, 0}, 0), runs({30}));
  EXPECT_EQ(read_back(1, StreamId::max(), {0, 0}, 3), runs({30, 20}));
}

TEST_P(StoreTest, ReadStreamAppendsToOutput) {
  load();
  append(1, {10});
  Runs found = runs({5});
  ASSERT_TRUE(store().read_stream(1, StreamId::min(), StreamId::max(), 0, found).ok());
  EXPECT_EQ(found, runs({5, 10}));
}

TEST_P(StoreTest, ReadStreamBackStartsInsideRun) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read_back(1), runs({30, 20, 10}));
  EXPECT_EQ(read_back(1, {20, 0}), runs({20, 10}));
  EXPECT_EQ(read_back(1, {29, 9}), runs({20, 10}));
  EXPECT_TRUE(read_back(1, {9, 9}).empty());
}

TEST_P(StoreTest, ReadStreamBackEndsInsideRun) {
  load();
  append(1, {10, 20, 30});
  EXPECT_EQ(read_back(1, StreamId::max(), {20, 0}), runs({30, 20}));
  EXPECT_EQ(read_back(1, StreamId::max(), {19, 9}), runs({30, 20, 10}));
  EXPECT_EQ(read_back(1, {14, 0}, {12, 0}), runs({10}));
  EXPECT_TRUE(read_back(1, {20, 0}, {30, 0}).empty());
}

TEST_P(StoreTest, StreamsDoNotMix) {
  load();
  append(1, {10, 20});
  append(2, {15});
  append(0, {1});
  EXPECT_EQ(read(1), runs({10, 20}));
  EXPECT_EQ(read_back(2), runs({15}));
  EXPECT_EQ(read(2, {17, 0}), runs({15}));
  EXPECT_TRUE(read(3).empty());
  commit([](StoreBatch& batch) {
    batch.drop_stream(1);
    batch.trim_stream(2, {99, 0});
  });
  EXPECT_EQ(read(0), runs({1}));
  EXPECT_EQ(read(2), runs({15}));
}

TEST_P(StoreTest, TheGreatestStreamAndIdAreOrdinary) {
  load();
  const std::uint64_t stream = std::numeric_limits<std::uint64_t>::max();
  commit([&](StoreBatch& batch) {
    batch.append_run(stream, StreamId::min(), "first");
    batch.append_run(stream, StreamId::max(), "last");
  });
  EXPECT_EQ(read(stream), (Runs{{StreamId::min(), "first"}, {StreamId::max(), "last"}}));
  EXPECT_EQ(read_back(stream, StreamId::max(), StreamId::max()), (Runs{{StreamId::max(), "last"}}));
  commit([&](StoreBatch& batch) { batch.trim_stream(stream, StreamId::max()); });
  EXPECT_EQ(read(stream), (Runs{{StreamId::max(), "last"}}));
  commit([&](StoreBatch& batch) { batch.drop_stream(stream); });
  EXPECT_TRUE(read(stream).empty());
}

TEST_P(StoreTest, RunsOfAnySizeAreReadUnchanged) {
  load();
  Runs expected;
  std::string bytes("\0\xff\x80", 3);
  for (std::uint64_t seq = 0; seq < 24; ++seq) {
    expected.push_back({{7, seq * seq}, bytes});
    commit([&](StoreBatch& batch) { batch.append_run(1, {7, seq * seq}, bytes); });
    if (bytes.size() < 100'000) bytes += bytes;
  }
  EXPECT_EQ(read(1), expected);
  EXPECT_EQ(read(1, {7, 30}, {7, 40}), (Runs{expected[5], expected[6]}));
}

TEST_P(StoreTest, TrimKeepsTheRunInWhichBeforeFalls) {
  load();
  append(1, {10, 20, 30});
  commit([](StoreBatch& batch) { batch.trim_stream(1, {9, 0}); });
  EXPECT_EQ(read(1), runs({10, 20, 30}));
  commit([](StoreBatch& batch) { batch.trim_stream(1, {25, 0}); });
  EXPECT_EQ(read(1), runs({20, 30}));
  commit([](StoreBatch& batch) { batch.trim_stream(1, {30, 0}); });
  EXPECT_EQ(read(1), runs({30}));
  EXPECT_EQ(read(1, {12, 0}), runs({30}));
  EXPECT_TRUE(read_back(1, {25, 0}).empty());
  commit([](StoreBatch& batch) { batch.trim_stream(1, StreamId::max()); });
  EXPECT_EQ(read(1), runs({30}));
}

TEST_P(StoreTest, TrimCountsTheRunsOfItsOwnBatch) {
  load();
  append(1, {10, 20});
  commit([](StoreBatch& batch) {
    batch.append_run(1, {30, 0}, "30");
    batch.append_run(1, {40, 0}, "40");
    batch.trim_stream(1, {35, 0});
    batch.append_run(1, {50, 0}, "50");
  });
  EXPECT_EQ(read(1), runs({30, 40, 50}));
  commit([](StoreBatch& batch) {
    batch.append_run(1, {60, 0}, "60");
    batch.trim_stream(1, {45, 0});
  });
  EXPECT_EQ(read(1), runs({40, 50, 60}));
}

TEST_P(StoreTest, TrimIsNotUndoneByReopening) {
  load();
  append(1, {10, 20, 30});
  commit([](StoreBatch& batch) { batch.trim_stream(1, {20, 0}); });
  reopen();
  load();
  EXPECT_EQ(read(1), runs({20, 30}));
  append(1, {40});
  commit([](StoreBatch& batch) { batch.trim_stream(1, {30, 0}); });
  EXPECT_EQ(read(1), runs({30, 40}));
}

TEST_P(StoreTest, TrimOfManyRunsLeavesTheRest) {
  load();
  constexpr std::uint64_t kRuns = 5000;
  commit([](StoreBatch& batch) {
    for (std::uint64_t ms = 0; ms < kRuns; ++ms) batch.append_run(1, {ms, 0}, std::to_string(ms));
    batch.append_run(2, {1, 0}, "1");
  });
  for (const std::uint64_t before : std::vector<std::uint64_t>{0, 1, 3000, 3001, 4998}) {
    commit([&](StoreBatch& batch) { batch.trim_stream(1, {before, 5}); });
    EXPECT_EQ(read(1, StreamId::min(), StreamId::max(), 0), runs({before}));
    EXPECT_EQ(read(1).size(), kRuns - before);
  }
  append(1, {kRuns});
  EXPECT_EQ(read(1), runs({4998, 4999, kRuns}));
  reopen();
  load();
  EXPECT_EQ(read(1), runs({4998, 4999, kRuns}));
  EXPECT_EQ(read(2), runs({1}));
}

TEST_P(StoreTest, RemovedRunsAreGoneAnywhere) {
  load();
  append(1, {10, 20, 30, 40});
  append(2, {20});
  commit([](StoreBatch& batch) {
    batch.remove_run(1, {20, 0});
    batch.remove_run(1, {21, 0});  // there is none
  });
  EXPECT_EQ(read(1), runs({10, 30, 40}));
  EXPECT_EQ(read(1, {25, 0}, {30, 0}), runs({10, 30}));
  commit([](StoreBatch& batch) {
    batch.remove_run(1, {10, 0});
    batch.remove_run(1, {40, 0});
    batch.trim_stream(1, StreamId::max());
  });
  reopen();
  load();
  EXPECT_EQ(read(1), runs({30}));
  commit([](StoreBatch& batch) { batch.remove_run(1, {30, 0}); });
  EXPECT_TRUE(read(1).empty());
  EXPECT_EQ(last_stream(), 2U);
  EXPECT_EQ(read(2), runs({20}));
  append(1, {50});
  EXPECT_EQ(read(1), runs({50}));
}

TEST_P(StoreTest, DropStreamRemovesAllItsRuns) {
  load();
  append(1, {10, 20});
  commit([](StoreBatch& batch) {
    batch.append_run(1, {30, 0}, "30");
    batch.drop_stream(1);
  });
  EXPECT_TRUE(read(1).empty());
  append(1, {5});  // below the ids before the drop
  EXPECT_EQ(read(1), runs({5}));
  reopen();
  load();
  EXPECT_EQ(read(1), runs({5}));
}

TEST_P(StoreTest, LastStreamIsGreatestWithRuns) {
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
    for (std::uint64_t ms = 0; ms < 3000; ++ms) batch.append_run(1, {ms, 0}, std::to_string(ms));
  });
  commit([](StoreBatch& batch) {
    batch.trim_stream(1, {2000, 0});
    batch.drop_stream(1);
    batch.append_run(1, {5, 0}, "5");
    batch.append_run(1, {6, 0}, "6");
    batch.append_run(1, {7, 0}, "7");
    batch.trim_stream(1, {6, 0});
  });
  EXPECT_EQ(read(1), runs({6, 7}));
  reopen();
  load();
  EXPECT_EQ(read(1), runs({6, 7}));
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
  void append_run(std::uint64_t stream, StreamId first, std::string_view bytes) override {
    streams[stream][first] = bytes;
  }
  void trim_stream(std::uint64_t stream, StreamId before) override {
    Stream& runs = streams[stream];
    while (runs.size() > 1 && std::next(runs.begin())->first <= before) runs.erase(runs.begin());
  }
  void remove_run(std::uint64_t stream, StreamId first) override { streams[stream].erase(first); }
  void drop_streams(std::uint64_t first, std::uint64_t last) override {
    std::erase_if(
        streams, [&](const auto& stream) { return stream.first >= first && stream.first <= last; });
  }

  Runs read(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max) {
    Stream& runs = streams[stream];
    auto run = runs.upper_bound(from);
    if (run != runs.begin()) --run;
    Runs found;
    std::size_t bytes = 0;
    for (; from <= to && run != runs.end() && run->first <= to && bytes <= bytes_max; ++run) {
      found.push_back({run->first, run->second});
      bytes += run->second.size();
    }
    return found;
  }

  Runs read_back(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max) {
    Stream& runs = streams[stream];
    Runs found;
    std::size_t bytes = 0;
    for (auto run = runs.upper_bound(from); from >= to && run != runs.begin();) {
      --run;
      found.push_back({run->first, run->second});
      bytes += run->second.size();
      if (run->first <= to || bytes > bytes_max) break;
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
    if (kind < 50) return batch.remove_run(stream(), id());
    const std::uint64_t length = below(50) == 0 ? 1 + below(6000) : 1 + below(60);
    batch.append_run(stream(), {now_ += 1 + below(3), below(3)},
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
