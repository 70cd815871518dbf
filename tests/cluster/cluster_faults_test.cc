// RedisBackend on a real cluster whose nodes die, stop and change places.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/cleanup/cleanup.h"
#include "tests/cluster/cluster_fixture.h"
#include "tests/support/collected_replies.h"
#include "tests/support/redis_server/sentinel_group.h"

namespace rushgate {
namespace {

using testing::ask;
using testing::CollectedReplies;
using testing::opened;
using testing::RedisServer;
using testing::wait_until;

class ClusterFaultsTest : public ClusterTest {};

/// Repeats a request until it succeeds. Returns its reply.
Reply until_done(Client& client, const Request& request) {
  Reply reply;
  wait_until([&] {
    reply = client.call(request);
    return !reply.is_error();
  });
  return reply;
}

TEST_F(ClusterFaultsTest, KilledMasterIsReplaced) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const std::string key = "killed";
  RedisServer& old = cluster().owner_of(key);
  const std::string elsewhere = key_on(cluster().master_beside(old));
  old.kill();
  Reply reply;
  wait_until([&] {
    reply = (*client)("SET", key, "v");
    EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
    EXPECT_FALSE((*client)("INCR", elsewhere).is_error()) << "other masters go on";
    return reply == Reply::ok();
  });
  cluster().heal();
  EXPECT_EQ((*client)("GET", key), Reply::bulk("v"));
  EXPECT_TRUE(backend->health().ok()) << backend->health();
}

TEST_F(ClusterFaultsTest, PausedMasterIsLeft) {
  RedisOptions impatient = options();
  impatient.command_timeout_ms = 1'000;
  const auto backend = opened(impatient);
  const auto client = backend->open_client();
  const std::string key = "paused";
  RedisServer& old = cluster().owner_of(key);
  EXPECT_EQ((*client)("SET", key, "v"), Reply::ok());
  old.pause();
  EXPECT_TRUE(has_code((*client)("SET", key, "w"), error_code::kOutcomeUnknown));
  until_done(*client, Request::of("GET", key));  // the replica may not have had the value yet
  old.resume();
  cluster().heal();
  EXPECT_EQ((*client)("SET", key, "x"), Reply::ok());
  EXPECT_EQ(ask(cluster().owner_of(key), Request::of("GET", key)), Reply::bulk("x"));
}

TEST_F(ClusterFaultsTest, DemotedMasterIsLeftWithoutFault) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const std::string key = "demoted";
  const Script script("return redis.call('INCR', KEYS[1])");
  const std::vector<std::string_view> keys = {key};
  EXPECT_EQ(client->run(script, keys, {}), Reply::integer(1));
  const std::uint64_t losses = backend->counters().losses;
  cluster().fail_over(cluster().owner_of(key));
  // Its new master does not know the script: NOSCRIPT, inside a pipeline with other slots.
  std::vector<Request> requests;
  for (const std::string_view each : {"demoted", "a", "demoted", "b", "demoted"}) {
    requests.push_back(client->script_request(script, {&each, 1}, {}));
  }
  EXPECT_EQ(ask(cluster().owner_of(key), Request::of("SCRIPT", "FLUSH")), Reply::ok());
  const std::vector<Reply> replies = client->run_all(script, requests);
  EXPECT_EQ(replies, (std::vector<Reply>{Reply::integer(2), Reply::integer(1), Reply::integer(3),
                                         Reply::integer(1), Reply::integer(4)}));
  const std::uint64_t lookups = backend->counters().lookups;
  EXPECT_EQ((*client)("EVALSHA", std::string(40, '0'), 1, key).error_code(), "NOSCRIPT");
  EXPECT_LE(backend->counters().lookups, lookups + 1) << "NOSCRIPT says nothing of the map";
  EXPECT_LE(backend->counters().losses, losses + 2) << "only the old master's connections end";
}

TEST_F(ClusterFaultsTest, TransactionOfMovingSlotRunsOnce) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const std::vector<Request> transaction = {Request::of("MULTI"), Request::of("INCR", "{once}a"),
                                            Request::of("INCR", "{once}b"), Request::of("EXEC")};
  const int slot = key_slot("{once}a");
  EXPECT_EQ(client->pipeline(transaction).back(),
            Reply::array({Reply::integer(1), Reply::integer(1)}));
  RedisServer& from = cluster().owner(slot);
  RedisServer& to = cluster().master_beside(from);
  cluster().begin_move(slot, from, to);
  // Half of the keys are moved: only when both are can it run, on the other node.
  ASSERT_EQ(ask(from, Request::of("MIGRATE", "127.0.0.1", to.port(), "{once}a", 0, 5'000)),
            Reply::ok());
  auto running = std::async(std::launch::async, [&] { return client->pipeline(transaction); });
  wait_until([&] {
    return backend->counters().redirects > 0 ||
           running.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  cluster().end_move(slot, from, to);
  EXPECT_EQ(client->pipeline(transaction).size(), 4U);
  const Reply last = running.get().back();
  const Reply sum = (*client)("GET", "{once}a");
  EXPECT_EQ(sum, (*client)("GET", "{once}b"));
  EXPECT_EQ(sum, Reply::bulk(last.is_error() ? "2" : "3"));
}

TEST_F(ClusterFaultsTest, RequestsOfMovingSlotsKeepOrder) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const std::string key = "{order}l";
  const int slot = key_slot(key);
  std::atomic<bool> must_stop = false;
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::int64_t> completed = 0;
  std::atomic<int> errors = 0;
  std::thread sender([&] {
    while (!must_stop) {
      client->submit(Request::of("RPUSH", key, next++), [&](const Reply& reply) {
        errors += reply.is_error() ? 1 : 0;
        ++completed;
      });
      while (next - completed > 100) std::this_thread::yield();
    }
  });
  absl::Cleanup stop = [&] {  // also if the cluster refuses something
    must_stop = true;
    sender.join();
  };
  for (int i = 0; i < 4; ++i) {
    const std::int64_t before = completed;
    RedisServer& from = cluster().owner(slot);
    RedisServer& to = cluster().master_beside(from);
    cluster().begin_move(slot, from, to);
    wait_until([&] { return completed > before + 200; });
    cluster().end_move(slot, from, to);
  }
  std::move(stop).Invoke();
  wait_until([&] { return completed == next; });
  EXPECT_EQ(errors, 0);
  const Reply list = (*client)("LRANGE", key, 0, -1);
  ASSERT_EQ(list.elements().size(), static_cast<std::size_t>(next.load()));
  for (std::size_t i = 0; i < list.elements().size(); ++i) {
    ASSERT_EQ(list.elements()[i], Reply::bulk(std::to_string(i)));
  }
}

TEST_F(ClusterFaultsTest, FailedCompletionIsNotRepeated) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  std::promise<void> called;
  client->submit(Request::of("INCR", "n"), [&](const Reply&) {
    called.set_value();
    throw std::runtime_error("MOVED 1 127.0.0.1:1");
  });
  called.get_future().get();
  EXPECT_EQ((*client)("GET", "n"), Reply::bulk("1"));
}

TEST_F(ClusterFaultsTest, DestroyedBackendRunsEveryCompletion) {
  constexpr int kRequests = 300;
  std::atomic<int> completed = 0;
  RedisServer& paused = cluster().owner_of("a");
  RedisServer& killed = cluster().master_beside(paused);
  const std::string on_killed = key_on(killed);
  {
    const auto backend = opened(options());
    const auto client = backend->open_client();
    EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
    paused.pause();
    killed.kill();
    for (int i = 0; i < kRequests; ++i) {
      client->submit(Request::of("INCR", i % 2 == 0 ? "a" : on_killed),
                     [&](const Reply&) { ++completed; });
    }
  }
  EXPECT_EQ(completed, kRequests);
  paused.resume();
}

TEST_F(ClusterFaultsTest, SyncAvoidsSlotThatMoves) {
  RedisOptions syncing = options();
  syncing.sync_replicas = 1;
  syncing.confirm_replicas = 1;
  const auto backend = opened(syncing);
  const auto client = backend->open_client();
  const auto confirming = backend->open_client({.confirms = true});
  EXPECT_EQ(client->sync(), Reply::ok());
  RedisServer& from = cluster().owner_of("k");
  RedisServer& to = cluster().master_beside(from);
  int tag = 0;  // of the key that the clients write on this master
  const auto key = [&] { return "{" + std::to_string(tag) + "}rushgate:sync"; };
  while (&cluster().owner_of(key()) != &from) ++tag;
  EXPECT_EQ(ask(from, Request::of("DEL", key())).is_error(), false);
  cluster().begin_move(key_slot(key()), from, to);
  const std::string moving = key();
  Reply confirmed = (*confirming)("INCR", "k");
  EXPECT_TRUE(has_code(confirmed, error_code::kOutcomeUnknown)) << to_debug_string(confirmed);
  EXPECT_EQ((*confirming)("INCR", "k"), Reply::integer(2)) << "another key is written now";
  EXPECT_EQ(client->sync_of("k"), Reply::ok());
  EXPECT_EQ(client->sync(), Reply::ok());
  EXPECT_EQ(ask(to, Request::of("EXISTS", moving)).is_error(), true) << "it was not written there";
  cluster().end_move(key_slot(moving), from, to);
}

TEST_F(ClusterFaultsTest, SyncOfKeyIgnoresOtherMasters) {
  RedisOptions syncing = options();
  syncing.sync_replicas = 1;
  const auto backend = opened(syncing);
  const auto client = backend->open_client();
  RedisServer& owner = cluster().owner_of("k");
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
  RedisServer& dead = cluster().master_beside(owner);
  cluster().replica_of(dead).kill();
  dead.kill();
  EXPECT_EQ(client->sync_of("k"), Reply::ok());
  EXPECT_TRUE(client->sync().is_error());
}

// ---- Blocking and subscriptions -----------------------------------------------------------------

TEST_F(ClusterFaultsTest, BlockingReadFollowsItsSlot) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  const std::string stream = "{blocked}s";
  const int slot = key_slot(stream);
  auto read = std::async(std::launch::async,
                         [&] { return (*client)("XREAD", "BLOCK", 0, "STREAMS", stream, "$"); });
  RedisServer& from = cluster().owner(slot);
  RedisServer& to = cluster().master_beside(from);
  const auto blocks_at = [](RedisServer& node) {
    return ask(node, Request::of("CLIENT", "LIST")).text().find(" flags=b") != std::string::npos;
  };
  wait_until([&] { return blocks_at(from); });
  cluster().begin_move(slot, from, to);
  cluster().end_move(slot, from, to);
  wait_until([&] { return blocks_at(to); });
  EXPECT_EQ((*client)("XADD", stream, "1-1", "f", "v"), Reply::bulk("1-1"));
  EXPECT_EQ(to_debug_string(read.get()), R"([["{blocked}s", [["1-1", ["f", "v"]]]]])");
}

class ClusterSubscriptionsTest : public ClusterTest {
 protected:
  /// Publishes until a message arrives.
  static void publish_until_heard(Client& publisher, CollectedReplies& messages,
                                  const Request& publish, const std::string& text) {
    const auto was_heard = [&] {
      for (const Reply& message : messages.wait_for(0)) {
        if (to_debug_string(message) == text) return true;
      }
      return false;
    };
    wait_until([&] {
      publisher.call(publish);
      return was_heard();
    });
  }
};

TEST_F(ClusterSubscriptionsTest, ShardChannelFollowsItsSlot) {
  const auto backend = opened(options());
  CollectedReplies messages;
  const auto subscriber = backend->open_client({.on_message = messages.next()});
  const auto publisher = backend->open_client();
  const std::string channel = "{shard}c";
  const int slot = key_slot(channel);
  EXPECT_EQ(to_debug_string((*subscriber)("SSUBSCRIBE", channel)),
            R"([["ssubscribe", "{shard}c", (integer) 1]])");
  EXPECT_EQ((*subscriber)("SSUBSCRIBE", "a", "b").error_code(), "CROSSSLOT");
  EXPECT_EQ((*publisher)("SPUBLISH", channel, "one"), Reply::integer(1));
  publish_until_heard(*publisher, messages, Request::of("PING"),
                      R"(["smessage", "{shard}c", "one"])");

  RedisServer& from = cluster().owner(slot);
  RedisServer& to = cluster().master_beside(from);
  cluster().begin_move(slot, from, to);
  cluster().end_move(slot, from, to);
  publish_until_heard(*publisher, messages, Request::of("SPUBLISH", channel, "two"),
                      R"(["smessage", "{shard}c", "two"])");
  EXPECT_EQ(to_debug_string(ask(to, Request::of("PUBSUB", "SHARDNUMSUB", channel))),
            R"(["{shard}c", (integer) 1])");

  cluster().fail_over(to);
  publish_until_heard(*publisher, messages, Request::of("SPUBLISH", channel, "three"),
                      R"(["smessage", "{shard}c", "three"])");
  EXPECT_EQ(to_debug_string((*subscriber)("SUNSUBSCRIBE", channel)),
            R"([["sunsubscribe", "{shard}c", (integer) 0]])");
  EXPECT_EQ((*subscriber)("GET", "k"), Reply::nil());
}

TEST_F(ClusterSubscriptionsTest, SubscriberAloneLearnsOfDeadMaster) {
  // It sends nothing, so only the looks at the map and its own connection can tell it.
  const auto backend = opened(options());
  const auto others = opened(options());
  CollectedReplies messages;
  const auto subscriber = backend->open_client({.on_message = messages.next()});
  EXPECT_FALSE((*subscriber)("SUBSCRIBE", "news").is_error());
  EXPECT_FALSE((*subscriber)("SSUBSCRIBE", "local").is_error());
  RedisServer* with_news = nullptr;
  for (std::size_t i = 0; i < cluster().nodes(); ++i) {
    const Reply number = ask(cluster().node(i), Request::of("PUBSUB", "NUMSUB", "news"));
    if (number.elements()[1].integer() > 0) with_news = &cluster().node(i);
  }
  ASSERT_NE(with_news, nullptr);
  with_news->kill();
  const auto publisher = others->open_client();
  publish_until_heard(*publisher, messages, Request::of("PUBLISH", "news", "n"),
                      R"(["message", "news", "n"])");
  publish_until_heard(*publisher, messages, Request::of("SPUBLISH", "local", "l"),
                      R"(["smessage", "local", "l"])");
  const auto all = messages.wait_for(2);
  EXPECT_EQ(all[0].elements()[0].text(), "disconnected");
}

}  // namespace
}  // namespace rushgate
