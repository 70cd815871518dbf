// Commands that sell: publish, vouchers, buy, work. Each runs on an own keyspace and on a
// redis-server.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/json_text.h"
#include "apps/exit_code.h"
#include "apps/sale_at.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/unit/apps/keyspace_program_test.h"

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using Json = nlohmann::ordered_json;

class SellingProgramTest : public KeyspaceProgramTest {
 protected:
  /// Publishes vouchers 1, 2, … with these stocks.
  ProgramResult publish(const std::vector<int>& stocks, std::vector<std::string> more = {}) {
    files_.write_vouchers(stocks);
    more.insert(more.begin(), files_.vouchers());
    return run("publish", more);
  }
  void write(const std::string& vouchers) { std::ofstream(files_.vouchers()) << vouchers; }
};

INSTANTIATE_TEST_SUITE_P(Keyspaces, SellingProgramTest, kKeyspaces, keyspace_name);

// ---- publish ------------------------------------------------------------------------------------

TEST_P(SellingProgramTest, PublishNamesNewAndChangedVouchers) {
  const auto first = publish({10, 20});
  EXPECT_EQ(first.exit_code, kExitOk) << first.err;
  EXPECT_EQ(first.out, "voucher 1: published as version 1\nvoucher 2: published as version 1\n");
  const auto again = publish({10, 25, 5});
  EXPECT_EQ(again.exit_code, kExitOk) << again.err;
  EXPECT_EQ(again.out,
            "voucher 1: left as it is: version 1\n"
            "voucher 2: changed to version 2: stock 20 to 25\n"
            "voucher 3: published as version 1\n");
  EXPECT_EQ(run_json("vouchers")[1]["free"], 25);
}

TEST_P(SellingProgramTest, PublishIfNewLeavesKnownVouchers) {
  ASSERT_EQ(publish({10}).exit_code, kExitOk);
  const auto result = publish({99, 5}, {"--if-new"});
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.out, "voucher 1: left as it is: version 1\nvoucher 2: published as version 1\n");
  EXPECT_EQ(run_json("vouchers")[0]["stock"], 10);
}

TEST_P(SellingProgramTest, DryRunOfPublishChangesNothing) {
  const auto empty = publish({10}, {"--dry-run"});
  EXPECT_EQ(empty.exit_code, kExitOk) << empty.err;
  EXPECT_EQ(empty.out, "voucher 1: would be published\n");
  EXPECT_FALSE(std::filesystem::exists(files_.sale()));

  ASSERT_EQ(publish({10}).exit_code, kExitOk);
  write(R"([{"id": 1, "title": "new", "stock": 12, "begin_ms": 0, "end_ms": 4000000000000,
             "limits": {"per_user": 3}}])");
  const auto changed = run("publish", {files_.vouchers(), "--dry-run"});
  EXPECT_EQ(changed.out,
            "voucher 1: would be changed from version 1: title  to new, stock 10 to 12, "
            "limits.per_user 1 to 3\n");
  const Json json = run_json("publish", {files_.vouchers(), "--dry-run"});
  EXPECT_EQ(json[0]["result"], "changed");
  EXPECT_EQ(json[0]["version"], 1);
  EXPECT_EQ(json[0]["changes"]["stock"], parse_trusted_json(R"({"before": 10, "after": 12})"));
  EXPECT_EQ(run_json("vouchers")[0]["stock"], 10);
}

TEST_P(SellingProgramTest, RefusedVoucherLeavesOthers) {
  ASSERT_EQ(publish({10, 10}).exit_code, kExitOk);
  ASSERT_EQ(run("buy", {"1", "7"}).exit_code, kExitOk);
  const auto result = publish({0, 11});
  EXPECT_EQ(result.exit_code, kExitNegative) << result.err;
  EXPECT_THAT(result.out, HasSubstr("voucher 1: refused: "));
  EXPECT_THAT(result.out, HasSubstr("voucher 2: changed to version 2: stock 10 to 11\n"));
  EXPECT_EQ(run_json("vouchers")[0]["stock"], 10);
}

TEST_P(SellingProgramTest, ArchivedVoucherIsNotPublishedAgain) {
  ASSERT_EQ(publish({10}).exit_code, kExitOk);
  ASSERT_EQ(run("close", {"1"}).exit_code, kExitOk);
  ASSERT_EQ(run("archive", {"1"}).exit_code, kExitOk);
  const auto refused = publish({10});
  EXPECT_EQ(refused.exit_code, kExitNegative) << refused.err;
  EXPECT_EQ(refused.out, "voucher 1: refused: it was archived\n");
  const auto left = publish({10}, {"--if-new"});
  EXPECT_EQ(left.exit_code, kExitOk) << left.err;
  EXPECT_EQ(left.out, "voucher 1: left as it is: it was archived\n");
}

TEST_P(SellingProgramTest, FaultyFilePublishesNothing) {
  EXPECT_EQ(run("publish", {files_.vouchers()}).exit_code, kExitUsage) << "there is no file";
  write(R"([{"id": 1, "stock": 1, "begin_ms": 0, "end_ms": 1, "limit": 5}])");
  const auto result = run("publish", {files_.vouchers()});
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("[0].limit"));
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(files_.sale()));
}

// ---- vouchers -----------------------------------------------------------------------------------

TEST_P(SellingProgramTest, VouchersShowStockAndTerms) {
  ASSERT_EQ(publish({10}).exit_code, kExitOk);
  ASSERT_EQ(run("buy", {"1", "7"}).exit_code, kExitOk);
  const auto table = run("vouchers");
  EXPECT_EQ(table.exit_code, kExitOk) << table.err;
  EXPECT_THAT(table.out, HasSubstr("voucher"));
  EXPECT_THAT(table.out, HasSubstr("1970-01-01T00:00:00.000Z"));
  const Json json = run_json("vouchers");
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["stock"], 10);
  EXPECT_EQ(json[0]["free"], 9);
  EXPECT_EQ(json[0]["admitted"], 1);
  EXPECT_EQ(json[0]["version"], 1);
  EXPECT_EQ(json[0]["limits"]["per_user"], 1);
}

TEST_P(SellingProgramTest, HeldSaleShowsTermsOfVouchers) {
  ASSERT_EQ(publish({10}).exit_code, kExitOk);
  SaleArguments holder;
  holder.dir = files_.sale();
  if (server_) holder.keyspace_url = server_->url();
  const auto held = open_sale(holder);
  ASSERT_TRUE(held.ok()) << held.status();
  const auto listed = run("vouchers", {"--json"});
  EXPECT_EQ(listed.exit_code, kExitOk) << listed.err;
  EXPECT_EQ(listed.json()[0]["stock"], 10);
  if (server_) {
    EXPECT_EQ(listed.json()[0]["free"], nullptr);
    EXPECT_THAT(listed.err, HasSubstr("only stored orders are visible"));
  } else {
    EXPECT_EQ(listed.json()[0]["free"], 10);
  }
  EXPECT_EQ(run("buy", {"1", "7", "--patience", "0"}).exit_code, kExitFailure);
}

// ---- buy ----------------------------------------------------------------------------------------

TEST_P(SellingProgramTest, BoughtOrderIsStored) {
  ASSERT_EQ(publish({10}).exit_code, kExitOk);
  const auto bought = run("buy", {"1", "anna", "--reference", "till 3"});
  EXPECT_EQ(bought.exit_code, kExitOk) << bought.err;
  ASSERT_THAT(bought.out, MatchesRegex("accepted: order [0-9]+ is created\n"));
  const Json orders = run_json("orders", {"--user", "anna"});
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_THAT(bought.out, HasSubstr(orders[0]["order"].get<std::string>()));
  EXPECT_EQ(orders[0]["reference"], "till 3");
  EXPECT_EQ(run("audit").exit_code, kExitOk);
}

TEST_P(SellingProgramTest, RepeatedPurchaseGetsSameOrder) {
  ASSERT_EQ(publish({10}).exit_code, kExitOk);
  const Json first = run_json("buy", {"1", "7", "--key", "click"});
  EXPECT_EQ(first["outcome"], "accepted");
  EXPECT_EQ(first["state"], "created");
  const Json again = run_json("buy", {"1", "7", "--key", "click"});
  EXPECT_EQ(again["order"], first["order"]);
  EXPECT_EQ(again["repeated"], true);
  EXPECT_EQ(again["state"], "created");
  const auto reused = run("buy", {"1", "8", "--key", "click"});
  EXPECT_EQ(reused.exit_code, kExitRefused);
  EXPECT_THAT(reused.out, HasSubstr("key"));
  EXPECT_EQ(run_json("vouchers")[0]["admitted"], 1);
}

TEST_P(SellingProgramTest, RefusedPurchaseExitsWith4) {
  ASSERT_EQ(publish({2}).exit_code, kExitOk);
  const Json order = run_json("buy", {"1", "7"})["order"];
  const auto limit = run("buy", {"1", "7"});
  EXPECT_EQ(limit.exit_code, kExitRefused) << limit.err;
  EXPECT_EQ(limit.out, "limit reached: the user has order " + order.get<std::string>() + "\n");
  EXPECT_EQ(run("buy", {"1", "8", "--quantity", "2"}).out, "sold out\n");
  const Json sold_out = run_json("buy", {"1", "8", "--quantity", "2"});
  EXPECT_EQ(sold_out["outcome"], "sold out");
  EXPECT_EQ(sold_out["order"], nullptr);
  EXPECT_EQ(sold_out["state"], nullptr);
  ASSERT_EQ(run("close", {"1"}).exit_code, kExitOk);
  EXPECT_EQ(run("buy", {"1", "9"}).exit_code, kExitRefused);
  EXPECT_EQ(run("buy", {"5", "9"}).exit_code, kExitNegative) << "an unknown voucher";
}

TEST_P(SellingProgramTest, WrongPurchaseIsUsageError) {
  EXPECT_EQ(run("buy", {"1", "7"}).exit_code, kExitUsage) << "there is no sale";
  ASSERT_EQ(publish({2}).exit_code, kExitOk);
  const std::vector<std::vector<std::string>> all = {
      {"1"},
      {"1", "a b"},
      {"x", "7"},
      {"1", "7", "--quantity", "0"},
      {"1", "7", "--quantity", "10001"},
      {"1", "7", "--key", std::string(256, 'k')},
      {"1", "7", "--reference", std::string(65, 'r')},
  };
  for (const auto& arguments : all) {
    EXPECT_EQ(run("buy", arguments).exit_code, kExitUsage) << ::testing::PrintToString(arguments);
  }
  EXPECT_EQ(run_json("vouchers")[0]["free"], 2);
}

// ---- work ---------------------------------------------------------------------------------------

TEST_P(SellingProgramTest, StoppedWorkExitsWith0) {
  ASSERT_EQ(publish({2}).exit_code, kExitOk);
  for (const int signal : {SIGINT, SIGTERM}) {
    std::vector<std::string> more;
    if (server_) more = {"--redis", server_->url()};
    Program work(files_.command("work", more));
    ASSERT_TRUE(work.wait_for_error_text("storing orders until ")) << work.error_text();
    work.send(signal);
    const ProgramResult result = work.wait();
    EXPECT_EQ(result.exit_code, kExitOk) << result.err;
    EXPECT_THAT(result.err, HasSubstr("0 orders stored, 0 dead letters"));
  }
}

/// Another system sells with its own script.
TEST(WorkProgramTest, OrdersOfOtherSellerAreStored) {
  const testing::RedisServer server;
  const SaleFiles files;
  files.write_vouchers({5});
  const std::vector<std::string> on_redis = {"--redis", server.url()};
  auto publish = files.command("publish", on_redis);
  publish.push_back(files.vouchers());
  ASSERT_EQ(run_program(publish).exit_code, kExitOk);
  Program work(files.command("work", on_redis));
  ASSERT_TRUE(work.wait_for_error_text("storing orders until ")) << work.error_text();
  constexpr OrderId kOrder = 4711;
  testing::RawConnection(server.socket_path())
      .call(Request::of("EVAL",
                        "redis.call('INCRBY', KEYS[1], -1) redis.call('SADD', KEYS[2], 7) "
                        "redis.call('XADD', KEYS[3], '*', 'userId', 7, 'voucherId', 1, 'id', 4711)",
                        3, "seckill:stock:1", "seckill:order:1", "stream.orders"));
  SaleArguments place;
  place.dir = files.sale();
  const auto stored = open_orders_to_read(place);
  ASSERT_TRUE(stored.ok()) << stored.status();
  bool is_stored = false;
  while (!is_stored && !work.has_ended()) {
    const auto order = (*stored)->find(kOrder);
    ASSERT_TRUE(order.ok()) << order.status();
    is_stored = order->has_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(is_stored) << work.error_text();
  work.send(SIGTERM);
  const ProgramResult result = work.wait();
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 orders stored, 0 dead letters"));
  EXPECT_EQ(run_program(files.command("audit", on_redis)).exit_code, kExitOk);
}

}  // namespace
}  // namespace rushgate
