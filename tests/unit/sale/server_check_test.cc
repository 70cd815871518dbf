// A sale opens only on a server that can hold it, and warns of settings that may lose orders.
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/redis_backend.h>
#include <rushgate/sale.h>

namespace rushgate {
namespace {

using rushgate::testing::RawConnection;
using rushgate::testing::RedisServer;
using rushgate::testing::RedisServerOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Words = std::vector<std::string>;

class ServerCheckTest : public ::testing::Test {
 protected:
  void start(RedisServerOptions options = {}) {
    server_ = std::make_unique<RedisServer>(std::move(options));
  }

  Reply ask(const Words& words) const {
    Request request;
    for (const std::string& word : words) request.add(word);
    return RawConnection(server_->socket_path()).call(request);
  }

  /// Starts a server with a user that has the rights and lacks those of `rules`.
  void start_with_user(const Words& rules, RedisServerOptions options = {}) {
    start(std::move(options));
    set_user(rules);
  }
  void set_user(const Words& rules) {
    Words words = {"ACL", "SETUSER", "shop", "reset", "on", ">secret", "~*", "&*", "+@all"};
    words.insert(words.end(), rules.begin(), rules.end());
    ASSERT_EQ(ask(words), Reply::ok());
    redis_.user = "shop";
    redis_.password = "secret";
  }

  /// Opens a sale. log_ has what it logs.
  absl::Status open() {
    redis_.unix_path = server_->socket_path();
    const auto backend = RedisBackend::open(redis_);
    if (!backend.ok()) return backend.status();
    log_.str("");
    SaleOptions options;
    options.logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
    return Sale::open(**backend, orders_, options).status();
  }
  /// Returns what a sale logs that opens.
  std::string log_of_open() {
    EXPECT_EQ(open(), absl::OkStatus());
    return log_.str();
  }

  void expect_refused(absl::StatusCode code, const std::string& why) {
    const absl::Status opened = open();
    EXPECT_EQ(opened.code(), code) << opened;
    EXPECT_THAT(std::string(opened.message()), HasSubstr(why));
  }
  void expect_refused_commands(const std::string& names) {
    expect_refused(absl::StatusCode::kPermissionDenied, "need: the commands " + names + " (docs");
  }

  std::unique_ptr<RedisServer> server_;
  RedisOptions redis_;
  MemoryOrderStore orders_;
  std::ostringstream log_;
};

// ---- Settings -------

TEST_F(ServerCheckTest, DurableServerGetsNoWarning) {
  start({.append_only = true});
  EXPECT_THAT(log_of_open(), IsEmpty());
}

TEST_F(ServerCheckTest, EvictionOfAllKeysIsWarnedOf) {
  start({.append_only = true});
  for (const std::string policy : {"allkeys-lru", "allkeys-lfu", "allkeys-random"}) {
    ask({"CONFIG", "SET", "maxmemory-policy", policy});
    EXPECT_THAT(log_of_open(), AllOf(HasSubstr("maxmemory-policy is " + policy),
                                     HasSubstr("accepted orders are lost")));
  }
}

TEST_F(ServerCheckTest, EvictionOfExpiringKeysIsWarnedOf) {
  start({.append_only = true});
  for (const std::string policy : {"volatile-lru", "volatile-ttl"}) {
    ask({"CONFIG", "SET", "maxmemory-policy", policy});
    EXPECT_THAT(log_of_open(), AllOf(HasSubstr("maxmemory-policy is " + policy),
                                     HasSubstr("idempotency keys"), Not(HasSubstr("the stock"))));
  }
}

TEST_F(ServerCheckTest, MissingPersistenceIsWarnedOf) {
  start();
  EXPECT_THAT(log_of_open(), HasSubstr("appendonly is no and save is empty: a restart"));
}

TEST_F(ServerCheckTest, SnapshotsAloneAreWarnedOf) {
  start({.arguments = {"--save", "3600 1"}});
  EXPECT_THAT(log_of_open(), HasSubstr("appendonly is no: a restart of the server loses, since "
                                       "its last snapshot, the accepted orders"));
}

TEST_F(ServerCheckTest, ForbiddenConfigIsReplacedByInfo) {
  start_with_user({"-config"}, {.arguments = {"--maxmemory-policy", "allkeys-lru"}});
  EXPECT_THAT(log_of_open(), AllOf(HasSubstr("maxmemory-policy is allkeys-lru"),
                                   HasSubstr("appendonly is no: a restart")));
}

TEST_F(ServerCheckTest, RenamedConfigIsReplacedByInfo) {
  start({.arguments = {"--maxmemory-policy", "volatile-lru", "--rename-command", "CONFIG", ""}});
  EXPECT_THAT(log_of_open(), AllOf(HasSubstr("maxmemory-policy is volatile-lru"),
                                   HasSubstr("appendonly is no: a restart")));
}

TEST_F(ServerCheckTest, ForbiddenInfoIsReplacedByConfig) {
  start_with_user({"-info"}, {.arguments = {"--maxmemory-policy", "allkeys-lru"}});
  EXPECT_THAT(log_of_open(), AllOf(HasSubstr("maxmemory-policy is allkeys-lru"),
                                   HasSubstr("appendonly is no and save is empty")));
}

TEST_F(ServerCheckTest, UnreadableSettingsAreSaid) {
  start_with_user({"-info", "-config"});
  EXPECT_THAT(log_of_open(), HasSubstr("the server refuses INFO and CONFIG GET"));
}

// ---- Rights -------

TEST_F(ServerCheckTest, ForbiddenCommandsAreNamed) {
  start_with_user({"-xautoclaim", "-xinfo|groups", "-zadd"});
  expect_refused_commands("xautoclaim, xinfo|groups, zadd");
  set_user({"-@stream", "+xadd"});
  expect_refused_commands(
      "xack, xautoclaim, xclaim, xdel, xgroup|create, xgroup|delconsumer, xgroup|setid, "
      "xinfo|consumers, "
      "xinfo|groups, xinfo|stream, xlen, xpending, xrange, xread, xreadgroup, xrevrange, xtrim");
  EXPECT_EQ(ask({"DBSIZE"}), Reply::integer(0)) << "nothing was written";
}

TEST_F(ServerCheckTest, RenamedCommandIsNamed) {
  start({.arguments = {"--rename-command", "XAUTOCLAIM", ""}});
  expect_refused_commands("xautoclaim");
}

TEST_F(ServerCheckTest, ForbiddenKeysAreNamed) {
  start_with_user({"resetkeys", "~seckill:*", "~stream.orders"});
  expect_refused(absl::StatusCode::kPermissionDenied,
                 "need: the keys stream.orders.database, stream.orders.dead, icr:order:20220101 (");
  set_user({"resetkeys", "%R~*", "-hget"});
  expect_refused(absl::StatusCode::kPermissionDenied,
                 "the commands hget, and the keys seckill:vouchers, seckill:stock:1,");
}

/// What the transaction would do is never done without it.
TEST_F(ServerCheckTest, UserWithoutTransactionsIsWarned) {
  for (const std::string command : {"-multi", "-discard"}) {
    start_with_user({command, "-zrank"});
    EXPECT_THAT(log_of_open(), HasSubstr("no MULTI and DISCARD for this user"));
    EXPECT_EQ(ask({"EXISTS", "seckill:permissions"}), Reply::integer(0));
  }
}

TEST_F(ServerCheckTest, ForbiddenWaitIsNamed) {
  start_with_user({"-wait"});
  redis_.sync_replicas = 1;
  expect_refused(absl::StatusCode::kPermissionDenied, "'wait'");
}

// ---- A cluster -------

TEST_F(ServerCheckTest, ClusterIsRefused) {
  start_with_user({}, {.arguments = {"--cluster-enabled", "yes", "--port", "0"}});
  expect_refused(absl::StatusCode::kUnimplemented, "the server belongs to a Redis Cluster");
  set_user({"-info"});
  expect_refused(absl::StatusCode::kUnimplemented, "the server belongs to a Redis Cluster");
}

}  // namespace
}  // namespace rushgate
