// Commands that inspect a sale: audit, orders, status, dead-letters.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/program.h"
#include "tests/unit/apps/opened_sale.h"
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SalesProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.write_vouchers({2, 1});
    files_.write_requests("0,7,1\n1,8,1\n2,9,1\n3,7,2\n");
    const auto result = run_program(files_.replay());
    ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  }

  /// Opens the sale in this process.
  std::unique_ptr<FlashSale> open_sale_here() { return opened_sale(files_.sale()); }

  /// Inserts an order without an admission, for a user at the limit.
  void smuggle_order() {
    const auto sale = open_sale_here();
    sale->client()("XADD", "stream.orders", "*", "userId", 7, "voucherId", 1, "id", 99, "limit", 1);
    ASSERT_TRUE(sale->start_workers().ok());
    ASSERT_TRUE(sale->drain().ok());
    EXPECT_EQ(sale->buried(), 1u);
  }

  SaleFiles files_;
};

TEST_F(SalesProgramTest, OrdersAreListedByUserVoucherAndState) {
  EXPECT_EQ(run_program(files_.command("orders", {"--json"})).json().size(), 3u);
  EXPECT_EQ(run_program(files_.command("orders", {"--json", "--user", "7"})).json().size(), 2u);
  EXPECT_EQ(run_program(files_.command("orders", {"--json", "--voucher", "1"})).json().size(), 2u);
  EXPECT_EQ(run_program(files_.command("orders", {"--json", "--user", "8", "--voucher", "2"}))
                .json()
                .size(),
            0u);
  EXPECT_EQ(run_program(files_.command("orders", {"--json", "--state", "created"})).json().size(),
            3u);
  EXPECT_EQ(run_program(files_.command("orders", {"--json", "--state", "queued"})).json().size(),
            0u);
  EXPECT_THAT(run_program(files_.command("orders")).out, HasSubstr("created"));
}

TEST_F(SalesProgramTest, StatusFollowsOrder) {
  const auto orders = run_program(files_.command("orders", {"--json", "--user", "8"})).json();
  const std::string id = orders[0]["order"];
  EXPECT_GE(orders[0]["created_at"], orders[0]["admitted_at"]);
  const auto known = run_program(files_.command("status", {id}));
  EXPECT_EQ(known.exit_code, kExitOk);
  EXPECT_THAT(known.out, HasSubstr("created: user 8, voucher 1, admitted at 2"));
  EXPECT_EQ(run_program(files_.command("status", {id, "--json"})).json()["state"], "created");
  const auto unknown = run_program(files_.command("status", {"5"}));
  EXPECT_EQ(unknown.exit_code, kExitNegative);
  EXPECT_EQ(unknown.out, "unknown\n");
}

TEST_F(SalesProgramTest, QueuedOrdersAreStoredByNextReplay) {
  std::string id;
  {
    const auto sale = open_sale_here();
    ASSERT_TRUE(sale->sale()
                    .publish({.id = 3, .title = "", .stock = 5, .begin_ms = 0, .end_ms = 1LL << 42})
                    .ok());
    const BuyResult bought = sale->buy(3, 50);
    ASSERT_EQ(bought.outcome, Outcome::kAccepted);
    id = std::to_string(bought.order);
  }
  EXPECT_EQ(run_program(files_.command("status", {id})).out, "queued\n");
  const auto queued = run_program(files_.command("orders", {"--json", "--state", "queued"})).json();
  ASSERT_EQ(queued.size(), 1u);
  EXPECT_EQ(queued[0]["order"], id);
  const auto audit = run_program(files_.command("audit", {"--json"}));
  EXPECT_EQ(audit.exit_code, kExitOk);
  EXPECT_EQ(audit.json()["vouchers"][2]["queued"], 1);

  files_.write_requests("0,60,1\n");
  ASSERT_EQ(run_program(files_.replay()).exit_code, kExitOk);
  EXPECT_THAT(run_program(files_.command("status", {id})).out, HasSubstr("created: user 50"));
}

TEST_F(SalesProgramTest, AuditPasses) {
  const auto text = run_program(files_.command("audit"));
  EXPECT_EQ(text.exit_code, kExitOk);
  EXPECT_THAT(text.out, HasSubstr("audit passed: nothing oversold, doubled or lost\n"));
  const auto json = run_program(files_.command("audit", {"--json"})).json();
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["vouchers"][0]["admitted"], 2);
}

/// Another system names its consumers as it likes, and a payment provider its payments.
TEST_F(SalesProgramTest, HostileNamesAreShownSafely) {
  const std::string evil = "evil\x1B[2J\xFF\n";
  const std::string shown = "evil\\x1B[2J\\xFF\\x0A";
  std::string order;
  {
    const auto sale = open_sale_here();
    sale->client()("XGROUP", "CREATECONSUMER", "stream.orders", "g1", evil);
    Voucher paid = {.id = 5, .title = "", .stock = 5, .end_ms = 1LL << 42, .price_cents = 1};
    paid.payment_ms = 1LL << 30;
    ASSERT_TRUE(sale->publish(paid).ok());
    order = std::to_string(
        sale->buy({.voucher = 5, .user = 50, .idempotency_key = evil, .reference = evil}).order);
  }
  EXPECT_THAT(run_program(files_.command("audit")).out, HasSubstr(shown));
  EXPECT_THAT(run_program(files_.command("audit", {"--json"})).json().dump(), HasSubstr("evil"));
  ASSERT_EQ(
      run_program(files_.command("pay", {order, "--payment", evil, "--amount", "1"})).exit_code,
      kExitOk);
  for (const auto& [name, arguments] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"orders", {}}, {"payments", {}}, {"status", {order}}}) {
    const auto result = run_program(files_.command(name, arguments));
    EXPECT_THAT(result.out, HasSubstr(shown)) << name;
    EXPECT_THAT(result.out, Not(HasSubstr("\x1B"))) << name;
    auto as_json = arguments;
    as_json.emplace_back("--json");
    EXPECT_THAT(run_program(files_.command(name, as_json)).json().dump(), HasSubstr("evil\\u001b"))
        << name;
  }
  const auto csv =
      run_program(files_.command("export", {"--what", "payments", "--format", "csv"})).out;
  EXPECT_THAT(csv, HasSubstr("\"" + evil + "\"," + order)) << "the bytes themselves";
}

TEST_F(SalesProgramTest, UnwrittenResultsAreFailure) {
  const std::string id = run_program(files_.command("orders", {"--json"})).json()[0]["order"];
  const std::vector<std::vector<std::string>> commands = {files_.replay(),
                                                          files_.command("audit"),
                                                          files_.command("audit", {"--json"}),
                                                          files_.command("orders"),
                                                          files_.command("status", {id}),
                                                          files_.command("status", {"9"}),
                                                          files_.command("dead-letters"),
                                                          {"--help"}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(command[0]);
    const auto result = Program(command, "/dev/full").wait();
    EXPECT_EQ(result.exit_code, kExitFailure);
    EXPECT_THAT(result.err, HasSubstr("No space left on device"));
  }
}

TEST_F(SalesProgramTest, FailedAuditNamesPlaceAndExitsWith1) {
  {
    const auto sale = open_sale_here();
    sale->client()("INCRBY", "seckill:stock:1", 3);
  }
  const auto result = run_program(files_.command("audit"));
  EXPECT_EQ(result.exit_code, kExitNegative);
  EXPECT_THAT(result.out, HasSubstr("audit FAILED: 1 problem\n"));
  EXPECT_THAT(result.out, HasSubstr("  voucher 1: published 2 is not free 3 + admitted 2"));
}

TEST_F(SalesProgramTest, AnotherOrderDatabaseIsRefused) {
  for (const char* const name : {"orders.db", "orders.db-wal", "orders.db-shm"}) {
    std::filesystem::remove(files_.sale() / name);
  }
  ASSERT_TRUE(SqliteOrderStore::open(files_.sale() / "orders.db").ok());
  const auto result = run_program(files_.command("audit"));
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("the keyspace belongs to another order database"));
}

TEST_F(SalesProgramTest, DeadLettersAreListedAndRetried) {
  smuggle_order();
  const auto listed = run_program(files_.command("dead-letters", {"--json"}));
  EXPECT_EQ(listed.exit_code, kExitOk) << listed.err;
  ASSERT_EQ(listed.json().size(), 1u);
  EXPECT_EQ(listed.json()[0]["order"]["id"], "99");
  EXPECT_THAT(run_program(files_.command("status", {"99"})).out, HasSubstr("failed: "));
  EXPECT_EQ(run_program(files_.command("orders", {"--json", "--state", "failed"})).json().size(),
            1u);

  // The retry fails again.
  const auto retried = run_program(files_.command("dead-letters", {"--retry"}));
  EXPECT_EQ(retried.exit_code, kExitNegative);
  EXPECT_THAT(retried.err, HasSubstr("1 retried; 0 orders stored, 1 dead letters again"));
  EXPECT_THAT(retried.out, HasSubstr("99"));
}

TEST_F(SalesProgramTest, DiscardedLettersAreListedWithTheirReason) {
  smuggle_order();
  EXPECT_EQ(run_program(files_.command("audit")).exit_code, kExitNegative);
  const std::string id = run_program(files_.command("dead-letters", {"--json"})).json()[0]["id"];
  EXPECT_EQ(run_program(files_.command("dead-letters", {"--discard", id})).exit_code, kExitUsage)
      << "without a reason";
  const auto unknown =
      run_program(files_.command("dead-letters", {"--discard", "1-1", "--reason", "no"}));
  EXPECT_EQ(unknown.exit_code, kExitNegative);
  EXPECT_THAT(unknown.err, HasSubstr("1-1 is not a dead letter\n0 discarded"));

  const auto discarded = run_program(
      files_.command("dead-letters", {"--discard", id, "--reason", "smuggled", "--json"}));
  EXPECT_EQ(discarded.exit_code, kExitOk) << discarded.err;
  EXPECT_EQ(discarded.out, "[]\n");
  const auto listed = run_program(files_.command("dead-letters", {"--discarded", "--json"})).json();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["id"], id);
  EXPECT_EQ(listed[0]["order"]["id"], "99");
  EXPECT_EQ(listed[0]["why"], "smuggled");
  EXPECT_THAT(run_program(files_.command("dead-letters", {"--discarded"})).out,
              HasSubstr("smuggled"));
  EXPECT_EQ(run_program(files_.command("orders", {"--json", "--state", "failed"})).json().size(),
            1U);
  const auto audit = run_program(files_.command("audit", {"--json"}));
  EXPECT_EQ(audit.exit_code, kExitOk) << audit.out;
  EXPECT_EQ(audit.json()["vouchers"][0]["discarded"], 1);
}

TEST_F(SalesProgramTest, LettersOfHeldSaleAreListedAtOnce) {
  smuggle_order();
  const auto list = [&](const std::vector<std::string>& options) {
    const auto result = run_program(files_.command("dead-letters", options));
    EXPECT_EQ(result.exit_code, kExitOk) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  };
  const std::string dead = list({"--json"});
  ASSERT_THAT(dead, HasSubstr("99"));
  const auto sale = open_sale_here();
  EXPECT_EQ(list({"--json"}), dead);
  const std::string id = sale->sale().dead_letters().value()[0].id;
  ASSERT_TRUE(sale->sale().discard_dead_letter(id, "smuggled").value());
  EXPECT_EQ(list({"--json"}), "[]\n");
  EXPECT_THAT(list({"--discarded"}), HasSubstr("smuggled"));
}

TEST_F(SalesProgramTest, AllDeadLettersAreDiscarded) {
  smuggle_order();
  EXPECT_EQ(run_program(files_.command("dead-letters", {"--discard", "all", "--reason", "test"}))
                .exit_code,
            kExitOk);
  EXPECT_EQ(run_program(files_.command("audit")).exit_code, kExitOk);
}

TEST_F(SalesProgramTest, RetryWithoutDeadLettersSucceeds) {
  const auto result = run_program(files_.command("dead-letters", {"--retry", "--json"}));
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.out, "[]\n");
}

TEST_F(SalesProgramTest, QueuedOrderOfHeldSaleIsVisible) {
  const auto sale = open_sale_here();  // without workers
  ASSERT_EQ(sale->publish({.id = 3, .stock = 5, .price_cents = 5, .payment_ms = 60'000}),
            absl::OkStatus());
  const BuyResult bought = sale->buy(3, 7);
  ASSERT_EQ(bought.outcome, Outcome::kAccepted);
  const std::string id = std::to_string(bought.order);

  const auto orders = run_program(files_.command("orders", {"--json"}));
  EXPECT_EQ(orders.err, "");
  EXPECT_EQ(orders.json().size(), 4u);
  EXPECT_EQ(orders.json()[3]["state"], "queued");
  EXPECT_EQ(run_program(files_.command("status", {id, "--json"})).json()["state"], "queued");
  EXPECT_EQ(run_program(files_.command("status", {"5"})).out, "unknown\n");
  EXPECT_EQ(run_program(files_.command("vouchers", {"--json"})).json()[2]["free"], 4);
  const auto line = run_program(files_.command("watch", {"--count", "1", "--json"})).json();
  EXPECT_EQ(line["stock"], 4);
  EXPECT_EQ(line["holds"], 1);
  const auto audit = run_program(files_.command("audit", {"--json"}));
  EXPECT_EQ(audit.exit_code, kExitOk) << audit.out << audit.err;
  EXPECT_EQ(audit.json()["vouchers"][2]["queued"], 1) << audit.out;

  ASSERT_EQ(sale->drain(), absl::OkStatus());  // it goes on
  EXPECT_THAT(run_program(files_.command("status", {id})).out, HasSubstr("unpaid: user 7"));
}

TEST_F(SalesProgramTest, AuditBesideBuyersPasses) {
  const auto sale = open_sale_here();
  ASSERT_EQ(sale->start_workers(), absl::OkStatus());
  ASSERT_EQ(sale->publish({.id = 3, .stock = 1'000'000, .price_cents = 5, .payment_ms = 60'000}),
            absl::OkStatus());
  std::atomic<bool> is_over = false;
  std::thread buyer([&] {
    constexpr std::int64_t kUsers = 20'000;  // an audit takes longer and longer
    for (std::int64_t user = 1; user <= kUsers && !is_over; ++user) {
      const BuyResult bought = sale->buy(3, user);
      EXPECT_EQ(bought.outcome, Outcome::kAccepted);
      if (user % 3 == 0) sale->cancel(bought.order, "changed my mind", "user");
      if (user % 3 == 1)
        sale->pay({.order = bought.order, .payment = std::to_string(user), .amount_cents = 5});
    }
  });
  for (int round = 0; round < 2; ++round) {
    const auto audit = run_program(files_.command("audit"));
    EXPECT_EQ(audit.exit_code, kExitOk) << audit.out << audit.err;
    const auto listed = run_program(files_.command("orders", {"--json"}));
    EXPECT_EQ(listed.exit_code, kExitOk) << listed.err;
  }
  is_over = true;
  buyer.join();
}

TEST_F(SalesProgramTest, ForeignKeyspaceIsNotReportedInUse) {
  const auto keyspace = files_.sale() / "keyspace";
  std::filesystem::remove_all(keyspace);
  std::filesystem::create_directory(keyspace);
  std::ofstream(keyspace / "letter.txt") << "Dear Sir";
  for (const auto& arguments : {files_.command("orders"), files_.command("status", {"5"})}) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, kExitFailure) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("is not a Rushgate store"));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(SalesProgramTest, HeldKeyspaceErrorNamesHolder) {
  const auto sale = open_sale_here();
  for (const auto& arguments : {files_.command("audit", {"--repair"}),
                                files_.command("dead-letters", {"--retry"}), files_.replay()}) {
    // A completed replay also fails: its table is in the keyspace.
    auto at_once = arguments;
    at_once.insert(at_once.end(), {"--patience", "0"});
    const auto result = run_program(at_once);
    EXPECT_EQ(result.exit_code, kExitFailure) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("is in use by"));
    EXPECT_THAT(result.err, HasSubstr("(pid "));
  }
}

TEST_F(SalesProgramTest, CommandWaitsForHeldSale) {
  auto sale = open_sale_here();
  Program audit(files_.command("audit", {"--repair"}));
  ASSERT_TRUE(audit.wait_for_error_text("waiting: "));
  sale.reset();
  const auto result = audit.wait();
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
}

TEST_F(SalesProgramTest, StoredOrdersWithoutKeyspaceAreReadable) {
  const std::string id =
      run_program(files_.command("orders", {"--json", "--user", "8"})).json()[0]["order"];
  std::filesystem::remove_all(files_.sale() / "keyspace");
  for (const auto& arguments :
       {files_.command("orders"), files_.command("status", {id}), files_.command("payments"),
        files_.command("export", {"--what", "orders", "--format", "csv"})}) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, kExitOk) << arguments[0] << result.err;
    EXPECT_THAT(result.err, HasSubstr("only stored orders are visible")) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("no directory `keyspace`")) << arguments[0];
  }
  EXPECT_EQ(run_program(files_.command("audit")).exit_code, kExitUsage);
}

TEST_F(SalesProgramTest, SaleWithoutDatabaseIsNotNew) {
  std::filesystem::remove(files_.sale() / "orders.db");
  for (const auto& arguments :
       {files_.command("audit"), files_.command("orders"), files_.replay()}) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, kExitFailure) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("orders.db is missing, though there is a keyspace"));
    EXPECT_FALSE(std::filesystem::exists(files_.sale() / "orders.db"));
  }
}

}  // namespace
}  // namespace rushgate
