// `rushgate serve --http`: its options, and the examples of docs/http.md, run by curl.
#include <csignal>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/command_output.h"
#include "tests/support/http_client.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/redis_server.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::HttpConnection;
using testing::HttpReply;

/// `rushgate serve --http` with free ports.
class HttpProgram {
 public:
  explicit HttpProgram(const std::vector<std::string>& more) : program_(arguments(more)) {
    EXPECT_TRUE(program_.wait_for_error_text("serving HTTP on 127.0.0.1 port ")) << error_text();
    std::smatch port;
    const std::string text = error_text();
    EXPECT_TRUE(std::regex_search(text, port, std::regex("HTTP on [0-9.]+ port ([0-9]+)\n")));
    port_ = static_cast<std::uint16_t>(std::stoi(port.str(1)));
  }

  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] std::string error_text() const { return program_.error_text(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] HttpReply call(const std::string& method, const std::string& target,
                               const std::string& body = {}) const {
    return HttpConnection(port_).call(method, target, body);
  }
  void stop(int signal = SIGTERM) {
    program_.send(signal);
    const ProgramResult result = program_.wait();
    EXPECT_EQ(result.exit_code, signal == SIGTERM ? kExitOk : kExitSignal + signal) << result.err;
  }

 private:
  static std::vector<std::string> arguments(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"serve", "--port", "0", "--http", "127.0.0.1:0"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Program program_;
  std::uint16_t port_ = 0;
};

/// Returns the commands of the page's examples.
std::string examples_of(const std::string& page) {
  std::ifstream in(std::string(RUSHGATE_ROOT) + page);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::regex block(R"(<!-- curl -->\n((?:    [^\n]*\n)+))");
  std::string commands;
  for (std::sregex_iterator at(text.begin(), text.end(), block), end; at != end; ++at) {
    commands += at->str(1);
  }
  return std::regex_replace(commands, std::regex("    curl "), "curl -sS --fail-with-body ");
}

TEST(ProgramHttpTest, ExamplesOfThePageSucceed) {
  const SaleFiles files;
  HttpProgram served({"--dir", files.sale().string()});
  std::string commands = examples_of("/docs/http.md");
  ASSERT_THAT(commands, HasSubstr("Idempotency-Key"));
  commands = std::regex_replace(commands, std::regex("127.0.0.1:8080"),
                                "127.0.0.1:" + std::to_string(served.port()));
  int status = -1;
  const std::string output = testing::output_of("set -e\n" + commands, &status);
  EXPECT_EQ(status, 0) << output;
  EXPECT_THAT(output, HasSubstr(R"("user":"anna","voucher":7,"state":"queued")"));
  served.stop();
  const ProgramResult audit = run_program(files.command("audit"));
  EXPECT_EQ(audit.exit_code, kExitOk) << audit.err;
}

TEST(ProgramHttpTest, SaleContinuesAfterRestart) {
  const SaleFiles files;
  files.write_vouchers({5});
  const std::vector<std::string> arguments = {"--dir", files.sale().string(), "--vouchers",
                                              files.vouchers()};
  for (int user = 1; user <= 2; ++user) {
    HttpProgram served(arguments);
    const std::string body = R"({"user": )" + std::to_string(user) + "}";
    EXPECT_EQ(served.call("POST", "/v1/vouchers/1/orders", body).status, 201);
    EXPECT_EQ(served.call("POST", "/v1/vouchers/1/stock", R"({"delta": 1})").status, 200);
    served.stop(user == 1 ? SIGTERM : SIGINT);
  }
  HttpProgram served(arguments);
  EXPECT_EQ(served.call("GET", "/v1/vouchers/1").json()["stock"], 7);
  EXPECT_EQ(served.call("GET", "/v1/vouchers/1").json()["free"], 5);
  served.stop();
}

TEST(ProgramHttpTest, KeyspaceIsServedToRedisClientsToo) {
  const SaleFiles files;
  const std::string socket = (files.sale().parent_path() / "socket").string();
  files.write_vouchers({5});
  HttpProgram served({"--unixsocket", socket, "--vouchers", files.vouchers()});
  EXPECT_EQ(served.call("POST", "/v1/vouchers/1/orders", R"({"user": 1})").status, 201);
  EXPECT_EQ(testing::output_of("redis-cli -s " + socket + " GET seckill:stock:1"), "4\n");
  served.stop();
}

TEST(ProgramHttpTest, KeyspaceOnRedisIsServed) {
  const testing::RedisServer redis;
  const SaleFiles files;
  files.write_vouchers({5});
  HttpProgram served(
      {"--keyspace", redis.url(), "--dir", files.sale().string(), "--vouchers", files.vouchers()});
  EXPECT_EQ(served.call("POST", "/v1/vouchers/1/orders", R"({"user": 1})").status, 201);
  EXPECT_EQ(served.call("GET", "/readyz").status, 200);
  served.stop();
}

TEST(ProgramHttpTest, TokenIsReadFromFile) {
  const SaleFiles files;
  std::ofstream(files.requests()) << "secret\n";
  HttpProgram served({"--token-file", files.requests()});
  EXPECT_EQ(served.call("GET", "/v1/dead-letters").problem(), "unauthorized");
  const HttpReply reply =
      HttpConnection(served.port())
          .call("GET", "/v1/dead-letters", "", "Authorization: Bearer secret\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(served.error_text().find("secret"), std::string::npos);
  served.stop();
}

TEST(ProgramHttpTest, WrongOptionsAreRefused) {
  const SaleFiles files;
  const auto refused = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"serve", "--port", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, kExitUsage) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"--http", "8080"}), HasSubstr("'8080' is not ADDRESS:PORT"));
  EXPECT_THAT(refused({"--http", "nowhere:1"}), HasSubstr("'nowhere' is no IP address"));
  EXPECT_THAT(refused({"--vouchers", "x"}), HasSubstr("--http"));
  EXPECT_THAT(refused({"--http", "127.0.0.1:0", "--manual-clock"}), HasSubstr("excludes --http"));
  EXPECT_THAT(refused({"--http", "127.0.0.1:0", "--vouchers", files.vouchers()}),
              HasSubstr("there is no such file"));
  EXPECT_THAT(refused({"--http", "127.0.0.1:0", "--keyspace", "redis://localhost"}),
              HasSubstr("needs --dir"));
}

}  // namespace
}  // namespace rushgate
