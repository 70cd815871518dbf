// Logical expiry: old values are served while one background load replaces them.
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/recipes/cache/cache_fixture.h"

namespace rushgate {
namespace {

constexpr std::int64_t kTtlMs = 10'000;
constexpr std::int64_t kStaleMs = 60'000;

class CacheRefreshTest : public CacheTest {
 protected:
  CacheRefreshTest() {
    CacheOptions with_expiry = options();
    with_expiry.ttl_ms = kTtlMs;
    with_expiry.missing_ttl_ms = kTtlMs;
    with_expiry.ttl_jitter_percent = 0;
    with_expiry.stale_ms = kStaleMs;
    with_expiry.run_in_background = tasks_.collector();
    with_expiry.on_refresh_failed = [this](std::string_view key, const absl::Status& failure) {
      failures_.push_back(std::string(key) + ": " + std::string(failure.message()));
    };
    with_expiry_ = with_expiry;
    cache_ = open_cache(with_expiry);
  }
  /// Creates a value that has just become old, and a newer row.
  void make_old() {
    EXPECT_EQ(get(), "row 1");
    advance_ms(kTtlMs);
    database_.row = "row 2";
  }

  Tasks tasks_;
  std::vector<std::string> failures_;
  CacheOptions with_expiry_;
};

INSTANTIATE_TEST_SUITE_P(Backends, CacheRefreshTest, all_recipe_kinds(), recipe_name);

TEST_P(CacheRefreshTest, ExpiryIsInsideTheValue) {
  EXPECT_EQ(get(), "row 1");
  const std::string expected = std::to_string(clock_.now_ms() + kTtlMs) + ":row 1";
  EXPECT_EQ(send("GET", "cache:shop"), Reply::bulk(expected));
  EXPECT_GT(send("PTTL", "cache:shop").integer(), kTtlMs + kStaleMs - 5'000);
  EXPECT_LE(send("PTTL", "cache:shop").integer(), kTtlMs + kStaleMs);
  advance_ms(kTtlMs - 1);
  EXPECT_EQ(get(), "row 1");
  EXPECT_EQ(tasks_.count(), 0U);
}

/// The classic way takes the lock in a second step, after reading the expiry. A caller that locks
/// just after the value was replaced replaces it again.
TEST_P(CacheRefreshTest, OldValueIsServedWhileOneCallerRefreshes) {
  Database wrong;
  std::vector<bool> found_old(2, true);  // both callers, before the first load
  for (const bool is_old : found_old) {
    if (!is_old || send("SET", "lock:wrong", "me", "NX", "EX", 10).is_nil()) continue;
    wrong.read();
    send("DEL", "lock:wrong");
  }
  EXPECT_EQ(wrong.reads, 2) << "the wrong way";

  make_old();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(), "row 1");
  EXPECT_EQ(*begin(*cache_, "shop", database_.reader()).result(), "row 1");
  EXPECT_EQ(tasks_.count(), 1U);
  EXPECT_EQ(database_.reads, 1);
  tasks_.run_all();
  EXPECT_EQ(get(), "row 2");
  EXPECT_EQ(database_.reads, 2);
  EXPECT_EQ(tasks_.count(), 0U);
  EXPECT_FALSE(exists("lock:shop"));
}

TEST_P(CacheRefreshTest, OldAbsenceIsServedToo) {
  database_.row = std::nullopt;
  EXPECT_EQ(get(), "none");
  advance_ms(kTtlMs);
  database_.row = "row 1";
  EXPECT_EQ(get(), "none");
  tasks_.run_all();
  EXPECT_EQ(get(), "row 1");
}

/// The classic way returns nothing for a value that was not preheated.
TEST_P(CacheRefreshTest, MissingValueIsLoaded) {
  EXPECT_EQ(get(), "row 1");
  advance_ms(kTtlMs + kStaleMs + 1);
  EXPECT_FALSE(exists("cache:shop"));
  database_.row = "row 2";
  EXPECT_EQ(get(), "row 2");
  EXPECT_EQ(tasks_.count(), 0U);
}

TEST_P(CacheRefreshTest, FailedRefreshIsReportedAndPauses) {
  make_old();
  const auto fail = [] { return absl::StatusOr<Cache::Value>(absl::InternalError("down")); };
  EXPECT_EQ(get(*cache_, fail), "row 1");
  tasks_.run_all();
  EXPECT_THAT(failures_, ::testing::ElementsAre("shop: down"));
  EXPECT_EQ(get(), "row 1");
  EXPECT_EQ(tasks_.count(), 0U) << "not each caller asks a database that is down";
  advance_ms(Cache::kRefreshPauseMs + 1);
  EXPECT_EQ(get(), "row 1");
  tasks_.run_all();
  EXPECT_EQ(get(), "row 2");
}

TEST_P(CacheRefreshTest, DeadRefresherIsReplaced) {
  make_old();
  EXPECT_EQ(get(), "row 1");
  EXPECT_EQ(tasks_.count(), 1U);  // it never runs
  EXPECT_EQ(get(), "row 1");
  advance_ms(10'001);
  Tasks alive;
  with_expiry_.run_in_background = alive.collector();
  const auto other = open_cache(with_expiry_);
  EXPECT_EQ(get(*other, database_.reader()), "row 1");
  alive.run_all();
  EXPECT_EQ(get(), "row 2");
}

TEST_P(CacheRefreshTest, InvalidationDuringRefreshIsKept) {
  make_old();
  const auto racing = [&]() -> absl::StatusOr<Cache::Value> {
    const Cache::Value row = database_.read();
    database_.row = "row 3";
    EXPECT_EQ(cache_->invalidate("shop"), absl::OkStatus());
    return row;
  };
  EXPECT_EQ(get(*cache_, racing), "row 1");
  tasks_.run_all();
  EXPECT_FALSE(exists("cache:shop"));
  EXPECT_EQ(get(), "row 3");
}

TEST_P(CacheRefreshTest, FullBackgroundServesOldValue) {
  with_expiry_.background_loads_max = 1;
  const auto cache = open_cache(with_expiry_);
  make_old();
  send("SET", "cache:other", "1:x");
  EXPECT_EQ(get(*cache, database_.reader()), "row 1");
  EXPECT_EQ(**cache->get_or_load("other", database_.reader()), "x");
  EXPECT_EQ(tasks_.count(), 1U);
  tasks_.run_all();
  EXPECT_EQ(get(*cache, database_.reader()), "row 2");
  while (exists("lock:other")) {
  }
  EXPECT_EQ(**cache->get_or_load("other", database_.reader()), "x");
  tasks_.run_all();
  EXPECT_EQ(**cache->get_or_load("other", database_.reader()), "row 2");
}

TEST_P(CacheRefreshTest, ValueWithoutExpiryIsReplaced) {
  for (const char* plain : {"plain", "", ":x", "x:y"}) {
    send("SET", "cache:shop", plain);
    EXPECT_EQ(get(), "row 1") << plain;
    send("DEL", "cache:shop");
  }
}

/// Uses the cache's own thread. The destructor waits for a running load.
TEST(CacheThreadTest, CacheThreadRefreshes) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  auto cache = *Cache::create(*engine, {.ttl_ms = 1, .ttl_jitter_percent = 0, .stale_ms = 600'000});
  EXPECT_EQ(**cache->get_or_load("shop", [] { return absl::StatusOr<Cache::Value>("row 1"); }),
            "row 1");
  const auto newer = [] { return absl::StatusOr<Cache::Value>("row 2"); };
  while (*cache->get_or_load("shop", newer).value() != "row 2") {
  }
  bool has_ended = false;
  std::promise<void> has_begun;
  cache->get_or_load_async(
      "other",
      [&]() -> absl::StatusOr<Cache::Value> {
        has_begun.set_value();
        std::this_thread::yield();
        has_ended = true;
        return "row";
      },
      [](const absl::StatusOr<Cache::Value>&) {});
  has_begun.get_future().wait();
  cache.reset();
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace rushgate
