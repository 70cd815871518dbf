// RedisBackend with nodes that are wrong, behind or of another cluster: doubles for these faults
// alone.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/client/key_slot.h"
#include "tests/failover/failover_probe.h"
#include "tests/support/faults/fake_server.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using testing::FakeServer;
using testing::FakeSession;
using testing::find_free_port;
using ::testing::HasSubstr;
using testing::opened;
using testing::wait_until;

using Words = std::vector<std::string>;

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

struct Range {
  int first = 0;
  int last = kSlots - 1;
  std::string host = "127.0.0.1";
  int port = 0;
  std::string id = "";
};

/// Replies as one node of a cluster. Thread-safe.
class FakeNode {
 public:
  explicit FakeNode(std::string id) : id_(std::move(id)) {}

  [[nodiscard]] int port() const { return server_.port(); }
  [[nodiscard]] Range range(int first = 0, int last = kSlots - 1) const {
    return {.first = first, .last = last, .port = port(), .id = id_};
  }
  /// Sets the map that it sends; an empty one closes the connection.
  void set_map(std::vector<Range> ranges, int epoch = 1) {
    const std::lock_guard lock(mutex_);
    ranges_ = std::move(ranges);
    epoch_ = epoch;
  }
  /// Sets the reply to all other requests. An empty one closes the connection.
  void set_reply(std::function<std::string(const Words&)> reply) {
    const std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
  }
  void set_reply(std::string reply) {
    set_reply([reply = std::move(reply)](const Words&) { return reply; });
  }
  void set_id(std::string id) {
    const std::lock_guard lock(mutex_);
    id_ = std::move(id);
  }
  [[nodiscard]] int maps_sent() const { return maps_sent_; }
  [[nodiscard]] int requests() const { return requests_; }

 private:
  static constexpr std::size_t kConnectionsMax = 1'000;

  void serve(FakeSession& session) {
    while (true) {
      const Words words = session.read_request();
      const std::string reply = words.empty() ? "" : answer(words);
      if (reply.empty()) return;
      session.write(reply);
    }
  }

  std::string answer(const Words& words) {
    const std::lock_guard lock(mutex_);
    if (words[0] == "PING") return "+PONG\r\n";
    if (words[0] == "INFO") return bulk("redis_version:7.0.15\r\n");
    if (words[0] == "CLIENT") return ":1\r\n";
    if (words[0] != "CLUSTER") {
      ++requests_;
      return reply_(words);
    }
    if (words[1] == "MYID") return bulk(id_);
    if (words[1] == "INFO") {
      return bulk("cluster_current_epoch:" + std::to_string(epoch_) + "\r\n");
    }
    ++maps_sent_;
    if (ranges_.empty()) return "";
    std::string map = "*" + std::to_string(ranges_.size()) + "\r\n";
    for (const Range& range : ranges_) {
      map += "*3\r\n:" + std::to_string(range.first) + "\r\n:" + std::to_string(range.last) +
             "\r\n*3\r\n" + bulk(range.host) + ":" + std::to_string(range.port) + "\r\n" +
             bulk(range.id);
    }
    return map;
  }

  std::mutex mutex_;
  std::string id_;
  std::vector<Range> ranges_;
  int epoch_ = 1;
  std::function<std::string(const Words&)> reply_ = [](const Words&) { return "+OK\r\n"; };
  std::atomic<int> maps_sent_ = 0;
  std::atomic<int> requests_ = 0;
  FakeServer server_{std::vector<std::function<void(FakeSession&)>>(
      kConnectionsMax, [this](FakeSession& session) { serve(session); })};
};

std::string moved(const std::string& endpoint) { return "-MOVED 12182 " + endpoint + "\r\n"; }

std::string at(int port) { return "127.0.0.1:" + std::to_string(port); }

class FakeClusterTest : public ::testing::Test {
 protected:
  FakeClusterTest() {
    one_.set_map({one_.range()});
    two_.set_map({one_.range()});
  }

  static RedisOptions options(const std::vector<int>& ports) {
    RedisOptions options;
    for (const int port : ports) options.cluster.addresses.push_back({"127.0.0.1", port});
    options.cluster.poll_ms = 600'000;
    options.cluster.timeout_ms = 2'000;
    options.reconnect_max_ms = 50;
    return options;
  }

  FakeNode one_{"one"};
  FakeNode two_{"two"};
};

// ---- Redirects ----------------------------------------------------------------------------------

TEST_F(FakeClusterTest, RedirectToUnreachableNodeEnds) {
  const int nobody = find_free_port();
  one_.set_reply(moved(at(nobody)));
  const auto backend = opened(options({one_.port()}));
  const auto client = backend->open_client();
  const Reply reply = (*client)("GET", "foo");
  EXPECT_TRUE(has_code(reply, error_code::kClosed)) << reply.text();
  one_.set_reply("+OK\r\n");
  EXPECT_EQ((*client)("GET", "foo"), Reply::ok()) << "the next request asks the owner by the map";
}

TEST_F(FakeClusterTest, RedirectWithoutHostLeadsToSameHost) {
  one_.set_reply(moved(":" + std::to_string(two_.port())));
  two_.set_reply("+two\r\n");
  const auto backend = opened(options({one_.port()}));
  EXPECT_EQ((*backend->open_client())("GET", "foo"), Reply::status("two"));
}

TEST_F(FakeClusterTest, RedirectWithoutPortLeadsToMap) {
  // A node without a port for this kind of connection, with or without TLS, sends port 0.
  one_.set_reply([this](const Words&) {
    two_.set_reply("+two\r\n");
    return moved("127.0.0.1:0");
  });
  const auto backend = opened(options({one_.port()}));
  const auto client = backend->open_client();
  one_.set_map({two_.range()}, 2);
  EXPECT_EQ((*client)("GET", "foo"), Reply::status("two"));
}

TEST_F(FakeClusterTest, FiveRedirectsAreFollowed) {
  std::atomic<int> left = 5;
  one_.set_reply([&](const Words&) { return left-- > 0 ? moved(at(one_.port())) : "+one\r\n"; });
  const auto backend = opened(options({one_.port()}));
  const auto client = backend->open_client();
  EXPECT_EQ((*client)("GET", "foo"), Reply::status("one"));
  left = 5;
  EXPECT_EQ((*client)("GET", "foo"), Reply::status("one")) << "each request has its own count";
  left = 6;
  EXPECT_EQ((*client)("GET", "foo"), Reply::error("CLOSED slot 12182 was redirected 6 times, by " +
                                                  at(one_.port()) + " to " + at(one_.port())));
}

TEST_F(FakeClusterTest, EndlessTryAgainEnds) {
  one_.set_reply("-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
  const auto backend = opened(options({one_.port()}));
  const Reply reply = (*backend->open_client())("DEL", "{foo}a", "{foo}b");
  EXPECT_EQ(reply.error_code(), "TRYAGAIN");
  EXPECT_EQ(one_.requests(), 101);
}

TEST_F(FakeClusterTest, AskingPrecedesItsRequestAlone) {
  Words seen;
  one_.set_reply("-ASK 12182 " + at(two_.port()) + "\r\n");
  two_.set_reply([&](const Words& words) {
    seen.push_back(words[0]);
    return words[0] == "ASKING" ? "+OK\r\n" : "+two\r\n";
  });
  const auto backend = opened(options({one_.port()}));
  const auto client = backend->open_client();
  const std::vector<Request> requests(3, Request::of("GET", "foo"));
  EXPECT_EQ(client->pipeline(requests), std::vector<Reply>(3, Reply::status("two")));
  EXPECT_EQ(seen, (Words{"ASKING", "GET", "ASKING", "GET", "ASKING", "GET"}));
  one_.set_reply("+one\r\n");
  EXPECT_EQ((*client)("GET", "foo"), Reply::status("one")) << "ASK does not change the map";
}

TEST_F(FakeClusterTest, RedirectedRequestsKeepOrder) {
  constexpr int kRequests = 200;
  Words seen;
  std::atomic<int> left = kRequests / 2;
  one_.set_reply([&](const Words& words) {
    if (left-- > 0) return std::string("+OK\r\n");
    if (words.size() < 3) return std::string("-ERR\r\n");
    return moved(at(two_.port()));
  });
  two_.set_map({two_.range()}, 2);
  two_.set_reply([&](const Words& words) {
    seen.push_back(words[2]);
    return "+OK\r\n";
  });
  const auto backend = opened(options({one_.port()}));
  const auto client = backend->open_client();
  std::atomic<int> completed = 0;
  for (int i = 0; i < kRequests; ++i) {
    client->submit(Request::of("APPEND", "foo", i), [&](const Reply& reply) {
      EXPECT_EQ(reply, Reply::ok());
      ++completed;
    });
  }
  wait_until([&] { return completed == kRequests; });
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kRequests / 2));
  for (int i = 0; i < kRequests / 2; ++i) {
    ASSERT_EQ(seen[static_cast<std::size_t>(i)], std::to_string(kRequests / 2 + i));
  }
}

TEST_F(FakeClusterTest, ScatteredTransactionIsSentAgainAsWhole) {
  Words seen;
  one_.set_reply([&](const Words& words) {
    if (words[0] == "MULTI") return std::string("+OK\r\n");
    if (words[0] == "EXEC") return std::string("-EXECABORT Transaction discarded\r\n");
    return words[1] == "{foo}a" ? std::string("+QUEUED\r\n") : moved(at(two_.port()));
  });
  two_.set_reply([&](const Words& words) {
    seen.push_back(words[0]);
    if (words[0] == "MULTI") return "+OK\r\n";
    return words[0] == "EXEC" ? "*2\r\n:1\r\n:1\r\n" : "+QUEUED\r\n";
  });
  const auto backend = opened(options({one_.port()}));
  const std::vector<Reply> replies = backend->open_client()->pipeline(
      std::vector<Request>{Request::of("MULTI"), Request::of("INCR", "{foo}a"),
                           Request::of("INCR", "{foo}b"), Request::of("EXEC")});
  EXPECT_EQ(seen, (Words{"MULTI", "INCR", "INCR", "EXEC"}));
  EXPECT_EQ(replies.back(), Reply::array({Reply::integer(1), Reply::integer(1)}));
}

// ---- Maps ---------------------------------------------------------------------------------------

TEST_F(FakeClusterTest, MapWithoutHostNamesAskedNode) {
  Range same = one_.range();
  same.host = "";
  one_.set_map({same});
  one_.set_reply("+one\r\n");
  const auto backend = opened(options({one_.port()}));
  EXPECT_EQ((*backend->open_client())("GET", "foo"), Reply::status("one"));
}

TEST_F(FakeClusterTest, PartialMapCountsOnlyWithoutCompleteOne) {
  one_.set_map({one_.range(0, 100)});
  two_.set_map({one_.range(0, 8'000), two_.range(8'001)});
  two_.set_reply("+two\r\n");
  EXPECT_EQ((*opened(options({one_.port(), two_.port()}))->open_client())("GET", "foo"),
            Reply::status("two"));

  two_.set_map({one_.range(0, 50)});
  const auto backend = opened(options({two_.port(), one_.port()}));
  EXPECT_EQ(backend->health().message(), "16283 slots of the cluster have no master: 101-16383");
  EXPECT_EQ((*backend->open_client())("GET", "foo"),
            Reply::error("CLUSTERDOWN no master serves slot 12182: 16283 slots of the cluster have "
                         "no master: 101-16383"));
}

TEST_F(FakeClusterTest, SyncOfKeyWithoutMasterFails) {
  one_.set_map({one_.range(0, 100)});
  RedisOptions syncing = options({one_.port()});
  syncing.sync_replicas = 1;
  EXPECT_EQ(opened(syncing)->open_client()->sync_of("foo"),
            Reply::error("NOREPLICAS CLUSTERDOWN no master serves slot 12182: 16283 slots of the "
                         "cluster have no master: 101-16383"));
}

TEST_F(FakeClusterTest, NodeWithoutPortHasNoSlots) {
  Range without = one_.range(0, 100);
  without.port = 0;
  one_.set_map({without, one_.range(101)});
  EXPECT_EQ(opened(options({one_.port()}))->health().message(),
            "101 slots of the cluster have no master: 0-100");
}

TEST_F(FakeClusterTest, OlderMapCountsOnlyWithoutNewerOne) {
  one_.set_map({two_.range(0, 0), one_.range(1)}, 5);
  one_.set_reply("+one\r\n");
  two_.set_map({one_.range(0, 0), two_.range(1)}, 4);
  two_.set_reply("+two\r\n");
  RedisOptions polling = options({one_.port(), two_.port()});
  polling.cluster.poll_ms = 5;
  const auto backend = opened(polling);
  const auto client = backend->open_client();
  const int sent = two_.maps_sent();
  wait_until([&] { return two_.maps_sent() > sent + 2; });
  EXPECT_EQ((*client)("GET", "foo"), Reply::status("one"));
  two_.set_map({one_.range(0, 0), two_.range(1)}, 6);
  wait_until([&] { return (*client)("GET", "foo") == Reply::status("two"); });
}

TEST_F(FakeClusterTest, MapOfOtherClusterIsNotUsed) {
  one_.set_map({one_.range(0, 8'000), two_.range(8'001)});
  two_.set_map({one_.range(0, 8'000), two_.range(8'001)});
  two_.set_reply("+two\r\n");
  RedisOptions polling = options({one_.port(), two_.port()});
  polling.cluster.poll_ms = 5;
  const auto backend = opened(polling);
  const auto client = backend->open_client();
  Range foreign = one_.range();
  foreign.id = "foreign";
  one_.set_map({foreign}, 9);
  const int sent = one_.maps_sent();
  wait_until([&] { return one_.maps_sent() > sent + 2; });
  EXPECT_EQ((*client)("GET", "foo"), Reply::status("two"));
}

TEST_F(FakeClusterTest, OtherNodeAtSameAddressGetsNoRequests) {
  one_.set_reply([](const Words&) { return ""; });  // closes the connection
  const auto backend = opened(options({one_.port()}));
  const auto client = backend->open_client();
  one_.set_id("other");
  EXPECT_TRUE(has_code((*client)("SET", "foo", 1), error_code::kOutcomeUnknown));
  Reply reply;
  wait_until([&] {
    reply = (*client)("SET", "foo", 1);
    return reply.text().find("another node of a cluster has its address now") != std::string::npos;
  });
  EXPECT_TRUE(has_code(reply, error_code::kClosed));
  EXPECT_EQ(one_.requests(), 1);
}

TEST_F(FakeClusterTest, BrokenMapsDoNotStopTheLooks) {
  const auto backend = opened(options({one_.port()}));
  const auto client = backend->open_client();
  one_.set_map({});  // closes the connection
  one_.set_reply(moved("127.0.0.1:0"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE((*client)("GET", "foo").is_error());
  one_.set_map({Range{.first = 5, .last = 70'000, .port = 1}});  // nonsense
  EXPECT_TRUE((*client)("GET", "foo").is_error());
  one_.set_map({two_.range()}, 2);
  two_.set_reply("+two\r\n");
  wait_until([&] { return (*client)("GET", "foo") == Reply::status("two"); });
}

TEST_F(FakeClusterTest, FailingRequestsShareLooksAtMap) {
  constexpr int kRequests = 100;
  Range gone = two_.range(8'001);
  gone.port = find_free_port();
  one_.set_map({one_.range(0, 8'000), gone});
  const auto backend = opened(options({one_.port()}));
  const auto client = backend->open_client();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_TRUE(has_code((*client)("GET", "foo"), error_code::kClosed));
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                      std::chrono::steady_clock::now() - began)
                      .count();
  EXPECT_LE(one_.maps_sent(), ms / 90 + 5);
}

TEST_F(FakeClusterTest, ServerWithoutClusterIsRefused) {
  const testing::RedisServer server({.listens_on_tcp = true});
  const absl::Status refused = RedisBackend::open(options({server.port()})).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(at(server.port()) + ": it belongs to no cluster"));
}

}  // namespace
}  // namespace rushgate
