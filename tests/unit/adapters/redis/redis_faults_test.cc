// RedisBackend with servers that fail at a chosen byte.
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/faults/fake_server.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using testing::FakeServer;
using testing::FakeSession;

struct Connected {
  std::unique_ptr<RedisBackend> backend;
  std::unique_ptr<Client> client;

  Client* operator->() const { return client.get(); }
  Client& operator*() const { return *client; }
};

Connected connected_to(const FakeServer& server, std::int64_t command_timeout_ms = 10'000) {
  RedisOptions options;
  options.port = server.port();
  options.command_timeout_ms = command_timeout_ms;
  auto backend = RedisBackend::open(options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  auto client = (*backend)->open_client();
  return {*std::move(backend), std::move(client)};
}

std::vector<Request> echoes(int count) {
  std::vector<Request> requests;
  for (int i = 0; i < count; ++i) requests.push_back(Request::of("ECHO", i));
  return requests;
}

TEST(RedisFaultsTest, RepliesBeforeLostConnectionAreKept) {
  FakeServer server({[](FakeSession& session) {
    session.greet();
    session.read_until("$1\r\n2\r\n");
    session.write("$1\r\n0\r\n$1\r\n1");  // the second reply is cut off
  }});
  const auto client = connected_to(server);
  const std::vector<Reply> replies = client->pipeline(echoes(3));
  EXPECT_EQ(replies[0], Reply::bulk("0"));
  const Reply unknown = Reply::error("OUTCOMEUNKNOWN 127.0.0.1:" + std::to_string(server.port()) +
                                     ": the server closed the connection");
  EXPECT_EQ(replies[1], unknown);
  EXPECT_EQ(replies[2], unknown);
}

TEST(RedisFaultsTest, UnsentRequestsAreDistinguished) {
  constexpr int kRequests = 10;
  FakeServer server({[](FakeSession& session) {
    session.greet();
    session.read_bytes(1000);
    session.write("+first\r\n");
  }});
  const auto client = connected_to(server);
  // Each request exceeds the socket buffers, so the second half has not begun when the server
  // closes.
  std::vector<Request> requests(kRequests, Request::of("SET", "k", std::string(8'000'000, 'x')));
  const std::vector<Reply> replies = client->pipeline(requests);
  EXPECT_EQ(replies.front(), Reply::status("first"));
  EXPECT_TRUE(has_code(replies[1], error_code::kOutcomeUnknown) ||
              has_code(replies[1], error_code::kClosed));
  EXPECT_TRUE(has_code(replies.back(), error_code::kClosed)) << to_debug_string(replies.back());
}

TEST(RedisFaultsTest, SilentServerIsUnknownOutcome) {
  FakeServer server({[](FakeSession& session) {
                       session.greet();
                       session.wait_for_close();
                     },
                     [](FakeSession& session) {
                       session.greet();
                       session.read_until("k\r\n");
                       session.write("$1\r\nv\r\n");
                       session.wait_for_close();
                     }});
  const auto client = connected_to(server, 20);
  EXPECT_EQ((*client)("SET", "k", "v"),
            Reply::error("OUTCOMEUNKNOWN 127.0.0.1:" + std::to_string(server.port()) +
                         ": no reply within 20 ms"));
  EXPECT_EQ((*client)("GET", "k"), Reply::bulk("v"));
}

TEST(RedisFaultsTest, InvalidReplyIsUnknownOutcome) {
  FakeServer server({[](FakeSession& session) {
    session.greet();
    session.read_until("k\r\n");
    session.write("HTTP/1.1 400 Bad Request\r\n");
    session.wait_for_close();
  }});
  const auto client = connected_to(server);
  const Reply reply = (*client)("GET", "k");
  EXPECT_TRUE(has_code(reply, error_code::kOutcomeUnknown)) << to_debug_string(reply);
  EXPECT_NE(reply.text().find("Protocol error"), std::string::npos) << reply.text();
}

TEST(RedisFaultsTest, AnnouncedArrayAllocatesNothingEarly) {
  constexpr const char* kHeader = "*2000000000\r\n";  // 96 GB
  FakeServer server({[&](FakeSession& session) {
    session.greet();
    session.read_until("k\r\n");
    session.write(std::string("*1\r\n") + kHeader + kHeader + ":1\r\n");
  }});
  const auto client = connected_to(server);
  EXPECT_EQ((*client)("GET", "k"),
            Reply::error("OUTCOMEUNKNOWN 127.0.0.1:" + std::to_string(server.port()) +
                         ": the server closed the connection"));
}

TEST(RedisFaultsTest, NestedLargeArraysAreComplete) {
  constexpr int kElements = 5'000;
  FakeServer server({[](FakeSession& session) {
    session.greet();
    session.read_until("k\r\n");
    std::string inner = "*" + std::to_string(kElements) + "\r\n";
    for (int i = 0; i < kElements; ++i) inner += ":" + std::to_string(i) + "\r\n";
    std::string outer = "*3\r\n" + inner + "$2\r\nab\r\n";
    session.write(outer + inner);
    session.wait_for_close();
  }});
  const auto client = connected_to(server);
  std::vector<Reply> elements;
  for (int i = 0; i < kElements; ++i) elements.push_back(Reply::integer(i));
  const Reply inner = Reply::array(elements);
  EXPECT_EQ((*client)("GET", "k"), Reply::array({inner, Reply::bulk("ab"), inner}));
}

/// Returns the reply of Redis 6.2 to a script whose command fails.
std::string error_of_script(const std::string& error) {
  return "-ERR Error running script (call to f_24d06e): @user_script:1: @user_script: 1: -" +
         error + "\r\n";
}

TEST(RedisFaultsTest, ScriptErrorOfOldServerHasCode) {
  const std::string read_only = "READONLY You can't write against a read only replica.";
  const std::string few_replicas = "NOREPLICAS Not enough good replicas to write.";
  FakeServer server({[&](FakeSession& session) {
                       session.greet("6.2.14");
                       session.read_until("x\r\n");
                       session.write(error_of_script(few_replicas));
                       session.read_until("x\r\n");
                       session.write(error_of_script(read_only));
                       session.wait_for_close();
                     },
                     [](FakeSession& session) {
                       session.greet("6.2.14");
                       session.read_until("x\r\n");
                       session.write(":1\r\n");
                       session.wait_for_close();
                     }});
  const auto client = connected_to(server);
  EXPECT_EQ((*client)("EVALSHA", "24d06e", 1, "x"), Reply::error(few_replicas));
  EXPECT_EQ((*client)("EVALSHA", "24d06e", 1, "x"), Reply::error(read_only));
  EXPECT_EQ((*client)("EVALSHA", "24d06e", 1, "x"), Reply::integer(1))
      << "sent over another connection";
}

TEST(RedisFaultsTest, ReplyInManyPiecesIsOneReply) {
  FakeServer server({[](FakeSession& session) {
    session.greet();
    session.read_until("k\r\n");
    for (const char byte : std::string("*3\r\n$5\r\nhello\r\n*-1\r\n:-12\r\n")) {
      session.write(std::string(1, byte));
    }
    session.wait_for_close();
  }});
  const auto client = connected_to(server);
  EXPECT_EQ((*client)("HGETALL", "k"),
            Reply::array({Reply::bulk("hello"), Reply::nil_array(), Reply::integer(-12)}));
}

// ---- Queued submissions -------------------------------------------------------------------------

TEST(RedisFaultsTest, RequestQueuedBehindOthersExpires) {
  FakeServer server({[](FakeSession& session) {
    session.greet();
    session.wait_for_close();
  }});
  constexpr std::int64_t kPatientMs = 600'000;
  const auto connected = connected_to(server, kPatientMs);
  const auto client = connected.backend->open_client({.queue_timeout_ms = 5});
  client->submit(Request::of("GET", "k"), [](const Reply&) {});
  // It needs another connection, and earlier requests must end first.
  EXPECT_EQ((*client)("BLPOP", "l", 0),
            Reply::error("TIMEDOUT the request had not begun at its deadline"));
}

TEST(RedisFaultsTest, RequestQueuedBehindBlockingCommandExpires) {
  std::promise<void> has_begun;
  FakeServer server({[](FakeSession& session) {
                       session.greet();
                       session.wait_for_close();
                     },
                     [&](FakeSession& session) {
                       session.greet();
                       session.read_until("l\r\n$1\r\n0\r\n");
                       has_begun.set_value();  // and the client gets no reply
                       session.wait_for_close();
                     }});
  const auto connected = connected_to(server);
  const auto client = connected.backend->open_client({.queue_timeout_ms = 1'000});
  client->submit(Request::of("BLPOP", "l", 0), [](const Reply&) {});
  has_begun.get_future().wait();
  const std::vector<Request> requests(2, Request::of("GET", "k"));
  const Reply expired = Reply::error("TIMEDOUT the request had not begun at its deadline");
  EXPECT_EQ(client->pipeline(requests), std::vector<Reply>(2, expired));
  EXPECT_EQ(connected.backend->counters().expired, 1U);
}

TEST(RedisFaultsTest, FullServerIsReported) {
  FakeServer server({[](FakeSession& session) {
    session.write("-ERR max number of clients reached\r\n");
    session.wait_for_close();
  }});
  RedisOptions options;
  options.port = server.port();
  const absl::Status status = RedisBackend::open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("max number of clients"), std::string::npos);
}

TEST(RedisFaultsTest, ClosedIdleConnectionIsReplacedBeforeUse) {
  FakeServer server({[](FakeSession& session) { session.greet(); },
                     [](FakeSession& session) {
                       session.greet();
                       session.read_until("k\r\n");
                       session.write(":1\r\n");
                       session.wait_for_close();
                     }});
  const auto client = connected_to(server);
  server.wait_for_closed(1);
  EXPECT_EQ((*client)("INCR", "k"), Reply::integer(1));
}

TEST(RedisFaultsTest, RefusedConnectionNamesAddress) {
  int port = 0;
  {
    FakeServer gone({});
    port = gone.port();
  }
  RedisOptions options;
  options.port = port;
  const absl::Status status = RedisBackend::open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()),
            "cannot connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

}  // namespace
}  // namespace rushgate
