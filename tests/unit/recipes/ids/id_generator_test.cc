// Ids without reservations. tests/unit/sale/order_ids_test.cc tests ids with an order database.
#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/base/time_units.h"
#include "tests/support/hooked_backend.h"
#include "tests/unit/recipes/recipe_fixture.h"
#include <rushgate/ids.h>

namespace rushgate {
namespace {

constexpr std::int64_t kStartSecond = ManualClock::kStartMs / 1'000;
constexpr char kCounter[] = "icr:order:20231114";
constexpr IdLayout kLayout = {};

IdOptions blocks_of(std::int64_t size) { return {.block_size = size}; }

/// Collects ids, which must all differ.
class SeenIds {
 public:
  void add(const absl::StatusOr<std::int64_t>& id) {
    ASSERT_TRUE(id.ok()) << id.status();
    EXPECT_GT(*id, 0);
    EXPECT_TRUE(ids_.insert(*id).second)
        << kLayout.seconds_of(*id) << ' ' << kLayout.counter_of(*id);
  }
  void add(IdGenerator& ids, int count) {
    for (int i = 0; i < count; ++i) add(ids.next_id());
  }

 private:
  std::set<std::int64_t> ids_;
};

class IdGeneratorTest : public RecipeTest {};
INSTANTIATE_TEST_SUITE_P(Backends, IdGeneratorTest, all_recipe_kinds(), recipe_name);

class IdGeneratorInManualTimeTest : public IdGeneratorTest {};
INSTANTIATE_TEST_SUITE_P(Backends, IdGeneratorInManualTimeTest, manual_time_recipe_kinds(),
                         recipe_name);

/// Uses connections that can be lost.
class IdGeneratorOnRedisTest : public IdGeneratorTest {};
INSTANTIATE_TEST_SUITE_P(Backends, IdGeneratorOnRedisTest, ::testing::Values(RecipeKind::kRedis),
                         recipe_name);

TEST_P(IdGeneratorTest, IdHasSecondsAboveDailyCounter) {
  IdGenerator ids(*backend_, blocks_of(10));
  const std::int64_t first = *ids.next_id();
  EXPECT_EQ(kLayout.seconds_of(first), kStartSecond + 1) << "a first draw may follow a loss";
  EXPECT_EQ(kLayout.counter_of(first) % 10, 1);  // a busy machine draws twice
  EXPECT_EQ((*client_)("INCRBY", kCounter, 0).integer() % 10, 0);
}

TEST_P(IdGeneratorTest, LaterBlockHasServersSecond) {
  IdGenerator ids(*backend_, blocks_of(1));
  ASSERT_TRUE(ids.next_id().ok());
  advance_ms(5'000);
  ASSERT_TRUE(ids.next_id().ok());  // it may be drawn ahead
  const std::int64_t id = *ids.next_id();
  EXPECT_EQ(kLayout.made_at_ms(id), ManualClock::kStartMs + 5'000);
}

TEST_P(IdGeneratorTest, OptionsSetLayoutAndKey) {
  IdOptions options = IdOptions::of("coupon");
  options.layout = {
      .epoch_seconds = 1'600'000'000, .counter_bits = 20, .utc_offset_minutes = 8 * 60};
  options.block_size = 4;
  IdGenerator ids(*backend_, options);
  const std::int64_t id = *ids.next_id();
  EXPECT_EQ(id >> 20, kStartSecond + 1 - 1'600'000'000);
  EXPECT_EQ(id & 3, 1);
  EXPECT_GE((*client_)("INCRBY", "icr:coupon:20231115", 0).integer(), 4) << "22:13 UTC";
}

TEST_P(IdGeneratorTest, NextDayHasItsOwnCounter) {
  IdGenerator ids(*backend_, blocks_of(2));
  SeenIds seen;
  seen.add(ids, 3);
  advance_ms(kDayMs);
  seen.add(ids, 1'000);  // more than were drawn ahead
  EXPECT_TRUE((*client_)("GET", "icr:order:20231115").is_text());
}

TEST_P(IdGeneratorTest, IdsAscendWhenClockGoesBack) {
  IdGenerator ids(*backend_, blocks_of(3));
  std::int64_t last = 0;
  for (int i = 0; i < 40; ++i) {
    set_now_ms(ManualClock::kStartMs - i * kDayMs / 4);
    const auto id = ids.next_id();
    ASSERT_TRUE(id.ok()) << id.status();
    EXPECT_GT(*id, last);
    last = *id;
  }
}

TEST_P(IdGeneratorTest, GeneratorsNeverRepeatIds) {
  const std::unique_ptr<Backend> other = GetParam() == RecipeKind::kRedis ? open() : nullptr;
  IdGenerator first(*backend_, blocks_of(7));
  IdGenerator second(other ? *other : *backend_, blocks_of(5));
  SeenIds seen;
  for (int i = 0; i < 500; ++i) {
    seen.add(first.next_id());
    seen.add(second.next_id());
    if (i % 100 == 0) advance_ms(1'000);
    if (i % 150 == 0) set_now_ms(clock_.now_ms() - 3'000);
  }
}

TEST_P(IdGeneratorTest, PlainIncrOfAnotherSystemSharesCounter) {
  IdGenerator ids(*backend_, blocks_of(4));
  std::set<std::int64_t> counters;
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(counters.insert(kLayout.counter_of(*ids.next_id())).second);
    EXPECT_TRUE(counters.insert((*client_)("INCR", kCounter).integer()).second);
  }
}

/// The field's generator: INCR, and a local clock that is read as UTC.
TEST_P(IdGeneratorTest, IdsDifferFromFieldsGenerator) {
  constexpr int kOffsetMinutes = 8 * 60;
  for (const std::string pattern : {"yyyy:MM:dd", "yyyyMMdd"}) {
    IdOptions options = IdOptions::beside_field("order", pattern, kOffsetMinutes);
    options.block_size = 4;
    IdGenerator ids(*backend_, options);
    const std::string key =
        pattern == "yyyyMMdd" ? "icr:order:20231115" : "icr:order:2023:11:15";  // 22:13 UTC
    std::set<std::int64_t> seen;
    std::int64_t own = 0;
    std::int64_t others = 0;
    for (int i = 0; i < 50; ++i) {
      own = *ids.next_id();
      const std::int64_t local_seconds = kStartSecond + kOffsetMinutes * 60;
      others = kLayout.make(local_seconds, (*client_)("INCR", key).integer());
      EXPECT_TRUE(seen.insert(own).second && seen.insert(others).second) << key << ' ' << i;
    }
    EXPECT_LE(kLayout.seconds_of(own) - kLayout.seconds_of(others), 1) << "both count alike";
    EXPECT_LE(options.layout.made_at_ms(own), ManualClock::kStartMs + 1'000) << "in UTC";
  }
}

// ---- Losses ----

/// Blocks of a simple generator, whose seconds are the time of use.
class NaiveIds {
 public:
  NaiveIds(Client& client, const Clock& clock) : client_(client), clock_(clock) {}

  std::int64_t next_id() {
    constexpr std::int64_t kBlock = 100;
    if (next_ == end_) {
      end_ = client_("INCRBY", kCounter, kBlock).integer() + 1;
      next_ = end_ - kBlock;
    }
    return kLayout.make(clock_.now_ms() / 1'000, next_++);
  }

 private:
  Client& client_;
  const Clock& clock_;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
};

TEST_P(IdGeneratorTest, LostCounterRepeatsNoId) {
  NaiveIds naive_first(*client_, clock_);
  NaiveIds naive_second(*client_, clock_);
  ASSERT_EQ(kLayout.counter_of(naive_first.next_id()), 1);
  IdGenerator first(*backend_, blocks_of(100));
  IdGenerator second(*backend_, blocks_of(100));
  SeenIds seen;
  seen.add(first, 10);
  advance_ms(1'000);
  (*client_)("FLUSHALL");
  naive_second.next_id();
  EXPECT_EQ(naive_second.next_id(), naive_first.next_id()) << "the wrong way";

  (*client_)("FLUSHALL");
  seen.add(second, 150);
  seen.add(first, 300);
  IdGenerator third(*backend_, blocks_of(100));
  seen.add(third, 150);
  seen.add(second, 300);
  for (int lost = 0; lost < 5; ++lost) {
    advance_ms(1'000);
    (*client_)("FLUSHALL");
    IdGenerator unaware(*backend_, blocks_of(30));
    seen.add(unaware, 70);
    seen.add(first, 230);
    seen.add(second, 10);
    seen.add(third, 110);
  }
}

TEST_P(IdGeneratorTest, OlderCounterRepeatsNoId) {
  IdGenerator first(*backend_, blocks_of(100));
  SeenIds seen;
  seen.add(first, 250);
  (*client_)("SET", kCounter, 100);  // as restored from a snapshot
  advance_ms(1'000);
  seen.add(first, 30);
  IdGenerator unaware(*backend_, blocks_of(100));
  seen.add(unaware, 400);
  seen.add(first, 300);
}

TEST_P(IdGeneratorTest, OlderCounterRepeatsNoIdOfNewGenerators) {
  IdGenerator first(*backend_, blocks_of(100));
  SeenIds seen;
  seen.add(first, 1);
  advance_ms(10'000);
  seen.add(first, 250);
  (*client_)("SET", kCounter, 100);
  IdGenerator unaware(*backend_, blocks_of(100));
  seen.add(unaware, 400);
  seen.add(first, 300);
}

/// The other system does INCR for each id, whose seconds are those of its use.
TEST_P(IdGeneratorTest, LostSharedCounterRepeatsNoIdOfOthers) {
  constexpr std::int64_t kOthers = 3'000;
  std::set<std::int64_t> counters;  // of one second
  int repeated = 0;
  const auto draw_as_other = [&] {
    const std::int64_t last = (*client_)("INCRBY", kCounter, kOthers).integer();
    for (std::int64_t counter = last - kOthers + 1; counter <= last; ++counter) {
      if (!counters.insert(counter).second) ++repeated;
    }
  };
  IdGenerator ids(*backend_, blocks_of(1));
  SeenIds seen;
  seen.add(ids, 1);
  (*client_)("INCRBY", kCounter, 4 * kOthers);
  seen.add(ids, 300);
  advance_ms(5'000);
  draw_as_other();
  (*client_)("FLUSHALL");
  seen.add(ids, 300);  // more than are ready
  draw_as_other();
  draw_as_other();
  EXPECT_EQ(repeated, 0);
}

/// The server closes all connections when it loses writes. New connections report the loss.
TEST_P(IdGeneratorOnRedisTest, RestoredSnapshotRepeatsNoId) {
  IdGenerator first(*backend_, blocks_of(100));
  IdGenerator second(*backend_, blocks_of(100));
  SeenIds seen;
  seen.add(first, 1);
  seen.add(second, 1);
  advance_ms(10'000);
  ASSERT_EQ((*client_)("SAVE"), Reply::ok());
  seen.add(first, 150);
  (*server_)->restart();
  std::int64_t id = 0;
  for (int i = 0; i < 150; ++i) {
    auto next = second.next_id();
    while (absl::IsUnavailable(next.status())) next = second.next_id();  // until it has reconnected
    seen.add(next);
    if (next.ok()) id = *next;
  }
  EXPECT_EQ(kLayout.made_at_ms(id), ManualClock::kStartMs + 11'000) << "the next second";
}

// ---- Errors ----

TEST_P(IdGeneratorTest, ExhaustedCounterIsErrorNotCarry) {
  IdOptions options = blocks_of(8);
  options.layout.counter_bits = 8;
  IdGenerator ids(*backend_, options);
  std::int64_t count = 0;
  std::int64_t last = 0;
  absl::Status status;
  while (status.ok()) {
    const auto id = ids.next_id();
    status = id.status();
    if (!id.ok()) break;
    EXPECT_EQ(options.layout.day_of(options.layout.seconds_of(*id)), kLayout.day_of(kStartSecond));
    EXPECT_GT(*id, last);
    last = *id;
    ASSERT_LE(++count, 255);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_GT(count, 0);
  advance_ms(kDayMs);
  EXPECT_TRUE(ids.next_id().ok());
}

TEST_P(IdGeneratorTest, InvalidCounterIsError) {
  IdGenerator ids(*backend_, blocks_of(4));
  (*client_)("SET", kCounter, "text");
  EXPECT_FALSE(ids.next_id().ok());
  (*client_)("DEL", kCounter);
  EXPECT_TRUE(ids.next_id().ok());
}

TEST_P(IdGeneratorTest, TimeOutsideLayoutIsAnError) {
  IdOptions options = blocks_of(4);
  options.layout.epoch_seconds = kStartSecond + 3'600;
  IdGenerator ids(*backend_, options);
  EXPECT_TRUE(absl::IsOutOfRange(ids.next_id().status()));
}

TEST_P(IdGeneratorTest, InvalidOptionsAreRefused) {
  IdOptions bits;
  bits.layout.counter_bits = 41;
  IdOptions east;
  east.layout.utc_offset_minutes = 14 * 60 + 1;
  IdOptions west;
  west.layout.utc_offset_minutes = -12 * 60 - 1;
  IdOptions life;
  life.block_life_ms = 0;
  std::vector<IdOptions> invalid = {bits, east, west, life, blocks_of(0)};
  for (const char* const pattern : {"", "yyyyMM", "yyyy:MM:dd:dd", "yyyy-MM-ddTHH", "yyyyMMdd''"}) {
    invalid.emplace_back().day_pattern = pattern;
  }
  for (const IdOptions& options : invalid) {
    EXPECT_TRUE(absl::IsInvalidArgument(IdGenerator::open(*backend_, options).status()));
  }
  EXPECT_TRUE(IdGenerator::open(*backend_).ok());
}

// ---- Blocks ----

TEST_P(IdGeneratorTest, BlockCostsFewRequests) {
  std::atomic<int> draws = 0;
  HookedBackend hooked(*backend_, {.before = [&](const Request& request) {
    if (request[0] == "EVAL") ++draws;
  }});
  IdGenerator ids(hooked, blocks_of(1'000));
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(ids.next_id().ok());
  // On a Redis two draws may overlap, and each asks for the server's day first.
  EXPECT_LE(draws, GetParam() == RecipeKind::kRedis ? 4 : 1);
}

TEST_P(IdGeneratorTest, IdsInBulkEqualSingleIds) {
  IdGenerator ids(*backend_, blocks_of(100));
  const std::int64_t first = *ids.next_id();
  std::vector<std::int64_t> many(50);
  std::size_t count = 0;
  ASSERT_TRUE(ids.next_ids(many, count).ok());
  EXPECT_EQ(count, many.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(many[i], first + 1 + static_cast<std::int64_t>(i));
  }
  many.resize(5'000);
  ASSERT_TRUE(ids.next_ids(many, count).ok());
  EXPECT_EQ(std::set(many.begin(), many.end()).size(), many.size());
}

TEST_P(IdGeneratorInManualTimeTest, BlockExpires) {
  IdGenerator ids(*backend_, blocks_of(100));
  ASSERT_TRUE(ids.next_id().ok());
  advance_ms(999);
  EXPECT_EQ(kLayout.counter_of(*ids.next_id()), 2);
  advance_ms(60'000);
  const std::int64_t id = *ids.next_id();
  EXPECT_EQ(kLayout.counter_of(id), 101);
  EXPECT_EQ(kLayout.made_at_ms(id) / 1'000, clock_.now_ms() / 1'000);
}

TEST(IdGeneratorThreadsTest, ThreadsGetDifferentIds) {
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  IdGenerator ids(*engine, blocks_of(64));
  std::vector<std::vector<std::int64_t>> given(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : given) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) mine.push_back(*ids.next_id());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::int64_t> all;
  for (const auto& mine : given) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads) * kEach);
}

TEST(IdGeneratorThreadsTest, CallbackDrawsWithoutBlocking) {
  constexpr int kCount = 100;
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  IdGenerator ids(*engine, blocks_of(16));
  std::promise<std::size_t> given;
  engine->open_client()->submit(Request::of("PING"), [&](const Reply&) {
    std::set<std::int64_t> seen;
    for (int i = 0; i < kCount; ++i) seen.insert(ids.next_id().value_or(0));
    given.set_value(seen.size());
  });
  EXPECT_EQ(given.get_future().get(), kCount);
}

TEST(IdGeneratorThreadsTest, GeneratorMayEndBeforeDrawAndTimer) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  for (int i = 0; i < 200; ++i) {
    IdOptions options = blocks_of(2);
    options.block_life_ms = 1;
    IdGenerator ids(*engine, options);
    EXPECT_TRUE(ids.next_id().ok());
  }
}

}  // namespace
}  // namespace rushgate
