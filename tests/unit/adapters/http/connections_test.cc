// Connections: keep-alive, pipelining, limits and hostile clients.
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/http/served_sale.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::http_request;

/// Times within which a test need not wait long.
HttpServerOptions impatient() {
  HttpServerOptions options;
  options.header_timeout_ms = 50;
  options.transfer_timeout_ms = 100;
  options.idle_timeout_ms = 200;
  return options;
}

TEST(HttpConnectionTest, KeepsAliveUntilClientCloses) {
  const ServedSale served;
  HttpConnection connection = served.connect();
  EXPECT_EQ(connection.call("GET", "/healthz").status, 200);
  EXPECT_EQ(connection.call("GET", "/none").status, 404);
  const HttpReply last = connection.call("GET", "/healthz", "", "Connection: close\r\n");
  EXPECT_EQ(last.field("connection"), "close");
  EXPECT_EQ(connection.receive_all(), "");
}

TEST(HttpConnectionTest, PipelinedRequestsGetRepliesInOrder) {
  const ServedSale served;
  served.publish(7, 1'000);
  std::string requests;
  constexpr int kCount = 200;
  for (int i = 0; i < kCount; ++i) {
    requests +=
        http_request("POST", "/v1/vouchers/7/orders", R"({"user": )" + std::to_string(i) + "}");
    requests += http_request("GET", "/healthz");
  }
  HttpConnection connection = served.connect();
  connection.send(requests);
  for (int i = 0; i < kCount; ++i) {
    const HttpReply bought = connection.receive();
    ASSERT_EQ(bought.status, 201) << bought.body;
    EXPECT_EQ(bought.json()["user"], i);
    EXPECT_EQ(connection.receive().status, 200);
  }
}

TEST(HttpConnectionTest, HalfClosedClientGetsItsReply) {
  const ServedSale served;
  HttpConnection connection = served.connect();
  connection.send(http_request("GET", "/healthz"));
  connection.finish_sending();
  EXPECT_EQ(connection.receive().status, 200);
  EXPECT_EQ(connection.receive_all(), "");
}

TEST(HttpConnectionTest, SplitRequestIsRead) {
  const ServedSale served;
  served.publish(7, 1);
  HttpConnection connection = served.connect();
  for (const char c : http_request("POST", "/v1/vouchers/7/orders", R"({"user": 1})")) {
    connection.send({&c, 1});
  }
  EXPECT_EQ(connection.receive().status, 201);
}

TEST(HttpConnectionTest, ExpectingClientIsToldToContinue) {
  const ServedSale served;
  served.publish(7, 1);
  HttpConnection connection = served.connect();
  connection.send(
      "POST /v1/vouchers/7/orders HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Type: application/json\r\nContent-Length: 11\r\n\r\n");
  EXPECT_EQ(connection.receive().status, 100);
  connection.send(R"({"user": 1})");
  EXPECT_EQ(connection.receive().status, 201);
}

TEST(HttpConnectionTest, HeadHasNoBody) {
  const ServedSale served;
  HttpConnection connection = served.connect();
  connection.send(http_request("HEAD", "/healthz"));
  EXPECT_THAT(connection.receive_until("\r\n\r\n"), HasSubstr("Content-Length: "));
  EXPECT_EQ(connection.call("GET", "/healthz").status, 200);
}

// ---- Limits ----

TEST(HttpLimitTest, SlowHeaderIsClosed) {
  const ServedSale served(impatient());
  HttpConnection connection = served.connect();
  connection.send("GET /healthz HT");
  EXPECT_EQ(connection.receive_all(), "");
}

TEST(HttpLimitTest, SlowBodyIsClosed) {
  const ServedSale served(impatient());
  HttpConnection connection = served.connect();
  connection.send(
      "POST /v1/vouchers/7/orders HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{");
  EXPECT_EQ(connection.receive_all(), "");
}

TEST(HttpLimitTest, IdleClientIsClosed) {
  const ServedSale served(impatient());
  HttpConnection connection = served.connect();
  EXPECT_EQ(connection.call("GET", "/healthz").status, 200);
  EXPECT_EQ(connection.receive_all(), "");
}

TEST(HttpLimitTest, ClientThatReadsNothingIsClosed) {
  const ServedSale served(impatient());
  HttpConnection unread = served.connect();
  EXPECT_EQ(unread.call("GET", "/healthz").status, 200);
  std::string requests;
  constexpr int kMoreThanBuffersHold = 1'000;
  for (int i = 0; i < kMoreThanBuffersHold; ++i) requests += http_request("GET", "/openapi.json");
  unread.send(requests);
  HttpConnection other = served.connect();
  const auto connections = [&] {
    return other.call("GET", "/v1/statistics").json()["http"]["connections"];
  };
  while (connections() > 1) continue;
}

TEST(HttpLimitTest, LargeHeaderIsRefused) {
  const ServedSale served;
  const HttpReply reply = served.call(
      "GET", "/healthz", "", "X-Long: " + std::string(HttpServer::kHeaderBytesMax, 'x') + "\r\n");
  EXPECT_EQ(reply.problem(), "header-too-large");
  EXPECT_EQ(reply.field("connection"), "close");
}

TEST(HttpLimitTest, LargeBodyIsRefused) {
  const ServedSale served;
  const std::string body(HttpServer::kBodyBytesMax + 1, ' ');
  EXPECT_EQ(served.call("POST", "/v1/vouchers/7/orders", body).problem(), "body-too-large");
  // Announced in pieces.
  HttpConnection connection = served.connect();
  connection.send(
      "POST /v1/vouchers/7/orders HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  constexpr int kPieces = 70;
  for (int i = 0; i < kPieces; ++i) {
    connection.send("400\r\n" + std::string(1'024, ' ') + "\r\n");
  }
  EXPECT_EQ(connection.receive().problem(), "body-too-large");
}

TEST(HttpLimitTest, ConnectionBeyondBoundGets503) {
  HttpServerOptions options;
  options.connections_max = 2;
  const ServedSale served(options);
  HttpConnection first = served.connect();
  HttpConnection second = served.connect();
  EXPECT_EQ(first.call("GET", "/healthz").status, 200);
  EXPECT_EQ(second.call("GET", "/healthz").status, 200);
  EXPECT_EQ(served.connect().receive().problem(), "overloaded");
}

/// What a connection may take, the client's side included.
struct MemoryCase {
  const char* name;
  std::size_t connections;
  std::size_t bytes_max;  // of each
  void (*prepare)(HttpConnection& connection);
};

class HttpMemoryTest : public ::testing::TestWithParam<MemoryCase> {};

/// Raises the limit of open files for both sides of so many connections. Returns how many it allows: a
/// user that is not root cannot raise the hard limit.
std::size_t allow_connections(std::size_t wanted) {
  constexpr std::size_t kFilesOfOthers = 300;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const rlim_t needed = 2 * wanted + kFilesOfOthers;
  const rlimit raised{.rlim_cur = std::max(files.rlim_cur, needed),
                      .rlim_max = std::max(files.rlim_max, needed)};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return wanted;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return std::min<std::size_t>(wanted, (files.rlim_max - kFilesOfOthers) / 2);
}

TEST_P(HttpMemoryTest, ConnectionTakesLittleMemory) {
  const MemoryCase& which = GetParam();
  const std::size_t count = allow_connections(which.connections);
  HttpServerOptions options;
  options.connections_max = count + 1;
  const ServedSale served(options);
  std::vector<HttpConnection> connections;
  connections.reserve(count);
  EXPECT_EQ(served.call("GET", "/healthz").status, 200);
  const std::size_t before = ::mallinfo2().uordblks;
  for (std::size_t i = 0; i < count; ++i) {
    connections.push_back(served.connect());
    which.prepare(connections.back());
  }
  EXPECT_EQ(served.call("GET", "/healthz").status, 200);
  const std::size_t after = ::mallinfo2().uordblks;
  EXPECT_LT(after, before + count * which.bytes_max);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HttpMemoryTest,
    ::testing::Values(MemoryCase{"TenThousandIdle", 10'000, 4 * 1'024,
                                 [](HttpConnection& connection) {
                                   EXPECT_EQ(connection.call("GET", "/healthz").status, 200);
                                 }},
                      MemoryCase{"BeginOfHeader", 1'000, 8 * 1'024,
                                 [](HttpConnection& connection) {
                                   connection.send("GET /healthz HTTP/1.1\r\nHost: local");
                                 }},
                      MemoryCase{"BeginOfLargestBody", 200, 160 * 1'024,
                                 [](HttpConnection& connection) {
                                   const std::string body(HttpServer::kBodyBytesMax, ' ');
                                   const std::string request =
                                       http_request("POST", "/v1/vouchers/7/orders", body);
                                   connection.send(
                                       std::string_view(request).substr(0, request.size() - 1));
                                 }},
                      MemoryCase{"UnreadEvents", 500, 8 * 1'024,
                                 [](HttpConnection& connection) {
                                   connection.send(http_request("GET", "/v1/vouchers/events"));
                                   EXPECT_EQ(connection.receive().status, 200);
                                 }}),
    [](const auto& which) { return std::string(which.param.name); });

TEST(HttpLimitTest, StoppingServerRepliesFirst) {
  const ServedSale served;
  served.publish(7, 1'000);
  std::vector<HttpConnection> connections;
  constexpr int kCount = 50;
  for (int i = 0; i < kCount; ++i) {
    connections.push_back(served.connect());
    connections.back().send(
        http_request("POST", "/v1/vouchers/7/orders", R"({"user": )" + std::to_string(i) + "}"));
  }
  served.server().stop();
  std::int64_t accepted = 0;
  for (HttpConnection& connection : connections) {
    const std::string reply = connection.receive_all();
    if (reply.starts_with("HTTP/1.1 201 ")) ++accepted;
  }
  EXPECT_EQ(served.sale().voucher(7).value()->admitted, accepted);
}

// ---- Hostile input ----

TEST(HttpHostileTest, MalformedRequestsAreRefused) {
  const ServedSale served;
  for (const std::string& request :
       {std::string("nonsense\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\n\r\n"),  // no Host
        std::string("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n"),
        std::string("POST /v1/audit HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST /v1/audit HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        http_request("GET", "healthz"), http_request("GET", "/v1/users/%ff/orders"),
        http_request("GET", "/v1/users/%2/orders"), http_request("GET", "/v1/vouchers?limit=0"),
        http_request("GET", "/v1/vouchers?limit=2&limit=2"),
        http_request("GET", "/v1/vouchers?x=1"), http_request("GET", "/v1/vouchers/abc"),
        http_request("GET", "/v1/vouchers/99999999999999999999"),
        http_request("GET", "/healthz", "{}")}) {
    HttpConnection connection = served.connect();
    connection.send(request);
    EXPECT_EQ(connection.receive().problem(), "invalid-request") << request;
  }
}

TEST(HttpHostileTest, PathTricksFindNothing) {
  const ServedSale served;
  for (const char* const path :
       {"//", "//healthz", "/healthz/", "/v1/vouchers/", "/v1/../healthz", "/%2e%2e/healthz",
        "/v1%2fvouchers", "/v1/vouchers/7/orders/..", "/HEALTHZ"}) {
    EXPECT_EQ(served.call("GET", path).problem(), "not-found") << path;
  }
  const HttpReply reply = served.call("DELETE", "/v1/vouchers/7");
  EXPECT_EQ(reply.problem(), "method-not-allowed");
  EXPECT_EQ(reply.field("allow"), "GET, PUT");
}

TEST(HttpHostileTest, HostileJsonIsRefusedCheaply) {
  const ServedSale served;
  served.publish(7, 10);
  std::string many = "{\"user\": 1";
  for (int i = 0; many.size() < HttpServer::kBodyBytesMax - 20; ++i) {
    many += ",\"" + std::to_string(i) + "\":0";
  }
  many += "}";
  constexpr std::size_t kDeep = 30'000;
  const std::string deep = std::string(kDeep, '[') + std::string(kDeep, ']');
  for (const std::string& body :
       {many, deep, "{\"user\": " + deep + "}", std::string("{\"user\": \"\xff\"}"),
        std::string("{\"user\": \"a\\u0000b\"}"), std::string("{\"user\": 1e3}"),
        std::string("{\"user\": 1, \"user\": 2}"), std::string("{\"user\": 18446744073709551615}"),
        std::string("{\"user\": NaN}"), std::string("{\"user\": 1} {}"),
        std::string("\xef\xbb\xbf"), std::string("null")}) {
    const HttpReply reply = served.call("POST", "/v1/vouchers/7/orders", body);
    EXPECT_EQ(reply.problem(), "invalid-request") << body.substr(0, 80) << reply.body;
  }
  EXPECT_EQ(served.sale().voucher(7).value()->admitted, 0);
}

}  // namespace
}  // namespace rushgate
