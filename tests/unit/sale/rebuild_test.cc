// Interrupted rebuilds, on every backend.
#include <string>
#include <string_view>
#include <vector>

#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

class RebuildTest : public SaleTest {
 protected:
  /// Leaves voucher 1 like a rebuild whose process ended in the middle, `ago_ms` ago.
  void interrupt_rebuild(std::int64_t ago_ms) {
    close_as_somebody(ago_ms);
    backend_.client()("DEL", "seckill:stock:1", "seckill:order:1", "seckill:day:1");
  }

  bool is_closed() {
    return backend_.client()("HEXISTS", "seckill:voucher:1", "closed") == Reply::integer(1);
  }

  void expect_rebuilt() {
    EXPECT_FALSE(is_closed());
    EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
    EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
    EXPECT_EQ(buy(1, 3), Outcome::kAccepted);
    EXPECT_EQ(buy(1, 4), Outcome::kSoldOut);
    drain();
    expect_audit_passes();
  }

  void sell_two_of_three() {
    ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
    EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
    drain();
    EXPECT_EQ(buy(1, 2), Outcome::kAccepted);  // queued
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, RebuildTest, each_backend(), backend_name);

/// On an embedded engine. Its directory belongs to one process, so the next process knows that the
/// last one has ended.
class RebuildOnTheEngineTest : public RebuildTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RebuildOnTheEngineTest, each_embedded_backend(), backend_name);

/// On a server. It does not know which of its client processes have ended.
class RebuildOnServerTest : public RebuildTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RebuildOnServerTest,
                         each_backend_that(&SaleBackendKind::is_server), backend_name);

TEST_P(RebuildOnTheEngineTest, NextProcessTakesOverAtOnce) {
  sell_two_of_three();
  interrupt_rebuild(0);
  EXPECT_EQ(sale_->buy(1, 3).outcome, Outcome::kOverloaded) << "in this process somebody is at it";
  restart();
  expect_rebuilt();
}

TEST_P(RebuildOnServerTest, NextProcessWaitsUntilAbandoned) {
  sell_two_of_three();
  interrupt_rebuild(0);
  restart();
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(sale_->buy(1, 3).outcome, Outcome::kOverloaded);
  interrupt_rebuild(VoucherRebuilder::kAbandonedMs);
  restart();
  expect_rebuilt();
}

TEST_P(RebuildTest, RebuildAgeUsesKeyspaceTime) {
  sell_two_of_three();
  for (const std::int64_t off_ms : {-86'400'000, 86'400'000}) {
    ManualClock clock(backend_.clock().now_ms() + off_ms);
    BackendWithClock keyspace(backend_.keyspace(), clock);
    const auto other = Sale::open(keyspace, backend_.orders());
    ASSERT_TRUE(other.ok()) << other.status();
    interrupt_rebuild(0);
    EXPECT_EQ((*other)->buy(1, 1).outcome, Outcome::kOverloaded);
    interrupt_rebuild(VoucherRebuilder::kAbandonedMs);
    EXPECT_EQ((*other)->buy(1, 1).outcome, Outcome::kLimitReached);
  }
  expect_rebuilt();
}

TEST_P(RebuildTest, OwnFailedRebuildRestartsAtOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  Client& client = backend_.client();
  client("SET", "stream.orders", "not a stream");
  client("DEL", "seckill:stock:1");
  EXPECT_EQ(sale_->buy(1, 1).outcome, Outcome::kFailed);
  EXPECT_TRUE(is_closed());
  client("DEL", "stream.orders");
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

TEST_P(RebuildTest, SupersededRebuildCannotOpenSale) {
  sell_two_of_three();
  interrupt_rebuild(VoucherRebuilder::kAbandonedMs);
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);  // taken over by another
  const std::string_view names[] = {"seckill:voucher:1", "seckill:stock:1"};
  std::vector<std::string> arguments = {"somebody:1", "99", "0", "0", "1", "0"};
  const VoucherVersion newer{.voucher = voucher(1, 99), .version = 1};
  append_terms(newer, newer, arguments);
  const Reply late =
      backend_.client().run(voucher_scripts::finish_rebuild(), names,
                            std::vector<std::string_view>(arguments.begin(), arguments.end()));
  EXPECT_EQ(late, Reply::array({Reply::integer(voucher_scripts::kLostTheRebuild)}));
  expect_rebuilt();
}

TEST_P(RebuildTest, LongRebuildKeepsItsClaim) {
  constexpr std::int64_t kBuyers = 25'000;  // batches of 10,000
  ASSERT_TRUE(sale_->publish(voucher(1, kBuyers + 1)).ok());
  std::vector<BuyRequest> requests;
  for (std::int64_t user = 1; user <= kBuyers; ++user)
    requests.push_back({.voucher = 1, .user = user});
  for (const BuyResult& result : sale_->buy_all(requests)) {
    ASSERT_EQ(result.outcome, Outcome::kAccepted);
  }
  drain();
  const auto other = Sale::open(backend_.keyspace(), backend_.orders());
  ASSERT_TRUE(other.ok()) << other.status();
  backend_.client()("DEL", "seckill:stock:1");
  int portions = 0;
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point point) {
    if (point != faults::FaultyOrderStore::Point::kBeforeList) return;
    ++portions;
    backend_.advance_ms(VoucherRebuilder::kAbandonedMs - 1);
    EXPECT_EQ((*other)->buy(1, 1).outcome, Outcome::kOverloaded);
  });
  EXPECT_EQ(buy(1, kBuyers + 1), Outcome::kAccepted);
  backend_.orders().at_every_point(nullptr);
  EXPECT_EQ(portions, 3);
  EXPECT_EQ((*other)->buy(1, 1).outcome, Outcome::kSoldOut);
}

TEST_P(RebuildTest, PublicationDuringRebuildIsAborted) {
  sell_two_of_three();
  interrupt_rebuild(0);
  const absl::Status published = sale_->publish(voucher(1, 4));
  EXPECT_TRUE(absl::IsAborted(published)) << published;
  interrupt_rebuild(VoucherRebuilder::kAbandonedMs);
  EXPECT_TRUE(sale_->publish(voucher(1, 4)).ok());
  EXPECT_EQ(buy(1, 3), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 4), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kSoldOut);
  drain();
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
