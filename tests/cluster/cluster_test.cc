// RedisBackend on a real cluster: where requests go, and what redirects do.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/cluster_fixture.h"

namespace rushgate {
namespace {

using testing::ask;
using ::testing::HasSubstr;
using testing::opened;
using testing::RedisServer;

TEST_F(ClusterTest, EachKeyGoesToItsMaster) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  for (int i = 0; i < 100; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_EQ((*client)("SET", key, i), Reply::ok());
    ASSERT_EQ(ask(cluster().owner_of(key), Request::of("GET", key)),
              Reply::bulk(std::to_string(i)));
  }
  EXPECT_EQ((*client)("DBSIZE"), Reply::integer(100));
  EXPECT_EQ(backend->counters().redirects, 0U);
  EXPECT_TRUE(backend->health().ok()) << backend->health();
}

TEST_F(ClusterTest, PipelineRepliesInOrderOfRequests) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  std::vector<Request> requests;
  for (int i = 0; i < 3'000; ++i) {
    requests.push_back(Request::of("INCRBY", "k" + std::to_string(i % 50), i));
    requests.push_back(Request::of("ECHO", i));
  }
  const std::vector<Reply> replies = client->pipeline(requests);
  std::vector<std::int64_t> sums(50);
  for (int i = 0; i < 3'000; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(replies[2 * at], Reply::integer(sums[at % 50] += i));
    ASSERT_EQ(replies[2 * at + 1], Reply::bulk(std::to_string(i)));
  }
}

TEST_F(ClusterTest, KeysOfSeveralSlotsAreNotSent) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const Reply error = Reply::error(
      "CROSSSLOT the keys \"a\" (slot 15495) and \"b\" (slot 3300) are in different slots of the "
      "cluster; a common {tag} in their names puts them in one");
  EXPECT_EQ((*client)("MSET", "a", 1, "b", 2), error);
  EXPECT_EQ((*client)("EVAL", "return 1", 2, "a", "b"), error);
  EXPECT_EQ(client->pipeline(std::vector<Request>{Request::of("MULTI"), Request::of("SET", "a", 1),
                                                  Request::of("SET", "b", 1), Request::of("EXEC"),
                                                  Request::of("GET", "a")}),
            (std::vector<Reply>{error, error, error, error, Reply::nil()}));
  EXPECT_EQ((*client)("MSET", "{t}a", 1, "{t}b", 2), Reply::ok());
}

TEST_F(ClusterTest, TransactionRunsOnOneNode) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const std::vector<Reply> replies = client->pipeline(std::vector<Request>{
      Request::of("WATCH", "{t}a"), Request::of("MULTI"), Request::of("INCR", "{t}a"),
      Request::of("INCR", "{t}b"), Request::of("EXEC"), Request::of("GET", "other")});
  EXPECT_EQ(replies[4], Reply::array({Reply::integer(1), Reply::integer(1)}));
  EXPECT_EQ(replies[5], Reply::nil());
}

TEST_F(ClusterTest, KeylessCommandsReachAllMasters) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const Script script("return redis.call('INCR', KEYS[1])");
  EXPECT_EQ((*client)("SCRIPT", "LOAD", script.text()), Reply::bulk(script.sha1()));
  for (const char* key : {"a", "b", "c", "d"}) {
    EXPECT_EQ((*client)("EVALSHA", script.sha1(), 1, key), Reply::integer(1));
  }
  EXPECT_EQ((*client)("KEYS", "*").elements().size(), 4U);
  EXPECT_EQ((*client)("FLUSHALL"), Reply::ok());
  EXPECT_EQ((*client)("DBSIZE"), Reply::integer(0));
  EXPECT_EQ((*client)("SCAN", 0),
            Reply::error("ERR 'SCAN' on a cluster: a cursor is that of one node"));
}

TEST_F(ClusterTest, SyncWaitsForReplicasOfAllMasters) {
  RedisOptions waiting = options();
  waiting.sync_replicas = 1;
  waiting.sync_timeout_ms = 1'000;
  const auto backend = opened(waiting);
  const auto client = backend->open_client();
  EXPECT_EQ((*client)("SET", "a", 1), Reply::ok());
  EXPECT_EQ(client->sync(), Reply::ok());
  RedisServer& replica = cluster().replica_of(cluster().owner_of("b"));
  replica.pause();
  EXPECT_EQ(client->sync(), Reply::error("NOREPLICAS 0 of 1 replicas confirmed within 1000 ms"));
  replica.resume();
}

TEST_F(ClusterTest, ConfirmedResultNeedsReplica) {
  RedisOptions confirming = options();
  confirming.confirm_replicas = 1;
  confirming.confirm_ms = 1'000;
  const auto backend = opened(confirming);
  const auto client = backend->open_client({.confirms = true});
  EXPECT_EQ((*client)("INCR", "a"), Reply::integer(1));
  EXPECT_EQ((*client)("GET", "a"), Reply::bulk("1")) << "a result that others wrote, too";
  RedisServer& replica = cluster().replica_of(cluster().owner_of("a"));
  replica.pause();
  EXPECT_TRUE(has_code((*client)("GET", "a"), error_code::kOutcomeUnknown));
  EXPECT_EQ((*client)("INCR", key_on(cluster().master_beside(cluster().owner_of("a")))),
            Reply::integer(1));
  replica.resume();
}

TEST_F(ClusterTest, MovedSlotIsFollowed) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const std::string key = "{moved}key";
  const int slot = key_slot(key);
  EXPECT_EQ((*client)("SET", key, "v"), Reply::ok());
  RedisServer& from = cluster().owner(slot);
  RedisServer& to = cluster().master_beside(from);
  cluster().begin_move(slot, from, to);
  cluster().end_move(slot, from, to);
  EXPECT_EQ((*client)("GET", key), Reply::bulk("v"));
  EXPECT_EQ((*client)("SET", key, "w"), Reply::ok());
  EXPECT_EQ(ask(to, Request::of("GET", key)), Reply::bulk("w"));
}

TEST_F(ClusterTest, MovingSlotAsksOtherNode) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const std::string old = "{asked}old";
  const int slot = key_slot(old);
  EXPECT_EQ((*client)("SET", old, "v"), Reply::ok());
  RedisServer& from = cluster().owner(slot);
  RedisServer& to = cluster().master_beside(from);
  cluster().begin_move(slot, from, to);
  EXPECT_EQ((*client)("GET", old), Reply::bulk("v"));
  EXPECT_EQ((*client)("SET", "{asked}new", "w"), Reply::ok());
  EXPECT_EQ(ask(to, Request::of("CLUSTER", "COUNTKEYSINSLOT", slot)), Reply::integer(1));
  // A transaction on a key that is there already, as one piece.
  EXPECT_EQ(client
                ->pipeline(std::vector<Request>{
                    Request::of("MULTI"), Request::of("APPEND", "{asked}new", "x"),
                    Request::of("GET", "{asked}new"), Request::of("EXEC")})
                .back(),
            Reply::array({Reply::integer(2), Reply::bulk("wx")}));
  cluster().end_move(slot, from, to);
  EXPECT_EQ((*client)("GET", old), Reply::bulk("v"));
}

}  // namespace
}  // namespace rushgate
