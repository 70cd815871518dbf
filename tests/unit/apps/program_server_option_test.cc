// Commands with --server: they run while `rushgate serve --http` sells.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/exit_code.h"
#include "apps/sale_at.h"
#include "tests/support/certificates.h"
#include "tests/support/http_program.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Json = nlohmann::ordered_json;

class ServerOptionTest : public ::testing::Test {
 protected:
  void serve(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {"--dir", files_.sale().string()};
    all.insert(all.end(), more.begin(), more.end());
    served_.emplace(all);
    url_ = "http://127.0.0.1:" + std::to_string(served_->port());
  }
  void stop() { served_->stop(); }

  /// Runs commands in the sale's directory, stops the sale, and runs them at a service of it. Both must
  /// print the same.
  void expect_the_same(const std::vector<std::vector<std::string>>& commands) {
    std::vector<ProgramResult> here;
    for (const auto& command : commands) here.push_back(run_program(in_directory(command)));
    serve();
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const std::vector<std::string>& command = commands[i];
      const ProgramResult there = run(command[0], {command.begin() + 1, command.end()});
      EXPECT_EQ(there.out, here[i].out) << ::testing::PrintToString(command) << there.err;
      EXPECT_EQ(there.exit_code, here[i].exit_code) << ::testing::PrintToString(command);
    }
    stop();
  }
  std::vector<std::string> in_directory(const std::vector<std::string>& command) const {
    return files_.command(command[0], {command.begin() + 1, command.end()});
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
  std::optional<testing::HttpProgram> served_;
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
  while (state != "paid" && !served_->program().has_ended())
    state = run_json("status", {order})["state"];
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
  EXPECT_EQ(run_json("orders"), orders);
  EXPECT_EQ(run_json("orders", {"--voucher", "2"}).size(), 0U);
  const auto audit = run("audit");
  EXPECT_EQ(audit.exit_code, kExitOk) << audit.err;
  EXPECT_THAT(audit.out, HasSubstr("audit passed"));

  const Json there = run_json("status", {order});
  stop();
  EXPECT_EQ(run_program(files_.command("status", {order, "--json"})).json(), there);
}

/// Sells, pays and cancels in the directory, and leaves a dead letter.
void fill(FlashSale& sale) {
  ASSERT_TRUE(
      sale.publish({.id = 1, .title = "Tea", .stock = 9, .price_cents = 5, .payment_ms = 3'600'000})
          .ok());
  ASSERT_TRUE(sale.publish({.id = 2, .title = "Cup", .stock = 9}).ok());
  std::vector<OrderId> orders;
  for (const char* const user : {"änna", "8", "=1+1"}) {
    const BuyRequest request{.voucher = 1, .user = UserId(user), .reference = "-x,\"y\""};
    orders.push_back(sale.buy(request).order);
  }
  EXPECT_EQ(sale.buy(2, UserId(8)).outcome, Outcome::kAccepted);
  EXPECT_EQ(sale.pay({.order = orders[0], .payment = "p/1", .amount_cents = 5}).outcome,
            ChangeOutcome::kDone);
  EXPECT_EQ(sale.cancel(orders[1], "no").outcome, ChangeOutcome::kDone);
  EXPECT_EQ(sale.pay({.order = orders[1], .payment = "p2", .amount_cents = 5}).outcome,
            ChangeOutcome::kTooLate);
  sale.client()("XADD", "stream.orders", "*", "userId", 8, "voucherId", 2, "id", 99, "limit", 1);
  ASSERT_TRUE(sale.start_workers().ok());
  ASSERT_TRUE(sale.drain().ok());
  EXPECT_EQ(sale.buried(), 1U);
}

class FilledServerOptionTest : public ServerOptionTest {
 protected:
  void SetUp() override {
    SaleArguments here;
    here.dir = files_.sale();
    here.create = true;
    fill(*open_sale(here).value());
  }
};

TEST_F(FilledServerOptionTest, ReadingCommandsPrintTheSame) {
  std::vector<std::vector<std::string>> commands = {{"orders"},
                                                    {"orders", "--state", "paid", "--json"},
                                                    {"payments"},
                                                    {"payments", "--json", "--state", "due"},
                                                    {"payments", "--order", "99"},
                                                    {"dead-letters"},
                                                    {"dead-letters", "--json"},
                                                    {"dead-letters", "--discarded"},
                                                    {"vouchers"}};
  commands.front() = {"orders", "--voucher", "1"};  // the dead letter is no stored order
  for (const char* const table : {"orders", "payments", "history"}) {
    for (const char* const format : {"csv", "spreadsheet", "json"}) {
      commands.push_back({"export", "--what", table, "--format", format});
    }
    commands.push_back({"export", "--what", table, "--format", "csv", "--voucher", "1"});
    commands.push_back({"export", "--what", table, "--format", "json", "--voucher", "3"});
  }
  expect_the_same(commands);
}

TEST_F(FilledServerOptionTest, WatchCountsTheSame) {
  const std::vector<std::string> watch = {"--count", "1", "--json"};
  for (const std::vector<std::string>& voucher :
       {std::vector<std::string>{}, {"--voucher", "1"}, {"--voucher", "3"}}) {
    std::vector<std::string> arguments = watch;
    arguments.insert(arguments.end(), voucher.begin(), voucher.end());
    Json here = run_program(files_.command("watch", arguments)).json();
    serve();
    Json there = run("watch", arguments).json();
    here.erase("time");
    there.erase("time");
    EXPECT_EQ(there, here);
    stop();
  }
}

TEST_F(FilledServerOptionTest, DeadLettersAreRetriedAndDiscarded) {
  serve();
  const auto retried = run("dead-letters", {"--retry", "--json"});
  EXPECT_EQ(retried.exit_code, kExitNegative);
  EXPECT_THAT(retried.err, HasSubstr("1 retried; 0 orders stored, 1 dead letters again\n"));
  ASSERT_EQ(retried.json().size(), 1U);
  const auto unknown = run("dead-letters", {"--discard", "1-1", "--reason", "no"});
  EXPECT_EQ(unknown.exit_code, kExitNegative);
  EXPECT_THAT(unknown.err, HasSubstr("1-1 is not a dead letter\n0 discarded\n"));
  const auto discarded =
      run("dead-letters", {"--discard", "all", "--reason", "smuggled", "--json"});
  EXPECT_EQ(discarded.exit_code, kExitOk) << discarded.err;
  EXPECT_EQ(discarded.out, "[]\n");
  stop();
  expect_the_same({{"dead-letters", "--discarded"}, {"dead-letters", "--discarded", "--json"}});
}

TEST_F(FilledServerOptionTest, SaleIsClosedRefundedAndArchived) {
  serve();
  EXPECT_EQ(run("archive", {"1"}).exit_code, kExitNegative);
  const Json closed = run_json("close", {"1"});
  EXPECT_EQ(closed["version"], 2);
  EXPECT_THAT(run("close", {"1"}).out, HasSubstr("voucher 1 is closed: its sale ended at "));
  const auto unknown = run("close", {"9"});
  EXPECT_EQ(unknown.exit_code, kExitNegative);
  EXPECT_EQ(unknown.err, "rushgate: voucher 9 was never on sale\n");

  const auto refunded = run("refund", {"--voucher", "1", "--reason", "over"});
  EXPECT_EQ(refunded.exit_code, kExitOk) << refunded.err;
  EXPECT_EQ(refunded.out, "voucher 1: 2 orders refunded or cancelled\n");
  EXPECT_EQ(run_json("refund", {"--voucher", "1", "--reason", "over"})["changed"], 0);
  EXPECT_EQ(run("refund", {"--voucher", "9", "--reason", "over"}).err,
            "rushgate: voucher 9 was never on sale\n");
  const auto confirmed = run("payments", {"--confirm", "p/1", "p2", "p3", "--json"});
  EXPECT_EQ(confirmed.exit_code, kExitNegative);
  EXPECT_THAT(confirmed.err, HasSubstr("2 confirmed\n"));
  EXPECT_EQ(confirmed.json()[0]["state"], "refunded");

  EXPECT_EQ(run("dead-letters", {"--discard", "all", "--reason", "over"}).exit_code, kExitOk);
  const Json archived = run_json("archive", {"1", "--delete"});
  EXPECT_EQ(archived, Json({{"voucher", 1}, {"archived", true}, {"deleted", 3}}));
  EXPECT_EQ(run("close", {"1"}).err, "rushgate: voucher 1 was archived\n");
  stop();
  EXPECT_EQ(run_program(files_.command("audit")).exit_code, kExitOk);
}

TEST_F(ServerOptionTest, BuyerWaitsInWaitingRoom) {
  serve({"--entrance-rate", "10"});
  ASSERT_EQ(publish(R"([{"id": 1, "stock": 99, "begin_ms": 0, "end_ms": "2999-01-01",
                         "needs_token": true}])")
                .exit_code,
            kExitOk);
  for (int user = 1; user <= 30; ++user) {
    const std::string body = "{\"user\": " + std::to_string(user) + "}";
    (void)served_->call("POST", "/v1/vouchers/1/entrance", body);
  }
  const auto bought = run("buy", {"1", "anna"});
  EXPECT_EQ(bought.exit_code, kExitOk) << bought.err;
  EXPECT_THAT(bought.err, HasSubstr("waiting: position "));
  EXPECT_THAT(bought.out, HasSubstr("accepted: order "));
  const auto refused = run("buy", {"1", "31", "--token", "none"});
  EXPECT_EQ(refused.exit_code, kExitRefused);
}

TEST_F(ServerOptionTest, CertificateOfServiceIsVerified) {
  const TemporaryDirectory keys;
  testing::write_certificates(keys.path());
  const auto file = [&](const char* name) { return (keys.path() / name).string(); };
  serve({"--tls-cert", file("server.pem"), "--tls-key", file("server.key")});
  url_.replace(0, 4, "https");
  const auto trusted = run("vouchers", {"--tls-ca", file("ca.pem"), "--json"});
  EXPECT_EQ(trusted.exit_code, kExitOk) << trusted.err;
  EXPECT_EQ(trusted.out, "[]\n");
  const auto unknown = run("vouchers");
  EXPECT_EQ(unknown.exit_code, kExitFailure);
  EXPECT_THAT(unknown.err, HasSubstr("certificate verify failed"));
  const auto missing = run("vouchers", {"--tls-ca", file("none.pem")});
  EXPECT_EQ(missing.exit_code, kExitUsage);
  EXPECT_THAT(missing.err, HasSubstr("none.pem: "));
  EXPECT_EQ(run_program(files_.command("vouchers", {"--tls-ca", file("ca.pem")})).exit_code,
            kExitUsage);
  // A certificate of this authority for another host.
  url_.replace(url_.find("127.0.0.1"), 9, "127.0.0.2");
  EXPECT_EQ(run("vouchers", {"--tls-ca", file("ca.pem"), "--patience", "0"}).exit_code,
            kExitFailure);
}

TEST_F(ServerOptionTest, HangupReloadsCertificate) {
  const TemporaryDirectory keys;
  testing::write_certificates(keys.path());
  const auto file = [&](const char* name) { return (keys.path() / name).string(); };
  serve({"--tls-cert", file("server.pem"), "--tls-key", file("server.key")});
  url_.replace(0, 4, "https");
  const auto reads = [&] {
    return run("vouchers", {"--tls-ca", file("ca.pem"), "--patience", "0"}).exit_code == kExitOk;
  };
  EXPECT_TRUE(reads());
  testing::write_certificates(keys.path());  // by another authority
  EXPECT_FALSE(reads());
  served_->program().send(SIGHUP);
  while (!reads()) continue;
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
       {"127.0.0.1:80", "ftp://h:1", "http://", "https://", "http://h:0", "http://h/x"}) {
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
