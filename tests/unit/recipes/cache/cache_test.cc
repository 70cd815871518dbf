#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/time_units.h"
#include "tests/support/hooked_backend.h"
#include "tests/unit/recipes/cache/cache_fixture.h"
#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/cache.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyBackend;
using Fault = FaultyBackend::Fault;

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Backends, CacheTest, all_recipe_kinds(), recipe_name);

/// Timers and leases use a clock that the test moves.
class CacheInManualTimeTest : public CacheTest {};
INSTANTIATE_TEST_SUITE_P(Backends, CacheInManualTimeTest,
                         ::testing::Values(RecipeKind::kMemory, RecipeKind::kRocksDb), recipe_name);

absl::StatusOr<Cache::Value> must_not_load() {
  ADD_FAILURE() << "loaded";
  return std::nullopt;
}

// ---- Values and keys ----

TEST_P(CacheTest, MissLoadsAndHitsDoNot) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(), "row 1");
  EXPECT_EQ(database_.reads, 1);
  EXPECT_EQ(send("KEYS", "*"), Reply::array({Reply::bulk("cache:shop")}));
  EXPECT_EQ(send("GET", "cache:shop"), Reply::bulk("row 1"));
  const std::int64_t ttl_ms = send("PTTL", "cache:shop").integer();
  EXPECT_GT(ttl_ms, 29 * kMinuteMs);
  EXPECT_LE(ttl_ms, 36 * kMinuteMs);
}

TEST_P(CacheTest, ValueOfOtherSystemIsHit) {
  send("SET", "cache:shop", "theirs", "EX", 60);
  EXPECT_EQ(get(), "theirs");
  send("SET", "cache:shop", "", "EX", 60);
  EXPECT_EQ(get(), "none") << "its way to say that there is no value";
  EXPECT_EQ(database_.reads, 0);
}

TEST_P(CacheTest, ExpiredValueIsLoadedAgain) {
  EXPECT_EQ(get(), "row 1");
  database_.row = "row 2";
  advance_ms(36 * kMinuteMs + 1);
  EXPECT_EQ(get(), "row 2");
}

TEST_P(CacheTest, ValueMayHoldAnyBytes) {
  database_.row = std::string("\0\r\n\xff", 4);
  EXPECT_EQ(get(), *database_.row);
  EXPECT_EQ(get(), *database_.row);
  EXPECT_EQ(database_.reads, 1);
}

/// Penetration: every request for a missing row reaches the database.
TEST_P(CacheTest, MissingValueIsCachedForItsOwnTime) {
  database_.row = std::nullopt;
  Database wrong = database_;
  for (int i = 0; i < 5; ++i) {
    if (send("GET", "wrong").is_nil()) {
      const Cache::Value row = wrong.read();
      if (row) send("SET", "wrong", *row, "PX", 30 * kMinuteMs);
    }
    EXPECT_EQ(get(), "none");
  }
  EXPECT_EQ(wrong.reads, 5) << "the wrong way";
  EXPECT_EQ(database_.reads, 1);

  database_.row = "row 1";
  EXPECT_EQ(get(), "none");
  advance_ms(144'001);  // two minutes plus a fifth
  EXPECT_EQ(get(), "row 1");
}

/// Avalanche: values that were loaded together expire together.
TEST_P(CacheTest, ValuesLoadedTogetherExpireApart) {
  CacheOptions seeded = options();
  seeded.jitter_seed = 7;
  const auto expiries = [&](const std::string& prefix) {
    seeded.key_prefix = prefix;
    seeded.lock_prefix = "lock:" + prefix;
    const auto cache = open_cache(seeded);
    std::vector<std::int64_t> times;
    for (int i = 0; i < 50; ++i) {
      const std::string key = std::to_string(i);
      EXPECT_TRUE(cache->get_or_load(key, database_.reader()).ok());
      times.push_back(send("PEXPIRETIME", prefix + key).integer());
    }
    return times;
  };
  const std::vector<std::int64_t> times = expiries("a:");
  std::set<std::int64_t> wrong;
  for (int i = 0; i < 50; ++i) {
    send("SET", "wrong" + std::to_string(i), "x", "PX", 30 * kMinuteMs);
    wrong.insert(send("PEXPIRETIME", "wrong" + std::to_string(i)).integer());
  }
  EXPECT_EQ(wrong.size(), 1U) << "the wrong way";
  EXPECT_GT(std::set<std::int64_t>(times.begin(), times.end()).size(), 45U);
  EXPECT_EQ(expiries("b:"), times) << "the seed decides";
}

// ---- One load at a time ----

/// Breakdown: a popular value expires, and every caller loads it.
TEST_P(CacheTest, OneCallerLoadsWhileOthersWait) {
  Database wrong;
  std::vector<bool> misses;
  for (int i = 0; i < 10; ++i) misses.push_back(send("GET", "wrong").is_nil());
  for (const bool is_miss : misses) {
    if (is_miss) send("SET", "wrong", *wrong.read(), "PX", kMinuteMs);
  }
  EXPECT_EQ(wrong.reads, 10) << "the wrong way";

  std::vector<PendingValue> others;
  EXPECT_EQ(get(*cache_,
                [&] {
                  for (int i = 0; i < 9; ++i) {
                    others.push_back(begin(*cache_, "shop", must_not_load));
                  }
                  await_subscription();
                  for (const PendingValue& other : others) EXPECT_FALSE(other.is_done());
                  return absl::StatusOr<Cache::Value>(database_.read());
                }),
            "row 1");
  for (const PendingValue& other : others) EXPECT_EQ(*other.result(), "row 1");
  EXPECT_EQ(database_.reads, 1);
  EXPECT_FALSE(exists("lock:shop"));
}

TEST_P(CacheTest, OneProcessLoadsWhileOthersWait) {
  const auto other_cache = open_cache();
  PendingValue other;
  EXPECT_EQ(get(*cache_,
                [&] {
                  other = begin(*other_cache, "shop", must_not_load);
                  await_subscription();
                  EXPECT_FALSE(other.is_done());
                  return absl::StatusOr<Cache::Value>("row 1");
                }),
            "row 1");
  EXPECT_EQ(*other.result(), "row 1");
}

TEST_P(CacheTest, KeysAreLoadedIndependently) {
  EXPECT_EQ(get(*cache_,
                [&]() -> absl::StatusOr<Cache::Value> {
                  const auto inner = cache_->get_or_load("other", database_.reader());
                  EXPECT_EQ(*inner, "row 1");
                  return "outer";
                }),
            "outer");
}

/// The classic way polls by recursion, without a bound on requests or depth.
TEST_P(CacheInManualTimeTest, WaitingSendsNothingAndEnds) {
  int requests = 0;
  HookedBackend counting(*backend_, {.before = [&](const Request&) { ++requests; }});
  const auto cache = value(Cache::create(counting, options()));
  send("SET", "lock:shop", "0123456789abcdef:7", "PX", 600'000);
  const PendingValue waiter = begin(*cache, "shop", must_not_load);
  const int before = requests;
  advance_ms(2'999);
  EXPECT_FALSE(waiter.is_done());
  EXPECT_EQ(requests, before);
  advance_ms(1);
  EXPECT_EQ(waiter.result().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(waiter.result().status().message()), HasSubstr("cache:shop"));

  int wrong_requests = 0;
  for (int slept_ms = 0; slept_ms < 3'000; slept_ms += 50) {  // one recursion each
    wrong_requests += send("SET", "lock:shop", "me", "NX", "EX", 10).is_nil() ? 1 : 0;
  }
  EXPECT_EQ(wrong_requests, 60) << "the wrong way";
}

/// The last attempt runs at the deadline.
TEST_P(CacheInManualTimeTest, ValueWithoutMessageIsSeenAtDeadline) {
  send("SET", "lock:shop", "0123456789abcdef:7", "PX", 600'000);
  const PendingValue waiter = begin(*cache_, "shop", must_not_load);
  send("SET", "cache:shop", "theirs", "PX", kMinuteMs);
  advance_ms(3'000);
  EXPECT_EQ(*waiter.result(), "theirs");
}

/// Other systems take the lock with a value of their own, some as a hash, and send no message.
TEST_P(CacheInManualTimeTest, SilentSystemsValueIsSeenSoon) {
  for (const std::string key : {"shop", "cafe"}) {
    if (key == "shop") send("SET", "lock:shop", "1", "PX", 600'000);
    if (key == "cafe") send("HSET", "lock:cafe", "jvm-9:1", 1);
    const PendingValue waiter = begin(*cache_, key, must_not_load);
    advance_ms(800);
    EXPECT_FALSE(waiter.is_done());
    send("SET", "cache:" + key, "theirs", "PX", kMinuteMs);
    advance_ms(100);
    ASSERT_TRUE(waiter.is_done()) << key;
    EXPECT_EQ(*waiter.result(), "theirs");
  }
}

TEST_P(CacheTest, CallbackDoesNotWaitForItself) {
  if (engine_ != nullptr) return;  // manual mode has no callback thread
  send("SET", "lock:shop", "another's", "PX", 600'000);
  std::promise<absl::StatusOr<Cache::Value>> result;
  client_->submit(Request::of("PING"), [&](const Reply&) {
    result.set_value(cache_->get_or_load("shop", must_not_load));
  });
  EXPECT_EQ(result.get_future().get().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(CacheTest, DestroyedCacheEndsWaits) {
  send("SET", "lock:shop", "another's", "PX", 600'000);
  const PendingValue waiter = begin(*cache_, "shop", must_not_load);
  await_subscription();
  cache_.reset();
  EXPECT_EQ(waiter.result().status().code(), absl::StatusCode::kCancelled);
}

// ---- Loads that fail ----

TEST_P(CacheTest, LoadErrorIsReturnedNotCached) {
  const absl::Status down = absl::UnavailableError("the database is down");
  EXPECT_EQ(cache_->get_or_load("shop", [&] { return down; }).status(), down);
  EXPECT_EQ(send("KEYS", "*"), Reply::array());
  EXPECT_EQ(get(), "row 1");
}

/// The classic way unlocks in the last line of the function. An exception skips it.
TEST_P(CacheTest, ThrowingLoaderReleasesLock) {
  try {
    send("SET", "lock:wrong", "1", "NX", "EX", 10);
    throw std::runtime_error("no connection");
    send("DEL", "lock:wrong");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(exists("lock:wrong")) << "the wrong way: the next callers wait for ten seconds";

  const auto thrown = cache_->get_or_load(
      "shop", []() -> absl::StatusOr<Cache::Value> { throw std::runtime_error("no connection"); });
  EXPECT_EQ(thrown.status().code(), absl::StatusCode::kUnknown);
  EXPECT_THAT(std::string(thrown.status().message()), HasSubstr("no connection"));
  EXPECT_FALSE(exists("lock:shop"));

  const auto throw_number = []() -> absl::StatusOr<Cache::Value> { throw 5; };
  EXPECT_THROW(static_cast<void>(cache_->get_or_load("shop", throw_number)), int);
  EXPECT_EQ(get(), "row 1");
}

TEST_P(CacheTest, WaiterLoadsAfterFailedLoad) {
  std::vector<PendingValue> others;
  const auto failed = cache_->get_or_load("shop", [&]() -> absl::StatusOr<Cache::Value> {
    for (int i = 0; i < 3; ++i) others.push_back(begin(*cache_, "shop", database_.reader()));
    await_subscription();
    return absl::InternalError("once");
  });
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInternal);
  for (const PendingValue& other : others) EXPECT_EQ(*other.result(), "row 1");
  EXPECT_EQ(database_.reads, 1);
}

/// The classic way sends SETNX, then EXPIRE. A crash between them leaves no expiry.
TEST_P(CacheInManualTimeTest, LeaseOfDeadLoaderExpires) {
  send("SETNX", "lock:wrong", "dead");
  send("SET", "lock:shop", "dead", "PX", 2'000);
  const PendingValue waiter = begin(*cache_, "shop", database_.reader());
  advance_ms(1'999);
  EXPECT_FALSE(waiter.is_done());
  advance_ms(1);
  EXPECT_EQ(*waiter.result(), "row 1");
  EXPECT_FALSE(exists("lock:shop"));
  EXPECT_TRUE(exists("lock:wrong")) << "the wrong way: for ever";
}

TEST_P(CacheTest, UnwritableValueIsReturned) {
  bool fails = false;
  FaultyBackend lossy(*backend_, [&](const Request& request) {
    const bool stores = std::exchange(fails, false) && request[0].starts_with("EVAL");
    return stores ? Fault::kRequestLost : Fault::kNone;
  });
  const auto cache = value(Cache::create(lossy, options()));
  EXPECT_EQ(get(*cache,
                [&]() -> absl::StatusOr<Cache::Value> {
                  fails = true;
                  return "row 1";
                }),
            "row 1");
  EXPECT_EQ(send("KEYS", "*"), Reply::array()) << "no lock stays either";
}

TEST_P(CacheTest, UnreachableCacheLoadsNothing) {
  FaultyBackend lossy(*backend_, [](const Request&) { return Fault::kRequestLost; });
  const auto cache = value(Cache::create(lossy, options()));
  EXPECT_EQ(cache->get_or_load("shop", must_not_load).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(cache->invalidate("shop").code(), absl::StatusCode::kUnavailable);
}

// ---- Writes ----

/// A writer changes the row and invalidates it between the load's read and write.
TEST_P(CacheTest, InvalidationDuringLoadIsKept) {
  Database wrong;
  const Cache::Value old_row = wrong.read();
  wrong.row = "row 2";
  send("DEL", "wrong");
  send("SET", "wrong", *old_row, "PX", 30 * kMinuteMs);
  EXPECT_EQ(send("GET", "wrong"), Reply::bulk("row 1")) << "the wrong way: for half an hour";

  PendingValue later;
  const auto racing = cache_->get_or_load("shop", [&]() -> absl::StatusOr<Cache::Value> {
    const Cache::Value row = database_.read();
    database_.row = "row 2";
    EXPECT_EQ(cache_->invalidate("shop"), absl::OkStatus());
    later = begin(*cache_, "shop", database_.reader());
    EXPECT_EQ(*later.result(), "row 2") << "does not wait for the load of the old row";
    return row;
  });
  EXPECT_EQ(*racing, "row 1") << "it began before the write ended";
  EXPECT_EQ(get(), "row 2");
  EXPECT_EQ(database_.reads, 2);
}

TEST_P(CacheTest, InvalidationWakesWaiters) {
  send("SET", "lock:shop", "a load of the old row", "PX", 600'000);
  const PendingValue waiter = begin(*cache_, "shop", database_.reader());
  await_subscription();
  EXPECT_EQ(cache_->invalidate("shop"), absl::OkStatus());
  EXPECT_EQ(*waiter.result(), "row 1");
}

TEST_P(CacheTest, InvalidatedValueIsLoadedAgain) {
  EXPECT_EQ(get(), "row 1");
  database_.row = "row 2";
  EXPECT_EQ(get(), "row 1");
  EXPECT_EQ(cache_->invalidate("shop"), absl::OkStatus());
  EXPECT_EQ(get(), "row 2");
}

/// The classic way: the lease expires, and another caller loads a newer row. The slow caller
/// overwrites it and deletes the lock of a third.
TEST_P(CacheTest, LoadBeyondLeaseWritesNothing) {
  EXPECT_EQ(get(*cache_,
                [&]() -> absl::StatusOr<Cache::Value> {
                  const Cache::Value row = database_.read();
                  advance_ms(10'001);
                  database_.row = "row 2";
                  EXPECT_EQ(get(), "row 2");
                  send("DEL", "cache:shop");
                  send("SET", "lock:shop", "a third", "PX", 600'000);
                  return row;
                }),
            "row 1");
  EXPECT_FALSE(exists("cache:shop"));
  EXPECT_EQ(send("GET", "lock:shop"), Reply::bulk("a third"));

  send("SET", "wrong", "row 2");
  send("SET", "lock:wrong", "a third");
  send("SET", "wrong", "row 1");
  send("DEL", "lock:wrong");
  EXPECT_EQ(send("GET", "wrong"), Reply::bulk("row 1")) << "the wrong way";
}

// ---- Bad input ----

TEST_P(CacheTest, BadInputIsError) {
  const auto code = [&](std::string_view key, Cache::Value loaded) {
    return cache_->get_or_load(key, [&] { return absl::StatusOr<Cache::Value>(loaded); })
        .status()
        .code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code("", "x"), kInvalid);
  EXPECT_EQ(code(std::string(Cache::kKeyBytesMax + 1, 'k'), "x"), kInvalid);
  EXPECT_EQ(cache_->invalidate("").code(), kInvalid);
  EXPECT_EQ(code("shop", ""), kInvalid) << "would be read as: does not exist";
  EXPECT_EQ(code("shop", std::string(1'048'577, 'v')), kInvalid);
  EXPECT_EQ(send("KEYS", "*"), Reply::array());

  send("RPUSH", "cache:shop", "x");
  EXPECT_THAT(get(), HasSubstr("WRONGTYPE"));
  EXPECT_EQ(send("KEYS", "*"), Reply::array({Reply::bulk("cache:shop")}));
}

TEST_P(CacheTest, BackgroundLoadsAreBounded) {
  CacheOptions slow = options();
  Tasks tasks;
  slow.run_in_background = tasks.collector();
  slow.background_loads_max = 2;
  const auto cache = open_cache(slow);
  // A server that knows the scripts runs them in the order of the calls.
  EXPECT_EQ(*cache_->get_or_load("known", database_.reader()), "row 1");
  std::vector<PendingValue> values;
  for (const char* key : {"a", "b", "c"}) values.push_back(begin(*cache, key, database_.reader()));
  EXPECT_EQ(values[2].result().status().code(), absl::StatusCode::kResourceExhausted);
  tasks.run_all();
  EXPECT_EQ(*values[0].result(), "row 1");
  EXPECT_EQ(*values[1].result(), "row 1");
  EXPECT_EQ(*cache->get_or_load("c", database_.reader()), "row 1") << "its lock was released";
}

TEST(CacheOptionsTest, OutOfRangeIsNamed) {
  const auto backend = *Engine::open(std::make_unique<MemoryStore>());
  const auto fault = [&](CacheOptions options) {
    return std::string(Cache::create(*backend, std::move(options)).status().message());
  };
  EXPECT_THAT(fault({.ttl_ms = 0}), HasSubstr("ttl_ms is 0"));
  EXPECT_THAT(fault({.missing_ttl_ms = -1}), HasSubstr("missing_ttl_ms is -1"));
  EXPECT_THAT(fault({.ttl_jitter_percent = 101}), HasSubstr("ttl_jitter_percent is 101"));
  EXPECT_THAT(fault({.load_lease_ms = 0}), HasSubstr("load_lease_ms is 0"));
  EXPECT_THAT(fault({.wait_ms = -1}), HasSubstr("wait_ms is -1"));
  EXPECT_THAT(fault({.value_bytes_max = 0}), HasSubstr("value_bytes_max is 0"));
  EXPECT_THAT(fault({.stale_ms = -1}), HasSubstr("stale_ms is -1"));
  EXPECT_THAT(fault({.first_level = {.bytes_max = 0}}), HasSubstr("first_level.bytes_max is 0"));
  EXPECT_THAT(fault({.first_level = {.ttl_ms = 0}}), HasSubstr("first_level.ttl_ms is 0"));
  EXPECT_THAT(fault({.background_loads_max = 0}), HasSubstr("background_loads_max is 0"));
  EXPECT_THAT(fault({.lock_prefix = "cache:"}), HasSubstr("lock_prefix"));
}

// ---- Threads ----

/// Runs eight threads while the row changes, on a Redis or on an engine with threads.
void load_by_threads(Backend& backend) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 30;
  const auto cache = *Cache::create(backend);
  std::atomic<int> row{0};
  std::atomic<int> loading{0};
  std::atomic<int> loads{0};
  const auto load = [&]() -> absl::StatusOr<Cache::Value> {
    EXPECT_EQ(loading.fetch_add(1), 0) << "two loads at a time";
    const int read = row;
    ++loads;
    --loading;
    return std::to_string(read);
  };
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        if (i % 2 == 0) {
          const auto got = cache->get_or_load("shop", load);
          EXPECT_EQ(got.value_or("error"), std::to_string(row)) << got.status();
        } else {
          const PendingValue pending = begin(*cache, "shop", load);
          EXPECT_EQ(pending.result().value_or("error"), std::to_string(row));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(loads, round + 1);
    ++row;
    ASSERT_TRUE(cache->invalidate("shop").ok());
  }
}

TEST(CacheThreadsTest, ThreadsOnEngineLoadOnce) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  load_by_threads(*engine);
}

TEST(CacheThreadsTest, ThreadsOnRedisLoadOnce) {
  const testing::RedisServer server;
  const auto redis = *RedisBackend::open(*RedisOptions::from_url(server.url()));
  load_by_threads(*redis);
}

}  // namespace
}  // namespace rushgate
