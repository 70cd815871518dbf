// Decisions on purchases, on every backend.
#include <gmock/gmock.h>

#include "engine/core/base/time_units.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/stores/order_ids.h"
#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

class BuyingTest : public SaleTest {};
INSTANTIATE_TEST_SUITE_P(Backends, BuyingTest, each_backend(), backend_name);

TEST_P(BuyingTest, ExactlyStockIsAccepted) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(buy(1, 101), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 102), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 103), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 104), Outcome::kSoldOut);
}

TEST_P(BuyingTest, ShortMemoryPreventsWholePurchase) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 1)).ok());
  EXPECT_EQ(buy(1, 101), Outcome::kAccepted);
  drain();
  EXPECT_EQ(buy(2, 101), Outcome::kAccepted);
  Client& client = backend_.client();
  ASSERT_EQ(client("CONFIG", "SET", "maxmemory", 1), Reply::ok());

  const BuyResult refused = sale_->buy(1, 102);
  EXPECT_EQ(refused.outcome, Outcome::kOverloaded);
  EXPECT_THAT(refused.detail, ::testing::HasSubstr("OOM"));
  EXPECT_EQ(sale_->buy(1, 102, "request").outcome, Outcome::kOverloaded);
  const std::vector<BuyRequest> requests = {{1, 102, ""}, {1, 101, ""}, {1, 103, ""}};
  const std::vector<BuyResult> results = sale_->buy_all(requests);
  EXPECT_EQ(results[0].outcome, Outcome::kOverloaded);
  EXPECT_EQ(results[1].outcome, Outcome::kLimitReached);
  EXPECT_EQ(results[2].outcome, Outcome::kOverloaded);
  EXPECT_EQ(buy(2, 102), Outcome::kSoldOut) << "what takes no memory is told";
  expect_audit_passes();
  drain();
  const auto orders = sale_->orders_of(101);
  ASSERT_TRUE(orders.ok());
  for (const OrderState& order : *orders) EXPECT_EQ(order.location, OrderLocation::kStored);

  ASSERT_EQ(client("CONFIG", "SET", "maxmemory", 0), Reply::ok());
  EXPECT_EQ(buy(1, 102, "request"), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 103), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 104), Outcome::kSoldOut);
  drain();
  expect_audit_passes();
}

TEST_P(BuyingTest, FirstWorkerStoresWhileMemoryIsShort) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const OrderId order = sale_->buy(1, 101).order;
  ASSERT_EQ(backend_.client()("CONFIG", "SET", "maxmemory", 1), Reply::ok());
  drain();  // it makes the workers' group
  EXPECT_EQ(sale_->status(order).value().location, OrderLocation::kStored);
  ASSERT_EQ(backend_.client()("CONFIG", "SET", "maxmemory", 0), Reply::ok());
  expect_audit_passes();
}

TEST_P(BuyingTest, UnpublishedVoucherIsUnknown) { EXPECT_EQ(buy(77, 1), Outcome::kUnknownVoucher); }

TEST_P(BuyingTest, PurchasesOutsideWindowAreRefused) {
  Voucher early = voucher(1, 10);
  early.begin_ms = backend_.clock().now_ms() + 3'600'000;
  ASSERT_TRUE(sale_->publish(early).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kNotStarted);
  Voucher late = voucher(2, 10);
  late.end_ms = backend_.clock().now_ms();
  ASSERT_TRUE(sale_->publish(late).ok());
  EXPECT_EQ(buy(2, 1), Outcome::kEnded);
}

TEST_P(BuyingTest, UserLimitIsKept) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 1})).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 10, {.per_user = 3})).ok());
  ASSERT_TRUE(sale_->publish(voucher(3, 10, {.per_user = 0})).ok());
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kLimitReached);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(buy(2, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(2, 5), Outcome::kLimitReached);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(buy(3, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(3, 5), Outcome::kSoldOut);
}

TEST_P(BuyingTest, TotalLimitEndsSaleBeforeStock) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.total = 2, .per_user = 1})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 3), Outcome::kSoldOut);
}

TEST_P(BuyingTest, DailyLimitOfUserIsKept) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 5, .per_user_day = 2})).ok());
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kDayLimitReached);
}

TEST_P(BuyingTest, DayLimitEndsWithDay) {
  Voucher daily = voucher(1, 10, {.per_user = 5, .per_user_day = 2});
  daily.end_ms += 30 * kDayMs;
  ASSERT_TRUE(sale_->publish(daily).ok());
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kDayLimitReached);
  backend_.advance_ms(kDayMs);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kDayLimitReached);
  backend_.advance_ms(kDayMs);
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kLimitReached) << "five over the whole sale";
}

TEST_P(BuyingTest, ClockBackOverMidnightStartsNoDay) {
  Voucher daily = voucher(1, 20, {.per_user = 9, .per_user_day = 2});
  daily.begin_ms = 0;
  daily.end_ms += 30 * kDayMs;
  ASSERT_TRUE(sale_->publish(daily).ok());
  const std::int64_t midnight_ms = (backend_.clock().now_ms() / kDayMs + 1) * kDayMs;
  const auto buy_at = [&](std::int64_t now_ms) {
    backend_.set_now_ms(now_ms);
    return buy(1, 5);
  };
  EXPECT_EQ(buy_at(midnight_ms + 1), Outcome::kAccepted);
  EXPECT_EQ(buy_at(midnight_ms - 1), Outcome::kAccepted);
  EXPECT_EQ(buy_at(midnight_ms - 1), Outcome::kDayLimitReached);
  EXPECT_EQ(buy_at(midnight_ms + 2), Outcome::kDayLimitReached);
  const std::vector<BuyRequest> requests = {{1, 5, ""}, {1, 6, ""}, {1, 6, ""}, {1, 6, ""}};
  const std::vector<BuyResult> results = sale_->buy_all(requests);
  EXPECT_EQ(results[0].outcome, Outcome::kDayLimitReached);
  EXPECT_EQ(results[2].outcome, Outcome::kAccepted);
  EXPECT_EQ(results[3].outcome, Outcome::kDayLimitReached);
  EXPECT_EQ(buy_at(midnight_ms + kDayMs), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

TEST_P(BuyingTest, UtcOffsetDeterminesBeginOfDay) {
  // With an offset of +100 minutes, 22:13:20 UTC is shortly before midnight.
  constexpr std::int32_t kOffset = 100;  // local time 23:53:20
  ASSERT_TRUE(sale_
                  ->publish(voucher(
                      1, 10, {.per_user = 0, .per_user_day = 1, .utc_offset_minutes = kOffset}))
                  .ok());
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kDayLimitReached);
  backend_.advance_ms(400'000);  // 00:00:00 local time
  EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
}

TEST_P(BuyingTest, RepeatedRequestGetsSameReply) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1)).ok());
  const BuyResult first = sale_->buy(1, 7, "click");
  const BuyResult again = sale_->buy(1, 7, "click");
  EXPECT_EQ(first.outcome, Outcome::kAccepted);
  EXPECT_EQ(again.outcome, Outcome::kAccepted);
  EXPECT_EQ(again.order, first.order);
  EXPECT_EQ(buy(1, 8, "other"), Outcome::kSoldOut);
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 8, "other"), Outcome::kAccepted) << "a refusal is not kept";
}

TEST_P(BuyingTest, RefusedRequestIsDecidedAgain) {
  ASSERT_TRUE(sale_->publish(voucher(1, 0)).ok());
  EXPECT_EQ(buy(1, 1, "click"), Outcome::kSoldOut);
  ASSERT_TRUE(sale_->add_stock(1, 1).ok());
  EXPECT_EQ(buy(1, 1, "click"), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 1, "click"), Outcome::kAccepted) << "the same order";
  drain();
  expect_audit_passes();
}

TEST_P(BuyingTest, InvalidStoredValueChangesNothing) {
  ASSERT_TRUE(sale_->publish(voucher(1, 9, {.total = 8, .per_user = 0})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  Client& client = backend_.client();
  const auto expect_refused = [&](const char* key, const Request& spoil) {
    const auto state = [&] {
      return std::vector<Reply>{client("XLEN", "stream.orders"), client("GET", "seckill:stock:1"),
                                client("HGET", "seckill:order:1", 1)};
    };
    const std::vector<Reply> before = state();
    client("RENAME", key, "kept");
    client("COPY", "kept", key);
    ASSERT_FALSE(client.call(spoil).is_error());
    for (const char* idempotency_key : {"", "click"}) {
      EXPECT_EQ(sale_->buy(1, 2, idempotency_key).outcome, Outcome::kFailed) << key;
    }
    const std::vector<BuyRequest> requests = {{1, 2, ""}, {1, 2, ""}};
    for (const BuyResult& result : sale_->buy_all(requests)) {
      EXPECT_EQ(result.outcome, Outcome::kFailed) << key;
    }
    client("RENAME", "kept", key);
    EXPECT_EQ(state(), before) << key;
  };
  expect_refused("seckill:stock:1", Request::of("SET", "seckill:stock:1", "3.5"));
  expect_refused("seckill:stock:1", Request::of("SET", "seckill:stock:1", "007"));
  expect_refused("seckill:stock:1", Request::of("SET", "seckill:stock:1", "9223372036854775808"));
  expect_refused("seckill:voucher:1", Request::of("HSET", "seckill:voucher:1", "admitted", "1.5"));
  expect_refused("seckill:order:1", Request::of("SET", "seckill:order:1", "no hash"));
  expect_refused("seckill:order:1", Request::of("HSET", "seckill:order:1", 2, "1.5"));
  expect_refused("stream.orders", Request::of("SET", "stream.orders", "no stream"));
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  drain();
  expect_audit_passes();
}

TEST_P(BuyingTest, IdempotencyKeyOfOtherUserIsError) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy(1, 7, "click"), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 8, "click"), Outcome::kKeyReused);
}

TEST_P(BuyingTest, IdempotencyKeyOfOtherVoucherIsError) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 1)).ok());
  const BuyResult first = sale_->buy(1, 7, "click");
  EXPECT_EQ(first.outcome, Outcome::kAccepted);
  EXPECT_EQ(buy(2, 7, "click"), Outcome::kKeyReused);
  EXPECT_EQ(buy(3, 7, "click"), Outcome::kKeyReused) << "though there is no such voucher";
  const std::vector<BuyRequest> batch = {{2, 7, "click"}, {1, 7, "click"}, {2, 8, "other"}};
  const std::vector<BuyResult> results = sale_->buy_all(batch);
  EXPECT_EQ(results[0].outcome, Outcome::kKeyReused);
  EXPECT_EQ(results[1].order, first.order) << "the first answer still holds";
  EXPECT_EQ(results[2].outcome, Outcome::kAccepted) << "voucher 2 had one, and has it still";
}

TEST_P(BuyingTest, ResultIsKeptUnderKeyAsConfigured) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  const BuyResult first = sale_->buy(1, 7, "click");
  Client& client = backend_.client();
  EXPECT_EQ(client("GET", "seckill:request:click"),
            Reply::bulk("7 1 0 " + std::to_string(first.order)));
  const std::int64_t left_ms = client("PTTL", "seckill:request:click").integer();
  EXPECT_GT(left_ms, 0);
  EXPECT_LE(left_ms, sale_->options().request_ttl_ms);
}

TEST_P(BuyingTest, ResultsAreKeptForBoundedTime) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1)).ok());
  EXPECT_EQ(buy(1, 7, "click"), Outcome::kAccepted);
  backend_.advance_ms(sale_->options().request_ttl_ms + 1);  // a key lasts 1 ms longer
  EXPECT_EQ(buy(1, 7, "click"), Outcome::kEnded)
      << "the answer is forgotten: this is a new request";
}

TEST_P(BuyingTest, BatchIsDecidedInOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  const std::vector<BuyRequest> requests = {{1, 1}, {1, 1}, {9, 1}, {1, 2}, {1, 3}};
  std::vector<Outcome> outcomes;
  for (const BuyResult& result : sale_->buy_all(requests)) outcomes.push_back(result.outcome);
  EXPECT_EQ(outcomes, (std::vector<Outcome>{Outcome::kAccepted, Outcome::kLimitReached,
                                            Outcome::kUnknownVoucher, Outcome::kAccepted,
                                            Outcome::kSoldOut}));
}

TEST_P(BuyingTest, OrderIdsAscendAndAreUnique) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5'000)).ok());
  OrderId last = 0;
  for (std::int64_t user = 1; user <= 3'000; ++user) {
    const BuyResult result = sale_->buy(1, user);
    ASSERT_GT(result.order, last);
    last = result.order;
  }
}

// ---- Changing a voucher ----

TEST_P(BuyingTest, RepeatedPublicationChangesNothing) {
  const Voucher same = voucher(1, 2);
  ASSERT_TRUE(sale_->publish(same).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  ASSERT_TRUE(sale_->publish(same).ok());
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 3), Outcome::kSoldOut);
}

TEST_P(BuyingTest, AddedStockKeepsBuyers) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 3), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 4), Outcome::kSoldOut);
  expect_audit_passes();
}

TEST_P(BuyingTest, StockBelowSoldIsRefused) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  const absl::Status refused = sale_->publish(voucher(1, 1));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(buy(1, 3), Outcome::kAccepted) << "the refused change left everything as it was";
  EXPECT_TRUE(sale_->publish(voucher(1, 3)).ok());
  expect_audit_passes();
}

TEST_P(BuyingTest, InvalidVoucherIsNamed) {
  Voucher wrong = voucher(1, -5);
  const absl::Status refused = sale_->publish(wrong);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("stock"));
}

TEST_P(BuyingTest, ChangedLimitKeepsPurchases) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 1})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 3})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.total = 6, .per_user = 1})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 3), Outcome::kAccepted);
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.total = 6, .per_user = 4})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted) << "his fourth: the three he had were kept";
  EXPECT_EQ(buy(1, 4), Outcome::kSoldOut) << "six in all";
  drain();
  expect_audit_passes();
}

TEST_P(BuyingTest, LimitOneRestoresBuyersSet) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 2})).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  EXPECT_EQ(backend_.client()("TYPE", "seckill:order:1"), Reply::status("hash"));
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 1})).ok());
  EXPECT_EQ(backend_.client()("TYPE", "seckill:order:1"), Reply::status("set"));
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(BuyingTest, InterruptedPublicationCompletesAtOpen) {
  const Voucher first = voucher(1, 2);
  ASSERT_TRUE(backend_.orders()
                  .record_pending({.voucher = first,
                                   .version = 1,
                                   .state = VoucherVersion::State::kPending,
                                   .reason = {}})
                  .ok());
  restart();
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  const auto applied = backend_.orders().applied(1);
  ASSERT_TRUE(applied.ok() && applied->has_value());
  EXPECT_EQ((*applied)->voucher, first);
}

TEST_P(BuyingTest, UnrecordedPublicationIsNotAppliedTwice) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  backend_.orders().fail_voucher_writes();
  EXPECT_FALSE(sale_->publish(voucher(1, 5)).ok()) << "not even recorded";
  backend_.orders().fail_voucher_writes(absl::OkStatus());
  // Recorded and in force, but not confirmed:
  const Voucher grown = voucher(1, 5);
  ASSERT_TRUE(sale_->publish(grown).ok());
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:1"), Reply::bulk("4"));
  restart();
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:1"), Reply::bulk("4"));
  expect_audit_passes();
}

// ---- Outcomes of failures ----

TEST_P(BuyingTest, SaleRegistersNativeScripts) {
  SaleBackend fresh(*GetParam());
  const auto script = [&] {
    return std::string(fresh.client().script_request(admission_script(), {}, {})[0]);
  };
  EXPECT_EQ(script(), "EVALSHA");
  const bool is_native = fresh.keyspace().capabilities().runs_native_scripts;
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(Sale::open(fresh.keyspace(), fresh.orders()).ok());
    EXPECT_EQ(script(), is_native ? "FCALL" : "EVALSHA");
  }
}

TEST_P(BuyingTest, RefusedRequestsUseNoIds) {
  Voucher with_list = voucher(1, 1);
  with_list.waiting_max = 1;
  ASSERT_TRUE(sale_->publish(with_list).ok());
  const BuyResult first = sale_->buy(1, 1, "key");
  ASSERT_EQ(first.outcome, Outcome::kAccepted);
  ASSERT_EQ(sale_->wait_for(1, 2).outcome, WaitOutcome::kWaiting);

  const std::vector<BuyRequest> crowd(200, {.voucher = 1, .user = 7});
  for (int second = 0; second < 5; ++second) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(sale_->buy_all(crowd).front().outcome, Outcome::kSoldOut);
      EXPECT_EQ(buy(1, 1), Outcome::kSoldOut);
      EXPECT_TRUE(sale_->buy(1, 1, "key").is_repeated);
      EXPECT_EQ(buy(9, 1), Outcome::kUnknownVoucher);
      EXPECT_EQ(sale_->wait_for(1, 3).outcome, WaitOutcome::kFull);
    }
    backend_.advance_ms(1'000);
  }
  ASSERT_TRUE(sale_->publish(voucher(2, 1)).ok());
  const BuyResult next = sale_->buy(2, 1);

  ASSERT_EQ(next.outcome, Outcome::kAccepted);
  constexpr std::int64_t kInFlight = 201;  // lost with each second
  EXPECT_LE(kOrderIdLayout.counter_of(next.order) - kOrderIdLayout.counter_of(first.order),
            6 * kInFlight);
}

TEST_P(BuyingTest, OverloadedRequestsUseNoIds) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 5)).ok());
  const OrderId first = sale_->buy(1, 1).order;
  backend_.client()("DEL", SaleKeys{}.stock(2));
  backend_.orders().fail_reads();
  EXPECT_EQ(sale_->buy(2, 1).outcome, Outcome::kOverloaded);
  for (const BuyResult& result : sale_->buy_all(std::vector<BuyRequest>{{2, 2}, {2, 3}})) {
    EXPECT_EQ(result.outcome, Outcome::kOverloaded);
  }
  backend_.orders().fail_reads(absl::OkStatus());
  EXPECT_EQ(sale_->buy(1, 2).order, first + 1);
}

TEST_P(BuyingTest, ClosedBackendIsUnavailable) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  ASSERT_EQ(buy(1, 1), Outcome::kAccepted);
  worker_.reset();
  backend_.close();
  const BuyResult closed = sale_->buy(1, 2);
  EXPECT_EQ(closed.outcome, Outcome::kUnavailable);
  EXPECT_THAT(closed.detail, ::testing::HasSubstr("CLOSED"));
}

TEST_P(BuyingTest, ClosedBackendWithoutIdsIsUnavailable) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  worker_.reset();
  sale_ = *Sale::open(backend_.keyspace(), backend_.orders(), {.id_block_size = 1});
  backend_.close();
  const BuyResult closed = sale_->buy(1, 1);
  EXPECT_EQ(closed.outcome, Outcome::kUnavailable);
  EXPECT_THAT(closed.detail, ::testing::HasSubstr("drawing ids: CLOSED"));
}

/// Uses the embedded engine, whose store can be made to fail. A server that does not reply in time
/// gives the same outcome (redis_losses_test.cc, PausedServerOutcomeIsResolvedByKey).
TEST(BuyingOutcomeTest, UnknownOutcomeHasOrderId) {
  ManualClock clock;
  MemoryOrderStore orders;
  auto kept = std::make_unique<faults::FaultyStore>(std::make_unique<MemoryStore>());
  faults::FaultyStore& store = *kept;
  const auto engine = *Engine::open(std::move(kept), {.manual_clock = &clock});
  const auto sale = *Sale::open(*engine, orders);
  ASSERT_TRUE(sale->publish({.id = 1, .stock = 5, .end_ms = 2 * ManualClock::kStartMs}).ok());
  ASSERT_EQ(sale->buy(1, 1).outcome, Outcome::kAccepted);
  store.fail_commit(1, faults::FaultyStore::Kept::kNo);
  const BuyResult unknown = sale->buy(1, 2);
  EXPECT_EQ(unknown.outcome, Outcome::kOutcomeUnknown);
  EXPECT_GT(unknown.order, 0);
  EXPECT_EQ(sale->status(unknown.order)->location, OrderLocation::kUnknown) << "it was undone";
}

}  // namespace
}  // namespace rushgate
