// `rushgate serve --http`: its options, and the examples of docs/http.md, run by curl.
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
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

std::string page_text() {
  std::ifstream in(RUSHGATE_ROOT "/docs/http.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the commands of the page's examples.
std::string curl_examples() {
  const std::string text = page_text();
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
  std::string commands = curl_examples();
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

TEST(ProgramHttpTest, PythonExampleBuysOnce) {
  const SaleFiles files;
  HttpProgram served({"--dir", files.sale().string()});
  const std::string terms = R"({"stock": 5, "begin_ms": 0, "end_ms": "2999-01-01"})";
  ASSERT_EQ(served.call("PUT", "/v1/vouchers/7", terms).status, 201);
  const std::string text = page_text();
  std::smatch code;
  ASSERT_TRUE(std::regex_search(text, code, std::regex(R"(```python\n([^`]*)```)")));
  std::ofstream(files.requests()) << code.str(1);
  const std::string output =
      testing::output_of("RUSHGATE_URL=http://127.0.0.1:" + std::to_string(served.port()) +
                         " python3 " + files.requests());
  EXPECT_TRUE(std::regex_match(output, std::regex("[0-9]+ True\n"))) << output;
  EXPECT_EQ(served.call("GET", "/v1/vouchers/7").json()["free"], 4);
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

/// Buys and cancels by a server that is killed, with clients that repeat what got no reply.
class KilledService {
 public:
  explicit KilledService(const SaleFiles& files) : files_(files) {}

  /// Sends `count` purchases, and kills the server after half of the replies.
  void buy_and_kill(int count) {
    HttpProgram served = start();
    HttpConnection connection(served.port());
    for (int i = 0; i < count; ++i) connection.send(purchase(next_user_ + i));
    for (int i = 0; i < count / 2; ++i) note(next_user_ + i, connection.receive());
    served.program().send(SIGKILL);
    served.program().wait();
    next_user_ += count;
  }

  /// Repeats every purchase, cancels every third order, and reads the new events.
  void repeat(HttpProgram& served) {
    HttpConnection connection(served.port());
    for (int user = 1; user < next_user_; ++user) {
      connection.send(purchase(user));
      note(user, connection.receive());
    }
    std::size_t cancelled = 0;
    for (int user = 3; user < next_user_; user += 3) {
      const HttpReply reply = connection.call("POST", "/v1/orders/" + orders_[user] + "/cancel");
      EXPECT_EQ(reply.json()["state"], "cancelled") << reply.body;
      ++cancelled;
    }
    HttpConnection events(served.port());
    events.send(testing::http_request("GET", "/v1/events", "",
                                      "Last-Event-ID: " + std::to_string(position_) + "\r\n"));
    EXPECT_EQ(events.receive().status, 200);
    while (changes_.size() < cancelled) read_event(events);
  }

  [[nodiscard]] HttpProgram start() const {
    return HttpProgram({"--dir", files_.sale().string(), "--vouchers", files_.vouchers()});
  }
  [[nodiscard]] std::size_t orders() const { return orders_.size(); }

 private:
  static std::string purchase(int user) {
    const std::string text = std::to_string(user);
    return testing::http_request("POST", "/v1/vouchers/1/orders", "{\"user\": " + text + "}",
                                 "Idempotency-Key: key-" + text + "\r\n");
  }

  /// Every reply to a purchase names the same order.
  void note(int user, const HttpReply& reply) {
    ASSERT_TRUE(reply.status == 201 || reply.status == 200) << reply.body;
    const std::string order = reply.json()["order"];
    EXPECT_EQ(orders_.try_emplace(user, order).first->second, order);
  }

  /// No change comes twice, and none with a lower position.
  void read_event(HttpConnection& events) {
    const std::string text = events.receive_until("\n\n");
    const std::size_t data = text.find("data: ");
    if (data == std::string::npos) return;  // a comment
    const auto change = nlohmann::ordered_json::parse(text.substr(data + 6));
    EXPECT_GT(change["position"], position_);
    position_ = change["position"];
    EXPECT_TRUE(changes_.insert(change["order"]).second) << change;
  }

  const SaleFiles& files_;
  std::map<int, std::string> orders_;  // by users
  std::set<std::string> changes_;      // the orders whose cancellation was sent
  std::int64_t position_ = 0;          // of the last event
  int next_user_ = 1;
};

TEST(ProgramHttpTest, KilledServiceLosesAndDoublesNothing) {
  const SaleFiles files;
  std::ofstream(files.vouchers()) << R"([{"id": 1, "stock": 1000, "begin_ms": 0, "price_cents": 5,
      "end_ms": "2999-01-01", "payment_ms": 3600000}])";
  KilledService service(files);
  constexpr int kKills = 4;
  for (int i = 0; i < kKills; ++i) {
    service.buy_and_kill(20);
    HttpProgram served = service.start();
    service.repeat(served);
    served.program().send(SIGKILL);
    served.program().wait();
  }
  HttpProgram served = service.start();
  service.repeat(served);
  EXPECT_EQ(served.call("GET", "/v1/vouchers/1").json()["stock"], 1'000);
  served.stop();
  const ProgramResult audit = run_program(files.command("audit", {"--json"}));
  EXPECT_EQ(audit.exit_code, kExitOk) << audit.err << audit.out;
  const auto voucher = audit.json()["vouchers"][0];
  EXPECT_EQ(voucher["created"].get<std::size_t>() + voucher["ended"].get<std::size_t>(),
            service.orders())
      << voucher;
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
