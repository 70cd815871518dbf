// Look-ups of vouchers through the cache.
#include "engine/sale/vouchers/voucher_cache.h"

#include <gtest/gtest.h>

#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

class VoucherCacheTest : public SaleTest {
 protected:
  VoucherCacheTest() : sales_(open(backend_.keyspace())) {}

  std::unique_ptr<Sale> open(Backend& keyspace) {
    auto sale = Sale::open(keyspace, backend_.orders(), {.voucher_copies_max = 100});
    EXPECT_TRUE(sale.ok()) << sale.status();
    return *std::move(sale);
  }
  static std::int64_t stock_of(Sale& sale) {
    const auto version = sale.voucher(1);
    EXPECT_TRUE(version.ok()) << version.status();
    return version.ok() && *version ? (*version)->voucher.stock : -1;
  }
  void fail_database(bool fails) {
    backend_.orders().fail_reads(fails ? absl::UnavailableError("no database") : absl::OkStatus());
  }

  const std::unique_ptr<Sale> sales_;
};
INSTANTIATE_TEST_SUITE_P(Backends, VoucherCacheTest, each_backend(), backend_name);

TEST_P(VoucherCacheTest, SecondLookupReadsNoDatabase) {
  Voucher published = voucher(1, 3);
  published.title = "Two words,\nand a line: \xf0\x9f\x8e\xab";
  published.price_cents = 1'250;
  published.limits = {.total = 2, .per_user = 2, .per_user_day = 1, .utc_offset_minutes = -330};
  ASSERT_TRUE(sales_->publish(published).ok());
  const auto first = sales_->voucher(1);
  fail_database(true);
  const auto second = sales_->voucher(1);
  fail_database(false);
  for (const auto& version : {first, second}) {
    ASSERT_TRUE(version.ok()) << version.status();
    EXPECT_EQ((*version)->voucher, published);
    EXPECT_EQ((*version)->version, 1);
    EXPECT_EQ((*version)->state, VoucherVersion::State::kApplied);
  }
}

TEST_P(VoucherCacheTest, RepublishedVoucherIsSeen) {
  EXPECT_EQ(stock_of(*sales_), -1) << "not on sale, which is cached too";
  for (const std::int64_t stock : {3, 5, 4}) {
    ASSERT_TRUE(sales_->publish(voucher(1, stock)).ok());
    EXPECT_EQ(stock_of(*sales_), stock);
    EXPECT_EQ(stock_of(*sales_), stock);
  }
  ASSERT_TRUE(sales_->add_stock(1, 6).ok());
  EXPECT_EQ(stock_of(*sales_), 10);
  ASSERT_TRUE(sales_->close(1).ok());
  EXPECT_LE(sales_->voucher(1).value()->voucher.end_ms, backend_.clock().now_ms());
}

TEST_P(VoucherCacheTest, ForeignPublicationIsSeen) {
  const auto keyspace = backend_.open_another();
  const auto other = open(*keyspace);
  ASSERT_TRUE(sales_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(stock_of(*sales_), 3);
  EXPECT_EQ(stock_of(*other), 3);
  ASSERT_TRUE(other->publish(voucher(1, 7)).ok());
  EXPECT_EQ(stock_of(*other), 7);
  while (backend_.kind().is_server && stock_of(*sales_) != 7) {  // its message takes a while
  }
  EXPECT_EQ(stock_of(*sales_), 7);
}

TEST_P(VoucherCacheTest, PublicationRepeatedAfterFailureIsSeen) {
  ASSERT_TRUE(sales_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(stock_of(*sales_), 3);
  backend_.orders().fail_voucher_writes(absl::UnavailableError("no database"));
  EXPECT_FALSE(sales_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(stock_of(*sales_), 3);
  backend_.orders().fail_voucher_writes(absl::OkStatus());
  ASSERT_TRUE(sales_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(stock_of(*sales_), 5);
}

TEST_P(VoucherCacheTest, FailingCacheIsBypassed) {
  ASSERT_TRUE(sales_->publish(voucher(1, 3)).ok());
  Client& client = backend_.client();
  client("HSET", "seckill:cache:voucher:1", "not", "a string");
  EXPECT_EQ(stock_of(*sales_), 3);
  for (const char* text : {"nonsense", "1 2 3", "2 1 1 9 0 1 0 0 1 0 0 later format",
                           "1 1 2 9 0 1 0 0 1 0 0 another voucher"}) {
    client("DEL", "seckill:cache:voucher:1");
    client("SET", "seckill:cache:voucher:1", text);
    const auto fresh = open(backend_.keyspace());
    EXPECT_EQ(stock_of(*fresh), 3) << text;
  }
}

TEST_P(VoucherCacheTest, OldVersionExpires) {
  if (backend_.kind().is_server) return;  // the clock of the copies is manual
  ASSERT_TRUE(sales_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(stock_of(*sales_), 3);
  const auto without = Sale::open(backend_.keyspace(), backend_.orders());
  ASSERT_TRUE((*without)->publish(voucher(1, 4)).ok());  // its message was never sent
  EXPECT_EQ(stock_of(*sales_), 3);
  backend_.advance_ms(VoucherCache::kTtlMs + 10'000);
  EXPECT_EQ(stock_of(*sales_), 4);
}

}  // namespace
}  // namespace rushgate
