// RedisBackend with sentinels that are silent, wrong or behind: doubles for these faults alone.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/failover/failover_probe.h"
#include "tests/support/faults/fake_server.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/redis_server/sentinel_group.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using testing::ask;
using testing::cut_connections;
using testing::FakeServer;
using testing::FakeSession;
using ::testing::HasSubstr;
using testing::opened;
using testing::port_of_server;
using testing::RedisServer;
using testing::wait_until;

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

/// Returns the replies of a sentinel to the three questions of a client.
std::string answer(int master, std::int64_t epoch, const std::vector<int>& others = {}) {
  const std::string host = bulk("127.0.0.1");
  std::string text = "*2\r\n" + host + bulk(std::to_string(master)) + "*2\r\n" +
                     bulk("config-epoch") + bulk(std::to_string(epoch)) + "*" +
                     std::to_string(others.size()) + "\r\n";
  for (const int other : others) {
    text += "*4\r\n" + bulk("ip") + host + bulk("port") + bulk(std::to_string(other));
  }
  return text;
}

/// Replies to each question with the present answer. An empty one closes the connection.
class FakeSentinel {
 public:
  explicit FakeSentinel(std::string first) : answer_(std::move(first)) {}

  void set(std::string next) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(next);
  }
  [[nodiscard]] RedisAddress address() const { return {"127.0.0.1", server_.port()}; }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  static constexpr std::size_t kConnectionsMax = 1'000;

  void serve(FakeSession& session) {
    if (!session.read_until("SENTINELS\r\n$4\r\nshop\r\n")) return;
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      text = answer_;
    }
    ++asked_;
    session.write(text);
    if (!text.empty()) session.wait_for_close();
  }

  std::mutex mutex_;
  std::string answer_;  // guarded by mutex_
  std::atomic<int> asked_ = 0;
  FakeServer server_{std::vector<std::function<void(FakeSession&)>>(
      kConnectionsMax, [this](FakeSession& session) { serve(session); })};
};

RedisOptions options_of(std::vector<RedisAddress> sentinels) {
  RedisOptions options;
  options.client_name = testing::kClientName;
  options.sentinel.addresses = std::move(sentinels);
  options.sentinel.master = "shop";
  options.sentinel.timeout_ms = 2'000;
  options.sentinel.poll_ms = 600'000;
  options.reconnect_max_ms = 50;
  return options;
}

class FakeSentinelTest : public ::testing::Test {
 protected:
  const RedisServer one_{{.listens_on_tcp = true}};
  const RedisServer two_{{.listens_on_tcp = true}};
};

TEST_F(FakeSentinelTest, SilentSentinelIsPassedOverOnce) {
  std::atomic<int> connections = 0;
  const auto be_silent = [&](FakeSession& session) {
    ++connections;
    session.wait_for_close();
  };
  FakeServer silent({be_silent, be_silent});
  FakeSentinel right(answer(one_.port(), 1));
  RedisOptions options = options_of({{"127.0.0.1", silent.port()}, right.address()});
  options.sentinel.timeout_ms = 500;  // the other one replies within it, also on a busy machine
  const auto backend = opened(options);
  silent.wait_for_closed(1);
  const auto client = backend->open_client();
  cut_connections(*backend, one_);
  EXPECT_EQ(port_of_server(*client), one_.port());
  EXPECT_EQ(connections, 1) << "the one that replied is asked first";
}

TEST_F(FakeSentinelTest, WrongRepliesArePassedOver) {
  const std::vector<std::pair<std::string, std::string>> replies = {
      {"", "the server closed the connection"},
      {"-ERR unknown command 'SENTINEL'\r\n-ERR\r\n-ERR\r\n", "ERR unknown command 'SENTINEL'"},
      {"*-1\r\n-ERR\r\n-ERR\r\n", "it knows no master of this name"},
      {"+OK\r\n+OK\r\n+OK\r\n", "it is no sentinel"},
      {"*2\r\n$1\r\na\r\n$1\r\nb\r\n*0\r\n*0\r\n", "it names no address"},
      {"HTTP/1.1 200 OK\r\n\r\n", "Protocol error"},
      {std::string(std::size_t{2} << 20, '+'), "its replies are too long"},
      {"-NOAUTH Authentication required.\r\n-NOAUTH\r\n-NOAUTH\r\n", "it refuses the user: NOAUTH"},
  };
  FakeSentinel wrong("");
  FakeSentinel right(answer(one_.port(), 1));
  const std::string name = wrong.address().text();
  for (const auto& [reply, reason] : replies) {
    wrong.set(reply);
    const absl::Status status = RedisBackend::open(options_of({wrong.address()})).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(name + ": ")) << reason;
    EXPECT_THAT(std::string(status.message()), HasSubstr(reason));
    EXPECT_NE(opened(options_of({wrong.address(), right.address()})), nullptr) << reason;
  }
}

TEST_F(FakeSentinelTest, RefusedAuthDoesNotShowPassword) {
  FakeSentinel sentinel("-ERR unknown command 'AUTH', with args beginning with: 'hunter2'\r\n" +
                        answer(one_.port(), 1));
  RedisOptions options = options_of({sentinel.address()});
  options.sentinel.password = "hunter2";
  const absl::Status status = RedisBackend::open(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(std::string(status.message()).find("hunter2"), std::string::npos) << status;
}

TEST_F(FakeSentinelTest, ReportedSentinelsAreAskedToo) {
  FakeSentinel reported(answer(one_.port(), 1));
  constexpr int kNobody = 1;
  FakeSentinel known(answer(one_.port(), 1, {kNobody, reported.address().port}));
  const auto backend = opened(options_of({known.address()}));
  const auto client = backend->open_client();
  known.set("");
  cut_connections(*backend, one_);
  EXPECT_EQ(port_of_server(*client), one_.port());
  EXPECT_EQ(reported.asked(), 1);
}

TEST_F(FakeSentinelTest, OlderAnswerCountsWithoutNewerOne) {
  FakeSentinel fresh(answer(two_.port(), 2));
  FakeSentinel stale(answer(one_.port(), 1));
  RedisOptions options = options_of({fresh.address(), stale.address()});
  options.sentinel.poll_ms = 5;
  const auto backend = opened(options);
  const auto client = backend->open_client();
  const int asked_before = stale.asked();
  wait_until([&] { return stale.asked() > asked_before + 2; });
  EXPECT_EQ(port_of_server(*client), two_.port());
  EXPECT_EQ(backend->counters().losses, 0U);
  fresh.set("");
  EXPECT_EQ(port_of_server(*client), two_.port()) << "its connection is in order";
  cut_connections(*backend, two_);
  EXPECT_EQ(port_of_server(*client), one_.port());
  fresh.set(answer(two_.port(), 2));
  wait_until([&] { return port_of_server(*client) == two_.port(); });
}

TEST_F(FakeSentinelTest, LastMasterServesWithoutSentinels) {
  FakeSentinel sentinel(answer(one_.port(), 1));
  const auto backend = opened(options_of({sentinel.address()}));
  const auto client = backend->open_client();
  sentinel.set("");
  for (int i = 0; i < 3; ++i) {
    cut_connections(*backend, one_);
    EXPECT_EQ(port_of_server(*client), one_.port());
  }
  ask(one_, Request::of("REPLICAOF", "127.0.0.1", two_.port()));  // it accepts no writes any more
  cut_connections(*backend, one_);
  // Attempts alternate between both reasons, and other connections make some of them.
  wait_until([&] {
    const std::string text = (*client)("PING").text();
    return text.find("it is not a master") != std::string::npos ||
           text.find("the server closed the connection") != std::string::npos;
  });
  sentinel.set(answer(two_.port(), 2));
  EXPECT_EQ(port_of_server(*client), two_.port());
}

TEST_F(FakeSentinelTest, NamedReplicaLeadsToNextSentinel) {
  FakeSentinel wrong(answer(one_.port(), 1));
  FakeSentinel right(answer(one_.port(), 1));
  const auto backend = opened(options_of({wrong.address(), right.address()}));
  const auto client = backend->open_client();
  ask(two_, Request::of("REPLICAOF", "127.0.0.1", one_.port()));
  wrong.set(answer(two_.port(), 1));
  const absl::Status refused = RedisBackend::open(options_of({wrong.address()})).status();
  EXPECT_EQ(refused, absl::UnavailableError("cannot connect to 127.0.0.1:" +
                                            std::to_string(two_.port()) + ": it is not a master"));
  cut_connections(*backend, one_);
  EXPECT_EQ(port_of_server(*client), one_.port());
  EXPECT_EQ(right.asked(), 1);
}

TEST_F(FakeSentinelTest, ConnectionBeingCheckedFollowsMaster) {
  FakeSentinel sentinel(answer(one_.port(), 1));
  RedisOptions options = options_of({sentinel.address()});
  options.sentinel.poll_ms = 5;
  const auto backend = opened(options);
  const auto client = backend->open_client();
  std::atomic<int> checks = 0;
  const auto check = std::make_shared<const ConnectionCheck>([&](Client& connection) {
    if (++checks > 1) return absl::OkStatus();
    sentinel.set(answer(two_.port(), 2));
    wait_until([&] { return connection("PING") != Reply::status("PONG"); });
    return absl::OkStatus();
  });
  backend->add_connection_check(check);
  cut_connections(*backend, one_);
  EXPECT_EQ(port_of_server(*client), two_.port());
  EXPECT_EQ(checks, 2);
}

}  // namespace
}  // namespace rushgate
