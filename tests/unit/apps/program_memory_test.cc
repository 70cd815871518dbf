// Bounds on the resident memory of `rushgate serve` that clients can cause.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/resp/resp_encoder.h"
#include "apps/exit_code.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/raw_connection.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::RawConnection;

constexpr std::int64_t kMebi = 1'024 * 1'024;

class ProgramMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  }

  void start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"serve", "--port", "0", "--unixsocket", socket()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    program_ = std::make_unique<Program>(arguments);
    ASSERT_TRUE(program_->wait_for_error_text("serving on"));
    bystander_ = connect();
    call("PING");
    at_start_ = status_bytes("VmRSS");
    heap_at_start_ = status_bytes("RssAnon");
  }

  [[nodiscard]] std::string socket() const { return (directory_.path() / "socket").string(); }
  [[nodiscard]] std::string keyspace() const { return (directory_.path() / "keyspace").string(); }
  [[nodiscard]] std::unique_ptr<RawConnection> connect() const {
    return std::make_unique<RawConnection>(socket());
  }
  [[nodiscard]] std::vector<std::unique_ptr<RawConnection>> connect(int count) const {
    std::vector<std::unique_ptr<RawConnection>> clients;
    for (int i = 0; i < count; ++i) clients.push_back(connect());
    return clients;
  }

  template <class... Args>
  Reply call(Args... args) {
    return bystander_->call(Request::of(args...));
  }
  /// Returns when the server has served all requests that it can serve.
  void wait_until_idle() {
    for (int round = 0; round < 100; ++round) call("PING");
  }

  /// Returns a field of the server's /proc/<pid>/status.
  [[nodiscard]] std::int64_t status_bytes(const std::string& field) const {
    std::ifstream status("/proc/" + std::to_string(program_->pid()) + "/status");
    std::string word;
    while (status >> word && word != field + ":") {
    }
    std::int64_t kibi = 0;
    status >> kibi;
    return kibi * 1'024;
  }
  /// Returns the growth since the server's start, in MiB, without the pages of files.
  [[nodiscard]] std::int64_t grown_by() const {
    return (status_bytes("RssAnon") - heap_at_start_) / kMebi;
  }
  /// Waits until freed memory is released, which takes a second or two. Returns false if it is late.
  /// Sends nothing: an idle server releases memory too.
  [[nodiscard]] bool wait_until_grown_by_less(std::int64_t mebi) const {
    const auto give_up = std::chrono::steady_clock::now() + RawConnection::kPatience;
    while (grown_by() >= mebi && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return grown_by() < mebi;
  }
  /// Describes where memory is, for the message of a failure.
  [[nodiscard]] std::string state() {
    return std::to_string(grown_by()) + " MiB\n" + call("MEMORY", "MALLOC-STATS").text();
  }
  /// Returns clients that are subscribed to "c".
  [[nodiscard]] std::vector<std::unique_ptr<RawConnection>> subscribe(int count) const {
    auto clients = connect(count);
    for (const auto& client : clients) {
      client->send(Request::of("SUBSCRIBE", "c"));
      client->receive();
    }
    return clients;
  }
  void wait_until_blocked(int count) {
    const std::string shown = "blocked_clients:" + std::to_string(count) + "\r\n";
    while (call("INFO", "clients").text().find(shown) == std::string::npos) {
    }
  }
  [[nodiscard]] std::int64_t peak_growth() const {
    return (status_bytes("VmHWM") - at_start_) / kMebi;
  }

 private:
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  std::unique_ptr<Program> program_;
  std::unique_ptr<RawConnection> bystander_;
  std::int64_t at_start_ = 0;
  std::int64_t heap_at_start_ = 0;
};

TEST_F(ProgramMemoryTest, UnreadRepliesHoldOneReplyPerClient) {
  start();
  call("SET", "k", std::string(kMebi, 'x'));
  constexpr int kClients = 30;
  const auto lazy = connect(kClients);
  std::string sent;
  append_request(Request::of("INCR", "begun"), sent);
  for (int i = 0; i < 40; ++i) append_request(Request::of("GET", "k"), sent);
  for (const auto& client : lazy) client->send_bytes(sent);
  while (call("GET", "begun") != Reply::bulk(std::to_string(kClients))) {
  }
  wait_until_idle();
  EXPECT_LT(peak_growth(), 2 * kClients);
}

TEST_F(ProgramMemoryTest, IdleClientsGiveMemoryBack) {
  start();
  const auto clients = connect(200);
  std::string sent;
  append_request(Request::of("ECHO", std::string(kMebi, 'x')), sent);
  for (const auto& client : clients) client->send_bytes(sent);
  for (const auto& client : clients) EXPECT_GT(client->receive().size(), sent.size() / 2);
  wait_until_idle();
  EXPECT_TRUE(wait_until_grown_by_less(20)) << state();
}

TEST_F(ProgramMemoryTest, FlushallGivesMemoryBack) {
  start();
  constexpr int kKeys = 300;
  {
    const auto client = connect();
    std::string sent;
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_EQ(client->call(Request::of("SET", i, std::string(kMebi, 'x'))), Reply::ok());
      append_request(Request::of("GET", i), sent);
    }
    client->send_bytes(sent);
    for (int i = 0; i < kKeys; ++i) EXPECT_GT(client->receive().size(), std::size_t{kMebi});
  }
  EXPECT_LT(peak_growth(), 2 * kKeys);
  call("FLUSHALL");
  EXPECT_TRUE(wait_until_grown_by_less(30)) << state();
}

TEST_F(ProgramMemoryTest, QueuedRequestsAreBounded) {
  start({"--client-query-buffer-limit", "20mb"});
  std::string sent = "CLIENT REPLY OFF\r\nMULTI\r\n";
  for (int i = 0; i < 1'000'000; ++i) sent += "PING\r\n";
  const auto client = connect();
  client->send_bytes(sent);
  EXPECT_EQ(client->receive_all(), "");
  EXPECT_LT(peak_growth(), 40);
}

TEST_F(ProgramMemoryTest, WatchedNamesAreBounded) {
  start({"--client-query-buffer-limit", "20mb"});
  std::string sent = "CLIENT REPLY OFF\r\n";
  for (int i = 0; i < 100'000; ++i) {
    append_request(Request::of("WATCH", std::to_string(i) + std::string(1'000, 'x')), sent);
  }
  const auto client = connect();
  client->send_bytes(sent);
  EXPECT_EQ(client->receive_all(), "");
  EXPECT_LT(peak_growth(), 60);
}

TEST_F(ProgramMemoryTest, EmptyArgumentsAreBounded) {
  start({"--client-query-buffer-limit", "20mb"});
  std::string sent = "*1000000000\r\n";
  for (int i = 0; i < 10'000'000; ++i) sent += "$0\r\n\r\n";
  const auto client = connect();
  client->send_bytes(sent);
  EXPECT_EQ(client->receive_all(), "");
  EXPECT_LT(peak_growth(), 40);
}

TEST_F(ProgramMemoryTest, AllClientsTogetherAreBounded) {
  start({"--maxmemory-clients", "30mb"});
  const auto clients = connect(20);
  const std::string begun = "*2\r\n$4\r\nECHO\r\n$100000000\r\n" + std::string(5 * kMebi, 'x');
  for (const auto& client : clients) client->send_bytes(begun);
  wait_until_idle();
  EXPECT_LT(peak_growth(), 60);
  EXPECT_EQ(call("PING"), Reply::status("PONG"));
}

TEST_F(ProgramMemoryTest, RepliesOfTransactionAreBounded) {
  start({"--client-output-buffer-limit", "normal", "20mb", "0", "0"});
  call("SET", "k", std::string(kMebi, 'x'));
  call("MULTI");
  for (int i = 0; i < 200; ++i) call("GET", "k");
  EXPECT_EQ(call("EXEC").elements().size(), 200U);
  EXPECT_LT(peak_growth(), 60);
}

TEST_F(ProgramMemoryTest, SubscribersAreBounded) {
  start({"--client-output-buffer-limit", "pubsub", "20mb", "0", "0", "normal", "1gb", "0", "0"});
  const auto lazy = connect();
  const auto lazy_for_script = connect();
  for (const auto& client : {lazy.get(), lazy_for_script.get()}) {
    client->send(Request::of("SUBSCRIBE", client == lazy.get() ? "c" : "script"));
    client->receive();
  }
  while (call("PUBLISH", "c", std::string(kMebi, 'x')) == Reply::integer(1)) {
  }
  EXPECT_LT(peak_growth(), 40);
  call("EVAL", "for i = 1, 200 do redis.call('PUBLISH', 'script', ARGV[1]) end", 0,
       std::string(kMebi, 'x'));
  EXPECT_LT(peak_growth(), 60);
}

TEST_F(ProgramMemoryTest, RepliesToBlockedClientsAreBounded) {
  start({"--maxmemory-clients", "80mb"});
  constexpr int kClients = 60;
  const auto blocked = connect(kClients);
  for (const auto& client : blocked)
    client->send(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"));
  wait_until_blocked(kClients);
  EXPECT_FALSE(call("XADD", "s", "*", "f", std::string(10 * kMebi, 'x')).is_error());
  wait_until_idle();
  EXPECT_LT(peak_growth(), 200);
  const auto served = std::ranges::count_if(blocked, [](const auto& client) {
    try {
      return client->receive().size() > 10 * kMebi;
    } catch (const std::runtime_error&) {  // the connection is closed
      return false;
    }
  });
  EXPECT_GT(served, 3);
  EXPECT_LT(served, 20);
}

TEST_F(ProgramMemoryTest, RepliesToManyReadersAreBounded) {
  start({"--maxmemory-clients", "80mb"});
  call("XADD", "s", "*", "f", std::string(10 * kMebi, 'x'));
  constexpr int kClients = 60;
  const auto readers = connect(kClients);
  for (const auto& client : readers) {
    client->send_bytes("XREAD BLOCK 0 STREAMS s 0\r\n");
  }
  wait_until_idle();
  EXPECT_LT(peak_growth(), 200);
}

TEST_F(ProgramMemoryTest, PublishFanOutIsBounded) {
  start({"--maxmemory-clients", "80mb"});
  const auto lazy = subscribe(60);
  EXPECT_EQ(call("EVAL", "return redis.call('PUBLISH', 'c', string.rep('x', 10485760))", 0),
            Reply::integer(60));
  wait_until_idle();
  EXPECT_LT(peak_growth(), 200);
}

TEST_F(ProgramMemoryTest, IdleSubscribersGiveMemoryBack) {
  start();
  constexpr int kMessages = 20'000;
  const auto clients = subscribe(50);
  call("EVAL",
       "for i = 1, " + std::to_string(kMessages) + " do redis.call('PUBLISH', 'c', 'm') end", 0);
  std::string message;
  append_reply(Reply::array({Reply::bulk("message"), Reply::bulk("c"), Reply::bulk("m")}),
               RespVersion::k2, message);
  for (const auto& client : clients) client->receive_bytes(kMessages * message.size());
  EXPECT_TRUE(wait_until_grown_by_less(30)) << state();
}

TEST_F(ProgramMemoryTest, ScriptIsBounded) {
  start();
  const Reply reply =
      call("EVAL", "local t = {} while true do t[#t + 1] = string.rep('x', 1000000) .. #t end", 0);
  EXPECT_THAT(reply.text(), HasSubstr("not enough memory"));
  EXPECT_GT(peak_growth(), 200);
  EXPECT_LT(peak_growth(), 300);
}

// Large values are freed on another thread.
TEST_F(ProgramMemoryTest, ValuesAwaitingFreeAreBounded) {
  start();
  const std::string script =
      "local value = string.rep('x', 1048576) "
      "for i = 1, 64 do redis.call('RPUSH', 'k', value) end redis.call('UNLINK', 'k')";
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(call("EVAL", script, 0).is_nil());
  EXPECT_LT(peak_growth(), 256 + 2 * 64 + 100);
}

// Each stream has a cache of up to 1 MiB.
TEST_F(ProgramMemoryTest, StreamCachesAreBounded) {
  start({"--keyspace", keyspace()});
  constexpr int kStreams = 350;
  for (int i = 0; i < kStreams; ++i) {
    for (int n = 0; n < 8; ++n) {
      EXPECT_FALSE(call("XADD", i, "*", "f", std::string(kMebi / 8, 'x')).is_error());
    }
  }
  EXPECT_LT(peak_growth(), 250);
}

// Redis closes it too.
TEST_F(ProgramMemoryTest, ClientBeforeAuthIsClosedUnread) {
  start({"--requirepass", "secret"});
  std::string sent;
  for (int i = 0; i < 3'000'000; ++i) sent += "PING\r\n";
  const auto clients = connect(20);
  for (const auto& client : clients) client->send_bytes(sent);  // returns because it is closed
  wait_until_idle();
  EXPECT_LT(peak_growth(), 4);
}

}  // namespace
}  // namespace rushgate
