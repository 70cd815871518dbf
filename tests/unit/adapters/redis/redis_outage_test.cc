// RedisBackend with a server that is killed, paused, replaced or made unusable.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/faults/fake_server.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/unit/adapters/redis/tls_server.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using testing::FakeServer;
using testing::FakeSession;
using testing::RawConnection;
using testing::RedisServer;

/// Collects the messages of a subscriber in order of arrival.
class Messages {
 public:
  /// Returns an on_message.
  auto next() {
    return [this](const Reply& message) {
      const std::lock_guard lock(mutex_);
      messages_.push_back(to_debug_string(message));
      changed_.notify_all();
    };
  }
  std::vector<std::string> wait_for(std::size_t wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return messages_.size() >= wanted; });
    return messages_;
  }
  /// Blocks until the last message fulfils `is_wanted`.
  std::vector<std::string> wait_until(const std::function<bool(const std::string&)>& is_wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !messages_.empty() && is_wanted(messages_.back()); });
    return messages_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> messages_;  // guarded by mutex_
};

class RedisOutageTest : public ::testing::Test {
 protected:
  [[nodiscard]] RedisOptions options() const { return *RedisOptions::from_url(server_.url()); }
  [[nodiscard]] static std::unique_ptr<RedisBackend> open(const RedisOptions& options) {
    auto backend = RedisBackend::open(options);
    EXPECT_TRUE(backend.ok()) << backend.status();
    return backend.ok() ? *std::move(backend) : nullptr;
  }

  /// Repeats PING until its reply fulfils `is_wanted`.
  static Reply ping_until(Client& client, const std::function<bool(const Reply&)>& is_wanted) {
    Reply reply = client("PING");
    while (!is_wanted(reply)) {
      std::this_thread::yield();
      reply = client("PING");
    }
    return reply;
  }
  static bool is_pong(const Reply& reply) { return reply == Reply::status("PONG"); }

  RedisServer server_;
};

// ---- Dead servers -------------------------------------------------------------------------------

TEST_F(RedisOutageTest, DeadServerCostsFewAttempts) {
  const auto backend = open(options());
  const auto client = backend->open_client();
  server_.kill();
  EXPECT_TRUE(has_code((*client)("PING"), error_code::kClosed));
  EXPECT_EQ(backend->counters().breaker_openings, 1U);
  EXPECT_EQ(backend->health().code(), absl::StatusCode::kUnavailable);
  constexpr std::size_t kCalls = 5'000;
  const std::uint64_t failures_before = backend->counters().connect_failures;
  std::latch all(kCalls);
  for (std::size_t i = 0; i < kCalls; ++i) {
    client->submit(Request::of("SET", "k", "v"), [&](const Reply& reply) {
      EXPECT_TRUE(has_code(reply, error_code::kClosed));
      all.count_down();
    });
  }
  all.wait();
  // One attempt serves all waiting requests.
  EXPECT_LT(backend->counters().connect_failures - failures_before, kCalls / 10);
  server_.restart();
  EXPECT_EQ(ping_until(*client, is_pong), Reply::status("PONG"));
  EXPECT_TRUE(backend->health().ok());
  EXPECT_EQ(backend->counters().reconnects, 1U);
}

TEST_F(RedisOutageTest, RestartedServerIsFoundWithoutRequest) {
  const auto backend = open(options());
  server_.kill();
  while (backend->counters().connect_failures == 0) std::this_thread::yield();
  server_.restart();
  while (backend->counters().reconnects == 0) std::this_thread::yield();
  EXPECT_TRUE(backend->health().ok());
}

TEST_F(RedisOutageTest, RequestsInFlightAreUnknownLaterOnesWait) {
  const auto backend = open(options());
  const auto client = backend->open_client();
  auto sleeping =
      std::async(std::launch::async, [&] { return (*client)("EVAL", "while true do end", 0); });
  while (RawConnection(server_.socket_path()).call(Request::of("PING")).error_code() != "BUSY") {
    if (sleeping.wait_for(std::chrono::seconds(0)) == std::future_status::ready) break;
  }
  server_.kill();
  EXPECT_TRUE(has_code(sleeping.get(), error_code::kOutcomeUnknown));
}

TEST_F(RedisOutageTest, PausedServerIsDroppedAndFoundAgain) {
  RedisOptions impatient = options();
  impatient.command_timeout_ms = 100;
  impatient.connect_timeout_ms = 200;
  const auto backend = open(impatient);
  const auto client = backend->open_client();
  server_.pause();
  EXPECT_TRUE(has_code((*client)("SET", "k", "v"), error_code::kOutcomeUnknown));
  EXPECT_EQ(backend->counters().timeouts, 1U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(has_code((*client)("SET", "k", "v"), error_code::kClosed));
  }
  EXPECT_GT(backend->counters().breaker_refusals, 0U);
  server_.resume();
  EXPECT_EQ(ping_until(*client, is_pong), Reply::status("PONG"));
}

// ---- The bound of the queue ---------------------------------------------------------------------

TEST_F(RedisOutageTest, LaterWritesDoNotHideSilentServer) {
  RedisOptions impatient = options();
  impatient.command_timeout_ms = 200;
  const auto backend = open(impatient);
  const auto client = backend->open_client();
  ASSERT_EQ((*client)("PING"), Reply::status("PONG"));
  server_.pause();
  std::promise<Reply> first;
  auto replied = first.get_future();
  client->submit(Request::of("INCR", "n"), [&](Reply reply) { first.set_value(std::move(reply)); });
  const auto began = std::chrono::steady_clock::now();
  while (replied.wait_for(std::chrono::milliseconds(5)) == std::future_status::timeout &&
         std::chrono::steady_clock::now() - began < std::chrono::seconds(10)) {
    client->submit(Request::of("INCR", "n"), [](const Reply&) {});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  server_.resume();
  EXPECT_TRUE(has_code(replied.get(), error_code::kOutcomeUnknown));
}

TEST_F(RedisOutageTest, FullQueueRefusesOrWaitsAsConfigured) {
  RedisOptions narrow = options();
  narrow.queue_capacity = 2;
  const auto backend = open(narrow);
  const auto client = backend->open_client();
  const auto failing = backend->open_client({.fail_when_full = true});
  const auto expiring = backend->open_client({.queue_timeout_ms = 5});
  server_.pause();
  std::atomic<int> done = 0;
  const auto count = [&](const Reply& reply) {
    EXPECT_EQ(reply, Reply::status("PONG"));
    ++done;
    done.notify_all();
  };
  client->submit(Request::of("PING"), count);
  client->submit(Request::of("PING"), count);
  EXPECT_EQ((*failing)("PING"), Reply::error("OVERLOADED the queue is full"));
  EXPECT_EQ((*expiring)("PING"),
            Reply::error("TIMEDOUT the request had not begun at its deadline"));
  EXPECT_EQ(backend->counters().overloads, 1U);
  EXPECT_EQ(backend->counters().expired, 1U);
  auto waiting = std::async(std::launch::async, [&] { return (*client)("PING"); });
  server_.resume();
  EXPECT_EQ(waiting.get(), Reply::status("PONG"));
  for (int seen = done; seen < 2; seen = done) done.wait(seen);
}

TEST_F(RedisOutageTest, QueuedBytesAreBounded) {
  RedisOptions narrow = options();
  narrow.queue_bytes_max = 100'000;
  const auto backend = open(narrow);
  const auto client = backend->open_client({.fail_when_full = true});
  const std::string large(90'000, 'x');
  server_.pause();
  std::promise<Reply> first;
  client->submit(Request::of("ECHO", large),
                 [&](Reply reply) { first.set_value(std::move(reply)); });
  EXPECT_TRUE(has_code((*client)("ECHO", large), error_code::kOverloaded));
  server_.resume();
  EXPECT_EQ(first.get_future().get(), Reply::bulk(large));
  const std::string larger_than_the_bound(200'000, 'x');
  EXPECT_EQ((*client)("ECHO", larger_than_the_bound), Reply::bulk(larger_than_the_bound));
}

// ---- Bounds of the queue for the callback thread ------------------------------------------------

TEST_F(RedisOutageTest, WaitingCompletionsFillQueue) {
  constexpr int kRequests = 20;
  RedisOptions narrow = options();
  narrow.queue_capacity = 4;
  const auto backend = open(narrow);
  const auto client = backend->open_client({.queue_timeout_ms = 5});
  std::latch has_begun(1);
  std::latch may_end(1);
  backend->open_client()->submit(Request::of("PING"), [&](const Reply&) {
    has_begun.count_down();
    may_end.wait();
  });
  has_begun.wait();
  std::atomic<int> done = 0;
  std::latch all(kRequests);
  for (int i = 0; i < kRequests; ++i) {
    client->submit(Request::of("INCR", "n"), [&](const Reply& reply) {
      EXPECT_TRUE(reply.is_integer() || has_code(reply, error_code::kTimedOut));
      if (reply.is_integer()) ++done;
      all.count_down();
    });
  }
  may_end.count_down();
  all.wait();
  EXPECT_LE(done, 4);
  EXPECT_EQ((*client)("SET", "n", 0), Reply::ok());
}

TEST_F(RedisOutageTest, WaitingRepliesCountInBytes) {
  RedisOptions narrow = options();
  narrow.queue_bytes_max = 100'000;
  const auto backend = open(narrow);
  const auto client = backend->open_client({.fail_when_full = true});
  EXPECT_EQ((*client)("SET", "k", std::string(90'000, 'x')), Reply::ok());
  std::latch has_begun(1);
  std::latch may_end(1);
  std::latch all(2);
  client->submit(Request::of("PING"), [&](const Reply&) {
    has_begun.count_down();
    may_end.wait();
    all.count_down();
  });
  has_begun.wait();
  client->submit(Request::of("GET", "k"), [&](const Reply&) { all.count_down(); });
  const std::string large(20'000, 'y');
  while (!has_code((*client)("ECHO", large), error_code::kOverloaded)) std::this_thread::yield();
  may_end.count_down();
  all.wait();
  EXPECT_EQ((*client)("ECHO", large), Reply::bulk(large));
}

TEST_F(RedisOutageTest, CompletionsMayCallWhileQueueIsFull) {
  constexpr int kThreads = 4;
  constexpr int kRequests = 200;
  RedisOptions narrow = options();
  narrow.queue_capacity = 2;
  const auto backend = open(narrow);
  const auto client = backend->open_client();
  std::latch all(kThreads * kRequests);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRequests; ++i) {
        client->submit(Request::of("INCR", "n"), [&](const Reply&) {
          EXPECT_TRUE((*client)("INCR", "n").is_integer());
          all.count_down();
        });
      }
    });
  }
  all.wait();
  EXPECT_EQ((*client)("GET", "n"), Reply::bulk(std::to_string(2 * kThreads * kRequests)));
}

TEST_F(RedisOutageTest, SlowSubscriberIsDropped) {
  RedisOptions narrow = options();
  narrow.message_bytes_max = 100'000;
  const auto backend = open(narrow);
  Messages messages;
  std::latch may_end(1);
  const auto subscriber =
      backend->open_client({.on_message = [&, keep = messages.next()](const Reply& message) {
        may_end.wait();
        keep(message);
      }});
  (*subscriber)("SUBSCRIBE", "a");
  RawConnection direct(server_.socket_path());
  const std::string value(1'000, 'x');
  while (backend->counters().losses == 0) direct.call(Request::of("PUBLISH", "a", value));
  // While so many messages wait, no other connection is opened.
  while (backend->counters().connect_failures < 3) std::this_thread::yield();
  EXPECT_EQ(direct.call(Request::of("PUBLISH", "a", value)), Reply::integer(0));
  EXPECT_TRUE(has_code((*subscriber)("PING"), error_code::kClosed));
  may_end.count_down();
  while (backend->counters().resubscriptions == 0) std::this_thread::yield();
  EXPECT_EQ(direct.call(Request::of("PUBLISH", "a", "last")), Reply::integer(1));
  const auto all = messages.wait_until(
      [](const std::string& message) { return message == R"(["message", "a", "last"])"; });
  EXPECT_LE(all.size(), 103U) << "100 kB, two notices, the last message";
  EXPECT_EQ(all[all.size() - 3], R"(["disconnected", (nil), (integer) 1])");
  EXPECT_EQ(all[all.size() - 2], R"(["resubscribed", (nil), (integer) 1])");
}

// ---- Unusable servers ---------------------------------------------------------------------------

TEST_F(RedisOutageTest, ReadOnlyReplyEndsConnection) {
  const auto backend = open(options());
  const auto client = backend->open_client();
  RawConnection direct(server_.socket_path());
  direct.call(Request::of("REPLICAOF", "127.0.0.1", "1"));
  EXPECT_EQ((*client)("SET", "k", "v").error_code(), "READONLY");
  while (backend->counters().losses == 0) std::this_thread::yield();
  direct.call(Request::of("REPLICAOF", "NO", "ONE"));
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
  EXPECT_EQ(backend->counters().reconnects, 1U);
}

TEST_F(RedisOutageTest, NestedReadOnlyErrorEndsConnection) {
  const auto backend = open(options());
  const auto client = backend->open_client();
  RawConnection direct(server_.socket_path());
  direct.call(Request::of("REPLICAOF", "127.0.0.1", "1"));
  const Reply results = (*client)("EVAL", "return {1, redis.pcall('SET', 'k', 'v')}", 0);
  ASSERT_TRUE(results.is_aggregate()) << to_debug_string(results);
  EXPECT_EQ(results.elements().back().error_code(), "READONLY");
  while (backend->counters().losses == 0) std::this_thread::yield();
  direct.call(Request::of("REPLICAOF", "NO", "ONE"));
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
}

TEST_F(RedisOutageTest, OtherErrorsKeepConnection) {
  const auto backend = open(options());
  const auto client = backend->open_client();
  RawConnection direct(server_.socket_path());
  direct.call(Request::of("CONFIG", "SET", "min-replicas-to-write", 1));
  EXPECT_EQ((*client)("SET", "k", "v").error_code(), "NOREPLICAS");
  direct.call(Request::of("CONFIG", "SET", "min-replicas-to-write", 0));
  direct.call(Request::of("CONFIG", "SET", "maxmemory", 1));
  EXPECT_EQ((*client)("SET", "k", "v").error_code(), "OOM");
  direct.call(Request::of("CONFIG", "SET", "maxmemory", 0));
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
  EXPECT_EQ(backend->counters().losses, 0U);
}

TEST(RedisUselessTest, ServerThatClosesAtOnceIsDead) {
  constexpr std::size_t kSessions = 100;
  FakeServer server(std::vector<std::function<void(FakeSession&)>>(
      kSessions, [](FakeSession& session) { session.greet(); }));
  RedisOptions options;
  options.port = server.port();
  const auto backend = RedisBackend::open(options);
  ASSERT_TRUE(backend.ok()) << backend.status();
  while ((*backend)->health().ok()) std::this_thread::yield();
  EXPECT_LE((*backend)->counters().connects, 4U);
}

TEST(RedisVersionTest, OldVersionIsRefused) {
  FakeServer server({[](FakeSession& session) {
    session.greet("6.0.16");
    session.wait_for_close();
  }});
  RedisOptions options;
  options.port = server.port();
  const absl::Status status = RedisBackend::open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      std::string(status.message()),
      "cannot connect to " + options.address() +
          ": it is Redis 6.0.16, and Rushgate needs Redis 6.2 or later, or a compatible server");
}

TEST(RedisVersionTest, OldestServerIsAccepted) {
  FakeServer server({[](FakeSession& session) {
    session.greet("6.2.0");
    session.wait_for_close();
  }});
  RedisOptions options;
  options.port = server.port();
  EXPECT_TRUE(RedisBackend::open(options).ok());
}

// ---- Connections owned by a client --------------------------------------------------------------

TEST_F(RedisOutageTest, SubscriptionsAreRestored) {
  const auto backend = open(options());
  Messages messages;
  const auto subscriber = backend->open_client({.on_message = messages.next()});
  (*subscriber)("SUBSCRIBE", "a", "b");
  (*subscriber)("PSUBSCRIBE", "p*");
  (*subscriber)("UNSUBSCRIBE", "b");
  server_.restart();
  messages.wait_for(2);
  const auto publisher = backend->open_client();
  ping_until(*publisher, is_pong);
  EXPECT_EQ((*publisher)("PUBLISH", "a", "one"), Reply::integer(1));
  EXPECT_EQ((*publisher)("PUBLISH", "b", "two"), Reply::integer(0));
  EXPECT_EQ((*publisher)("PUBLISH", "page", "three"), Reply::integer(1));
  EXPECT_EQ(
      messages.wait_for(4),
      (std::vector<std::string>{
          R"(["disconnected", (nil), (integer) 2])", R"(["resubscribed", (nil), (integer) 2])",
          R"(["message", "a", "one"])", R"(["pmessage", "p*", "page", "three"])"}));
  EXPECT_EQ(backend->counters().resubscriptions, 1U);
}

TEST_F(RedisOutageTest, RefusedSubscriptionIsRetried) {
  const auto backend = open(options());
  Messages messages;
  const auto subscriber = backend->open_client({.on_message = messages.next()});
  (*subscriber)("SUBSCRIBE", "a");
  RawConnection direct(server_.socket_path());
  EXPECT_EQ(direct.call(Request::of("ACL", "SETUSER", "default", "resetchannels")), Reply::ok());
  while (direct.call(Request::of("ACL", "LOG")).elements().empty()) std::this_thread::yield();
  const Reply refused = ping_until(
      *subscriber, [](const Reply& reply) { return has_code(reply, error_code::kClosed); });
  EXPECT_NE(refused.text().find("NOPERM"), std::string::npos) << refused.text();
  EXPECT_EQ(messages.wait_for(1)[0], R"(["disconnected", (nil), (integer) 1])");
  direct.call(Request::of("ACL", "SETUSER", "default", "allchannels"));
  EXPECT_EQ(messages.wait_for(2)[1], R"(["resubscribed", (nil), (integer) 1])");
  EXPECT_EQ(direct.call(Request::of("PUBLISH", "a", "one")), Reply::integer(1));
  EXPECT_EQ(messages.wait_for(3)[2], R"(["message", "a", "one"])");
}

TEST_F(RedisOutageTest, SubscriptionsSurviveLostState) {
  const auto backend = open(options());
  Messages messages;
  const auto client = backend->open_client({.on_message = messages.next()});
  EXPECT_EQ((*client)("SELECT", 1), Reply::ok());
  (*client)("SUBSCRIBE", "a");
  server_.restart();
  EXPECT_EQ(messages.wait_for(2), (std::vector<std::string>{
                                      R"(["disconnected", (nil), (integer) 1])",
                                      R"(["resubscribed", (nil), (integer) 1])",
                                  }));
  RawConnection direct(server_.socket_path());
  EXPECT_EQ(direct.call(Request::of("PUBLISH", "a", "one")), Reply::integer(1));
  EXPECT_EQ(messages.wait_for(3)[2], R"(["message", "a", "one"])");
  EXPECT_TRUE(has_code((*client)("PING"), error_code::kClosed));
  server_.restart();
  EXPECT_EQ(messages.wait_for(5)[4], R"(["resubscribed", (nil), (integer) 1])");
}

TEST_F(RedisOutageTest, LostStateOfClientIsError) {
  const auto backend = open(options());
  const auto client = backend->open_client();
  const auto other = backend->open_client();
  EXPECT_EQ((*client)("SELECT", 1), Reply::ok());
  server_.restart();
  EXPECT_EQ(ping_until(*other, is_pong), Reply::status("PONG"));
  const Reply reply =
      ping_until(*client, [](const Reply& each) { return has_code(each, error_code::kClosed); });
  EXPECT_NE(reply.text().find("what the client had changed is lost"), std::string::npos)
      << reply.text();
  EXPECT_TRUE(has_code((*client)("SET", "k", "v"), error_code::kClosed));
}

TEST_F(RedisOutageTest, DestroyedClientsReturnConnections) {
  RedisOptions narrow = options();
  narrow.connections_max = 1;
  const auto backend = open(narrow);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*backend->open_client())("SELECT", 1), Reply::ok());
    EXPECT_EQ((*backend->open_client())("BLPOP", "none", "0.001"), Reply::nil_array());
  }
}

TEST_F(RedisOutageTest, FullPoolIsNamedOnTimeout) {
  RedisOptions narrow = options();
  narrow.connections_max = 1;
  const auto backend = open(narrow);
  const auto keeper = backend->open_client();
  EXPECT_EQ((*keeper)("SELECT", 1), Reply::ok());
  const auto expiring = backend->open_client({.queue_timeout_ms = 5});
  const Reply expired = Reply::error(
      "TIMEDOUT the request had not begun at its deadline: all 1 connections were in use");
  EXPECT_EQ((*expiring)("BLPOP", "none", 0), expired);
  EXPECT_EQ((*expiring)("SELECT", 1), expired);
  EXPECT_EQ((*expiring)("PING"), Reply::status("PONG"));
}

TEST_F(RedisOutageTest, ClientWaitsForItsOwnConnection) {
  RedisOptions narrow = options();
  narrow.connections_max = 1;
  const auto backend = open(narrow);
  auto keeper = backend->open_client();
  EXPECT_EQ((*keeper)("SELECT", 1), Reply::ok());
  EXPECT_EQ((*keeper)("SET", "k", "v"), Reply::ok());
  const auto client = backend->open_client();
  std::promise<Reply> selected;
  std::promise<Reply> value;
  client->submit(Request::of("SELECT", 1),
                 [&](Reply reply) { selected.set_value(std::move(reply)); });
  client->submit(Request::of("GET", "k"), [&](Reply reply) { value.set_value(std::move(reply)); });
  keeper.reset();
  EXPECT_EQ(selected.get_future().get(), Reply::ok());
  EXPECT_EQ(value.get_future().get(), Reply::bulk("v"));
}

TEST_F(RedisOutageTest, ClientClosedWhileWaitingTakesNoConnection) {
  RedisOptions narrow = options();
  narrow.connections_max = 1;
  const auto backend = open(narrow);
  auto keeper = backend->open_client();
  EXPECT_EQ((*keeper)("SELECT", 1), Reply::ok());
  std::promise<Reply> selected;
  backend->open_client()->submit(Request::of("SELECT", 1),
                                 [&](Reply reply) { selected.set_value(std::move(reply)); });
  keeper.reset();
  EXPECT_EQ(selected.get_future().get(), Reply::error("CLOSED the client is closed"));
  EXPECT_EQ((*backend->open_client())("SELECT", 1), Reply::ok());
}

TEST_F(RedisOutageTest, ClosedClientTakesNoConnectionLater) {
  RedisOptions narrow = options();
  narrow.connections_max = 1;
  const auto backend = open(narrow);
  server_.pause();
  std::latch ended(2);
  {
    const auto client = backend->open_client({.on_message = [](const Reply&) {}});
    client->submit(Request::of("GET", "k"), [&](const Reply&) { ended.count_down(); });
    client->submit(Request::of("SUBSCRIBE", "c"), [&](const Reply& reply) {
      EXPECT_TRUE(has_code(reply, error_code::kClosed)) << to_debug_string(reply);
      ended.count_down();
    });
  }
  server_.resume();
  ended.wait();
  EXPECT_EQ((*backend->open_client())("BLPOP", "none", "0.001"), Reply::nil_array());
}

TEST_F(RedisOutageTest, UnblockEndsReadOfStatefulClient) {
  const auto backend = open(options());
  const auto client = backend->open_client();
  EXPECT_EQ((*client)("SELECT", 1), Reply::ok());
  std::atomic<bool> has_ended = false;
  std::thread reader([&] {
    EXPECT_EQ((*client)("BLPOP", "none", 0), Reply::nil_array());
    has_ended = true;
  });
  while (!has_ended) {
    client->unblock();
    std::this_thread::yield();
  }
  reader.join();
}

TEST(RedisPasswordTest, ServerWithoutAuthDoesNotShowPassword) {
  RedisServer server({.arguments = {"--rename-command", "AUTH", ""}});
  RedisOptions options = *RedisOptions::from_url(server.url());
  options.password = "s3cret";
  const absl::Status status = RedisBackend::open(options).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("unknown command"), std::string::npos) << status;
  EXPECT_EQ(std::string(status.message()).find("s3cret"), std::string::npos) << status;
}

/// Pauses the server in the middle of a long pipeline, and resumes it after the client's timeout.
/// Every write that took effect must have been reported as an unknown outcome.
void expect_no_write_was_called_undone(RedisServer& server, RedisOptions options) {
  constexpr int kRequests = 20'000;  // several in each piece that is sent
  options.command_timeout_ms = 300;
  const auto backend = *RedisBackend::open(options);
  const std::string value(1'000, 'x');
  std::vector<Request> requests;
  for (int i = 0; i < kRequests; ++i) requests.push_back(Request::of("SET", i, value));
  const auto client = backend->open_client();
  server.pause();
  const std::vector<Reply> replies = client->pipeline(requests);
  server.resume();
  RawConnection raw(server.socket_path());
  // When the lost connection is gone, the server has read all that arrived.
  const auto clients = [&] {
    const Reply list = raw.call(Request::of("CLIENT", "LIST", "TYPE", "NORMAL"));
    return std::count(list.text().begin(), list.text().end(), '\n');
  };
  const auto others = [&] { return (*client)("PING") == Reply::status("PONG") ? 2 : 1; };
  while (clients() > others()) std::this_thread::yield();
  int done = 0;
  for (int i = 0; i < kRequests; ++i) {
    if (raw.call(Request::of("EXISTS", i)) != Reply::integer(1)) continue;
    ++done;
    ASSERT_TRUE(has_code(replies[static_cast<std::size_t>(i)], error_code::kOutcomeUnknown))
        << i << ": " << replies[static_cast<std::size_t>(i)].text();
  }
  EXPECT_GT(done, 0) << "no write reached the server";
}

TEST_F(RedisOutageTest, EffectiveWriteHasUnknownOutcome) {
  expect_no_write_was_called_undone(server_, options());
}

// ---- TLS ----------------------------------------------------------------------------------------

TEST(RedisTlsTest, UnknownAuthorityIsRefused) {
  testing::TlsRedisServer server;
  RedisOptions options = server.options();
  EXPECT_TRUE(RedisBackend::open(options).ok());
  options.tls_ca = server.file("client.pem");
  const absl::Status status = RedisBackend::open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("TLS: certificate verify failed"), std::string::npos)
      << status;
}

TEST(RedisTlsTest, EffectiveWriteHasUnknownOutcome) {
  testing::TlsRedisServer server;
  expect_no_write_was_called_undone(server.server(), server.options());
}

TEST(RedisTlsTest, ClusterNodeWithoutPlainPortIsUsed) {
  testing::TlsRedisServer server({"--cluster-enabled", "yes", "--tls-cluster", "yes", "--port", "0",
                                  "--cluster-port", std::to_string(testing::find_free_port())});
  RawConnection direct(server.server().socket_path());
  ASSERT_EQ(direct.call(Request::of("CLUSTER", "ADDSLOTSRANGE", 0, 16'383)), Reply::ok());
  while (direct.call(Request::of("SET", "k", "v")) != Reply::ok()) std::this_thread::yield();
  RedisOptions options = server.options();
  options.cluster.addresses = {{"127.0.0.1", options.port}};
  const auto backend = RedisBackend::open(options);
  ASSERT_TRUE(backend.ok()) << backend.status();
  // A node that has never met another does not know its own address.
  EXPECT_EQ((*(*backend)->open_client())("GET", "k"), Reply::bulk("v"));
}

TEST(RedisTlsTest, OtherHostNameIsRefused) {
  testing::TlsRedisServer server;
  RedisOptions options = server.options();
  options.host = "127.0.0.2";
  EXPECT_FALSE(RedisBackend::open(options).ok());
}

TEST(RedisTlsTest, UnreadableFileIsNamed) {
  RedisOptions options;
  options.tls = true;
  options.tls_ca = "/none.pem";
  const absl::Status status = RedisBackend::open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("tls_ca /none.pem"), std::string::npos) << status;
}

}  // namespace
}  // namespace rushgate
