// RedisBackend with a real server. redis_faults_test.cc has the faults that a real server does not
// show.
#include <atomic>
#include <cstdlib>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/unit/adapters/redis/redis_client_contract.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using testing::RawConnection;
using testing::RedisServer;

class RedisClientTest : public ::testing::Test {
 protected:
  RedisOptions options() const { return *RedisOptions::from_url(server_.url()); }

  RedisServer server_;
};

TEST_F(RedisClientTest, SyncSucceedsWhileServerReplies) {
  const auto client = connected(options());
  EXPECT_EQ(client->sync(), Reply::ok());
  server_.kill();
  EXPECT_TRUE(has_code(client->sync(), error_code::kClosed));
}

// ---- Lost servers -------------------------------------------------------------------------------

TEST_F(RedisClientTest, ServerKilledDuringCallIsUnknownOutcome) {
  const auto client = connected(options());
  auto read = std::async(std::launch::async,
                         [&] { return (*client)("XREAD", "BLOCK", 0, "STREAMS", "s", "$"); });
  wait_for_blocked(server_.socket_path());
  server_.kill();
  const Reply lost = read.get();
  EXPECT_TRUE(has_code(lost, error_code::kOutcomeUnknown)) << to_debug_string(lost);
  EXPECT_NE(lost.text().find(server_.socket_path()), std::string::npos) << lost.text();

  const Reply refused = (*client)("PING");
  const std::string reason = "CLOSED cannot connect to " + server_.socket_path() + ": ";
  EXPECT_TRUE(refused.text().starts_with(reason))
      << "neither refused nor reset: " << refused.text();
  server_.restart();
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
}

TEST_F(RedisClientTest, RestartedServerGetsNewIdleConnections) {
  const auto client = connected(options());
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
  server_.restart();
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
}

// ---- Checks of new connections ------------------------------------------------------------------

TEST_F(RedisClientTest, CheckRunsFirstOnEachConnection) {
  const auto client = connected(options());
  std::atomic<int> checks = 0;
  const auto check = std::make_shared<const ConnectionCheck>([&](Client& connection) {
    ++checks;
    EXPECT_EQ(connection("SET", "checked", checks.load()), Reply::ok());
    return absl::OkStatus();
  });
  client.backend->add_connection_check(check);
  EXPECT_EQ((*client)("GET", "checked"), Reply::nil())
      << "the first connection is older than the check";
  for (int restarts = 1; restarts <= 2; ++restarts) {
    server_.restart();
    EXPECT_EQ((*client)("GET", "checked"), Reply::bulk(std::to_string(restarts)));
    EXPECT_EQ((*client)("GET", "checked"), Reply::bulk(std::to_string(restarts)));
  }
}

TEST_F(RedisClientTest, FailedCheckClosesConnection) {
  const auto client = connected(options());
  std::mutex mutex;
  absl::Status result = absl::FailedPreconditionError("not this server");  // guarded by mutex
  const auto check = std::make_shared<const ConnectionCheck>([&](Client&) {
    const std::lock_guard lock(mutex);
    return result;
  });
  client.backend->add_connection_check(check);
  server_.restart();
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::error("CLOSED not this server"));
  EXPECT_EQ(client.backend->health(), absl::UnavailableError("not this server"));
  {
    const std::lock_guard lock(mutex);
    result = absl::OkStatus();
  }
  while ((*client)("GET", "k") != Reply::nil()) std::this_thread::yield();
  EXPECT_TRUE(client.backend->health().ok());
}

TEST_F(RedisClientTest, FailingCheckCostsFewAttempts) {
  const auto client = connected(options());
  std::atomic<int> checks = 0;
  const auto check = std::make_shared<const ConnectionCheck>([&](Client&) {
    ++checks;
    return absl::FailedPreconditionError("not this server");
  });
  client.backend->add_connection_check(check);
  server_.restart();
  constexpr int kRequests = 5'000;
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_EQ((*client)("SET", "k", "v"), Reply::error("CLOSED not this server"));
  }
  EXPECT_LT(checks, kRequests / 10);
  EXPECT_FALSE(client.backend->health().ok());
}

TEST_F(RedisClientTest, CheckEndsWithItsOwner) {
  const auto client = connected(options());
  auto check = std::make_shared<const ConnectionCheck>(
      [](Client&) { return absl::InternalError("called after its end"); });
  client.backend->add_connection_check(check);
  check.reset();
  server_.restart();
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
}

TEST_F(RedisClientTest, ConnectionLostDuringCheckIsClosed) {
  const auto client = connected(options());
  const auto check = std::make_shared<const ConnectionCheck>([&](Client& connection) {
    server_.kill();
    EXPECT_TRUE(connection("PING").is_error());
    return absl::OkStatus();
  });
  client.backend->add_connection_check(check);
  RawConnection direct(server_.socket_path());
  direct.call(Request::of("CLIENT", "KILL", "TYPE", "normal"));
  EXPECT_TRUE(has_code((*client)("PING"), error_code::kClosed));
}

TEST_F(RedisClientTest, CheckOfLostConnectionDelaysNoOther) {
  const auto client = connected(options());
  const auto own = client.backend->open_client();
  EXPECT_EQ((*own)("SELECT", 1), Reply::ok());
  RawConnection direct(server_.socket_path());
  std::atomic<int> checks = 0;
  std::latch may_end(1);
  const auto check = std::make_shared<const ConnectionCheck>([&](Client& connection) {
    if (++checks > 1) return absl::OkStatus();
    const Reply id = connection("CLIENT", "ID");
    direct.call(Request::of("CLIENT", "KILL", "ID", id.integer()));
    may_end.wait();
    return absl::OkStatus();
  });
  client.backend->add_connection_check(check);
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
  const std::string clients = direct.call(Request::of("CLIENT", "LIST")).text();
  const std::size_t line = clients.rfind("id=", clients.find(" cmd=ping"));
  RawConnection(server_.socket_path())
      .call(Request::of("CLIENT", "KILL", "ID", std::atoi(clients.c_str() + line + 3)));
  // The first check continues after the loss of its connection, and a new connection is ready.
  RawConnection observer(server_.socket_path());
  while (observer.call(Request::of("CLIENT", "LIST")).text().find(" cmd=client|id ") ==
             std::string::npos ||
         checks == 0) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ((*own)("PING"), Reply::status("PONG"));
  EXPECT_EQ(checks, 1);
  may_end.count_down();
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
  EXPECT_EQ(checks, 2);
}

// ---- Transactions -------------------------------------------------------------------------------

TEST_F(RedisClientTest, SubscriptionInsideMultiIsRefused) {
  const auto client = connected(options(), {.on_message = [](const Reply&) {}});
  const Reply refusal =
      Reply::error("ERR a subscription inside MULTI is not supported by this client");
  EXPECT_EQ((*client)("MULTI"), Reply::ok());
  EXPECT_EQ((*client)("SUBSCRIBE", "a", "b"), refusal);
  EXPECT_EQ((*client)("INCR", "n"), Reply::status("QUEUED"));
  EXPECT_EQ((*client)("EXEC"), Reply::array({Reply::integer(1)}));
  const std::vector<Request> requests = {Request::of("MULTI"), Request::of("SUBSCRIBE", "a", "b"),
                                         Request::of("EXEC")};
  EXPECT_EQ(client->pipeline(requests), std::vector<Reply>(3, refusal));
  EXPECT_EQ((*client)("SUBSCRIBE", "a").elements().size(), 1U);
}

// ---- Destroyed clients --------------------------------------------------------------------------

TEST_F(RedisClientTest, RefusedUnblockIsRepeated) {
  const auto client = connected(options());
  RawConnection direct(server_.socket_path());
  direct.call(Request::of("ACL", "SETUSER", "default", "-client|unblock"));
  std::promise<Reply> popped;
  auto leaving = client.backend->open_client();
  leaving->submit(Request::of("BLPOP", "none", 0),
                  [&](Reply reply) { popped.set_value(std::move(reply)); });
  wait_for_blocked(server_.socket_path());
  leaving.reset();
  while (direct.call(Request::of("ACL", "LOG")).elements().empty()) std::this_thread::yield();
  direct.call(Request::of("ACL", "SETUSER", "default", "+client|unblock"));
  EXPECT_EQ(popped.get_future().get(), Reply::nil_array());
}

TEST_F(RedisClientTest, UnblockIsRepeatedThoughCallbackBlocks) {
  const auto client = connected(options());
  RawConnection direct(server_.socket_path());
  std::latch may_end(1);
  client->submit(Request::of("PING"), [&](const Reply&) { may_end.wait(); });
  direct.call(Request::of("ACL", "SETUSER", "default", "-client|unblock"));
  auto popped = std::async(std::launch::async, [&] { return (*client)("BLPOP", "none", 0); });
  wait_for_blocked(server_.socket_path());
  client->unblock();
  while (direct.call(Request::of("ACL", "LOG")).elements().empty()) std::this_thread::yield();
  direct.call(Request::of("ACL", "SETUSER", "default", "+client|unblock"));
  EXPECT_EQ(popped.get(), Reply::nil_array());
  may_end.count_down();
}

TEST_F(RedisClientTest, MissingServerIsNamedOnConnect) {
  RedisOptions nowhere;
  nowhere.unix_path = server_.socket_path() + ".none";
  const absl::Status status = RedisBackend::open(nowhere).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()),
            "cannot connect to " + nowhere.unix_path + ": No such file or directory");
}

TEST_F(RedisClientTest, ConnectChecksItsOptions) {
  RedisOptions bad = options();
  bad.connections_max = 0;
  EXPECT_EQ(RedisBackend::open(bad).status().code(), absl::StatusCode::kInvalidArgument);
  bad = options();
  bad.db = 1'000;
  const absl::Status status = RedisBackend::open(bad).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(status.message()).find("ERR DB index is out of range"), std::string::npos);
}

TEST(RedisClientAuthTest, WrongAndMissingPasswordsAreReported) {
  RedisServer server({.arguments = {"--requirepass", "secret"}});
  RedisOptions options = *RedisOptions::from_url(server.url());
  EXPECT_EQ(RedisBackend::open(options).status().code(), absl::StatusCode::kPermissionDenied);
  options.password = "wrong";
  const absl::Status status = RedisBackend::open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(std::string(status.message()).find("WRONGPASS"), std::string::npos);
  EXPECT_EQ(std::string(status.message()).find("wrong"), std::string::npos);
  options.password = "secret";
  EXPECT_TRUE(RedisBackend::open(options).ok());
  options.user = "default";
  EXPECT_TRUE(RedisBackend::open(options).ok());
}

TEST(RedisClientAuthTest, NeedlessPasswordIsReported) {
  RedisServer server;
  RedisOptions options = *RedisOptions::from_url(server.url());
  options.password = "secret";
  EXPECT_EQ(RedisBackend::open(options).status().code(), absl::StatusCode::kPermissionDenied);
}

// ---- The contract on a real server --------------------------------------------------------------

class RealRedis final : public AnyRedisServer {
 public:
  [[nodiscard]] std::string socket_path() const override { return server_.socket_path(); }

 private:
  RedisServer server_;
};

INSTANTIATE_TEST_SUITE_P(OnRedis, RedisClientContract,
                         ::testing::Values([] { return std::make_unique<RealRedis>(); }));

}  // namespace
}  // namespace rushgate
