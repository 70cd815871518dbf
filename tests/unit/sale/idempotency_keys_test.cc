// A request that is repeated with its idempotency key gets its order, whichever store was lost.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "engine/core/base/time_units.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "engine/sale/stream/unstored_orders.h"
#include "tests/conformance/field_scripts/field_scripts.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/archive_store.h>

namespace rushgate {
namespace {

constexpr int kRequests = 5;

class IdempotencyKeysTest : public SaleTest {
 protected:
  static std::string key_of(int request) { return "click " + std::to_string(request); }

  /// Buys voucher 1 for user 7, once with each key. Returns the orders.
  std::vector<OrderId> request_all(bool is_repeated) {
    std::vector<OrderId> orders;
    for (int request = 0; request < kRequests; ++request) {
      const BuyResult result = sale_->buy(1, 7, key_of(request));
      EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
      EXPECT_EQ(result.is_repeated, is_repeated);
      orders.push_back(result.order);
    }
    return orders;
  }

  /// Empties the keyspace. A Redis that restarts with nothing loses the same.
  void flush() {
    backend_.client()("FLUSHALL");
    backend_.advance_ms(1);
  }

  void publish_two() {
    ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
    ASSERT_TRUE(sale_->publish(voucher(2, 20, {.per_user = 0})).ok());
  }

  /// Publishes vouchers 1 and 2. Returns an order of voucher 1 with the key "click", which is stored.
  OrderId sell_and_drain() {
    publish_two();
    const BuyResult bought = sale_->buy(1, 7, "click");
    EXPECT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
    drain();
    return bought.order;
  }

  void expect_repetition_of(OrderId order) {
    const BuyResult again = sale_->buy(1, 7, "click");
    EXPECT_EQ(again.outcome, Outcome::kAccepted) << again.detail;
    EXPECT_EQ(again.order, order);
    EXPECT_TRUE(again.is_repeated);
  }

  /// Buys voucher 2 with the key of the stored order `first`, whose record is gone.
  void expect_second_order_is_dead(OrderId first) {
    const BuyResult second = sale_->buy(2, 7, "click");
    ASSERT_EQ(second.outcome, Outcome::kAccepted) << second.detail;
    drain();
    EXPECT_TRUE(backend_.orders().list({.voucher = 2})->empty());
    const OrderState state = sale_->status(second.order).value();
    EXPECT_EQ(state.location, OrderLocation::kDeadLetter);
    EXPECT_EQ(state.reason,
              "its idempotency key \"click\" belongs to order " + std::to_string(first));
    const std::string order = "order " + std::to_string(first);
    EXPECT_THAT(sale_->audit()->problems,
                ::testing::ElementsAre("voucher 1: " + order +
                                       " is not the order of its idempotency key, which has "
                                       "\"7 2 0 " +
                                       std::to_string(second.order) + "\""));
    EXPECT_THAT(sale_->repair()->repairs,
                ::testing::ElementsAre(order + ": restored its idempotency key"));
    expect_audit_passes();
    expect_repetition_of(first);
  }

  [[nodiscard]] std::size_t rows() { return backend_.orders().list({.voucher = 1}).value().size(); }

  /// Runs `happens` once, before the keys are read that a purchase restores.
  void when_keys_are_read(std::function<void()> happens) {
    backend_.orders().before_every_read([this, happens = std::move(happens), reads = 0]() mutable {
      constexpr int kReads = 2;  // after the loss was noted; the first is of the voucher's version
      const Reply lost = backend_.client()("EXISTS", SaleKeys{}.lost_requests());
      if (lost == Reply::integer(1) && ++reads == kReads) happens();
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, IdempotencyKeysTest, each_backend(), backend_name);

/// Excludes memory: such a keyspace has no older state to return to.
class RolledBackKeysTest : public IdempotencyKeysTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RolledBackKeysTest,
                         each_backend_that(&SaleBackendKind::can_roll_back), backend_name);

// ---- A lost keyspace --------------------------------------------------------------------------

TEST_P(IdempotencyKeysTest, RepetitionAfterFlushGetsItsOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const std::vector<OrderId> orders = request_all(/*is_repeated=*/false);
  drain();
  flush();
  EXPECT_EQ(request_all(/*is_repeated=*/true), orders);
  drain();
  EXPECT_EQ(rows(), orders.size());
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, RepetitionInNewProcessGetsItsOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const std::vector<OrderId> orders = request_all(/*is_repeated=*/false);
  drain();
  flush();
  restart();
  EXPECT_EQ(request_all(/*is_repeated=*/true), orders);
}

TEST_P(IdempotencyKeysTest, QueuedOrderIsFoundByItsKey) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const std::vector<OrderId> orders = request_all(/*is_repeated=*/false);
  for (int request = 0; request < kRequests; ++request) {
    backend_.client()("DEL", SaleKeys{}.request(key_of(request)));
  }
  backend_.client()("DEL", SaleKeys{}.stock(1));
  EXPECT_EQ(request_all(/*is_repeated=*/true), orders);
  drain();
  EXPECT_EQ(rows(), orders.size());
  expect_audit_passes();
}

TEST_P(RolledBackKeysTest, RepetitionAfterRollBackGetsItsOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  save();
  const std::vector<OrderId> orders = request_all(/*is_repeated=*/false);
  drain();
  roll_back();
  EXPECT_EQ(request_all(/*is_repeated=*/true), orders);
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, RepetitionAtLimitGetsItsOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20)).ok());
  const BuyResult first = sale_->buy(1, 7, "click");
  drain();
  flush();
  const BuyResult again = sale_->buy(1, 7, "click");
  EXPECT_EQ(again.outcome, Outcome::kAccepted);
  EXPECT_EQ(again.order, first.order);
  EXPECT_TRUE(again.is_repeated);
  EXPECT_EQ(buy(1, 7, "another click"), Outcome::kLimitReached);
}

TEST_P(IdempotencyKeysTest, OtherParametersAfterLossAreError) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyRequest request{.voucher = 1, .user = 7, .idempotency_key = "click", .quantity = 2};
  const BuyResult first = sale_->buy(request);
  drain();
  flush();
  BuyRequest other = request;
  other.quantity = 3;
  EXPECT_EQ(sale_->buy(other).outcome, Outcome::kKeyReused);
  EXPECT_EQ(buy(1, 8, "click"), Outcome::kKeyReused);
  EXPECT_EQ(sale_->buy(request).order, first.order);
}

TEST_P(IdempotencyKeysTest, CancelledOrderIsFoundAfterLoss) {
  Voucher paid = voucher(1, 20, {.per_user = 0});
  paid.payment_ms = 60'000;
  ASSERT_TRUE(sale_->publish(paid).ok());
  const BuyResult first = sale_->buy(1, 7, "click");
  EXPECT_EQ(sale_->cancel(first.order, "gone").outcome, ChangeOutcome::kDone);
  drain();
  flush();
  EXPECT_EQ(sale_->buy(1, 7, "click").order, first.order);
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, RestoredKeyExpiresWhenItWould) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  EXPECT_EQ(buy(1, 7, "click"), Outcome::kAccepted);
  drain();
  const std::string key = SaleKeys{}.request("click");
  const Reply record = backend_.client()("GET", key);
  const Reply expires = backend_.client()("PEXPIRETIME", key);
  flush();
  backend_.advance_ms(1'000);
  EXPECT_EQ(buy(1, 8), Outcome::kAccepted);
  EXPECT_EQ(backend_.client()("GET", key), record);
  EXPECT_EQ(backend_.client()("PEXPIRETIME", key), expires);
}

TEST_P(IdempotencyKeysTest, ExpiredKeyIsNotRestored) {
  Voucher longer = voucher(1, 20, {.per_user = 0});
  longer.end_ms += 2 * SaleOptions{}.request_ttl_ms;
  ASSERT_TRUE(sale_->publish(longer).ok());
  EXPECT_EQ(buy(1, 7, "click"), Outcome::kAccepted);
  drain();
  backend_.advance_ms(SaleOptions{}.request_ttl_ms + 1);
  flush();
  const BuyResult later = sale_->buy(1, 7, "click");
  EXPECT_EQ(later.outcome, Outcome::kAccepted);
  EXPECT_FALSE(later.is_repeated);
  drain();
  EXPECT_EQ(rows(), 2U);
  EXPECT_TRUE(sale_->dead_letters().value().empty());
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, RebuildRestoresManyKeys) {
  constexpr std::int64_t kMany = 2'500;  // more than one call of the script
  ASSERT_TRUE(sale_->publish(voucher(1, kMany)).ok());
  std::vector<BuyRequest> requests;
  for (std::int64_t user = 1; user <= kMany; ++user) {
    requests.push_back({.voucher = 1, .user = user, .idempotency_key = std::to_string(user)});
  }
  const std::vector<BuyResult> first = sale_->buy_all(requests);
  drain();
  flush();
  restart();
  const std::vector<BuyResult> again = sale_->buy_all(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(again[i].is_repeated) << i;
    ASSERT_EQ(again[i].order, first[i].order) << i;
  }
}

TEST_P(IdempotencyKeysTest, KeyOfAnotherTypeDelaysNoRebuild) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyResult bought = sale_->buy(1, 7, "click");
  const std::string key = SaleKeys{}.request("click");
  backend_.client()("DEL", key, SaleKeys{}.stock(1));
  backend_.client()("SADD", key, "x");
  EXPECT_EQ(buy(1, 8), Outcome::kAccepted);
  EXPECT_EQ(sale_->buy(1, 7, "click").order, bought.order);
}

// ---- Other vouchers after a loss --------------------------------------------------------------

TEST_P(IdempotencyKeysTest, KeyIsKnownToOtherVoucherAfterFlush) {
  const OrderId first = sell_and_drain();
  flush();
  EXPECT_EQ(buy(2, 7, "click"), Outcome::kKeyReused);
  EXPECT_EQ(buy(2, 8), Outcome::kAccepted);
  expect_repetition_of(first);
  EXPECT_EQ(buy(1, 8), Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, KeyIsKnownToNewVoucherAfterFlush) {
  sell_and_drain();
  flush();
  ASSERT_EQ(sale_->publish(voucher(3, 20)), absl::OkStatus());
  EXPECT_EQ(buy(3, 7, "click"), Outcome::kKeyReused);
}

TEST_P(IdempotencyKeysTest, KeyIsKnownToUnknownVoucherAfterFlush) {
  sell_and_drain();
  flush();
  EXPECT_EQ(buy(4, 7, "click"), Outcome::kKeyReused);
  EXPECT_EQ(buy(4, 7, "clack"), Outcome::kUnknownVoucher);
}

TEST_P(RolledBackKeysTest, KeyOutlivesRollBackForOtherVoucher) {
  publish_two();
  save();
  const BuyResult stored = sale_->buy(1, 7, "click");
  drain();
  roll_back();
  EXPECT_EQ(buy(2, 7, "click"), Outcome::kKeyReused);
  expect_repetition_of(stored.order);
}

/// The older keyspace has the queued order, and not its key.
TEST_P(RolledBackKeysTest, QueuedOrderKeepsItsKeyAfterRollBack) {
  publish_two();
  const BuyResult queued = sale_->buy(1, 7, "click");
  backend_.client()("DEL", SaleKeys{}.request("click"));
  save();
  ASSERT_TRUE(sale_->publish(voucher(3, 20)).ok());  // raises the checkpoint
  roll_back();
  EXPECT_EQ(buy(2, 7, "click"), Outcome::kKeyReused);
  expect_repetition_of(queued.order);
}

TEST_P(IdempotencyKeysTest, VoucherStaysClosedUntilKeysAreRestored) {
  const OrderId first = sell_and_drain();
  flush();
  when_keys_are_read([this] { backend_.orders().fail_reads(); });
  EXPECT_EQ(sale_->buy(2, 7, "click").outcome, Outcome::kOverloaded);
  EXPECT_EQ(backend_.client()("EXISTS", SaleKeys{}.stock(2)), Reply::integer(0));
  backend_.orders().fail_reads(absl::OkStatus());
  EXPECT_EQ(buy(2, 7, "click"), Outcome::kKeyReused);
  expect_repetition_of(first);
}

TEST_P(IdempotencyKeysTest, SecondLossDuringRestoringIsNoticed) {
  const OrderId first = sell_and_drain();
  flush();
  when_keys_are_read([this] { backend_.client()("FLUSHALL"); });
  EXPECT_EQ(sale_->buy(2, 7, "click").outcome, Outcome::kOverloaded);
  EXPECT_EQ(buy(2, 7, "click"), Outcome::kKeyReused);
  expect_repetition_of(first);
}

/// As a keyspace that was rolled back between two portions.
TEST_P(IdempotencyKeysTest, LostPortionEndsNoRestoring) {
  Client& client = backend_.client();
  const std::string mark = SaleKeys{}.lost_requests();
  const std::vector<std::string_view> keys = {mark};
  const auto finish = [&](std::string_view portions) {
    const std::vector<std::string_view> arguments = {"a loss", "somebody", portions};
    return client.run(voucher_scripts::finish_requests(), keys, arguments);
  };
  client("HSET", mark, "loss", "a loss");
  const std::vector<std::string_view> portion = {"a loss", "somebody"};
  client.run(voucher_scripts::restore_requests(), keys, portion);
  EXPECT_EQ(finish("2"), Reply::array({Reply::integer(voucher_scripts::kLostTheRebuild)}));
  EXPECT_EQ(finish("1"), Reply::array({Reply::integer(voucher_scripts::kDone)}));
  EXPECT_EQ(client("EXISTS", mark), Reply::integer(0));
}

TEST_P(IdempotencyKeysTest, ArchivedKeyIsRestored) {
  const OrderId first = sell_and_drain();
  ASSERT_TRUE(sale_->close(1).ok());
  ASSERT_EQ(sale_->archive(1), absl::OkStatus());
  flush();
  expect_repetition_of(first);
  flush();
  EXPECT_EQ(buy(2, 7, "click"), Outcome::kKeyReused);
  flush();
  restart();
  expect_repetition_of(first);
  EXPECT_EQ(buy(1, 7, "clack"), Outcome::kUnknownVoucher);
}

TEST_P(IdempotencyKeysTest, ExpiredArchivedKeyIsNotRestored) {
  sell_and_drain();
  ASSERT_TRUE(sale_->close(1).ok());
  ASSERT_EQ(sale_->archive(1), absl::OkStatus());
  backend_.advance_ms(SaleOptions{}.request_ttl_ms + 1);
  flush();
  EXPECT_EQ(buy(1, 7, "click"), Outcome::kUnknownVoucher);
  EXPECT_EQ(backend_.client()("EXISTS", SaleKeys{}.request("click")), Reply::integer(0));
}

/// Nothing could restore it.
TEST_P(IdempotencyKeysTest, MarkWithoutLossClosesNoVoucher) {
  backend_.client()("HSET", SaleKeys{}.lost_requests(), "somebody", 1);
  ASSERT_EQ(sale_->publish(voucher(1, 5)), absl::OkStatus());
  backend_.client()("DEL", SaleKeys{}.stock(1));
  EXPECT_EQ(buy(1, 7, "click"), Outcome::kAccepted);
}

TEST_P(IdempotencyKeysTest, UnknownVoucherWaitsForNoChange) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  const OrderId first = sale_->buy(1, 1).order;
  int met = 0;
  backend_.orders().before_every_read([&] {
    if (++met > 1) return;
    EXPECT_EQ(buy(99, 1, "click"), Outcome::kUnknownVoucher);
  });
  ASSERT_TRUE(sale_->publish(voucher(2, 5)).ok());
  backend_.orders().before_every_read({});
  EXPECT_GT(met, 0);
  EXPECT_EQ(sale_->buy(1, 2).order, first + 1) << "the id was used nowhere";
}

TEST_P(IdempotencyKeysTest, BacklogIsReadForLivingKeys) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyResult with_key = sale_->buy(1, 7, "click");
  EXPECT_EQ(buy(1, 8), Outcome::kAccepted);
  const auto ids_at = [this](std::int64_t time_ms) {
    std::vector<OrderId> ids;
    const auto unstored = read_unstored_orders_with_keys(backend_.client(), SaleKeys{}, time_ms);
    EXPECT_TRUE(unstored.ok()) << unstored.status();
    for (const Order& order : unstored->queued) ids.push_back(order.id);
    return ids;
  };
  const std::int64_t last_ms = backend_.clock().now_ms() + SaleOptions{}.request_ttl_ms;
  EXPECT_THAT(ids_at(last_ms), ::testing::ElementsAre(with_key.order));
  EXPECT_THAT(ids_at(last_ms + kDayMs), ::testing::IsEmpty());
}

// ---- The database as a second line ------------------------------------------------------------

TEST_P(IdempotencyKeysTest, SecondOrderOfEvictedKeyIsDead) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyResult first = sale_->buy(1, 7, "click");
  drain();
  backend_.client()("DEL", SaleKeys{}.request("click"));
  const BuyResult second = sale_->buy(1, 7, "click");
  ASSERT_NE(second.order, first.order);
  drain();
  EXPECT_EQ(rows(), 1U);
  const OrderState state = sale_->status(second.order).value();
  EXPECT_EQ(state.location, OrderLocation::kDeadLetter);
  EXPECT_EQ(state.reason,
            "its idempotency key \"click\" belongs to order " + std::to_string(first.order));
  backend_.client()("DEL", SaleKeys{}.stock(1));
  EXPECT_EQ(buy(1, 8), Outcome::kAccepted);
  EXPECT_EQ(sale_->buy(1, 7, "click").order, first.order) << "of two, the first keeps the key";
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, SecondOrderOfOtherVoucherIsDead) {
  const OrderId first = sell_and_drain();
  backend_.client()("DEL", SaleKeys{}.request("click"));
  expect_second_order_is_dead(first);
  const std::vector<DeadLetter> letters = sale_->dead_letters().value();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_TRUE(sale_->retry_dead_letter(letters[0].id).value());
  drain();
  EXPECT_EQ(sale_->dead_letters()->size(), 1U) << "it stays refused";
  EXPECT_TRUE(
      sale_->discard_dead_letter(sale_->dead_letters()->front().id, "a repetition").value());
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, SecondOrderOfArchivedKeyIsDead) {
  const OrderId first = sell_and_drain();
  ASSERT_TRUE(sale_->close(1).ok());
  ASSERT_EQ(sale_->archive(1), absl::OkStatus());
  backend_.client()("DEL", SaleKeys{}.request("click"));
  expect_second_order_is_dead(first);
}

TEST_P(IdempotencyKeysTest, HeldOrderOfKeyUsedElsewhereIsDead) {
  publish_two();
  const BuyResult held = sale_->buy(1, 7, "click");
  BuyResult other;
  before_next_write([&] {
    flush();  // no store has the order now, only the worker
    other = sale_->buy(2, 7, "click");
  });
  drain();
  EXPECT_EQ(other.outcome, Outcome::kAccepted) << other.detail;
  EXPECT_EQ(sale_->status(other.order)->location, OrderLocation::kStored);
  const OrderState state = sale_->status(held.order).value();
  EXPECT_EQ(state.location, OrderLocation::kDeadLetter);
  EXPECT_EQ(state.reason,
            "its idempotency key \"click\" belongs to order " + std::to_string(other.order));
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, HeldOrderOfRepeatedRequestIsDead) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyResult held = sale_->buy(1, 7, "click");
  BuyResult again;
  before_next_write([&] {
    flush();  // no store has the order now, only the worker
    again = sale_->buy(1, 7, "click");
  });
  drain();
  EXPECT_FALSE(again.is_repeated);
  EXPECT_EQ(sale_->status(again.order)->location, OrderLocation::kStored);
  const std::vector<DeadLetter> letters = sale_->dead_letters().value();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].reason,
            "the keyspace lost it, and meanwhile its request was repeated: order " +
                std::to_string(again.order));
  EXPECT_FALSE(sale_->retry_dead_letter(letters[0].id).value());
  EXPECT_EQ(sale_->status(held.order)->location, OrderLocation::kDeadLetter);
  EXPECT_EQ(sale_->buy(1, 7, "click").order, again.order);
  expect_audit_passes();
}

TEST_P(IdempotencyKeysTest, HeldOrderKeepsItsKey) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyResult held = sale_->buy(1, 7, "click");
  before_next_write([&] { flush(); });
  drain();
  EXPECT_EQ(sale_->buy(1, 7, "click").order, held.order);
  EXPECT_EQ(rows(), 1U);
  expect_audit_passes();
}

// ---- The audit --------------------------------------------------------------------------------

TEST_P(IdempotencyKeysTest, AuditNamesLostKeyUntilRepair) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const std::string stored = std::to_string(sale_->buy(1, 7, "click").order);
  drain();
  const std::string queued = std::to_string(sale_->buy(1, 7, "clack").order);
  expect_audit_passes();
  backend_.client()("DEL", SaleKeys{}.request("clack"));
  backend_.client()("SET", SaleKeys{}.request("click"), "7 1 0 " + queued);
  EXPECT_THAT(
      sale_->audit()->problems,
      ::testing::ElementsAre("voucher 1: order " + stored +
                                 " is not the order of its idempotency key, which has "
                                 "\"7 1 0 " +
                                 queued + "\"",
                             "voucher 1: order " + queued + " has lost its idempotency key"));
  const auto report = sale_->repair();
  EXPECT_THAT(report->repairs,
              ::testing::ElementsAre("voucher 1: rebuilt with its lost idempotency keys"));
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_EQ(std::to_string(sale_->buy(1, 7, "click").order), stored);
  EXPECT_TRUE(sale_->repair()->repairs.empty());
}

TEST_P(IdempotencyKeysTest, AuditNamesLostArchivedKeyUntilRepair) {
  const OrderId first = sell_and_drain();
  ASSERT_TRUE(sale_->close(1).ok());
  ASSERT_EQ(sale_->archive(1), absl::OkStatus());
  expect_audit_passes();
  backend_.client()("DEL", SaleKeys{}.request("click"));
  const std::string order = "order " + std::to_string(first);
  EXPECT_THAT(sale_->audit()->problems,
              ::testing::ElementsAre("voucher 1: " + order + " has lost its idempotency key"));
  const auto report = sale_->repair();
  EXPECT_THAT(report->repairs, ::testing::ElementsAre(order + ": restored its idempotency key"));
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  expect_repetition_of(first);
}

TEST_P(IdempotencyKeysTest, KeyOfWrongTypeIsRepairedOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyResult bought = sale_->buy(1, 7, "click");
  drain();
  backend_.client()("DEL", SaleKeys{}.request("click"));
  backend_.client()("RPUSH", SaleKeys{}.request("click"), "7 1 0 1");
  const auto report = sale_->repair();
  EXPECT_THAT(report->repairs,
              ::testing::ElementsAre("voucher 1: rebuilt with its lost idempotency keys"));
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_TRUE(sale_->repair()->repairs.empty());
  EXPECT_EQ(sale_->buy(1, 7, "click").order, bought.order);
}

/// The repetition of a request whose key was evicted is refused by the database. Its entry stays for
/// another group.
TEST_P(IdempotencyKeysTest, KeyOfDeadRepetitionIsRepairedOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyResult stored = sale_->buy(1, 7, "click");
  drain();
  backend_.client()("DEL", SaleKeys{}.request("click"));
  backend_.client()("XGROUP", "CREATE", "stream.orders", "analytics", "0");  // prevents trimming
  EXPECT_NE(sale_->buy(1, 7, "click").order, stored.order);
  drain();
  ASSERT_EQ(sale_->dead_letters()->size(), 1U);
  EXPECT_THAT(sale_->repair()->repairs,
              ::testing::ElementsAre("voucher 1: rebuilt with its lost idempotency keys"));
  EXPECT_THAT(sale_->repair()->repairs, ::testing::IsEmpty());
  EXPECT_EQ(sale_->buy(1, 7, "click").order, stored.order);
}

TEST_P(IdempotencyKeysTest, AuditNamesTwoOrdersOfKey) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const BuyResult stored = sale_->buy(1, 7, "click");
  drain();
  backend_.client()("DEL", SaleKeys{}.request("click"));
  const BuyResult queued = sale_->buy(1, 7, "click");
  EXPECT_THAT(
      sale_->audit()->problems,
      ::testing::Contains("voucher 1: order " + std::to_string(queued.order) +
                          " has the idempotency key of order " + std::to_string(stored.order)));
}

TEST_P(IdempotencyKeysTest, AuditIgnoresExpiredKeys) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  EXPECT_EQ(buy(1, 7, "click"), Outcome::kAccepted);
  drain();
  backend_.advance_ms(SaleOptions{}.request_ttl_ms + 1);
  expect_audit_passes();
}

// ---- The order knows its key ------------------------------------------------------------------

TEST_P(IdempotencyKeysTest, StoredOrderHasItsKey) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20, {.per_user = 0})).ok());
  const std::string longest(Order::kIdempotencyKeyBytesMax, '\xff');
  std::vector<std::string> stored;
  const std::vector<BuyRequest> requests = {{1, 7, "click"}, {1, 7, longest}, {1, 7, ""}};
  for (const BuyResult& result : sale_->buy_all(requests)) {
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
  }
  EXPECT_EQ(sale_->buy(1, 7, longest + "x").outcome, Outcome::kFailed);
  drain();
  const std::vector<Order> orders = backend_.orders().list({.voucher = 1}).value();
  for (const Order& order : orders) {
    stored.push_back(order.idempotency_key);
    EXPECT_EQ(order.key_expires_at_ms, order.idempotency_key.empty()
                                           ? 0
                                           : order.admitted_at_ms + SaleOptions{}.request_ttl_ms);
  }
  EXPECT_THAT(stored, ::testing::ElementsAre("click", longest, ""));
}

TEST_P(IdempotencyKeysTest, ArchivedOrderKeepsItsKey) {
  ASSERT_TRUE(sale_->publish(voucher(1, 20)).ok());
  const BuyResult bought = sale_->buy(1, 7, "click");
  drain();
  ASSERT_TRUE(sale_->close(1).ok());
  ASSERT_EQ(sale_->archive(1), absl::OkStatus());
  EXPECT_EQ(backend_.orders().find(bought.order).value()->idempotency_key, "click");
  EXPECT_EQ(sale_->buy(1, 7, "click").order, bought.order) << "until the key expires";
}

class CustomAdmissionKeysTest : public IdempotencyKeysTest {};
INSTANTIATE_TEST_SUITE_P(Backends, CustomAdmissionKeysTest, each_backend_without_lanes(),
                         backend_name);

TEST_P(CustomAdmissionKeysTest, ScriptPassesKeyOn) {
  sale_.reset();
  sale_ = *Sale::open(
      backend_.keyspace(), backend_.orders(),
      {.admission = CustomAdmission{
           .text = std::string(testing::kAdmissionBuildingKeys),
           .arguments = {"<voucher>", "<user>", "<order>"},
           .codes = {
               {0, Outcome::kAccepted}, {1, Outcome::kSoldOut}, {2, Outcome::kLimitReached}}}});
  ASSERT_TRUE(sale_->publish(voucher(1, 20)).ok());
  const BuyResult first = sale_->buy(1, 7, "click");
  EXPECT_EQ(first.outcome, Outcome::kAccepted) << first.detail;
  EXPECT_EQ(buy(1, 8), Outcome::kAccepted);
  drain();
  EXPECT_EQ(backend_.orders().find(first.order).value()->idempotency_key, "click");
  flush();
  const BuyResult again = sale_->buy(1, 7, "click");
  EXPECT_EQ(again.order, first.order);
  EXPECT_TRUE(again.is_repeated);
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
