// Publications that conflict with another sale, fail, or convert many buyers.
#include <sstream>

#include <gmock/gmock.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text_of(const absl::Status& status) { return std::string(status.message()); }

class PublishingTest : public SaleTest {
 protected:
  std::unique_ptr<Sale> open_sale(OrderStore& orders, SaleOptions options = {}) {
    auto sale = Sale::open(backend_.keyspace(), orders, std::move(options));
    EXPECT_TRUE(sale.ok()) << sale.status();
    return *std::move(sale);
  }
  Reply stock(VoucherId id) { return backend_.client()("GET", SaleKeys{}.stock(id)); }
};
INSTANTIATE_TEST_SUITE_P(Backends, PublishingTest, each_backend(), backend_name);

// ---- A keyspace that is ahead of its database ----

TEST_P(PublishingTest, VersionOfOtherHistoryIsNamed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  backend_.client()("HSET", "seckill:voucher:1", "version", 2, "per_user", 2);
  for (int again = 0; again < 2; ++again) {
    const absl::Status refused = sale_->publish(voucher(1, 7));
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(text_of(refused),
                AllOf(HasSubstr("voucher 1, version 2"), HasSubstr("stock 3 there, 7 here"),
                      HasSubstr("limit per user 2 there, 1 here")));
  }
  EXPECT_TRUE(sale_->publish(voucher(2, 5)).ok()) << "others are not in its way";
  EXPECT_EQ(stock(1), Reply::bulk("3"));
}

TEST_P(PublishingTest, LaterVersionOfOtherHistoryIsNamed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  backend_.client()("HSET", "seckill:voucher:1", "version", 3);
  const absl::Status refused = sale_->publish(voucher(1, 4));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(text_of(refused), HasSubstr("version 3 there, 2 here"));
}

// ---- Terms of an earlier Rushgate ----

TEST_P(PublishingTest, VoucherWithOffsetOfNoPlaceIsSold) {
  Voucher old = voucher(1, 2);
  old.limits.per_user_day = 1;
  old.limits.utc_offset_minutes = 1'000;
  EXPECT_THAT(text_of(sale_->publish(old)), HasSubstr("not 1000"));
  ASSERT_TRUE(backend_.orders().record_pending({.voucher = old, .version = 1}).ok());
  const auto sale = open_sale(backend_.orders());
  EXPECT_EQ(sale->buy(1, 1).outcome, Outcome::kAccepted);
  EXPECT_EQ(sale->add_stock(1, 5), absl::OkStatus());
  old.stock = 7;
  for (int again = 0; again < 2; ++again) EXPECT_EQ(sale->voucher(1).value()->voucher, old);
  EXPECT_TRUE(absl::IsInvalidArgument(sale->add_stock(1, -8)));
  const auto again_new = sale->publish_if_new(old);
  ASSERT_TRUE(again_new.ok()) << again_new.status();
  EXPECT_FALSE(*again_new);
  Voucher other = old;
  other.limits.utc_offset_minutes = 1'001;
  EXPECT_TRUE(absl::IsInvalidArgument(sale->publish_if_new(other).status()));
  EXPECT_EQ(sale->close(1), absl::OkStatus());
  EXPECT_EQ(sale->buy(1, 2).outcome, Outcome::kEnded);
}

// ---- Concurrent changes ----

TEST_P(PublishingTest, UnexpectedVersionIsRefused) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3), /*expected_version=*/0).ok());
  ASSERT_TRUE(sale_->publish(voucher(1, 4), 1).ok());
  const absl::Status refused = sale_->publish(voucher(1, 9), 1);
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_THAT(text_of(refused), HasSubstr("version 2 is in force, not 1"));
  EXPECT_TRUE(absl::IsAlreadyExists(sale_->publish(voucher(1, 9), 0)));
  EXPECT_EQ(sale_->voucher(1).value()->voucher.stock, 4);
  EXPECT_EQ(stock(1), Reply::bulk("4"));
}

TEST_P(PublishingTest, RestartedProgramKeepsAddedStock) {
  const auto first = sale_->publish_if_new(voucher(1, 3));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(*first);
  ASSERT_TRUE(sale_->add_stock(1, 5).ok());
  const auto restarted = open_sale(backend_.orders());
  const auto again = restarted->publish_if_new(voucher(1, 3));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(*again);
  EXPECT_EQ(stock(1), Reply::bulk("8"));
  EXPECT_EQ(restarted->voucher(1).value()->version, 2);
}

TEST_P(PublishingTest, InvalidNewVoucherIsRefused) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sale_->publish_if_new(voucher(1, -1)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(sale_->publish_if_new(voucher(2, -1)).status()));
  EXPECT_FALSE(sale_->voucher(2).value().has_value());
}

TEST_P(PublishingTest, ConcurrentAdditionsOfStockAreAllKept) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  const auto other = open_sale(backend_.orders());
  // Each time, the other sale publishes between this one's read and its record.
  int rounds = 3;
  bool is_inside = false;  // the other sale reads too
  backend_.orders().before_every_read([&] {
    if (is_inside || rounds-- <= 0) return;
    is_inside = true;
    EXPECT_TRUE(other->add_stock(1, 100).ok());
    is_inside = false;
  });
  ASSERT_TRUE(sale_->add_stock(1, 5).ok());
  backend_.orders().before_every_read(nullptr);
  EXPECT_EQ(sale_->voucher(1).value()->voucher.stock, 315);
  EXPECT_EQ(stock(1), Reply::bulk("315"));
  ASSERT_TRUE(sale_->add_stock(1, -15).ok());
  EXPECT_EQ(stock(1), Reply::bulk("300"));
}

TEST_P(PublishingTest, InvalidStockAdditionIsRefused) {
  EXPECT_TRUE(absl::IsNotFound(sale_->add_stock(1, 5)));
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_TRUE(absl::IsInvalidArgument(sale_->add_stock(1, -11)));
  EXPECT_TRUE(absl::IsFailedPrecondition(sale_->add_stock(1, -10))) << "one is sold";
  EXPECT_TRUE(
      absl::IsInvalidArgument(sale_->add_stock(1, std::numeric_limits<std::int64_t>::max())));
  EXPECT_EQ(stock(1), Reply::bulk("9"));
}

TEST_P(PublishingTest, TermsBeyondExactNumbersAreRefused) {
  constexpr std::int64_t kTooMany = 100'000'000'000'000'000;
  const Voucher wrong[] = {voucher(1, kTooMany), voucher(1, 5, {.total = kTooMany}),
                           voucher(1, 5, {.per_user = kTooMany}),
                           voucher(1, 5, {.per_user = 0, .per_user_day = kTooMany})};
  for (const Voucher& one : wrong) {
    const absl::Status refused = sale_->publish(one);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("not 100000000000000000"));
  }
}

TEST_P(PublishingTest, GreatestTermsAreExact) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  Voucher greatest = voucher(1, kMost, {.total = kMost, .per_user = kMost, .per_user_day = kMost});
  greatest.price_cents = 100'000'000'000;
  greatest.end_ms = kNeverEndsMs;
  ASSERT_TRUE(sale_->publish(greatest).ok());

  const BuyResult bought =
      sale_->buy({.voucher = 1, .user = 7, .quantity = BuyRequest::kQuantityMax});

  ASSERT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
  EXPECT_EQ(stock(1), Reply::bulk("999999990000"));
  drain();
  EXPECT_EQ(backend_.orders().find(bought.order).value()->limit, kMost);
  expect_audit_passes();
}

TEST_P(PublishingTest, ClosedSaleHasEnded) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  ASSERT_TRUE(sale_->close(1).ok());
  EXPECT_EQ(buy(1, 2), Outcome::kEnded);
  Voucher early = voucher(2, 10);
  early.begin_ms = backend_.clock().now_ms() + 3'600'000;
  ASSERT_TRUE(sale_->publish(early).ok());
  ASSERT_TRUE(sale_->close(2).ok());
  EXPECT_EQ(buy(2, 2), Outcome::kEnded);
  EXPECT_TRUE(absl::IsNotFound(sale_->close(3)));
  drain();
  expect_audit_passes();
}

// ---- A limit per day that is switched on ----

TEST_P(PublishingTest, NewLimitPerDayCountsEarlierOrders) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 5})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  drain();
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);  // queued
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 5, .per_user_day = 2})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kDayLimitReached);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kDayLimitReached);
  EXPECT_EQ(stock(1), Reply::bulk("6"));
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 5})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 5, .per_user_day = 3})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kDayLimitReached) << "bought while there was no limit per day";
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

TEST_P(PublishingTest, NewDailyLimitWithSmallStockIsRefused) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 5})).ok());
  for (std::int64_t user = 1; user <= 3; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      sale_->publish(voucher(1, 2, {.per_user = 5, .per_user_day = 1}))));
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(stock(1), Reply::bulk("6"));
}

// ---- Pending publications ----

TEST_P(PublishingTest, UnusableVoucherIsLoggedAndOthersLoad) {
  for (const VoucherId id : {1, 2, 3}) {
    ASSERT_TRUE(backend_.orders().record_pending({.voucher = voucher(id, 5), .version = 1}).ok());
  }
  backend_.client()("SET", "seckill:voucher:2", "not a hash");
  std::ostringstream log;
  const auto logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  const auto sale = open_sale(backend_.orders(), {.logger = logger});
  EXPECT_EQ(sale->buy(1, 1).outcome, Outcome::kAccepted);
  EXPECT_EQ(sale->buy(3, 1).outcome, Outcome::kAccepted);
  EXPECT_THAT(log.str(), AllOf(HasSubstr("version 1 of voucher 2"), HasSubstr("WRONGTYPE")));
  EXPECT_EQ(backend_.orders().pending()->size(), 1U) << "tried again at the next open";
}

TEST_P(PublishingTest, UnavailableStoreFailsOpening) {
  ASSERT_TRUE(backend_.orders().record_pending({.voucher = voucher(1, 5), .version = 1}).ok());
  backend_.orders().fail_voucher_writes();
  const auto sale = Sale::open(backend_.keyspace(), backend_.orders());
  EXPECT_TRUE(absl::IsUnavailable(sale.status())) << sale.status();
}

// ---- Many buyers ----

TEST_P(PublishingTest, BuyersAreConvertedInBatchesBothWays) {
  constexpr std::int64_t kBuyers = 2'345;
  ASSERT_TRUE(sale_->publish(voucher(1, kBuyers + 5)).ok());
  std::vector<BuyRequest> requests;
  for (std::int64_t user = 1; user <= kBuyers; ++user) requests.push_back({1, user});
  for (const BuyResult& result : sale_->buy_all(requests)) {
    ASSERT_EQ(result.outcome, Outcome::kAccepted);
  }
  ASSERT_TRUE(sale_->publish(voucher(1, kBuyers + 5, {.total = kBuyers + 2, .per_user = 2})).ok());
  EXPECT_EQ(backend_.client()("HLEN", "seckill:order:1"), Reply::integer(kBuyers));
  EXPECT_EQ(backend_.client()("HGET", "seckill:voucher:1", "admitted"),
            Reply::bulk(std::to_string(kBuyers)));
  ASSERT_TRUE(sale_->publish(voucher(1, kBuyers + 5, {.total = kBuyers + 2})).ok());
  EXPECT_EQ(backend_.client()("SCARD", "seckill:order:1"), Reply::integer(kBuyers));
  EXPECT_EQ(buy(1, kBuyers), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, kBuyers + 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, kBuyers + 2), Outcome::kAccepted);
  EXPECT_EQ(buy(1, kBuyers + 3), Outcome::kSoldOut) << "by the total limit";
  drain();
  expect_audit_passes();
}

TEST_P(PublishingTest, TooManyBuyersToConvertIsRefused) {
  const auto sale = open_sale(backend_.orders(), {.buyers_converted_max = 3});
  ASSERT_TRUE(sale->publish(voucher(1, 10)).ok());
  for (std::int64_t user = 1; user <= 4; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
  const absl::Status refused = sale->publish(voucher(1, 10, {.per_user = 2}));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(text_of(refused), AllOf(HasSubstr("has 4 buyers"), HasSubstr("more than 3")));
  EXPECT_EQ(buy(1, 4), Outcome::kLimitReached);
  EXPECT_TRUE(sale->publish(voucher(1, 11)).ok()) << "what converts nothing is not refused";
  EXPECT_EQ(stock(1), Reply::bulk("7"));
  drain();
  expect_audit_passes();
}

TEST_P(PublishingTest, CountedBuyersStayCountedUnderLimitOne) {
  const auto sale = open_sale(backend_.orders(), {.buyers_converted_max = 3});
  ASSERT_TRUE(sale->publish(voucher(1, 10, {.per_user = 2})).ok());
  for (std::int64_t user = 1; user <= 4; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
  ASSERT_TRUE(sale->publish(voucher(1, 10)).ok());
  EXPECT_EQ(backend_.client()("TYPE", "seckill:order:1"), Reply::status("hash"));
  EXPECT_EQ(buy(1, 4), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

/// A sale with 200,000 buyers, and scripts whose memory bound fits only a few thousand of them.
/// Only the embedded engine bounds the memory of scripts.
class ManyBuyersTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kBuyers = 200'000;
  static constexpr std::int64_t kStock = 300'000;

  ManyBuyersTest() { open(std::size_t{1} << 20); }

  void open(std::size_t script_memory_bytes_max) {
    engine_ = *Engine::open(
        std::make_unique<MemoryStore>(),
        {.manual_clock = &clock_, .script_memory_bytes_max = script_memory_bytes_max});
    client_ = engine_->open_client();
    sale_ = *Sale::open(*engine_, orders_);
  }

  absl::Status publish(std::int64_t stock, const Limits& limits) {
    return sale_->publish({.id = 1,
                           .stock = stock,
                           .begin_ms = 0,
                           .end_ms = ManualClock::kStartMs * 2,
                           .limits = limits});
  }

  /// Writes the state after every user bought one.
  void sell(bool counted) {
    constexpr std::int64_t kAtOnce = 10'000;
    for (std::int64_t user = 0; user < kBuyers;) {
      Request request = Request::of(counted ? "HSET" : "SADD", "seckill:order:1");
      for (std::int64_t i = 0; i < kAtOnce; ++i) {
        request.add(std::to_string(user++));
        if (counted) request.add("1");
      }
      ASSERT_FALSE(client_->call(std::move(request)).is_error());
    }
    (*client_)("DECRBY", "seckill:stock:1", kBuyers);
  }

  Reply in_voucher(std::string_view field) {
    return (*client_)("HGET", "seckill:voucher:1", field);
  }

  void expect_change_is_cheap(const Limits& from, const Limits& to) {
    ASSERT_TRUE(publish(kStock, from).ok());
    sell(from.per_user != 1);
    const absl::Status published = publish(kStock + 5, to);
    EXPECT_TRUE(published.ok()) << published;
    EXPECT_EQ(in_voucher("admitted"), Reply::bulk(std::to_string(kBuyers)));
    EXPECT_EQ((*client_)("GET", "seckill:stock:1"),
              Reply::bulk(std::to_string(kStock + 5 - kBuyers)));
  }

  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
  MemoryOrderStore orders_;
  std::unique_ptr<Sale> sale_;
};

TEST_F(ManyBuyersTest, ChangeKeepingSetReadsNoBuyers) {
  expect_change_is_cheap({.per_user = 1}, {.total = kBuyers + 7, .per_user = 1});
}

TEST_F(ManyBuyersTest, ChangeKeepingCountsReadsNoBuyers) {
  expect_change_is_cheap({.per_user = 2}, {.total = kBuyers + 7, .per_user = 0});
}

TEST_F(ManyBuyersTest, ConversionStaysWithinDocumentedMemory) {
  constexpr std::size_t kBytesPerBuyer = 150;  // VoucherBookOptions::buyers_converted_max
  open(kBytesPerBuyer * kBuyers);
  ASSERT_TRUE(publish(kStock, {.per_user = 1}).ok());
  sell(false);
  const absl::Status to_counts = publish(kStock, {.per_user = 2});
  EXPECT_TRUE(to_counts.ok()) << to_counts;
  EXPECT_EQ((*client_)("HLEN", "seckill:order:1"), Reply::integer(kBuyers));
  const absl::Status to_set = publish(kStock, {.per_user = 1});
  EXPECT_TRUE(to_set.ok()) << to_set;
  EXPECT_EQ((*client_)("SCARD", "seckill:order:1"), Reply::integer(kBuyers));
}

TEST_F(ManyBuyersTest, ConversionWithoutMemoryChangesNothing) {
  ASSERT_TRUE(publish(kStock, {.per_user = 1}).ok());
  sell(false);
  const absl::Status failed = publish(kStock + 5, {.per_user = 2});
  EXPECT_THAT(text_of(failed), HasSubstr("memory"));
  EXPECT_EQ(in_voucher("version"), Reply::bulk("1"));
  EXPECT_EQ((*client_)("SCARD", "seckill:order:1"), Reply::integer(kBuyers));
  EXPECT_EQ((*client_)("GET", "seckill:stock:1"), Reply::bulk(std::to_string(kStock - kBuyers)));
}

}  // namespace
}  // namespace rushgate
