// Commands with --server: they run while `rushgate serve --http` sells.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/exit_code.h"
#include "tests/support/program.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Json = nlohmann::ordered_json;

class ServerOptionTest : public ::testing::Test {
 protected:
  void serve(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {
        "serve", "--port", "0", "--http", "127.0.0.1:0", "--dir", files_.sale().string()};
    all.insert(all.end(), more.begin(), more.end());
    served_.emplace(all);
    ASSERT_TRUE(served_->wait_for_error_text("serving HTTP on ")) << served_->error_text();
    std::smatch port;
    const std::string text = served_->error_text();
    ASSERT_TRUE(std::regex_search(text, port, std::regex("HTTP on [0-9.]+ port ([0-9]+)\n")));
    url_ = "http://127.0.0.1:" + port.str(1);
  }

  ProgramResult run(const std::string& name, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {name, "--server", url_});
    return run_program(more);
  }
  Json run_json(const std::string& name, std::vector<std::string> more = {}) {
    more.emplace_back("--json");
    const ProgramResult result = run(name, more);
    return result.out.empty() ? Json(result.err) : result.json();
  }
  ProgramResult publish(const std::string& vouchers, std::vector<std::string> more = {}) {
    std::ofstream(files_.vouchers()) << vouchers;
    more.insert(more.begin(), files_.vouchers());
    return run("publish", more);
  }
  /// Returns a voucher that must be paid.
  static std::string terms(int stock) {
    return R"([{"id": 1, "title": "Tea", "stock": )" + std::to_string(stock) +
           R"(, "begin_ms": 0, "end_ms": 4000000000000, "price_cents": 250, "payment_ms": 600000}])";
  }

  SaleFiles files_;
  std::optional<Program> served_;
  std::string url_;
};

TEST_F(ServerOptionTest, VouchersArePublishedWhileServiceSells) {
  serve();
  EXPECT_EQ(publish(terms(5), {"--dry-run"}).out, "voucher 1: would be published\n");
  const auto first = publish(terms(5));
  EXPECT_EQ(first.exit_code, kExitOk) << first.err;
  EXPECT_EQ(first.out, "voucher 1: published as version 1\n");
  EXPECT_EQ(publish(terms(7), {"--if-new"}).out, "voucher 1: left as it is: version 1\n");
  EXPECT_EQ(publish(terms(7)).out, "voucher 1: changed to version 2: stock 5 to 7\n");
  const Json vouchers = run_json("vouchers");
  ASSERT_EQ(vouchers.size(), 1U);
  EXPECT_EQ(vouchers[0]["free"], 7);
  EXPECT_EQ(vouchers[0]["title"], "Tea");
  EXPECT_THAT(run("vouchers").out, HasSubstr("Tea"));
}

TEST_F(ServerOptionTest, OrderIsBoughtPaidAndShown) {
  serve();
  ASSERT_EQ(publish(terms(2)).exit_code, kExitOk);
  const auto bought = run("buy", {"1", "änna", "--key", "k", "--reference", "till 3"});
  EXPECT_EQ(bought.exit_code, kExitOk) << bought.err;
  EXPECT_THAT(bought.out, MatchesRegex("accepted: order [0-9]+ is queued\n"));
  const Json again = run_json("buy", {"1", "änna", "--key", "k"});
  EXPECT_EQ(again["repeated"], true);
  EXPECT_EQ(again["state"], "unpaid");
  const std::string order = again["order"];
  const auto limit = run("buy", {"1", "änna"});
  EXPECT_EQ(limit.exit_code, kExitRefused);
  EXPECT_EQ(limit.out, "limit reached: the user has order " + order + "\n");
  EXPECT_EQ(run("buy", {"1", "8", "--quantity", "2"}).out, "sold out\n");
  EXPECT_EQ(run("buy", {"9", "8"}).exit_code, kExitNegative);

  const auto paid = run("pay", {order, "--payment", "p1", "--amount", "250"});
  EXPECT_EQ(paid.exit_code, kExitOk) << paid.err;
  EXPECT_EQ(paid.out, "done: order " + order + " is paid\n");
  const auto late = run("cancel", {order, "--reason", "no"});
  EXPECT_EQ(late.exit_code, kExitNegative);
  EXPECT_THAT(late.out, HasSubstr("too late: order " + order + " is paid"));
  EXPECT_EQ(run("pay", {"5", "--payment", "p1", "--amount", "1"}).exit_code, kExitNegative);

  std::string state;
  while (state != "paid" && !served_->has_ended()) state = run_json("status", {order})["state"];
  const auto status = run("status", {order});
  EXPECT_EQ(status.exit_code, kExitOk) << status.err;
  EXPECT_THAT(status.out, HasSubstr("paid: user änna, voucher 1, admitted at 2"));
  EXPECT_THAT(status.out, HasSubstr("reference till 3"));
  EXPECT_THAT(status.out, HasSubstr("p1"));
  EXPECT_EQ(run("status", {"5"}).out, "unknown\n");
  EXPECT_EQ(run("status", {"5"}).exit_code, kExitNegative);
  const Json orders = run_json("orders", {"--user", "änna"});
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0]["order"], order);
  EXPECT_EQ(run("orders").exit_code, kExitUsage);
  const auto audit = run("audit");
  EXPECT_EQ(audit.exit_code, kExitOk) << audit.err;
  EXPECT_THAT(audit.out, HasSubstr("audit passed"));

  const Json there = run_json("status", {order});
  served_->send(SIGTERM);
  served_->wait();
  EXPECT_EQ(run_program(files_.command("status", {order, "--json"})).json(), there);
}

TEST_F(ServerOptionTest, TokenComesFromEnvironment) {
  std::ofstream(files_.requests()) << "secret\n";
  serve({"--token-file", files_.requests()});
  const auto refused = run("audit");
  EXPECT_EQ(refused.exit_code, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr("this route is for operators"));
  ::setenv("RUSHGATE_TOKEN", "secret", 1);
  const auto passed = run("audit");
  ::unsetenv("RUSHGATE_TOKEN");
  EXPECT_EQ(passed.exit_code, kExitOk) << passed.err;
}

TEST_F(ServerOptionTest, WrongServerIsNamed) {
  for (const char* const url :
       {"127.0.0.1:80", "https://h:1", "http://", "http://h:0", "http://h/x"}) {
    url_ = url;
    const auto result = run("vouchers");
    EXPECT_EQ(result.exit_code, kExitUsage) << url;
    EXPECT_THAT(result.err, HasSubstr("is no address of a service")) << url;
  }
  url_ = "http://127.0.0.1:1";
  const auto away = run("vouchers", {"--patience", "0"});
  EXPECT_EQ(away.exit_code, kExitFailure);
  EXPECT_THAT(away.err, HasSubstr("http://127.0.0.1:1: "));
  EXPECT_EQ(run("vouchers", {"--dir", "x"}).exit_code, kExitUsage);
  EXPECT_EQ(run_program({"vouchers"}).exit_code, kExitUsage);
}

}  // namespace
}  // namespace rushgate
