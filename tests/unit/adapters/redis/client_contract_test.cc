// The contract of Client on every backend: session, order, timeout and error.
#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/collected_replies.h"
#include "tests/support/redis_server/redis_cluster.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/redis_server/sentinel_group.h"
#include "tests/unit/adapters/redis/tls_server.h"
#include <rushgate/backend.h>
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using testing::CollectedReplies;

/// Owns a keyspace.
class TestedBackend {
 public:
  virtual ~TestedBackend() = default;
  [[nodiscard]] virtual Backend& backend() = 0;
  /// Closes the backend, but not its clients.
  virtual void close() = 0;
  /// Returns true if a client waits in a blocking command.
  [[nodiscard]] virtual bool has_blocked() {
    return is_blocked_in((*backend().open_client())("CLIENT", "LIST"));
  }

 protected:
  static bool is_blocked_in(const Reply& client_list) {
    return client_list.text().find(" flags=b") != std::string::npos;
  }
};

class Embedded final : public TestedBackend {
 public:
  Backend& backend() override { return *engine_; }
  void close() override { engine_.reset(); }

 private:
  std::unique_ptr<Engine> engine_ = *Engine::open(std::make_unique<MemoryStore>());
};

class OnRedis final : public TestedBackend {
 public:
  Backend& backend() override { return *backend_; }
  void close() override { backend_.reset(); }

 private:
  testing::RedisServer server_;
  std::unique_ptr<RedisBackend> backend_ =
      RedisBackend::open(*RedisOptions::from_url(server_.url())).value();
};

class OverTls final : public TestedBackend {
 public:
  Backend& backend() override { return *backend_; }
  void close() override { backend_.reset(); }

 private:
  testing::TlsRedisServer server_;
  std::unique_ptr<RedisBackend> backend_ = RedisBackend::open(server_.options()).value();
};

/// On a cluster that all its tests share.
class OnCluster final : public TestedBackend {
 public:
  OnCluster() { cluster().flush_all(); }

  Backend& backend() override { return *backend_; }
  void close() override { backend_.reset(); }
  bool has_blocked() override {
    for (std::size_t i = 0; i < cluster().nodes(); ++i) {
      if (is_blocked_in(ask(cluster().node(i), Request::of("CLIENT", "LIST")))) return true;
    }
    return false;
  }

 private:
  static testing::RedisCluster& cluster() {
    static testing::RedisCluster shared({.replicas = 0});
    return shared;
  }

  std::unique_ptr<RedisBackend> backend_ =
      RedisBackend::open(*RedisOptions::from_url(cluster().url())).value();
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<TestedBackend>()> start;
  bool has_one_connection = true;  // whose state a client's commands may change
};

class ClientContract : public ::testing::TestWithParam<Kind> {
 protected:
  [[nodiscard]] Backend& backend() { return tested_->backend(); }
  [[nodiscard]] std::unique_ptr<Client> open(const ClientOptions& options = {}) {
    return backend().open_client(options);
  }

  /// Blocks until a client waits in a blocking command.
  void wait_for_blocked() {
    while (!tested_->has_blocked()) std::this_thread::yield();
  }

  const std::unique_ptr<TestedBackend> tested_ = GetParam().start();
};

// ---- Session ------------------------------------------------------------------------------------

TEST_P(ClientContract, ClientOfSeveralConnectionsCannotChangeThem) {
  if (GetParam().has_one_connection) return;
  const auto client = open();
  EXPECT_EQ((*client)("SELECT", 1),
            Reply::error("ERR 'SELECT' on a cluster: it changes one connection, and a client has "
                         "several"));
  EXPECT_EQ((*client)("MULTI"), Reply::error("ERR 'MULTI' on a cluster: a transaction and its "
                                             "WATCH must be in one pipeline, up to EXEC"));
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
}

TEST_P(ClientContract, SelectLastsAsLongAsClient) {
  if (!GetParam().has_one_connection) return;
  const auto one = open();
  const auto other = open();
  EXPECT_EQ((*one)("SELECT", 1), Reply::ok());
  EXPECT_EQ((*one)("SET", "k", "v"), Reply::ok());
  EXPECT_EQ((*one)("GET", "k"), Reply::bulk("v"));
  EXPECT_EQ((*other)("GET", "k"), Reply::nil());
  EXPECT_EQ((*other)("SELECT", 1), Reply::ok());
  EXPECT_EQ((*other)("GET", "k"), Reply::bulk("v"));
}

TEST_P(ClientContract, TransactionMaySpanCalls) {
  if (!GetParam().has_one_connection) return;
  const auto client = open();
  EXPECT_EQ((*client)("MULTI"), Reply::ok());
  EXPECT_EQ((*client)("INCR", "n"), Reply::status("QUEUED"));
  EXPECT_EQ((*open())("GET", "n"), Reply::nil());
  EXPECT_EQ((*client)("EXEC"), Reply::array({Reply::integer(1)}));
  EXPECT_EQ((*client)("GET", "n"), Reply::bulk("1"));
}

TEST_P(ClientContract, ChangedWatchedKeyEndsTransaction) {
  if (!GetParam().has_one_connection) return;
  const auto client = open();
  EXPECT_EQ((*client)("WATCH", "k"), Reply::ok());
  EXPECT_EQ((*open())("SET", "k", "v"), Reply::ok());
  const std::vector<Reply> replies = client->pipeline(
      std::vector<Request>{Request::of("MULTI"), Request::of("INCR", "n"), Request::of("EXEC")});
  EXPECT_TRUE(replies.back().is_nil()) << to_debug_string(replies.back());
}

// ---- Order --------------------------------------------------------------------------------------

TEST_P(ClientContract, SubmittedRequestsRunInOrder) {
  constexpr std::size_t kRequests = 2'000;
  const auto client = open();
  CollectedReplies replies;
  for (std::size_t i = 0; i < kRequests; ++i) {
    client->submit(Request::of("RPUSH", "l", i), replies.next());
  }
  const auto& in_order = replies.wait_for(kRequests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    ASSERT_EQ(in_order[i], Reply::integer(static_cast<std::int64_t>(i + 1)));
  }
}

TEST_P(ClientContract, EveryKindOfRequestKeepsItsPlace) {
  const auto client = open();
  CollectedReplies replies;
  for (int i = 0; i < 100; ++i) client->submit(Request::of("RPUSH", "l", i), replies.next());
  client->submit(Request::of("BLPOP", "l", 0), replies.next());
  client->submit(Request::of("LLEN", "l"), replies.next());
  const auto& in_order = replies.wait_for(102);
  EXPECT_EQ(in_order[100], Reply::array({Reply::bulk("l"), Reply::bulk("0")}));
  EXPECT_EQ(in_order[101], Reply::integer(99));
  if (!GetParam().has_one_connection) return;
  client->submit(Request::of("SELECT", 1), replies.next());
  client->submit(Request::of("EXISTS", "l"), replies.next());
  const auto& after_change = replies.wait_for(104);
  EXPECT_EQ(after_change[102], Reply::ok());
  EXPECT_EQ(after_change[103], Reply::integer(0));
}

TEST_P(ClientContract, BlockingReadBeginsBeforeLaterRequests) {
  for (int round = 0; round < 20; ++round) {
    const auto client = open();
    const std::string stream = "s" + std::to_string(round);
    CollectedReplies read;
    CollectedReplies added;
    client->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", stream, "$"), read.next());
    client->submit(Request::of("XADD", stream, "1-1", "f", "v"), added.next());
    EXPECT_EQ(added.wait_for(1)[0], Reply::bulk("1-1"));
    EXPECT_TRUE(read.wait_for(1)[0].is_aggregate());
  }
}

TEST_P(ClientContract, PipelineRepliesInOrder) {
  const auto client = open();
  std::vector<Request> requests;
  for (int i = 0; i < 5'000; ++i) requests.push_back(Request::of("ECHO", i));
  const std::vector<Reply> replies = client->pipeline(requests);
  ASSERT_EQ(replies.size(), requests.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    ASSERT_EQ(replies[i], Reply::bulk(std::to_string(i)));
  }
  EXPECT_TRUE(client->pipeline({}).empty());
}

// ---- Errors -------------------------------------------------------------------------------------

TEST_P(ClientContract, ErrorOfOneRequestIsItsReply) {
  const auto client = open();
  const std::vector<Reply> replies = client->pipeline(
      std::vector<Request>{Request::of("SET", "k", "v"), Request::of("INCR", "k"),
                           Request::of("NONE"), Request(), Request::of("GET", "k")});
  EXPECT_EQ(replies[0], Reply::ok());
  EXPECT_EQ(replies[1], Reply::error("ERR value is not an integer or out of range"));
  EXPECT_EQ(replies[2].error_code(), "ERR");
  EXPECT_EQ(replies[3], Reply::error("ERR the request has no command"));
  EXPECT_EQ(replies[4], Reply::bulk("v"));
}

TEST_P(ClientContract, UnknownScriptIsSentInFull) {
  const auto client = open();
  const Script script("return redis.call('INCRBY', KEYS[1], ARGV[1])");
  const std::vector<std::string_view> keys = {"n"};
  const std::vector<std::string_view> arguments = {"2"};
  EXPECT_EQ(client->run(script, keys, arguments), Reply::integer(2));
  EXPECT_EQ(client->run(script, keys, arguments), Reply::integer(4));
}

TEST_P(ClientContract, UnknownSubmittedScriptIsSentInFull) {
  const auto client = open();
  const Script script("return redis.call('INCRBY', KEYS[1], ARGV[1])");
  const std::vector<std::string_view> keys = {"n"};
  const std::vector<std::string_view> arguments = {"2"};
  CollectedReplies replies;
  client->submit_script(script, keys, arguments, replies.next());
  EXPECT_EQ(replies.wait_for(1)[0], Reply::integer(2));
  EXPECT_EQ((*client)("SCRIPT", "FLUSH"), Reply::ok());
  for (int i = 0; i < 3; ++i) client->submit_script(script, keys, arguments, replies.next());
  const auto& all = replies.wait_for(4);
  for (std::int64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(all[static_cast<std::size_t>(i)], Reply::integer(2 * (i + 1)));
  }
}

/// Appends 1 to a list.
class LateAppend final : public LateRequest {
 public:
  Request make() override {
    ++made;
    return Request::of("RPUSH", "l", 1);
  }
  void complete(Reply reply) override { replies.next()(std::move(reply)); }

  std::atomic<int> made = 0;
  CollectedReplies replies;
};

TEST_P(ClientContract, LateRequestIsMadeOnceInOrder) {
  const auto client = open();
  LateAppend late;
  CollectedReplies replies;
  client->submit(Request::of("RPUSH", "l", 0), replies.next());
  client->submit_late(late);
  client->submit(Request::of("RPUSH", "l", 2), replies.next());
  EXPECT_EQ(late.replies.wait_for(1)[0], Reply::integer(2));
  replies.wait_for(2);
  EXPECT_EQ(late.made, 1);
  EXPECT_EQ(to_debug_string((*client)("LRANGE", "l", 0, -1)), R"(["0", "1", "2"])");
}

TEST_P(ClientContract, LateRequestInCallbackCompletes) {
  const auto client = open();
  LateAppend late;
  std::promise<Reply> inner;
  client->submit(Request::of("PING"), [&](Reply) {
    client->submit_late(late);
    inner.set_value(late.replies.wait_for(1)[0]);
  });
  EXPECT_EQ(inner.get_future().get(), Reply::integer(1));
}

TEST_P(ClientContract, LateRequestOfClosedBackendGetsClosed) {
  const auto client = open();
  tested_->close();
  LateAppend late;
  client->submit_late(late);
  EXPECT_TRUE(has_code(late.replies.wait_for(1)[0], error_code::kClosed));
}

// ---- Blocking -----------------------------------------------------------------------------------

TEST_P(ClientContract, BlockingReadDelaysNoOtherCall) {
  const auto client = open();
  auto read = std::async(std::launch::async,
                         [&] { return (*client)("XREAD", "BLOCK", 0, "STREAMS", "s", "$"); });
  wait_for_blocked();
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
  EXPECT_EQ((*client)("XADD", "s", "1-1", "f", "v"), Reply::bulk("1-1"));
  EXPECT_EQ(to_debug_string(read.get()), R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST_P(ClientContract, BlockingReadEndsAtItsTimeout) {
  EXPECT_EQ((*open())("XREAD", "BLOCK", 1, "STREAMS", "s", "$"), Reply::nil_array());
}

TEST_P(ClientContract, UnblockEndsOnlyReadsOfItsClient) {
  const auto client = open();
  const auto other = open();
  CollectedReplies of_client;
  CollectedReplies of_other;
  client->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"), of_client.next());
  other->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"), of_other.next());
  client->unblock();
  EXPECT_EQ(of_client.wait_for(1)[0], Reply::nil_array());
  EXPECT_EQ((*other)("XADD", "s", "1-1", "f", "v"), Reply::bulk("1-1"));
  EXPECT_TRUE(of_other.wait_for(1)[0].is_aggregate());
}

// ---- Callbacks ----------------------------------------------------------------------------------

TEST_P(ClientContract, CompletionMayCall) {
  const auto client = open();
  std::promise<Reply> inner;
  client->submit(Request::of("INCR", "n"), [&](Reply) {
    std::vector<Request> requests(3, Request::of("INCR", "n"));
    client->pipeline(requests);
    inner.set_value((*client)("INCR", "n"));
  });
  EXPECT_EQ(inner.get_future().get(), Reply::integer(5));
}

TEST_P(ClientContract, CompletionsRunOneAtATime) {
  const auto client = open();
  std::atomic<int> running = 0;
  std::atomic<bool> overlapped = false;
  std::latch all(200);
  for (int i = 0; i < 200; ++i) {
    client->submit(Request::of("PING"), [&](Reply) {
      if (++running > 1) overlapped = true;
      std::this_thread::yield();
      --running;
      all.count_down();
    });
  }
  all.wait();
  EXPECT_FALSE(overlapped);
}

TEST_P(ClientContract, TimersRunInOrderOfTime) {
  Scheduler& scheduler = backend().scheduler();
  const std::int64_t now_ms = backend().clock().monotonic_ms();
  std::vector<int> order;
  std::latch both(2);
  scheduler.at(now_ms + 20, [&] {
    order.push_back(2);
    both.count_down();
  });
  scheduler.at(now_ms + 10, [&] {
    order.push_back(1);
    both.count_down();
  });
  const Scheduler::TimerId cancelled = scheduler.at(now_ms + 5, [&] { order.push_back(0); });
  const bool was_waiting = scheduler.cancel(cancelled);
  both.wait();
  EXPECT_EQ(order, was_waiting ? (std::vector<int>{1, 2}) : (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(scheduler.cancel(cancelled));
}

// ---- Subscriptions ------------------------------------------------------------------------------

TEST_P(ClientContract, SubscriberGetsMessages) {
  CollectedReplies messages;
  const auto subscriber = open({.on_message = messages.next()});
  EXPECT_EQ(to_debug_string((*subscriber)("SUBSCRIBE", "a", "b")),
            R"([["subscribe", "a", (integer) 1], ["subscribe", "b", (integer) 2]])");
  EXPECT_EQ(to_debug_string((*subscriber)("PSUBSCRIBE", "p*")),
            R"([["psubscribe", "p*", (integer) 3]])");
  const auto publisher = open();
  EXPECT_EQ((*publisher)("PUBLISH", "b", "one"), Reply::integer(1));
  EXPECT_EQ((*publisher)("PUBLISH", "page", "two"), Reply::integer(1));
  const auto& got = messages.wait_for(2);
  EXPECT_EQ(to_debug_string(got[0]), R"(["message", "b", "one"])");
  EXPECT_EQ(to_debug_string(got[1]), R"(["pmessage", "p*", "page", "two"])");
  EXPECT_EQ((*subscriber)("GET", "k").error_code(), "ERR");
  const Reply unsubscribed = (*subscriber)("UNSUBSCRIBE");
  ASSERT_EQ(unsubscribed.elements().size(), 2U);
  EXPECT_EQ(unsubscribed.elements()[1].elements()[2], Reply::integer(1));
  EXPECT_EQ(to_debug_string((*subscriber)("PUNSUBSCRIBE")),
            R"([["punsubscribe", "p*", (integer) 0]])");
  EXPECT_EQ((*subscriber)("GET", "k"), Reply::nil());
}

TEST_P(ClientContract, ClientWithoutOnMessageCannotSubscribe) {
  EXPECT_EQ(
      (*open())("SUBSCRIBE", "a"),
      Reply::error("ERR this client takes no messages: ClientOptions::on_message is not set"));
}

// ---- Destruction and close ----------------------------------------------------------------------

TEST_P(ClientContract, DestroyedClientRunsEveryCompletion) {
  CollectedReplies replies;
  {
    const auto client = open();
    for (int i = 0; i < 500; ++i) client->submit(Request::of("INCR", "n"), replies.next());
    client->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"), replies.next());
    client->submit(Request::of("INCR", "n"), replies.next());
  }
  EXPECT_EQ(replies.wait_for(502).size(), 502U);
  EXPECT_EQ((*open())("GET", "n"), Reply::bulk("501"));
}

TEST_P(ClientContract, ClosedBackendRunsEveryCompletion) {
  constexpr std::size_t kRequests = 500;
  const auto client = open();
  CollectedReplies replies;
  for (std::size_t i = 0; i < kRequests; ++i) {
    client->submit(Request::of("INCR", "n"), replies.next());
  }
  client->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"), replies.next());
  tested_->close();
  EXPECT_EQ(replies.wait_for(0).size(), kRequests + 1);
  EXPECT_TRUE(has_code((*client)("PING"), error_code::kClosed));
  client->submit(Request::of("PING"), replies.next());
  EXPECT_TRUE(has_code(replies.wait_for(kRequests + 2).back(), error_code::kClosed));
}

INSTANTIATE_TEST_SUITE_P(
    Backends, ClientContract,
    ::testing::Values(Kind{"Embedded", [] { return std::make_unique<Embedded>(); }},
                      Kind{"Redis", [] { return std::make_unique<OnRedis>(); }},
                      Kind{"RedisOverTls", [] { return std::make_unique<OverTls>(); }},
                      Kind{"RedisCluster", [] { return std::make_unique<OnCluster>(); },
                           /*has_one_connection=*/false}),
    [](const ::testing::TestParamInfo<Kind>& kind) { return kind.param.name; });

}  // namespace
}  // namespace rushgate
