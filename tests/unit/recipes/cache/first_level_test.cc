#include "engine/recipes/cache/first_level.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/hooked_backend.h"
#include "tests/support/random.h"
#include "tests/unit/recipes/cache/cache_fixture.h"
#include "tests/unit/recipes/locks/lock_fixture.h"
#include <rushgate/random_seed.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyBackend;
using Fault = FaultyBackend::Fault;

// ---- The container ----

class FirstLevelTest : public ::testing::Test {
 protected:
  FirstLevelTest() { level_.set_enabled(true); }

  void keep(const std::string& key, const Cache::Value& value) {
    level_.keep(key, value, level_.epoch(key));
  }
  std::string find(const std::string& key) {
    Cache::Value found;
    return level_.find(key, found) ? found.value_or("none") : "no copy";
  }

  ManualClock clock_;
  FirstLevel level_{{.entries_max = 100, .bytes_max = 64'000, .ttl_ms = 1'000}, clock_};
};

TEST_F(FirstLevelTest, KeepsValuesAndTheirAbsence) {
  EXPECT_EQ(find("a"), "no copy");
  keep("a", "1");
  keep("b", std::nullopt);
  EXPECT_EQ(find("a"), "1");
  EXPECT_EQ(find("b"), "none");
  keep("a", "2");
  EXPECT_EQ(find("a"), "2");
  level_.remove("a");
  EXPECT_EQ(find("a"), "no copy");
  EXPECT_EQ(find("b"), "none");
}

TEST_F(FirstLevelTest, CopyExpires) {
  keep("a", "1");
  clock_.advance_ms(999);
  EXPECT_EQ(find("a"), "1");
  clock_.advance_ms(1);
  EXPECT_EQ(find("a"), "no copy");
  EXPECT_EQ(level_.size(), 0U);
  EXPECT_EQ(level_.bytes(), 0U);
}

TEST_F(FirstLevelTest, ValueReadBeforeRemovalIsNotKept) {
  const FirstLevel::Epoch epoch = level_.epoch("a");
  level_.remove("a");
  level_.keep("a", "old", epoch);
  EXPECT_EQ(find("a"), "no copy");
  const FirstLevel::Epoch before_loss = level_.epoch("a");
  level_.set_enabled(false);
  keep("a", "of no one");
  EXPECT_EQ(find("a"), "no copy");
  level_.set_enabled(true);
  level_.keep("a", "old", before_loss);
  EXPECT_EQ(find("a"), "no copy");
}

TEST_F(FirstLevelTest, CopiesAreBoundedInNumberAndBytes) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = std::to_string(random.below(1'000));
    keep(key, std::string(random.below(random.chance(20) ? 10'000 : 100), 'x'));
    if (random.chance(10)) level_.remove(std::to_string(random.below(1'000)));
    ASSERT_LE(level_.size(), 100U);
    ASSERT_LE(level_.bytes(), 64'000U);
    most = std::max(most, level_.size());
  }
  EXPECT_GT(most, 50U);
  for (int key = 0; key < 1'000; ++key) level_.remove(std::to_string(key));
  EXPECT_EQ(level_.bytes(), 0U);
}

TEST_F(FirstLevelTest, RecentlyUsedValueStays) {
  keep("popular", "1");
  for (int i = 0; i < 1'000; ++i) {
    keep(std::to_string(i), "x");
    ASSERT_EQ(find("popular"), "1") << i;
  }
}

TEST_F(FirstLevelTest, SmallLevelKeepsItsBound) {
  FirstLevel one({.entries_max = 1}, clock_);
  one.set_enabled(true);
  for (int i = 0; i < 100; ++i) {
    one.keep(std::to_string(i), "x", one.epoch(std::to_string(i)));
    ASSERT_EQ(one.size(), 1U);
  }
}

// ---- In a cache ----

/// Captures the message handlers of the clients that it opens.
class MessagesBackend final : public ForwardingBackend {
 public:
  using Backend::open_client;
  using ForwardingBackend::ForwardingBackend;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    if (options.on_message) receivers_.push_back(options.on_message);
    return ForwardingBackend::open_client(options);
  }
  /// Acts like a RedisBackend that loses a connection.
  void notify(const std::string& event) {
    for (const auto& receive : receivers_) {
      receive(Reply::array({Reply::bulk(event), Reply::nil(), Reply::integer(1)}));
    }
  }

 private:
  std::vector<std::function<void(Reply)>> receivers_;
};

class CacheFirstLevelTest : public CacheTest {
 protected:
  CacheFirstLevelTest() { cache_ = open_cache(with_copies()); }

  static CacheOptions with_copies() {
    CacheOptions copies = options();
    copies.first_level = {.entries_max = 1'000, .ttl_ms = 3'600'000};
    return copies;
  }
  /// Changes the row like another process, without a message.
  void change_silently() {
    database_.row = "row 2";
    send("DEL", "cache:shop");
  }
  /// Waits for the row: on a Redis, messages take a while.
  void expect_soon(const std::string& row) {
    while (server_ && get() != row) {
    }
    EXPECT_EQ(get(), row);
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, CacheFirstLevelTest, all_recipe_kinds(), recipe_name);

TEST_P(CacheFirstLevelTest, HitSendsNothing) {
  std::atomic<int> requests = 0;
  HookedBackend counting(*backend_, {.before = [&](const Request&) { ++requests; }});
  const auto cache = value(Cache::create(counting, with_copies()));
  EXPECT_EQ(get(*cache, database_.reader()), "row 1");
  const int before = requests;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get(*cache, database_.reader()), "row 1");
  EXPECT_EQ(*begin(*cache, "shop", database_.reader()).result(), "row 1");
  EXPECT_EQ(requests, before);

  const auto other = value(Cache::create(counting, with_copies()));
  EXPECT_EQ(get(*other, database_.reader()), "row 1") << "loaded by another process";
  const int copied = requests;
  EXPECT_EQ(get(*other, database_.reader()), "row 1");
  EXPECT_EQ(requests, copied);
  EXPECT_EQ(database_.reads, 1);
}

/// The classic way keeps a map in each process, and misses the writes of others.
TEST_P(CacheFirstLevelTest, ForeignWriteDropsCopy) {
  std::map<std::string, std::string> wrong = {{"shop", get()}};
  const auto other = open_cache(with_copies());
  database_.row = "row 2";
  EXPECT_EQ(other->invalidate("shop"), absl::OkStatus());
  expect_soon("row 2");
  EXPECT_EQ(wrong["shop"], "row 1") << "the wrong way";
}

TEST_P(CacheFirstLevelTest, OwnWriteIsSeenAtOnce) {
  for (int i = 0; i < 20; ++i) {
    database_.row = std::to_string(i);
    EXPECT_EQ(cache_->invalidate("shop"), absl::OkStatus());
    EXPECT_EQ(get(), std::to_string(i));
    EXPECT_EQ(get(), std::to_string(i));
  }
}

/// The write comes after the value was read and before it is cached.
TEST_P(CacheFirstLevelTest, WriteDuringReadIsSeen) {
  const auto other = open_cache(with_copies());
  EXPECT_EQ(get(), "row 1");
  bool races = false;
  std::map<std::string, std::string> wrong;
  HookedBackend racing(*backend_, {.after = [&](const Request& request, const Reply& reply) {
    if (request[0] != "GET" || !std::exchange(races, false)) return;
    database_.row = "row 2";
    EXPECT_EQ(other->invalidate("shop"), absl::OkStatus());
    wrong.erase("shop");
    wrong["shop"] = reply.text();
  }});
  cache_ = value(Cache::create(racing, with_copies()));
  races = true;
  EXPECT_EQ(get(), "row 1");
  EXPECT_FALSE(races);
  expect_soon("row 2");
  EXPECT_EQ(wrong["shop"], "row 1") << "the wrong way";
}

/// The classic way subscribes again after a loss, but keeps its copies.
TEST_P(CacheFirstLevelTest, MissedMessagesDropAllCopies) {
  MessagesBackend lossy(*backend_);
  cache_ = value(Cache::create(lossy, with_copies()));
  std::map<std::string, std::string> wrong = {{"shop", get()}};
  change_silently();
  EXPECT_EQ(get(), "row 1") << "no notice yet";
  lossy.notify("disconnected");
  EXPECT_EQ(get(), "row 2");
  database_.row = "row 3";
  send("DEL", "cache:shop");
  EXPECT_EQ(get(), "row 3") << "no copies are kept without a subscription";
  lossy.notify("resubscribed");
  EXPECT_EQ(get(), "row 3");
  send("DEL", "cache:shop");
  EXPECT_EQ(get(), "row 3");
  EXPECT_FALSE(exists("cache:shop")) << "copies are kept again";
  EXPECT_EQ(wrong["shop"], "row 1") << "the wrong way";
}

TEST_P(CacheFirstLevelTest, LostConnectionDropsAllCopies) {
  if (engine_ != nullptr) return;  // the embedded engine has no connections
  EXPECT_EQ(get(), "row 1");
  change_silently();
  send("CLIENT", "KILL", "TYPE", "pubsub");
  expect_soon("row 2");
  change_silently();
  EXPECT_EQ(cache_->invalidate("shop"), absl::OkStatus());
  expect_soon("row 2");
}

TEST_P(CacheFirstLevelTest, CopyExpiresWithoutMessage) {
  if (server_) return;  // its clock is the machine's
  CacheOptions brief = with_copies();
  brief.first_level.ttl_ms = 1'000;
  cache_ = open_cache(brief);
  EXPECT_EQ(get(), "row 1");
  change_silently();
  advance_ms(999);
  EXPECT_EQ(get(), "row 1");
  advance_ms(1);
  EXPECT_EQ(get(), "row 2");
}

TEST_P(CacheFirstLevelTest, OldValueIsNotCopied) {
  Tasks tasks;
  CacheOptions expiring = with_copies();
  expiring.ttl_ms = 1'000;
  expiring.ttl_jitter_percent = 0;
  expiring.stale_ms = 600'000;
  expiring.run_in_background = tasks.collector();
  send("SET", "cache:shop", "1:row 0");
  cache_ = open_cache(expiring);
  EXPECT_EQ(get(), "row 0");
  EXPECT_EQ(get(), "row 0");
  tasks.run_all();
  EXPECT_EQ(get(), "row 1");
  cache_.reset();
}

TEST_P(CacheFirstLevelTest, FailedSubscriptionIsError) {
  FaultyBackend lossy(*backend_, [](const Request& request) {
    return request[0] == "SUBSCRIBE" ? Fault::kRequestLost : Fault::kNone;
  });
  EXPECT_EQ(Cache::create(lossy, with_copies()).status().code(), absl::StatusCode::kUnavailable);
}

/// Three processes read and write. In manual mode a message arrives before the next request.
TEST_P(CacheFirstLevelTest, RandomReadsNeverGoBack) {
  if (server_) return;
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  CacheOptions small = with_copies();
  small.first_level.entries_max = 8;
  small.missing_ttl_ms = 500;
  small.ttl_ms = 500;
  std::vector<std::unique_ptr<Cache>> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(open_cache(small));
  std::map<std::string, Cache::Value> rows;
  for (int i = 0; i < 5'000; ++i) {
    Cache& process = *processes[random.below(3)];
    const std::string key = std::to_string(random.below(12));
    if (random.chance(10)) {
      rows[key] = random.chance(20) ? Cache::Value() : std::to_string(i);
      ASSERT_EQ(process.invalidate(key), absl::OkStatus());
    } else if (random.chance(3)) {
      advance_ms(random.between(0, 400));
    }
    const auto read = [&] { return absl::StatusOr<Cache::Value>(rows[key]); };
    ASSERT_EQ(*process.get_or_load(key, read), rows[key]) << "step " << i;
  }
}

/// Runs readers and a writer on threads. After the last write, every reader sees its row.
void read_and_write_by_threads(Backend& backend) {
  const CacheOptions options = {.first_level = {.entries_max = 100, .ttl_ms = 3'600'000}};
  const auto readers_cache = *Cache::create(backend, options);
  const auto writers_cache = *Cache::create(backend, options);
  std::atomic<int> row{0};
  std::atomic<bool> is_over{false};
  const auto read = [&] { return absl::StatusOr<Cache::Value>(std::to_string(row)); };
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      int last = 0;
      while (!is_over) {
        const auto got = readers_cache->get_or_load("shop", read);
        if (got.ok()) last = std::max(last, std::stoi(**got));
      }
      EXPECT_LE(last, row);
    });
  }
  for (int i = 1; i <= 300; ++i) {
    row = i;
    ASSERT_TRUE(writers_cache->invalidate("shop").ok());
    EXPECT_EQ(**writers_cache->get_or_load("shop", read), std::to_string(i));
  }
  while (**readers_cache->get_or_load("shop", read) != std::to_string(row)) {
  }
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(**readers_cache->get_or_load("shop", read), std::to_string(row));
}

TEST(CacheThreadsWithCopiesTest, LastRowIsSeenOnEngine) {
  const auto engine = *Engine::open(std::make_unique<MemoryStore>());
  read_and_write_by_threads(*engine);
}

TEST(CacheThreadsWithCopiesTest, LastRowIsSeenOnRedis) {
  const testing::RedisServer server;
  const auto redis = *RedisBackend::open(*RedisOptions::from_url(server.url()));
  read_and_write_by_threads(*redis);
}

}  // namespace
}  // namespace rushgate
