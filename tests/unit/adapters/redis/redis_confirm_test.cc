// Clients whose results replicas confirm.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::RawConnection;
using testing::RedisServer;

constexpr std::int64_t kShortestMs = 50;
constexpr std::int64_t kLongestMs = 60'000;  // no test waits for it

class RedisConfirmTest : public ::testing::Test {
 protected:
  RedisConfirmTest() { replica_.replicate(primary_); }

  [[nodiscard]] std::unique_ptr<RedisBackend> open(std::int64_t confirm_ms,
                                                   int replicas = 1) const {
    RedisOptions options = *RedisOptions::from_url(primary_.url());
    options.confirm_replicas = replicas;
    options.confirm_ms = confirm_ms;
    auto backend = RedisBackend::open(options);
    EXPECT_TRUE(backend.ok()) << backend.status();
    return *std::move(backend);
  }
  static std::unique_ptr<Client> confirming(RedisBackend& backend) {
    return backend.open_client({.confirms = true});
  }
  static Reply ask(const RedisServer& server, const Request& request) {
    return RawConnection(server.socket_path()).call(request);
  }
  /// Waits until a connection of the primary waits for replicas.
  void wait_until_held() const {
    while (ask(primary_, Request::of("INFO", "clients")).text().find("blocked_clients:0") !=
           std::string::npos) {
      std::this_thread::yield();
    }
  }

  RedisServer primary_{{.listens_on_tcp = true}};
  RedisServer replica_;
};

TEST_F(RedisConfirmTest, ReplicaHasEachResult) {
  const auto backend = open(kLongestMs);
  const auto client = confirming(*backend);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ((*client)("SET", "key", i), Reply::ok());
    EXPECT_EQ(ask(replica_, Request::of("GET", "key")), Reply::bulk(std::to_string(i)));
  }
}

TEST_F(RedisConfirmTest, ResultOfAnotherConnectionIsConfirmed) {
  const auto backend = open(kShortestMs);
  const auto client = confirming(*backend);
  EXPECT_EQ((*client)("GET", "key"), Reply::nil());
  replica_.pause();
  EXPECT_EQ(ask(primary_, Request::of("SET", "key", "v")), Reply::ok());
  const Reply read = (*client)("GET", "key");
  EXPECT_TRUE(has_code(read, error_code::kOutcomeUnknown)) << to_debug_string(read);
}

TEST_F(RedisConfirmTest, UnconfirmedResultIsUnknownErrorIsNot) {
  const auto backend = open(kShortestMs);
  const auto client = confirming(*backend);
  replica_.pause();
  EXPECT_EQ((*client)("SET", "key", "v"),
            Reply::error("OUTCOMEUNKNOWN 0 of 1 replicas confirmed within 50 ms"));
  EXPECT_EQ((*client)("INCR", "key").error_code(), "ERR");
  EXPECT_EQ((*backend->open_client())("GET", "key"), Reply::bulk("v"));
  replica_.resume();
  Reply confirmed = (*client)("GET", "key");
  while (confirmed.is_error()) confirmed = (*client)("GET", "key");
  EXPECT_EQ(confirmed, Reply::bulk("v"));
}

TEST_F(RedisConfirmTest, OtherClientsAndCallersDoNotWait) {
  const auto backend = open(kLongestMs);
  const auto client = confirming(*backend);
  EXPECT_EQ((*client)("SET", "n", 0), Reply::ok());
  replica_.pause();
  constexpr int kCallers = 8;
  std::vector<std::future<Reply>> callers;
  callers.push_back(std::async(std::launch::async, [&] { return (*client)("INCR", "n"); }));
  wait_until_held();
  for (int i = 1; i < kCallers; ++i) {
    callers.push_back(std::async(std::launch::async, [&] { return (*client)("INCR", "n"); }));
  }
  EXPECT_EQ((*backend->open_client())("INCR", "other"), Reply::integer(1));
  replica_.resume();
  for (auto& caller : callers) EXPECT_TRUE(caller.get().is_integer());
  EXPECT_EQ(ask(replica_, Request::of("GET", "n")), Reply::bulk(std::to_string(kCallers)));
}

TEST_F(RedisConfirmTest, CallersShareOneWait) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 500;
  const auto backend = open(kLongestMs);
  const auto client = confirming(*backend);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) EXPECT_TRUE((*client)("INCR", "n").is_integer());
      });
    }
  }
  EXPECT_EQ(ask(replica_, Request::of("GET", "n")), Reply::bulk(std::to_string(kThreads * kCalls)));
  const std::string text(ask(primary_, Request::of("INFO", "commandstats")).text());
  constexpr std::string_view kWaits = "cmdstat_wait:calls=";
  const std::size_t at = text.find(kWaits);
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(std::stoi(text.substr(at + kWaits.size())), kThreads * kCalls / 2);
}

TEST_F(RedisConfirmTest, LongPipelinesOfThreadsAreConfirmed) {
  constexpr int kThreads = 3;
  constexpr int kRequests = 2'000;
  const auto backend = open(kLongestMs);
  const auto client = confirming(*backend);
  const std::string value(1'000, 'x');
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::vector<Request> requests;
        for (int i = 0; i < kRequests; ++i) {
          requests.push_back(Request::of("SET", t * kRequests + i, value));
        }
        for (const Reply& reply : client->pipeline(requests)) EXPECT_EQ(reply, Reply::ok());
      });
    }
  }
  EXPECT_EQ(ask(replica_, Request::of("DBSIZE")), Reply::integer(kThreads * kRequests));
}

TEST_F(RedisConfirmTest, LostConnectionMakesHeldResultsUnknown) {
  const auto backend = open(kLongestMs);
  const auto client = confirming(*backend);
  EXPECT_EQ((*client)("SET", "key", "v"), Reply::ok());
  replica_.pause();
  auto held = std::async(std::launch::async, [&] {
    const Request requests[] = {Request::of("SET", "key", "v"), Request::of("INCR", "key")};
    return client->pipeline(requests);
  });
  wait_until_held();
  EXPECT_EQ(ask(primary_, Request::of("CLIENT", "KILL", "TYPE", "NORMAL")), Reply::integer(2));
  const std::vector<Reply> replies = held.get();
  EXPECT_TRUE(has_code(replies[0], error_code::kOutcomeUnknown)) << to_debug_string(replies[0]);
  EXPECT_EQ(replies[1].error_code(), "ERR");
  replica_.resume();
  EXPECT_EQ((*client)("GET", "key"), Reply::bulk("v"));
}

TEST_F(RedisConfirmTest, MissingReplicaIsCounted) {
  const auto backend = open(kShortestMs, 2);
  EXPECT_EQ((*confirming(*backend))("SET", "key", "v"),
            Reply::error("OUTCOMEUNKNOWN 1 of 2 replicas confirmed within 50 ms"));
  EXPECT_TRUE(backend->capabilities().confirms);
}

}  // namespace
}  // namespace rushgate
