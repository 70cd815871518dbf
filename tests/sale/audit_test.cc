// The audit can fail: each kind of wrong is made by hand, and named.
#include "tests/sale/sale_fixture.h"

namespace rushgate {
namespace {

class AuditTest : public SaleTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 2})).ok());
    for (UserId user = 1; user <= 4; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
    worker_->step();
    EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
    expect_audit_passes();
  }
  void expect_problem(const std::string& part) {
    const auto report = sale_->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->passed());
    EXPECT_THAT(report->problems, ::testing::Contains(::testing::HasSubstr(part)));
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, AuditTest,
                         ::testing::Values(BackendKind::kMemory, BackendKind::kRocksDb,
                                           BackendKind::kRedis),
                         backend_name);

TEST_P(AuditTest, CountsWhatIsWhere) {
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->vouchers.size(), 1U);
  const VoucherAudit& audited = report->vouchers[0];
  EXPECT_EQ(audited.published, 10);
  EXPECT_EQ(audited.free, 5);
  EXPECT_EQ(audited.admitted, 5);
  EXPECT_EQ(audited.created, 4);
  EXPECT_EQ(audited.queued, 1);
  EXPECT_EQ(audited.dead, 0);
}

TEST_P(AuditTest, StockThatIsNotAccountedForIsNamed) {
  backend_.client()("INCR", "seckill:stock:1");
  expect_problem("published 10 is not free 6 + admitted 5");
}

TEST_P(AuditTest, AnOversoldVoucherIsNamed) {
  backend_.client()("SET", "seckill:stock:1", "-1");
  expect_problem("oversold");
}

TEST_P(AuditTest, ALostOrderIsNamedWithItsUser) {
  backend_.client()("XTRIM", "stream.orders", "MAXLEN", "0");
  expect_problem("lost: user 5");
}

TEST_P(AuditTest, ADoubledOrderIsNamed) {
  const auto state = sale_->orders_of(1);
  ASSERT_TRUE(state.ok());
  const OrderId queued = [&] {
    const Reply entries = backend_.client()("XREVRANGE", "stream.orders", "+", "-", "COUNT", 1);
    return std::stoll(entries.elements()[0].elements()[1].elements()[5].text());
  }();
  backend_.client()("XADD", "stream.orders", "*", "userId", 5, "voucherId", 1, "id", queued,
                    "limit", 2);
  expect_problem("order " + std::to_string(queued) + " is doubled");
}

TEST_P(AuditTest, AnOrderNobodyWasAdmittedForIsNamedWithItsUser) {
  backend_.client()("XADD", "stream.orders", "*", "userId", 99, "voucherId", 1, "id", 4242, "limit",
                    2);
  expect_problem("user 99 has 1 orders and was admitted 0 times");
}

TEST_P(AuditTest, AUserAboveHisLimitIsNamed) {
  for (int i = 0; i < 3; ++i) {
    backend_.client()("XADD", "stream.orders", "*", "userId", 77, "voucherId", 1, "id", 5'000 + i,
                      "limit", 2);
  }
  expect_problem("user 77 has 3 orders, above his limit of 2");
}

TEST_P(AuditTest, AnOrderMovedFromOneUserToAnotherIsNamedThoughAllSumsAreRight) {
  backend_.client()("HSET", "seckill:order:1", "1", "0");
  backend_.client()("HSET", "seckill:order:1", "2", "2");
  expect_problem("lost: user 2 was admitted 2 times and has 1 orders");
  expect_problem("user 1 has 1 orders and was admitted 0 times");
}

TEST_P(AuditTest, AVoucherTheKeyspaceLostIsNamed) {
  backend_.client()("DEL", "seckill:stock:1");
  expect_problem("lost it");
}

TEST_P(AuditTest, AnotherVersionInForceThanIsRecordedIsNamed) {
  backend_.client()("HSET", "seckill:voucher:1", "version", "9");
  expect_problem("version 9");
}

}  // namespace
}  // namespace rushgate
