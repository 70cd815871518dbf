// maxmemory in an embedded engine.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

constexpr std::uint64_t kBytesMax = 1'000'000;

class MemoryLimitTest : public ::testing::Test {
 protected:
  template <class... Args>
  Reply run(Args... args) {
    return client_->call(Request::of(args...));
  }
  /// Returns a field of INFO.
  std::string field(const std::string& name) {
    const Reply info = run("INFO");
    for (const absl::string_view line : absl::StrSplit(info.text(), "\r\n")) {
      const std::vector<std::string> parts = absl::StrSplit(line, ':');
      if (parts[0] == name) return parts[1];
    }
    return "none";
  }
  static bool is_refusal(const Reply& reply) {
    return reply == Reply::error("OOM command not allowed when used memory > 'maxmemory'.");
  }

  ManualClock clock_;
  std::unique_ptr<Engine> engine_ = *Engine::open(
      std::make_unique<MemoryStore>(), {.manual_clock = &clock_, .memory_bytes_max = kBytesMax});
  std::unique_ptr<Client> client_ = engine_->open_client();
};

TEST_F(MemoryLimitTest, WritesStopAtBoundAndResumeBelow) {
  int taken = 0;
  while (!is_refusal(run("SET", taken, std::string(1'000, 'x')))) ++taken;
  EXPECT_GT(taken, 700);
  EXPECT_LT(taken, 1'000);
  EXPECT_GT(std::stoull(field("used_memory")), kBytesMax);
  EXPECT_LT(std::stoull(field("used_memory")), kBytesMax + 2'000);
  EXPECT_TRUE(is_refusal(run("APPEND", 0, "x")));
  EXPECT_EQ(run("GET", 0), Reply::bulk(std::string(1'000, 'x')));
  EXPECT_EQ(run("DEL", 0, 1, 2), Reply::integer(3));
  EXPECT_EQ(run("SET", 0, "x"), Reply::ok());
}

TEST_F(MemoryLimitTest, RequestsInBatchSeeEarlierMemoryUse) {
  std::vector<Request> requests;
  for (int i = 0; i < 5; ++i) requests.push_back(Request::of("SET", i, std::string(400'000, 'x')));
  requests.push_back(Request::of("FLUSHALL"));
  requests.push_back(Request::of("SET", "k", "v"));
  const std::vector<Reply> replies = client_->pipeline(requests);
  EXPECT_EQ(replies[2], Reply::ok()) << "it started below the bound";
  EXPECT_TRUE(is_refusal(replies[3]));
  EXPECT_TRUE(is_refusal(replies[4]));
  EXPECT_EQ(replies[6], Reply::ok());
}

TEST_F(MemoryLimitTest, ExpiredKeysFreeMemory) {
  EXPECT_EQ(run("SET", "k", std::string(2'000'000, 'x'), "PX", 100), Reply::ok());
  EXPECT_TRUE(is_refusal(run("SET", "n", 1)));
  engine_->advance_ms(100);
  EXPECT_EQ(run("SET", "n", 1), Reply::ok());
  EXPECT_EQ(field("expired_keys"), "1");
}

TEST_F(MemoryLimitTest, StreamsInMemoryStoreCount) {
  const std::string value(1'000, 'x');
  int taken = 0;
  while (!is_refusal(run("XADD", "x", "*", "f", value + std::to_string(taken)))) ++taken;
  EXPECT_LT(taken, 1'000);
  EXPECT_EQ(run("DEL", "x"), Reply::integer(1));
  EXPECT_EQ(run("SET", "k", "v"), Reply::ok());
}

TEST_F(MemoryLimitTest, OtherPoliciesAreRefused) {
  EXPECT_EQ(
      run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"),
      Reply::error("ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - "
                   "no keys are evicted here: the only policy is noeviction"));
}

// ---- INFO ----

TEST_F(MemoryLimitTest, InfoDescribesEngine) {
  engine_->advance_ms(90'061'000);
  EXPECT_EQ(field("uptime_in_seconds"), "90061");
  EXPECT_EQ(field("uptime_in_days"), "1");
  EXPECT_EQ(field("redis_version"), "7.0.15");
  EXPECT_EQ(field("rushgate_durability"), "memory");
  EXPECT_EQ(field("connected_clients"), "1");
  const auto other = engine_->open_client();
  EXPECT_EQ(field("connected_clients"), "2");
  EXPECT_EQ(field("total_connections_received"), "2");
  run("SET", "a", 1, "PX", 1'000);
  run("SET", "b", 1, "PX", 3'000);
  EXPECT_EQ(field("db0"), "keys=2,expires=2,avg_ttl=2000");
  EXPECT_EQ(run("PERSIST", "a"), Reply::integer(1));
  EXPECT_EQ(field("db0"), "keys=2,expires=1,avg_ttl=3000");
}

TEST_F(MemoryLimitTest, InfoCountsCommandsUntilReset) {
  run("CONFIG", "RESETSTAT");
  run("SET", "a", 1);
  run("EVAL", "redis.call('GET', 'a') return redis.call('GET', 'b')", 0);
  EXPECT_EQ(field("total_commands_processed"), "5") << "SET, EVAL and its two commands, INFO";
  EXPECT_EQ(field("keyspace_hits"), "1");
  EXPECT_EQ(field("keyspace_misses"), "1");
  run("CONFIG", "RESETSTAT");
  EXPECT_EQ(field("keyspace_hits"), "0");
  EXPECT_EQ(field("total_connections_received"), "0");
}

}  // namespace
}  // namespace rushgate
