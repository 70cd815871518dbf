// The commands on a sale with lanes.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/redis_cluster.h"
#include "tests/unit/apps/opened_sale.h"
#include <rushgate/order_rules.h>

namespace rushgate {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// Vouchers 1 to 4 on four lanes, and an order of user 7 for each.
class LanesProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.write_vouchers({5, 5, 5, 5});
    files_.write_requests("0,7,1\n1,7,2\n2,7,3\n3,7,4\n4,8,3\n");
    const auto result = run_program(files_.replay({"--lanes", "4"}));
    ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  }

  std::unique_ptr<FlashSale> open_sale_here() { return opened_sale(files_.sale()); }
  ProgramResult run(const std::string& command, const std::vector<std::string>& more = {}) {
    return run_program(files_.command(command, more));
  }

  SaleFiles files_;
};

TEST_F(LanesProgramTest, CommandsSeeOrdersOfAllLanes) {
  EXPECT_EQ(run("audit").exit_code, kExitOk);
  EXPECT_EQ(run("orders", {"--json"}).json().size(), 5U);
  EXPECT_EQ(run("orders", {"--json", "--user", "7"}).json().size(), 4U);
  EXPECT_EQ(run("vouchers", {"--json"}).json().size(), 4U);
  const auto bought = run("buy", {"3", "9", "--json"}).json();
  EXPECT_EQ(lane_of_order(std::stoll(bought["order"].get<std::string>())), 3);
  EXPECT_EQ(run("status", {bought["order"].get<std::string>()}).exit_code, kExitOk);
  EXPECT_EQ(run("close", {"3"}).exit_code, kExitOk);
  EXPECT_EQ(run("archive", {"3"}).exit_code, kExitOk);
  EXPECT_EQ(run("audit").exit_code, kExitOk);
}

TEST_F(LanesProgramTest, TableOfVouchersShowsLanes) {
  ASSERT_TRUE(
      open_sale_here()->publish({.id = 5, .stock = 9, .end_ms = kNeverEndsMs, .lanes = 3}).ok());
  EXPECT_THAT(run("vouchers").out, ContainsRegex("lanes  version\n"));
  EXPECT_THAT(run("vouchers").out, ContainsRegex("\n      4 .*  1        1\n"));
  EXPECT_THAT(run("vouchers").out, ContainsRegex("\n      5 .*  3        1\n"));
}

TEST_F(LanesProgramTest, HeldSaleIsReadInAllLanes) {
  const auto sale = open_sale_here();
  const OrderId queued = sale->buy(2, 9).order;
  EXPECT_EQ(run("audit").exit_code, kExitOk);
  EXPECT_EQ(run("orders", {"--json"}).json().size(), 6U);
  EXPECT_EQ(run("orders", {"--json", "--state", "queued"}).json().size(), 1U);
  EXPECT_THAT(run("status", {std::to_string(queued)}).out, HasSubstr("queued"));
  EXPECT_EQ(run("vouchers", {"--json"}).json().size(), 4U);
  EXPECT_EQ(run("watch", {"--count", "1"}).exit_code, kExitOk);
}

TEST_F(LanesProgramTest, WrongLanesAreRefused) {
  const auto missing = run("work", {"--work-lanes", "1,4"});
  EXPECT_EQ(missing.exit_code, kExitUsage) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("no lane 4"));
  for (const char* const wrong : {"x", "3-1", "1,", "64", "-1"}) {
    EXPECT_THAT(run("work", {std::string("--work-lanes=") + wrong}).err,
                HasSubstr("not a list of lanes"))
        << wrong;
  }
}

TEST(ClusterProgramTest, SaleOnClusterNeedsItsUrlAlone) {
  const testing::RedisCluster cluster({.replicas = 0});
  const SaleFiles files;
  files.write_vouchers({5, 5, 5, 5});
  files.write_requests("0,7,1\n1,7,2\n2,7,3\n3,7,4\n4,8,3\n");
  const std::vector<std::string> keyspace = {"--keyspace", cluster.url()};
  const auto run = [&](const std::string& command, std::vector<std::string> more = {}) {
    more.insert(more.begin(), keyspace.begin(), keyspace.end());
    return run_program(files.command(command, more));
  };
  const auto replayed = run_program(files.replay(keyspace));
  ASSERT_EQ(replayed.exit_code, kExitOk) << replayed.err;
  const auto bought = run("buy", {"3", "9", "--json"}).json();
  EXPECT_EQ(lane_of_order(std::stoll(bought["order"].get<std::string>())), 3);
  EXPECT_EQ(run("status", {bought["order"].get<std::string>()}).exit_code, kExitOk);
  EXPECT_EQ(run("vouchers", {"--json"}).json().size(), 4U);
  EXPECT_EQ(run("orders", {"--json"}).json().size(), 6U);
  const auto watched = run("watch", {"--count", "1"});
  EXPECT_EQ(watched.exit_code, kExitOk) << watched.err;
  const auto audited = run("audit");
  EXPECT_EQ(audited.exit_code, kExitOk) << audited.err;
}

}  // namespace
}  // namespace rushgate
