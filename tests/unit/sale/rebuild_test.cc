// Interrupted rebuilds, on every backend.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
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

/// At each read of the database.
TEST_P(RebuildTest, FailedRebuildLeavesVoucherToOthers) {
  sell_two_of_three();
  const auto other = open_sale(backend_.keyspace());
  faults::FaultyOrderStore& orders = backend_.orders();
  constexpr int kReadsMax = 100;
  int nth = 0;
  for (bool has_failed = true; has_failed && nth < kReadsMax;) {
    ++nth;
    backend_.client()("DEL", "seckill:stock:1");
    int reads = 0;
    orders.before_every_read([&] {
      if (++reads == nth) orders.fail_reads();
    });
    has_failed = sale_->buy(1, 1).outcome != Outcome::kLimitReached;
    orders.before_every_read(nullptr);
    orders.fail_reads(absl::OkStatus());
    const BuyResult result = other->buy(1, 1);
    EXPECT_EQ(result.outcome, Outcome::kLimitReached) << "read " << nth << ": " << result.detail;
  }
  EXPECT_GT(nth, 3);
  EXPECT_LT(nth, kReadsMax);
  expect_rebuilt();
}

TEST_P(RebuildTest, RebuildWithoutFenceLeavesVoucherToOthers) {
  sell_two_of_three();
  const auto other = open_sale(backend_.keyspace());
  backend_.client()("DEL", "seckill:stock:1");
  backend_.orders().fail_voucher_writes();
  EXPECT_EQ(sale_->buy(1, 1).outcome, Outcome::kOverloaded);
  EXPECT_TRUE(is_closed());
  backend_.orders().fail_voucher_writes(absl::OkStatus());
  EXPECT_EQ(other->buy(1, 1).outcome, Outcome::kLimitReached);
  expect_rebuilt();
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

/// Publishes with a process that is interrupted between putting a version in force and recording that. Another
/// process rebuilds the voucher then.
class RebuiltWhilePublishedTest : public RebuildTest {
 protected:
  /// Runs `happens` there, once.
  absl::Status add_stock(std::int64_t delta, std::function<void()> happens) {
    const auto puts_in_force = [](const Request& request) {
      return std::ranges::count(request.views(), SaleKeys{}.applied_versions()) > 0;
    };
    HookedBackend publishing(backend_.keyspace(), once_behind(puts_in_force, std::move(happens)));
    return open_sale(publishing)->add_stock(1, delta);
  }
  /// Buys with these users, and returns how many have got a piece.
  int sell(std::int64_t first_user, int users) {
    int sold = 0;
    for (std::int64_t user = first_user; user < first_user + users; ++user) {
      sold += buy(1, user) == Outcome::kAccepted ? 1 : 0;
    }
    return sold;
  }
  void lose_voucher() {
    backend_.client()("DEL", "seckill:stock:1", "seckill:order:1", "seckill:voucher:1");
  }
  void expect_sold(std::int64_t pieces) {
    drain();
    EXPECT_EQ(backend_.orders().count_live(1).value(), pieces);
    EXPECT_EQ(sale_->voucher(1).value()->voucher.stock, pieces);
    EXPECT_EQ(worker_->step().kind, OrderWorker::Step::Kind::kIdle);
    EXPECT_TRUE(sale_->dead_letters()->empty());
    expect_audit_passes();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, RebuiltWhilePublishedTest, each_backend(), backend_name);

TEST_P(RebuiltWhilePublishedTest, PendingVersionIsPutInForce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9)).ok());
  EXPECT_EQ(sell(1, 3), 3);
  const absl::Status published = add_stock(-2, [this] {
    lose_voucher();
    EXPECT_EQ(sell(11, 6), 4);
  });
  EXPECT_TRUE(published.ok()) << published;
  EXPECT_EQ(sell(21, 1), 0);
  expect_sold(7);
}

TEST_P(RebuiltWhilePublishedTest, VersionIsRefusedIfMoreWasSold) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9)).ok());
  EXPECT_EQ(sell(1, 3), 3);
  const absl::Status published = add_stock(-2, [this] {
    // A keyspace that has lost the new version sells on.
    backend_.client()("HSET", "seckill:voucher:1", "version", 1, "published", 9);
    backend_.client()("INCRBY", "seckill:stock:1", 2);
    EXPECT_EQ(sell(11, 5), 5);
    lose_voucher();
    EXPECT_EQ(sell(21, 2), 1);
  });
  EXPECT_TRUE(absl::IsFailedPrecondition(published)) << published;
  EXPECT_EQ(published.message(), "voucher 1: 2 more are sold than a stock of 7 allows");
  expect_sold(9);
}

class RolledBackWhilePublishedTest : public RebuiltWhilePublishedTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RolledBackWhilePublishedTest,
                         each_backend_that(&SaleBackendKind::is_server), backend_name);

/// The server comes back with every checkpoint that the database knows, and without the version.
TEST_P(RolledBackWhilePublishedTest, VersionIsPutInForceAgain) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9)).ok());
  EXPECT_EQ(sell(1, 3), 3);
  save();
  const absl::Status published = add_stock(-2, [this] {
    roll_back();
    EXPECT_EQ(sell(11, 1), 1) << "by the version before";
  });
  EXPECT_TRUE(published.ok()) << published;
  EXPECT_EQ(sell(21, 6), 3);
  expect_sold(7);
}

TEST_P(RebuiltWhilePublishedTest, RefusedVersionIsTakenBack) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9)).ok());
  EXPECT_EQ(sell(1, 3), 3);
  const absl::Status published = add_stock(-2, [this] {
    const absl::Status refused = backend_.orders().vouchers()->resolve(
        1, 2, VoucherVersion::State::kRefused, "a rebuild found more");
    EXPECT_TRUE(refused.ok()) << refused;
  });
  EXPECT_TRUE(published.ok()) << "by the next version: " << published;
  EXPECT_EQ(sell(11, 9), 4);
  expect_sold(7);
}

TEST_P(RebuiltWhilePublishedTest, NextProcessTakesRefusedVersionBack) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9)).ok());
  Voucher dearer = voucher(1, 9);
  dearer.price_cents = 999;
  VoucherStore& vouchers = *backend_.orders().vouchers();
  ASSERT_TRUE(sale_->publish(dearer).ok());
  backend_.client()("HSET", "seckill:voucher:1", "version", 3, "price", 1'999);
  dearer.price_cents = 1'999;
  ASSERT_TRUE(vouchers.record_pending({.voucher = dearer, .version = 3}).ok());
  ASSERT_TRUE(vouchers.resolve(1, 3, VoucherVersion::State::kRefused, "too many sold").ok());
  restart();
  EXPECT_EQ(backend_.client()("HGET", "seckill:voucher:1", "price"), Reply::bulk("999"));
  EXPECT_EQ(sell(1, 10), 9);
  expect_sold(9);
}

TEST_P(RebuildTest, StockAddedDuringRebuildMayFollow) {
  sell_two_of_three();
  interrupt_rebuild(0);
  const absl::Status added = sale_->add_stock(1, 1);
  EXPECT_TRUE(absl::IsUnknown(added)) << added;
  interrupt_rebuild(VoucherRebuilder::kAbandonedMs);
  restart();
  EXPECT_EQ(sale_->voucher(1).value()->voucher.stock, 4);
  EXPECT_EQ(buy(1, 3), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 4), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kSoldOut);
  drain();
  expect_audit_passes();
}

TEST_P(RebuildTest, StockWithLostRecordMayFollow) {
  sell_two_of_three();
  backend_.orders().fail_voucher_writes();
  const absl::Status added = sale_->add_stock(1, 1);
  backend_.orders().fail_voucher_writes(absl::OkStatus());
  EXPECT_TRUE(absl::IsUnknown(added)) << added;
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
