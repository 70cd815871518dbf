// `rushgate serve --http`: its options, and the examples of docs/http.md, run by curl.
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/command_output.h"
#include "tests/support/http_program.h"
#include "tests/support/patterns.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using testing::HttpConnection;
using testing::HttpProgram;
using testing::HttpReply;

std::string page_text() {
  std::ifstream in(RUSHGATE_ROOT "/docs/http.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the commands of the page's examples.
std::string curl_examples() {
  std::string commands;
  for (const std::string& block :
       testing::find_all(page_text(), R"(<!-- curl -->\n((?:    [^\n]*\n)+))")) {
    commands += block;
  }
  return testing::replace_all(commands, "    curl ", "curl -sS --fail-with-body ");
}

/// Returns the program behind the comment of this name.
std::string program_of_the_page(const std::string& name) {
  const std::string text = page_text();
  const std::string begin = "<!-- " + name + " -->\n```";
  const std::size_t at = text.find('\n', text.find(begin) + begin.size()) + 1;
  return text.substr(at, text.find("```", at) - at);
}

TEST(ProgramHttpTest, ExamplesOfThePageSucceed) {
  const SaleFiles files;
  HttpProgram served({"--dir", files.sale().string()});
  std::string commands = curl_examples();
  ASSERT_THAT(commands, HasSubstr("Idempotency-Key"));
  commands = testing::replace_all(commands, "127.0.0.1:8080",
                                  "127.0.0.1:" + std::to_string(served.port()));
  int status = -1;
  const std::string output = testing::output_of("set -e\n" + commands, &status);
  EXPECT_EQ(status, 0) << output;
  EXPECT_THAT(output, HasSubstr(R"("user":"anna","voucher":7,"state":"queued")"));
  served.stop();
  const ProgramResult audit = run_program(files.command("audit"));
  EXPECT_EQ(audit.exit_code, kExitOk) << audit.err;
}

/// A client of the page in another language.
struct ExampleLanguage {
  const char* name;
  const char* file;
  const char* command;  // before the file's path
};

class ProgramHttpClientTest : public ::testing::TestWithParam<ExampleLanguage> {};

TEST_P(ProgramHttpClientTest, ExampleBuysOnce) {
  const SaleFiles files;
  HttpProgram served({"--dir", files.sale().string()});
  const std::string terms = R"({"stock": 5, "begin_ms": 0, "end_ms": "2999-01-01"})";
  ASSERT_EQ(served.call("PUT", "/v1/vouchers/7", terms).status, 201);
  const TemporaryDirectory programs;
  const std::string program = (programs.path() / GetParam().file).string();
  std::ofstream(program) << program_of_the_page(GetParam().name);
  const std::string output =
      testing::output_of("RUSHGATE_URL=http://127.0.0.1:" + std::to_string(served.port()) + " " +
                         GetParam().command + " " + program);
  EXPECT_THAT(output, ::testing::MatchesRegex("[0-9]+ [Tt]rue\n"));
  EXPECT_EQ(served.call("GET", "/v1/vouchers/7").json()["free"], 4);
  served.stop();
}

// Debian 12 has Go's library compiled. Later versions compile it once, into this cache.
INSTANTIATE_TEST_SUITE_P(Languages, ProgramHttpClientTest,
                         ::testing::Values(ExampleLanguage{"python", "client.py", "python3"},
                                           ExampleLanguage{"node", "client.mjs", "node"},
                                           ExampleLanguage{"go", "client.go",
                                                           "GOCACHE=" RUSHGATE_BUILD_DIR
                                                           "/go GO111MODULE=off go run"}),
                         [](const auto& language) { return std::string(language.param.name); });

TEST(ProgramHttpTest, TokenSignedByPythonBuys) {
  const SaleFiles files;
  const TemporaryDirectory programs;
  const std::string key = (programs.path() / "user.key").string();
  std::ofstream(key) << "a key\n";
  const std::string program = (programs.path() / "token.py").string();
  std::ofstream(program) << program_of_the_page("python token");
  std::string token = testing::output_of("USER_KEY_FILE=" + key + " python3 " + program);
  token.pop_back();  // the line end
  files.write_vouchers({5});
  HttpProgram served({"--vouchers", files.vouchers(), "--user-key", key});
  const auto buy = [&](const std::string& user) {
    return HttpConnection(served.port())
        .call("POST", "/v1/vouchers/1/orders", R"({"user": ")" + user + "\"}",
              "Authorization: Bearer " + token + "\r\n");
  };
  EXPECT_EQ(buy("anna").status, 201);
  EXPECT_EQ(buy("bob").problem(), "forbidden");
  served.stop();
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

TEST(ProgramHttpTest, MissingTokenIsNoticed) {
  HttpProgram served({});
  EXPECT_THAT(
      served.error_text(),
      HasSubstr("without --token-file, operators' routes are served to this machine alone"));
  served.stop();
}

TEST(ProgramHttpTest, TakenRedisPortIsNamed) {
  HttpProgram other({});
  const std::string port = std::to_string(other.port());
  const ProgramResult result = run_program({"serve", "--http", "127.0.0.1:0", "--port", port});
  EXPECT_EQ(result.exit_code, kExitFailure);
  EXPECT_THAT(result.err,
              HasSubstr("for Redis clients (--port, 0 for a free one): 127.0.0.1 port " + port));
  other.stop();
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
