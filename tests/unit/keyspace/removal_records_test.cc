// Counts the operations by which removed objects leave the store.
#include "engine/redis/keyspace/removal_records.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/request_words.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using testing::request_of;

/// Counts the removals in commits, and forwards them.
class CountingStore final : public Store, private StoreBatch::Visitor {
 public:
  struct Removals {
    std::size_t singles = 0;  // state records
    std::size_t ranges = 0;
    std::size_t streams = 0;  // dropped one by one
    std::size_t stream_ranges = 0;

    friend bool operator==(const Removals&, const Removals&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Removals& removals) {
      return out << removals.singles << " singles, " << removals.ranges << " ranges, "
                 << removals.streams << " streams, " << removals.stream_ranges << " stream ranges";
    }
  };

  explicit CountingStore(Store& store) : store_(store) {}

  /// Returns the removals since the last call.
  Removals take() { return std::exchange(removals_, {}); }

  absl::Status commit(const StoreBatch& batch) override {
    batch.visit(*this);
    return store_.commit(batch);
  }
  absl::Status load(absl::FunctionRef<void(std::string_view, std::string_view)> visit) override {
    return store_.load(visit);
  }
  absl::Status sync() override { return store_.sync(); }
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) override {
    return store_.read_stream(stream, from, to, bytes_max, segments);
  }
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) override {
    return store_.read_stream_back(stream, from, to, bytes_max, segments);
  }
  absl::Status find_last_stream(std::uint64_t& stream) override {
    return store_.find_last_stream(stream);
  }
  [[nodiscard]] Durability durability() const override { return store_.durability(); }

 private:
  void put(std::string_view, std::string_view) override {}
  void remove(std::string_view) override { ++removals_.singles; }
  void remove_range(std::string_view, std::string_view) override { ++removals_.ranges; }
  void append_segment(std::uint64_t, StreamId, std::string_view) override {}
  void trim_stream(std::uint64_t, StreamId) override {}
  void remove_segment(std::uint64_t, StreamId) override {}
  void drop_streams(std::uint64_t first, std::uint64_t last) override {
    ++(first == last ? removals_.streams : removals_.stream_ranges);
  }

  Store& store_;
  Removals removals_;
};

using Removals = CountingStore::Removals;

class RemovalRecordsTest : public ::testing::Test {
 protected:
  RemovalRecordsTest() { reopen(); }

  void reopen() {
    client_.reset();
    engine_.reset();
    auto counting = std::make_unique<CountingStore>(store_);
    counts_ = counting.get();
    auto engine = Engine::open(std::move(counting), {.manual_clock = &clock_});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    client_ = engine_->open_client();
  }

  Reply run(const std::string& command) {
    Reply reply = client_->call(request_of(command));
    EXPECT_FALSE(reply.is_error()) << command << ": " << to_debug_string(reply);
    return reply;
  }
  Removals removals_of(const std::string& command) {
    counts_->take();
    run(command);
    return counts_->take();
  }
  /// Returns `command key 0 1 2 …`, with `value` after each if there is one.
  static std::string with_elements(std::string command, int elements, const char* value = "") {
    for (int i = 0; i < elements; ++i)
      command += ' ' + std::string("e") + std::to_string(i) + value;
    return command;
  }
  static std::string with_scores(std::string command, int elements) {
    for (int i = 0; i < elements; ++i) {
      command += ' ' + std::to_string(i) + " m" + std::to_string(i);
    }
    return command;
  }

  std::size_t records() {
    std::size_t count = 0;
    EXPECT_TRUE(store_.load([&](std::string_view, std::string_view) { ++count; }).ok());
    return count;
  }
  std::uint64_t last_stream() {
    std::uint64_t stream = 0;
    EXPECT_TRUE(store_.find_last_stream(stream).ok());
    return stream;
  }

  ManualClock clock_;
  MemoryStore store_{{.keep_state = true}};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
  CountingStore* counts_ = nullptr;
};

// ---- One object ----

TEST_F(RemovalRecordsTest, FewElementsAreRemovedByKey) {
  run("SET string 1");
  EXPECT_EQ(removals_of("DEL string"), (Removals{.singles = 1}));
  run("SADD set a");
  EXPECT_EQ(removals_of("DEL set"), (Removals{.singles = 2}));
  run("HSET hash 1 a f b");
  EXPECT_EQ(removals_of("DEL hash"), (Removals{.singles = 3}));
  run("ZADD sorted 1 a 2 17");
  EXPECT_EQ(removals_of("DEL sorted"), (Removals{.singles = 3}));
  run("RPUSH list a b c");
  EXPECT_EQ(removals_of("UNLINK list"), (Removals{.singles = 4}));
  run("XADD stream 1-0 f v");
  EXPECT_EQ(removals_of("DEL stream"), (Removals{.singles = 1, .streams = 1}));
  EXPECT_EQ(records(), 0U);
  EXPECT_EQ(last_stream(), 0U);
}

TEST_F(RemovalRecordsTest, ManyElementsAreRemovedByOneRange) {
  constexpr int kMany = kSingleRemovalsMax + 1;
  run(with_elements("RPUSH list", kMany));
  EXPECT_EQ(removals_of("DEL list"), (Removals{.singles = 1, .ranges = 1}));
  run(with_elements("HSET hash", kMany, " v"));
  EXPECT_EQ(removals_of("DEL hash"), (Removals{.singles = 1, .ranges = 1}));
  run(with_scores("ZADD sorted", kMany));
  EXPECT_EQ(removals_of("DEL sorted"), (Removals{.singles = 1, .ranges = 1}));
  run(with_elements("SADD set", kMany));  // a segment; its members may have element records too
  EXPECT_EQ(removals_of("DEL set"), (Removals{.singles = 1, .ranges = 2}));
  EXPECT_EQ(records(), 0U);
}

TEST_F(RemovalRecordsTest, CollectionThatBecomesEmptyWritesNoRange) {
  run("RPUSH l a");
  EXPECT_EQ(removals_of("LPOP l"), (Removals{.singles = 2}));
  run("RPUSH l a a a");
  EXPECT_EQ(removals_of("LREM l 0 a"), (Removals{.singles = 4}));
  run("SADD s a");
  EXPECT_EQ(removals_of("SPOP s").ranges, 0U);
  run("HSET h f v");
  EXPECT_EQ(removals_of("HDEL h f").ranges, 0U);
  run("ZADD z 1 m");
  EXPECT_EQ(removals_of("ZPOPMIN z").ranges, 0U);
  EXPECT_EQ(records(), 0U);
}

TEST_F(RemovalRecordsTest, ReplacedOrExpiredCollectionWritesNoRange) {
  run("SADD s a b");
  EXPECT_EQ(removals_of("SET s 1").ranges, 0U);
  run("SADD a 1 2 3");
  run("SADD b 2 3 4");
  EXPECT_EQ(removals_of("SINTERSTORE a a b").ranges, 0U);
  run("PEXPIRE b 10");
  clock_.advance_ms(20);
  EXPECT_EQ(removals_of("GET b").ranges, 0U);
  run("RENAME s a");
  run("DEL a");
  EXPECT_EQ(records(), 0U);
}

TEST_F(RemovalRecordsTest, TombstonesAreRemovedByKey) {
  run("SADD s 1 2 three");  // a segment
  run("SREM s 1 three");    // two tombstones
  run("SADD s three");      // one of them becomes an element
  run("SADD s 5");
  EXPECT_EQ(removals_of("DEL s").ranges, 0U);
  EXPECT_EQ(records(), 0U);

  run("SADD s 1 2 three");
  run("SREM s 1 three");
  reopen();
  EXPECT_EQ(removals_of("SREM s 2").ranges, 0U);
  EXPECT_EQ(records(), 0U);
}

TEST_F(RemovalRecordsTest, ManyTombstonesAreRemovedByRanges) {
  run(with_elements("SADD s", 100));
  for (int i = 0; i < 99; ++i) run("SREM s e" + std::to_string(i));
  EXPECT_EQ(removals_of("DEL s"), (Removals{.singles = 1, .ranges = 2}));
  EXPECT_EQ(records(), 0U);
}

TEST_F(RemovalRecordsTest, StreamRecordsAreRemovedByKey) {
  for (int i = 1; i <= 5; ++i) run("XADD s " + std::to_string(i) + "-0 f v");
  run("XDEL s 3-0");
  run("XGROUP CREATE s one 0");
  run("XGROUP CREATE s two 0");
  run("XREADGROUP GROUP one alice COUNT 2 STREAMS s >");
  // Header, deleted entry, two groups, a consumer and two pending entries.
  EXPECT_EQ(removals_of("DEL s"), (Removals{.singles = 7, .streams = 1}));
  EXPECT_EQ(records(), 0U);
  EXPECT_EQ(last_stream(), 0U);
}

TEST_F(RemovalRecordsTest, ManyPendingEntriesAreRemovedByOneRange) {
  for (int i = 1; i <= 100; ++i) run("XADD s " + std::to_string(i) + "-0 f v");
  run("XGROUP CREATE s g 0");
  run("XREADGROUP GROUP g alice STREAMS s >");
  EXPECT_EQ(removals_of("DEL s"), (Removals{.singles = 3, .ranges = 1, .streams = 1}));
  EXPECT_EQ(records(), 0U);
}

TEST_F(RemovalRecordsTest, DestroyedGroupRemovesItsRecords) {
  for (int i = 1; i <= 100; ++i) run("XADD s " + std::to_string(i) + "-0 f v");
  for (const char* group : {"a", "b"}) run("XGROUP CREATE s " + std::string(group) + " 0");
  run("XREADGROUP GROUP a alice COUNT 3 STREAMS s >");
  run("XREADGROUP GROUP b bob STREAMS s >");
  const std::size_t before = records();
  EXPECT_EQ(removals_of("XGROUP DESTROY s a"), (Removals{.singles = 5}));
  EXPECT_EQ(records(), before - 5);
  EXPECT_EQ(removals_of("XGROUP DESTROY s b"), (Removals{.singles = 2, .ranges = 1}));
  EXPECT_EQ(records(), 1U);
}

// ---- Whole databases ----

TEST_F(RemovalRecordsTest, FlushAllWritesOneRangePerRecordKind) {
  for (int i = 0; i < 1'000; ++i) {
    const std::string n = std::to_string(i);
    run("SELECT " + std::to_string(i % 3));
    run("SADD set" + n + " 1");
    run("XADD stream" + n + " 1-0 f v");
    run("XGROUP CREATE stream" + n + " g 0");
    run("SET string" + n + " v");
  }
  // Headers, elements and groups, then the streams.
  EXPECT_EQ(removals_of("FLUSHALL"), (Removals{.ranges = 3, .stream_ranges = 1}));
  EXPECT_EQ(records(), 0U);
  EXPECT_EQ(last_stream(), 0U);
  EXPECT_EQ(removals_of("FLUSHALL"), Removals());
}

TEST_F(RemovalRecordsTest, FlushAllOfFewKeysWritesNoRange) {
  run("SADD set 1");
  run("SET string v");
  run("XADD stream 1-0 f v");
  run("SELECT 5");
  run("RPUSH list a");
  EXPECT_EQ(removals_of("FLUSHALL"), (Removals{.singles = 6, .streams = 1}));
  EXPECT_EQ(records(), 0U);
}

TEST_F(RemovalRecordsTest, FlushDbMergesNeighbours) {
  run("SADD other a b c");
  run("SELECT 1");
  for (int i = 0; i < 500; ++i) {
    run("RPUSH list" + std::to_string(i) + " a");
    run("SET string" + std::to_string(i) + " v");  // strings have ids too
  }
  run("SELECT 2");
  run("RPUSH other a");
  run("SELECT 1");
  for (int i = 0; i < 500; ++i) run("HSET hash" + std::to_string(i) + " f v");
  const std::size_t before = records();
  // The headers, then the elements on both sides of the list in database 2.
  EXPECT_EQ(removals_of("FLUSHDB"), (Removals{.ranges = 3}));
  EXPECT_EQ(records(), before - 2'500);
  run("SELECT 2");
  run("FLUSHDB");
  run("SELECT 0");
  EXPECT_EQ(run("SCARD other").integer(), 3);
}

TEST_F(RemovalRecordsTest, FlushDbRemovesSmallObjectsByKey) {
  for (int i = 0; i < 200; ++i) {
    run("SELECT " + std::to_string(i % 2));
    run("SADD set" + std::to_string(i) + " 1");
  }
  run("SELECT 0");
  EXPECT_EQ(removals_of("FLUSHDB"), (Removals{.singles = 100, .ranges = 1}));
  EXPECT_EQ(records(), 200U);
  reopen();
  run("SELECT 1");
  EXPECT_EQ(run("DBSIZE").integer(), 100);
  EXPECT_EQ(removals_of("FLUSHDB"), (Removals{.ranges = 2}));  // no other object is left
  EXPECT_EQ(records(), 0U);
}

TEST_F(RemovalRecordsTest, FlushAllAfterReopeningRemovesEverything) {
  for (int i = 0; i < 100; ++i) {
    run("SET string" + std::to_string(i) + " v");
    run("SADD set" + std::to_string(i) + " a b c");
  }
  reopen();
  run("SADD new a");
  EXPECT_EQ(removals_of("FLUSHALL"), (Removals{.ranges = 3}));
  run("SADD next a");
  EXPECT_EQ(records(), 2U);
  reopen();
  EXPECT_EQ(run("SCARD next").integer(), 1);
}

TEST_F(RemovalRecordsTest, SwapOfFewKeysWritesNoRange) {
  run("SET a 1");
  run("SADD b 1");
  EXPECT_EQ(removals_of("SWAPDB 0 1"), (Removals{.singles = 2}));
  EXPECT_EQ(records(), 3U);
}

// ---- Random removals ----

/// A record of a removed object would make reopening fail.
TEST_F(RemovalRecordsTest, RandomRemovalsLeaveNoRecord) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  const auto element = [&] {
    return below(2) == 0 ? std::to_string(below(150)) : "e" + std::to_string(below(150));
  };
  const auto elements = [&](const std::string& separator) {
    std::string text;
    for (std::uint64_t left = 1 + (below(8) == 0 ? below(200) : below(5)); left > 0; --left) {
      text += separator + element();
    }
    return text;
  };
  const auto command = [&]() -> std::string {
    const std::string n = std::to_string(below(3));
    switch (below(22)) {
      case 0:
      case 1:
      case 2:
        return "SADD set" + n + elements(" ");
      case 3:
      case 4:
        return "SREM set" + n + elements(" ");
      case 5:
        return "HSET hash" + n + ' ' + element() + " v";
      case 6:
        return "HDEL hash" + n + elements(" ");
      case 7:
        return "ZADD sorted" + n + elements(" 1 ");
      case 8:
        return "ZREM sorted" + n + elements(" ");
      case 9:
        return "RPUSH list" + n + elements(" ");
      case 10:
        return "LREM list" + n + " 0 " + element();
      case 11:
        return "LPOP list" + n + ' ' + std::to_string(below(30));
      case 12:
        return "XADD stream" + n + " * f v";
      case 13:
        return "XREADGROUP GROUP g" + std::to_string(below(2)) + " c" + element() +
               " COUNT 90 STREAMS stream" + n + " >";
      case 14:
        return "XGROUP CREATE stream" + n + " g" + std::to_string(below(2)) + " 0 MKSTREAM";
      case 15:
        return "XGROUP DESTROY stream" + n + " g" + std::to_string(below(2));
      case 16:
        return "XTRIM stream" + n + " MAXLEN 50";
      case 17: {
        static constexpr const char* kTypes[] = {"set", "hash", "sorted", "list", "stream"};
        return std::string("DEL ") + kTypes[below(5)] + n;
      }
      case 18:
        return "SELECT " + std::to_string(below(2));
      case 19: {
        const std::string group = "stream" + n + " g" + std::to_string(below(2));
        if (below(2) == 0) return "XGROUP DELCONSUMER " + group + " c" + element();
        return "XCLAIM " + group + " c" + element() + " 0 1700000000000-" +
               std::to_string(below(9));
      }
      case 20: {
        const std::string id = " 1700000000000-" + std::to_string(below(60));
        if (below(2) == 0) return "XDEL stream" + n + id;
        return "XACK stream" + n + " g" + std::to_string(below(2)) + id;
      }
      default:
        return below(5) == 0 ? below(2) == 0 ? "FLUSHDB" : "SWAPDB 0 1" : "SET s" + n + " v";
    }
  };
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    for (int i = 0; i < 60; ++i) {
      std::vector<Request> requests;
      for (std::uint64_t left = 1 + below(4); left > 0; --left) {
        requests.push_back(request_of(command()));
      }
      client_->pipeline(requests);
    }
    if (below(2) == 0) reopen();
    for (const int db : {0, 1}) {
      run("SELECT " + std::to_string(db));
      if (below(2) == 0) {
        run("FLUSHDB");
        continue;
      }
      for (const char* type : {"set", "hash", "sorted", "list", "stream", "s"}) {
        for (int n = 0; n < 3; ++n) run("DEL " + std::string(type) + std::to_string(n));
      }
    }
    EXPECT_EQ(records(), 0U);
    EXPECT_EQ(last_stream(), 0U);
  }
}

}  // namespace
}  // namespace rushgate
