// The contract of a RedisBackend with any Redis server, real or ours. A test program instantiates
// it with its server: INSTANTIATE_TEST_SUITE_P(…, RedisClientContract, ::testing::Values(…)).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/redis_server/raw_connection.h"
#include <rushgate/redis_backend.h>

namespace rushgate {

/// Runs a server during its lifetime.
class AnyRedisServer {
 public:
  virtual ~AnyRedisServer() = default;
  [[nodiscard]] virtual std::string socket_path() const = 0;
};

using StartRedisServer = std::function<std::unique_ptr<AnyRedisServer>()>;

/// A backend with one client.
struct Connected {
  std::unique_ptr<RedisBackend> backend;
  std::unique_ptr<Client> client;

  Client* operator->() const { return client.get(); }
  Client& operator*() const { return *client; }
};

inline Connected connected(const RedisOptions& options, const ClientOptions& client_options = {}) {
  auto backend = RedisBackend::open(options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  if (!backend.ok()) return {};
  auto client = (*backend)->open_client(client_options);
  return {*std::move(backend), std::move(client)};
}

/// Blocks until a client of the server waits in a blocking command.
inline void wait_for_blocked(const std::string& socket_path) {
  testing::RawConnection connection(socket_path);
  while (connection.call(Request::of("CLIENT", "LIST")).text().find(" flags=b") ==
         std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

class RedisClientContract : public ::testing::TestWithParam<StartRedisServer> {
 protected:
  using RawConnection = testing::RawConnection;

  [[nodiscard]] std::string socket_path() const { return server_->socket_path(); }
  [[nodiscard]] RedisOptions options() const {
    return *RedisOptions::from_url("unix://" + socket_path());
  }

 private:
  const std::unique_ptr<AnyRedisServer> server_ = GetParam()();
};

TEST_P(RedisClientContract, CallReturnsRepliesOfEveryKind) {
  const auto client = connected(options());
  Client& redis = *client;
  const std::string binary("a\r\n\0b", 5);
  EXPECT_EQ(redis("SET", "k", binary), Reply::ok());
  EXPECT_EQ(redis("GET", "k"), Reply::bulk(binary));
  EXPECT_EQ(redis("GET", "none"), Reply::nil());
  EXPECT_EQ(redis("INCR", "n"), Reply::integer(1));
  EXPECT_EQ(redis("XREAD", "STREAMS", "none", "0"), Reply::nil_array());
  EXPECT_EQ(redis("INCR", "k"), Reply::error("ERR value is not an integer or out of range"));
  EXPECT_EQ(redis("EVAL", "return {1, {'a', false}, {}}", 0),
            Reply::array({Reply::integer(1), Reply::array({Reply::bulk("a"), Reply::nil()}),
                          Reply::array()}));
}

TEST_P(RedisClientContract, PipelineOf100kRepliesInOrder) {
  constexpr int kRequests = 100'000;
  const auto client = connected(options());
  std::vector<Request> requests;
  for (int i = 0; i < kRequests; ++i) requests.push_back(Request::of("ECHO", i));
  const std::vector<Reply> replies = client->pipeline(requests);
  ASSERT_EQ(replies.size(), kRequests);
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_EQ(replies[static_cast<std::size_t>(i)], Reply::bulk(std::to_string(i)));
  }
}

TEST_P(RedisClientContract, PipelineWithLargeRepliesDoesNotStall) {
  const auto client = connected(options());
  const std::string value(100'000, 'x');
  client->call(Request::of("SET", "k", value));
  std::vector<Request> requests;
  for (int i = 0; i < 300; ++i) {
    requests.push_back(Request::of("GET", "k"));
    requests.push_back(Request::of("SET", "l", value));
  }
  const std::vector<Reply> replies = client->pipeline(requests);
  for (std::size_t i = 0; i < replies.size(); i += 2) {
    ASSERT_EQ(replies[i].text().size(), value.size());
    ASSERT_EQ(replies[i + 1], Reply::ok());
  }
}

TEST_P(RedisClientContract, EmptyPipelineHasNoReplies) {
  const auto client = connected(options());
  EXPECT_TRUE(client->pipeline({}).empty());
}

TEST_P(RedisClientContract, UnknownScriptIsSentInFull) {
  const auto client = connected(options());
  const Script script("return {KEYS[1], ARGV[1]}");
  const Reply expected = Reply::array({Reply::bulk("k"), Reply::bulk("a")});
  const std::vector<std::string_view> keys = {"k"};
  const std::vector<std::string_view> arguments = {"a"};
  EXPECT_EQ(client->run(script, keys, arguments), expected);                           // EVAL
  EXPECT_EQ(client->call(client->script_request(script, keys, arguments)), expected);  // EVALSHA

  client->call(Request::of("SCRIPT", "FLUSH"));
  const std::vector<Request> requests(3, client->script_request(script, keys, arguments));
  EXPECT_EQ(client->run_all(script, requests), std::vector<Reply>(3, expected));
}

TEST_P(RedisClientContract, OptionsReachServer) {
  RedisOptions wanted = options();
  wanted.db = 5;
  wanted.client_name = "worker";
  const auto client = connected(wanted);
  client->call(Request::of("SET", "k", "v"));
  RawConnection direct(socket_path());
  direct.call(Request::of("SELECT", 5));
  EXPECT_EQ(direct.call(Request::of("GET", "k")), Reply::bulk("v"));
  EXPECT_NE(direct.call(Request::of("CLIENT", "LIST")).text().find("name=worker"),
            std::string::npos);
}

// ---- Connections --------------------------------------------------------------------------------

TEST_P(RedisClientContract, BlockingReadBlocksNoOtherCall) {
  const auto client = connected(options());
  auto read = std::async(std::launch::async,
                         [&] { return (*client)("XREAD", "BLOCK", 0, "STREAMS", "s", "$"); });
  wait_for_blocked(socket_path());
  EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
  EXPECT_EQ((*client)("XADD", "s", "1-1", "f", "v"), Reply::bulk("1-1"));
  EXPECT_EQ(to_debug_string(read.get()), R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST_P(RedisClientContract, BlockingReadMayExceedCommandTimeout) {
  RedisOptions impatient = options();
  impatient.command_timeout_ms = 100;
  const auto client = connected(impatient);
  EXPECT_EQ((*client)("XREAD", "BLOCK", 150, "STREAMS", "s", "$"), Reply::nil_array());
  EXPECT_EQ((*client)("BLPOP", "l", "0.15"), Reply::nil_array());
}

TEST_P(RedisClientContract, BlockingReadBeyondPoolIsNotSent) {
  RedisOptions narrow = options();
  narrow.connections_max = 1;
  narrow.command_timeout_ms = 200;
  const auto client = connected(narrow);
  auto read = std::async(std::launch::async,
                         [&] { return (*client)("XREAD", "BLOCK", 0, "STREAMS", "s", "$"); });
  wait_for_blocked(socket_path());
  RawConnection direct(socket_path());
  direct.call(Request::of("RPUSH", "l", "v"));
  EXPECT_EQ((*client)("BLPOP", "l", 0),
            Reply::error("TIMEDOUT all 1 connections were in use for 200 ms"));
  EXPECT_EQ((*client)("LLEN", "l"), Reply::integer(1));
  direct.call(Request::of("XADD", "s", "1-1", "f", "v"));
  EXPECT_TRUE(read.get().is_aggregate());
  EXPECT_EQ((*client)("BLPOP", "l", 0), Reply::array({Reply::bulk("l"), Reply::bulk("v")}));
}

TEST_P(RedisClientContract, ManyThreadsShareOneConnection) {
  const auto client = connected(options());
  std::atomic<int> errors{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) errors += (*client)("INCR", "n").is_integer() ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(errors, 0);
  EXPECT_EQ((*client)("GET", "n"), Reply::bulk("4000"));
  const std::string clients =
      RawConnection(socket_path()).call(Request::of("CLIENT", "LIST")).text();
  // The second client is the one that sends CLIENT LIST.
  EXPECT_EQ(std::count(clients.begin(), clients.end(), '\n'), 2) << clients;
}

TEST_P(RedisClientContract, TransactionReturnsItsConnection) {
  RedisOptions narrow = options();
  narrow.connections_max = 1;
  const auto client = connected(narrow);
  for (int i = 1; i <= 3; ++i) {
    const std::vector<Reply> replies =
        client->pipeline(std::vector<Request>{Request::of("WATCH", "k"), Request::of("MULTI"),
                                              Request::of("INCR", "k"), Request::of("EXEC")});
    EXPECT_EQ(replies.back(), Reply::array({Reply::integer(i)}));
  }
}

TEST_P(RedisClientContract, OnlyUnsupportedCommandsAreRefused) {
  const auto client = connected(options());
  const std::vector<Reply> replies = client->pipeline(std::vector<Request>{
      Request::of("ECHO", "a"), Request::of("monitor"), Request(), Request::of("ECHO", "b")});
  EXPECT_EQ(replies[0], Reply::bulk("a"));
  EXPECT_EQ(replies[1], Reply::error("ERR 'monitor' is not supported by this client"));
  EXPECT_EQ(replies[2], Reply::error("ERR the request has no command"));
  EXPECT_EQ(replies[3], Reply::bulk("b"));
  EXPECT_TRUE((*client)("HELLO", 3).is_error());
}

}  // namespace rushgate
