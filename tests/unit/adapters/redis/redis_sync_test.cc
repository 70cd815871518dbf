// Client::sync() on a server with replicas.
#include <memory>

#include <gmock/gmock.h>

#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::RawConnection;
using testing::RedisServer;

class RedisSyncTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kShortMs = 50;

  RedisSyncTest() { replica_.replicate(primary_); }

  std::unique_ptr<RedisBackend> open(int replicas, std::int64_t timeout_ms) {
    RedisOptions options = *RedisOptions::from_url(primary_.url());
    options.sync_replicas = replicas;
    options.sync_timeout_ms = timeout_ms;
    return *RedisBackend::open(options);
  }

  RedisServer primary_{{.listens_on_tcp = true}};
  RedisServer replica_;
};

TEST_F(RedisSyncTest, ReplicasHaveWritesOfOtherConnections) {
  constexpr std::int64_t kPatientMs = 20'000;
  const auto backend = open(1, kPatientMs);
  const auto client = backend->open_client();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ((*client)("SET", "key", i), Reply::ok());
    ASSERT_EQ(client->sync(), Reply::ok());
    EXPECT_EQ(RawConnection(replica_.socket_path()).call(Request::of("GET", "key")),
              Reply::bulk(std::to_string(i)));
  }
}

TEST_F(RedisSyncTest, LateReplicaIsErrorOnlyForItsCall) {
  constexpr std::int64_t kForEverMs = 1'000'000;
  const auto backend = open(1, kForEverMs);
  const auto client = backend->open_client();
  ASSERT_EQ(client->sync(), Reply::ok());
  replica_.pause();
  EXPECT_EQ((*client)("SET", "key", 1), Reply::ok());
  std::thread waiting([&] { EXPECT_EQ(client->sync(), Reply::ok()); });
  const auto is_waiting = [&] {
    return RawConnection(primary_.socket_path())
               .call(Request::of("CLIENT", "LIST"))
               .text()
               .find("cmd=wait") != std::string_view::npos;
  };
  while (!is_waiting()) std::this_thread::yield();
  EXPECT_EQ((*backend->open_client())("INCR", "key"), Reply::integer(2));

  const auto hasty = open(1, kShortMs);
  const Reply late = hasty->open_client()->sync();
  EXPECT_TRUE(has_code(late, "NOREPLICAS")) << late.text();
  EXPECT_THAT(std::string(late.text()), HasSubstr("0 of 1 replicas confirmed within 50 ms"));
  replica_.resume();
  waiting.join();
}

TEST_F(RedisSyncTest, MissingReplicaIsError) {
  const auto backend = open(2, kShortMs);
  const Reply synced = backend->open_client()->sync();
  EXPECT_THAT(std::string(synced.text()), HasSubstr("of 2 replicas confirmed"));
}

TEST_F(RedisSyncTest, OptionsOutOfBoundsAreNamed) {
  RedisOptions options;
  options.sync_replicas = -1;
  EXPECT_THAT(std::string(options.check().message()), HasSubstr("sync_replicas"));
  options = {};
  options.sync_timeout_ms = 0;
  EXPECT_THAT(std::string(options.check().message()), HasSubstr("sync_timeout_ms"));
  options = {};
  options.confirm_replicas = -1;
  EXPECT_THAT(std::string(options.check().message()), HasSubstr("confirm_replicas"));
  options = {};
  options.confirm_ms = 0;
  EXPECT_THAT(std::string(options.check().message()), HasSubstr("confirm_ms"));
}

}  // namespace
}  // namespace rushgate
