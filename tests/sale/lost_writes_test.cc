// A keyspace that lost the newest of its writes while the database kept their orders.
#include <functional>

#include "tests/sale/sale_fixture.h"

namespace rushgate {
namespace {

class LostWritesTest : public SaleTest {
 protected:
  int buy_for(UserId first, UserId last) {
    int accepted = 0;
    for (UserId user = first; user <= last; ++user) {
      if (sale_->buy(1, user).outcome == Outcome::kAccepted) ++accepted;
    }
    return accepted;
  }

  std::int64_t rows() { return backend_.orders().count_live(1).value(); }

  void save() {
    close_if_embedded();
    backend_.save();
    open_if_embedded();
  }
  void roll_back() {
    close_if_embedded();
    backend_.roll_back();
    backend_.advance_ms(1);
    open_if_embedded();
  }

  /// Runs `happens` once, after the worker has read its next batch and before it writes that.
  void before_next_write(std::function<void()> happens) {
    backend_.orders().at_every_point([happens = std::move(happens),
                                      done = false](faults::FaultyOrderStore::Point point) mutable {
      if (done || point != faults::FaultyOrderStore::Point::kBeforeWrite) return;
      done = true;
      happens();
    });
  }

 private:
  void close_if_embedded() {
    if (backend_.kind() == BackendKind::kRedis) return;
    worker_.reset();
    sale_.reset();
  }
  void open_if_embedded() {
    if (backend_.kind() == BackendKind::kRedis) return;
    backend_.reopen();
    open();
  }
};

/// Where a test can bring back an older keyspace.
class RolledBackTest : public LostWritesTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RolledBackTest,
                         ::testing::Values(BackendKind::kRocksDb, BackendKind::kRedis),
                         backend_name);

/// Where it happens while a sale is open.
class LostOnRedisTest : public LostWritesTest {};
INSTANTIATE_TEST_SUITE_P(Backends, LostOnRedisTest, ::testing::Values(BackendKind::kRedis),
                         backend_name);

INSTANTIATE_TEST_SUITE_P(Backends, LostWritesTest,
                         ::testing::Values(BackendKind::kMemory, BackendKind::kRocksDb,
                                           BackendKind::kRedis),
                         backend_name);

TEST_P(RolledBackTest, RolledBackKeyspaceSellsOnlyTheStock) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  EXPECT_EQ(buy_for(1, 50), 50);
  drain();
  save();
  EXPECT_EQ(buy_for(51, 100), 50);
  drain();
  roll_back();
  EXPECT_EQ(buy_for(101, 150), 0);
  drain();
  EXPECT_EQ(rows(), 100);
  expect_audit_passes();
}

TEST_P(RolledBackTest, RolledBackKeyspaceRemembersStoredBuyers) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  save();
  EXPECT_EQ(buy_for(1, 3), 3);
  drain();
  roll_back();
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 30), 7);
  drain();
  EXPECT_EQ(rows(), 10);
  expect_audit_passes();
}

TEST_P(RolledBackTest, RolledBackPublicationIsInForceAgain) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  save();
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  roll_back();
  EXPECT_EQ(buy_for(1, 9), 3);
  drain();
  expect_audit_passes();
}

TEST_P(RolledBackTest, OrdersLostUnstoredAreSoldAgain) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  save();
  EXPECT_EQ(buy_for(1, 3), 3);
  roll_back();
  EXPECT_EQ(buy_for(11, 19), 3) << "neither store knows of the first three";
  drain();
  EXPECT_EQ(rows(), 3);
  expect_audit_passes();
}

TEST_P(RolledBackTest, SecondRollBackIsNoticedToo) {
  ASSERT_TRUE(sale_->publish(voucher(1, 6)).ok());
  save();
  for (const UserId first : {1, 11, 21}) {
    EXPECT_EQ(buy_for(first, first + 1), 2);
    drain();
    roll_back();
  }
  EXPECT_EQ(buy_for(31, 39), 0);
  EXPECT_EQ(rows(), 6);
  expect_audit_passes();
}

TEST_P(LostOnRedisTest, ReadBatchIsRefusedAfterRollBack) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  save();
  EXPECT_EQ(buy_for(1, 5), 5);
  before_next_write([&] {
    roll_back();
    EXPECT_EQ(buy_for(11, 19), 5) << "the worker's batch is in neither store";
  });
  drain();
  EXPECT_EQ(rows(), 5);
  expect_audit_passes();
}

TEST_P(LostWritesTest, ReadBatchIsRefusedAfterFlushAndRebuild) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy_for(1, 5), 5);
  before_next_write([&] {
    backend_.client()("FLUSHALL");
    EXPECT_EQ(buy_for(11, 19), 5);
  });
  drain();
  EXPECT_EQ(rows(), 5);
  expect_audit_passes();
}

TEST_P(LostWritesTest, ReadBatchIsSavedAfterFlushAlone) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy_for(1, 3), 3);
  before_next_write([&] { backend_.client()("FLUSHALL"); });
  drain();
  EXPECT_EQ(rows(), 3);
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
  EXPECT_EQ(buy_for(11, 19), 2);
  drain();
  EXPECT_EQ(rows(), 5);
  expect_audit_passes();
}

TEST_P(LostWritesTest, FlushedVouchersComeBackOneByOne) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 2)).ok());
  EXPECT_EQ(buy(2, 7), Outcome::kAccepted);
  drain();
  backend_.client()("FLUSHALL");
  EXPECT_EQ(buy(1, 7), Outcome::kAccepted);
  EXPECT_EQ(buy(2, 7), Outcome::kLimitReached);
  EXPECT_EQ(buy(3, 7), Outcome::kUnknownVoucher);
  drain();
  expect_audit_passes();
}

TEST_P(LostWritesTest, UnknownVoucherCostsNoDatabaseRead) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  backend_.orders().fail_reads();
  EXPECT_EQ(buy(77, 1), Outcome::kUnknownVoucher);
  backend_.orders().fail_reads(absl::OkStatus());
}

}  // namespace
}  // namespace rushgate
