// Data that survives a power cut, a full disk or a failed sync.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/faults/power_cut_file_system.h"
#include "tests/support/sweep.h"
#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PowerCutTest : public RocksDbTest {
 protected:
  PowerCutTest() {
    fs::create_directories(dir());
    disk_ = faults::PowerCutFileSystem::make(dir());
    options_.env = disk_->env();
  }

  // Commits numbers from `first` to `last`.
  static void commit_numbers(Store& store, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t number = first; number <= last; ++number) {
      const absl::Status status = commit_number(store, number);
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  // Cuts the power and reopens. Returns the number of commits that survived.
  std::uint64_t survivors(std::unique_ptr<RocksDbStore>& store,
                          std::optional<std::uint64_t> seed = std::nullopt) {
    disk_->cut_power();
    store.reset();
    disk_->power_on(seed);
    store = open();
    return store ? count_commits(*store) : 0;
  }

  std::shared_ptr<faults::PowerCutFileSystem> disk_;
};

TEST_F(PowerCutTest, SyncLosesNothing) {
  options_.durability = Durability::kSync;
  auto store = open();
  commit_numbers(*store, 1, 20);
  EXPECT_EQ(survivors(store), 20U);
  commit_numbers(*store, 21, 30);
  EXPECT_EQ(survivors(store), 30U);
}

TEST_F(PowerCutTest, NewDirectoriesSurviveWithStore) {
  options_.durability = Durability::kSync;
  const fs::path nested = dir() / "a" / "b";
  auto store = RocksDbStore::open(nested, options_);
  ASSERT_TRUE(store.ok()) << store.status();
  commit_numbers(**store, 1, 20);
  disk_->cut_power();
  store->reset();
  disk_->power_on();
  options_.create_if_missing = false;
  store = RocksDbStore::open(nested, options_);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(count_commits(**store), 20U);
}

TEST_F(PowerCutTest, EverySecKeepsWritesBeforeLastSync) {
  options_.durability = Durability::kEverySec;
  auto store = open();
  commit_numbers(*store, 1, 20);
  ASSERT_TRUE(store->sync().ok());
  commit_numbers(*store, 21, 25);
  EXPECT_EQ(survivors(store), 20U);
}

TEST_F(PowerCutTest, OsMayLoseUnsyncedWrites) {
  auto store = open();
  commit_numbers(*store, 1, 20);
  EXPECT_EQ(survivors(store), 0U);
  commit_numbers(*store, 1, 20);
  ASSERT_TRUE(store->sync().ok());
  commit_numbers(*store, 21, 25);
  EXPECT_EQ(survivors(store), 20U);
}

TEST_F(PowerCutTest, OsSurvivesEndOfProcess) {
  auto store = open();
  commit_numbers(*store, 1, 20);
  store.reset();
  EXPECT_EQ(count_commits(*open()), 20U);
}

TEST_F(PowerCutTest, CloseSyncsIfDurabilityExceedsOs) {
  options_.durability = Durability::kEverySec;
  auto store = open();
  commit_numbers(*store, 1, 20);
  store.reset();
  EXPECT_EQ(survivors(store), 20U);
}

TEST_F(PowerCutTest, SyncWithoutWritesSkipsDisk) {
  auto store = open();
  commit_numbers(*store, 1, 3);
  ASSERT_TRUE(store->sync().ok());
  const int syncs = disk_->log_syncs();
  ASSERT_TRUE(store->sync().ok());
  EXPECT_EQ(disk_->log_syncs(), syncs);
  commit_numbers(*store, 4, 4);
  ASSERT_TRUE(store->sync().ok());
  EXPECT_EQ(disk_->log_syncs(), syncs + 1);
}

TEST_F(PowerCutTest, FailedCommitSyncStopsWrites) {
  options_.durability = Durability::kSync;
  auto store = open();
  commit_numbers(*store, 1, 5);
  disk_->fail_next_sync();
  const absl::Status first = commit_number(*store, 6);
  EXPECT_EQ(first.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(first.message()), HasSubstr("injected: sync failed"));
  EXPECT_THAT(std::string(first.message()), HasSubstr(dir().string()));

  const absl::Status later = commit_number(*store, 7);
  EXPECT_EQ(later.code(), first.code());
  EXPECT_THAT(std::string(later.message()), HasSubstr(std::string(first.message())));
  EXPECT_EQ(store->sync(), later);
  std::vector<StreamSegment> segments;
  EXPECT_TRUE(store->read_stream(1, {}, {5, 0}, SIZE_MAX, segments).ok());
  EXPECT_EQ(segments.size(), 5U);
  EXPECT_EQ(survivors(store), 5U);
}

TEST_F(PowerCutTest, FailedSyncStopsWrites) {
  options_.durability = Durability::kEverySec;
  auto store = open();
  commit_numbers(*store, 1, 5);
  ASSERT_TRUE(store->sync().ok());
  commit_numbers(*store, 6, 7);
  disk_->fail_next_sync();
  EXPECT_FALSE(store->sync().ok());
  EXPECT_FALSE(store->sync().ok());
  EXPECT_FALSE(commit_number(*store, 8).ok());
  EXPECT_EQ(survivors(store), 5U);
}

// A thread of RocksDB syncs older logs before it writes a table.
TEST_F(PowerCutTest, FailedBackgroundSyncStopsWrites) {
  options_.log_bytes_max = 4'000;
  auto store = open();
  for (int round = 0; round < 20; ++round) {
    disk_->fail_next_sync();
    std::uint64_t number = count_commits(*(store.reset(), store = open()));
    absl::Status status;
    while (status.ok()) status = commit_number(*store, ++number);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("injected: sync failed"));
    EXPECT_EQ(store->sync(), status);
    const std::uint64_t count = count_commits(*(store.reset(), store = open()));
    EXPECT_THAT(count, ::testing::AllOf(::testing::Ge(number - 1), ::testing::Le(number)));
  }
}

TEST_F(PowerCutTest, FullDiskStopsWritesAndKeepsCommits) {
  auto store = open();
  commit_numbers(*store, 1, 5);
  for (const std::uint64_t room : {0U, 1U, 7U, 100U, 800U}) {
    const std::uint64_t before = count_commits(*(store.reset(), store = open()));
    disk_->fill_up_after(room);
    absl::Status status;
    std::uint64_t number = before;
    while (status.ok()) status = commit_number(*store, ++number);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    disk_->make_space();
    EXPECT_EQ(commit_number(*store, number).code(), absl::StatusCode::kResourceExhausted);
    store.reset();
    store = open();
    EXPECT_EQ(count_commits(*store), number - 1);
  }
}

TEST_F(PowerCutTest, FullDiskDuringFlushLosesNothing) {
  options_.log_bytes_max = 20'000;
  auto store = open();
  disk_->fill_up_after(60'000);
  std::uint64_t number = 0;
  absl::Status status;
  while (status.ok()) status = commit_number(*store, ++number);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  store.reset();
  disk_->make_space();
  EXPECT_EQ(count_commits(*open()), number - 1);
}

// The power is cut at every operation, and again at a random one of the next attempt.
TEST_F(PowerCutTest, InterruptedCreationIsRepeated) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  bool through = false;
  for (int operations = 0; !through && !HasFailure(); ++operations) {
    SCOPED_TRACE("power cut after " + std::to_string(operations) + " operations");
    fs::remove_all(dir());
    fs::create_directories(dir());
    disk_ = faults::PowerCutFileSystem::make(dir());
    options_.env = disk_->env();
    const auto open_until = [&](int end) {
      disk_->cut_power_after(end);
      auto store = try_open();
      const bool is_open = store.ok();
      disk_->cut_power();
      if (is_open) store->reset();
      disk_->power_on(random() % 2 == 0 ? std::nullopt : std::optional(random()));
      return is_open;
    };
    through = open_until(operations);
    open_until(static_cast<int>(random() % 60));
    auto store = open();
    ASSERT_NE(store, nullptr);
    commit_numbers(*store, 1, 3);
    EXPECT_EQ(count_commits(*(store.reset(), store = open())), 3U);
  }
}

// Cuts the power at the nth disk operation, for every n until all commits succeed. The log is so
// short that tables and new logs are written all the time.
struct Sweep {
  Durability durability;
  bool everything_lost;  // else a part, chosen by a seed
};

class PowerCutSweepTest : public PowerCutTest, public ::testing::WithParamInterface<Sweep> {
 protected:
  static constexpr std::uint64_t kCommits = 40;

  struct Outcome {
    std::uint64_t safe;       // commits that must survive a power cut
    std::uint64_t attempted;  // commits that may survive it
    bool through = false;     // no operation failed
  };

  // Commits after the first `there`.
  static Outcome run(Store& store, std::uint64_t there) {
    Outcome outcome{there, there};
    while (outcome.attempted < there + kCommits) {
      const std::uint64_t number = ++outcome.attempted;
      if (!commit_number(store, number).ok()) return outcome;
      if (GetParam().durability == Durability::kSync) outcome.safe = number;
      if (GetParam().durability == Durability::kEverySec && number % 7 == 0) {
        if (!store.sync().ok()) return outcome;
        outcome.safe = number;
      }
    }
    outcome.through = true;
    return outcome;
  }
};

TEST_P(PowerCutSweepTest, PowerCutKeepsPromisesWithoutTornCommits) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  options_.durability = GetParam().durability;
  options_.log_bytes_max = 4'000;
  Outcome outcome{0, 0};
  const std::uint64_t step_max = testing::is_full_run() ? 3 : 9;
  for (int operations = 0; !outcome.through && !HasFailure();
       operations += 1 + static_cast<int>(random() % step_max)) {
    SCOPED_TRACE("power cut after " + std::to_string(operations) + " operations");
    disk_->cut_power_after(operations);
    auto store = try_open();
    if (store.ok()) {
      outcome = run(**store, count_commits(**store));
      disk_->cut_power();
      store->reset();
    }
    disk_->power_on(GetParam().everything_lost ? std::nullopt : std::optional(random()));
    auto again = open();
    ASSERT_NE(again, nullptr);
    const std::uint64_t count = count_commits(*again);
    EXPECT_GE(count, outcome.safe);
    EXPECT_LE(count, outcome.attempted);
    EXPECT_TRUE(again->sync().ok());
    outcome.safe = outcome.attempted = count;
  }
}

INSTANTIATE_TEST_SUITE_P(
    PowerCut, PowerCutSweepTest,
    ::testing::Values(Sweep{Durability::kOs, true}, Sweep{Durability::kOs, false},
                      Sweep{Durability::kEverySec, true}, Sweep{Durability::kEverySec, false},
                      Sweep{Durability::kSync, true}, Sweep{Durability::kSync, false}));

// Damages the log itself.
class LogTest : public RocksDbTest {
 protected:
  // Makes and closes a store of 300 commits in several blocks of log. The first `synced` are
  // synced.
  void make(std::uint64_t synced) {
    auto store = open();
    for (std::uint64_t number = 1; number <= 300; ++number) {
      ASSERT_TRUE(commit_number(*store, number).ok());
      if (number == synced) {
        ASSERT_TRUE(store->sync().ok());
      }
    }
    store.reset();
    log_ = newest_log(dir());
    ASSERT_GT(fs::file_size(log_), 100'000U);
  }

  void change_log(const std::function<void(std::string&)>& change) {
    std::string bytes = read_file(log_);
    change(bytes);
    write_file(log_, bytes);
  }

  fs::path log_;
};

TEST_F(LogTest, TornTailOpensUpToPreviousCommit) {
  options_.durability = Durability::kSync;
  make(0);
  const std::string whole = read_file(log_);
  for (const std::size_t cut : {1U, 6U, 200U, 433U, 434U, 900U}) {
    SCOPED_TRACE(cut);
    const StoreDirectory copy;
    fs::copy(dir(), copy.path());
    fs::remove(copy.path() / "rushgate.lock");
    write_file(copy.path() / log_.filename(), whole.substr(0, whole.size() - cut));
    auto store = RocksDbStore::open(copy.path(), options_);
    ASSERT_TRUE(store.ok()) << store.status();
    const std::uint64_t count = count_commits(**store);
    EXPECT_GE(count, 296U);
    EXPECT_LT(count, 300U);
  }
}

TEST_F(LogTest, ZerosAfterEndAreNoDamage) {
  options_.durability = Durability::kSync;
  make(0);
  change_log([](std::string& log) { log += std::string(70'000, '\0'); });
  EXPECT_EQ(count_commits(*open()), 300U);
}

TEST_F(LogTest, GarbledTailIsTornTail) {
  options_.durability = Durability::kSync;
  make(0);
  change_log([](std::string& log) { std::fill(log.end() - 100, log.end(), '\xa5'); });
  EXPECT_EQ(count_commits(*open()), 299U);
}

TEST_F(LogTest, DamageToSyncedLogIsDataLoss) {
  options_.durability = Durability::kSync;
  make(0);
  for (const std::size_t at : {std::size_t{40}, std::size_t{50'000}, std::size_t{80'000}}) {
    SCOPED_TRACE(at);
    const std::string whole = read_file(log_);
    change_log([&](std::string& log) { log[at] = static_cast<char>(log[at] ^ 1); });
    const auto before = list();
    const absl::Status status = try_open().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the log in " + dir().string()));
    EXPECT_EQ(list(), before);
    write_file(log_, whole);
  }
  EXPECT_EQ(count_commits(*open()), 300U);
}

TEST_F(LogTest, ZeroedSyncedBlockIsDataLoss) {
  options_.durability = Durability::kEverySec;
  make(200);
  change_log([](std::string& log) { std::fill_n(log.begin() + 32768, 32768, '\0'); });
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(LogTest, UnsyncedGapEndsRecovery) {
  for (const std::size_t block : {0U, 1U, 2U}) {
    SCOPED_TRACE(block);
    fs::remove_all(dir());
    make(0);
    change_log([&](std::string& log) {
      std::fill_n(log.begin() + static_cast<std::ptrdiff_t>(32768 * block), 32768, '\0');
    });
    auto store = open();
    ASSERT_NE(store, nullptr);
    const std::uint64_t count = count_commits(*store);  // fails if a later commit was recovered
    EXPECT_LT(count, 32768 * (block + 1) / 400);
    EXPECT_TRUE(commit_number(*store, count + 1).ok());
    EXPECT_TRUE(store->sync().ok());
    store.reset();
    EXPECT_EQ(count_commits(*open()), count + 1);
  }
}

// Makes commits of half a KiB each, so that every block begins with one.
class AlignedLogTest : public LogTest {
 protected:
  static constexpr std::uintmax_t kCommitBytes = 512;

  static absl::Status commit(Store& store, int number, std::size_t value_bytes) {
    StoreBatch batch;
    batch.put(std::to_string(100'000 + number), std::string(value_bytes, 'v'));
    return store.commit(batch);
  }

  // Returns the length of the value in such a commit.
  std::size_t find_value_bytes() {
    auto store = open();
    std::size_t value_bytes = 400;
    for (int number = 0; number < 3; ++number) {
      const std::uintmax_t before = fs::file_size(newest_log(dir()));
      EXPECT_TRUE(commit(*store, number, value_bytes).ok());
      value_bytes += kCommitBytes - (fs::file_size(newest_log(dir())) - before);
    }
    store.reset();
    fs::remove_all(dir());
    return value_bytes;
  }
};

// RocksDB alone would skip the gap, because it takes a block of zeros for preallocated space.
TEST_F(AlignedLogTest, GapOfWholeCommitsEndsRecovery) {
  const std::size_t value_bytes = find_value_bytes();
  auto store = open();
  for (int number = 0; number < 300; ++number) {
    ASSERT_TRUE(commit(*store, number, value_bytes).ok());
  }
  store.reset();
  log_ = newest_log(dir());
  ASSERT_EQ(fs::file_size(log_), 300 * kCommitBytes);
  change_log([](std::string& log) { std::fill_n(log.begin() + 32768, 32768, '\0'); });
  int records = 0;
  ASSERT_TRUE(open()->load([&](std::string_view, std::string_view) { ++records; }).ok());
  EXPECT_EQ(records, 64);
}

}  // namespace
}  // namespace rushgate
