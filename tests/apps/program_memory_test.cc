// The bounds on what clients make `rushgate serve` hold, as its resident memory.
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/resp/resp_encoder.h"
#include "apps/exit_code.h"
#include "tests/apps/program.h"
#include "tests/redis_server/raw_connection.h"

namespace rushgate {
namespace {

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
  }

  [[nodiscard]] std::string socket() const { return (directory_.path() / "socket").string(); }
  [[nodiscard]] std::unique_ptr<RawConnection> connect() const {
    return std::make_unique<RawConnection>(socket());
  }
  [[nodiscard]] std::vector<std::unique_ptr<RawConnection>> connect(int count) const {
    std::vector<std::unique_ptr<RawConnection>> clients;
    for (int i = 0; i < count; ++i) clients.push_back(connect());
    return clients;
  }

  template <class... Args>
  Reply call(const Args&... args) {
    return bystander_->call(Request::of(args...));
  }
  /// Returns once the server has served everything that it can serve.
  void wait_until_idle() {
    for (int round = 0; round < 100; ++round) call("PING");
  }

  /// A field of the server's /proc/<pid>/status.
  [[nodiscard]] std::int64_t status_bytes(const std::string& field) const {
    std::ifstream status("/proc/" + std::to_string(program_->pid()) + "/status");
    std::string word;
    while (status >> word && word != field + ":") {
    }
    std::int64_t kibi = 0;
    status >> kibi;
    return kibi * 1'024;
  }
  /// MiB beyond what the server had at its start, and the most of them so far.
  [[nodiscard]] std::int64_t grown_by() const {
    return (status_bytes("VmRSS") - at_start_) / kMebi;
  }
  [[nodiscard]] std::int64_t peak_growth() const {
    return (status_bytes("VmHWM") - at_start_) / kMebi;
  }

 private:
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  std::unique_ptr<Program> program_;
  std::unique_ptr<RawConnection> bystander_;
  std::int64_t at_start_ = 0;
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

// Redis closes it, too.
TEST_F(ProgramMemoryTest, ClientBeforeAuthIsClosedUnread) {
  start({"--requirepass", "secret"});
  std::string sent;
  for (int i = 0; i < 3'000'000; ++i) sent += "PING\r\n";
  const auto clients = connect(20);
  for (const auto& client : clients) client->send_bytes(sent);  // returns: it is closed
  wait_until_idle();
  EXPECT_LT(peak_growth(), 4);
}

}  // namespace
}  // namespace rushgate
