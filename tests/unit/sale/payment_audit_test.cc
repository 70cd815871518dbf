// Payments that were acknowledged and lost: the audit names them, and repair() mends the ones that
// a store still has.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.h"
#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class PaymentAuditTest : public PaidSaleTest {
 protected:
  std::vector<std::string> repairs() {
    const auto report = sale_->repair();
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->repairs : std::vector<std::string>{};
  }
  void lose_events() { backend_.client()("XTRIM", "stream.orders", "MAXLEN", 0); }
  void expect_mended() {
    drain();
    EXPECT_THAT(repairs(), IsEmpty());
    expect_audit_passes();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, PaymentAuditTest, each_backend(), backend_name);

// ---- Lost events ----

TEST_P(PaymentAuditTest, LostEndIsNamedAndMended) {
  publish();
  const OrderId paid = bought(1);
  const OrderId cancelled = bought(2);
  drain();
  pay(paid, "p1");
  sale_->cancel(cancelled, "no");
  lose_events();

  const auto found = problems();
  EXPECT_THAT(found, Contains(HasSubstr(concat(
                         "order ", paid, " is not stored as paid p1, and the event is lost"))));
  EXPECT_THAT(found,
              Contains(HasSubstr(concat("order ", cancelled, " is not stored as cancelled user"))));
  EXPECT_THAT(repairs(), UnorderedElementsAre(HasSubstr("appended its lost event: 1 1 paid p1"),
                                              HasSubstr("appended its lost event: 1 2 cancelled")));
  expect_mended();
  EXPECT_THAT(payments(), ElementsAre("p1 kept"));
  EXPECT_EQ(stored(cancelled).status, OrderStatus::kCancelled);
}

TEST_P(PaymentAuditTest, LostSurplusPaymentIsNamedAndMended) {
  publish();
  const OrderId order = bought(1);
  pay(order, "p1");
  drain();
  ASSERT_EQ(pay(order, "p2").outcome, ChangeOutcome::kTooLate);
  lose_events();

  EXPECT_TRUE(pay(order, "p2").is_repeated) << "the provider is told that it is recorded";
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("payment p2 of order")));
  EXPECT_THAT(repairs(), ElementsAre(HasSubstr("appended its lost payment p2")));
  expect_mended();
  EXPECT_THAT(payments(), ElementsAre("p1 kept", "p2 due"));
}

TEST_P(PaymentAuditTest, PaymentLostWithItsHoldIsMended) {
  publish();
  const OrderId order = bought(1);
  drain();
  pay(order, "p1");
  lose_events();
  set_hold(order, "");

  EXPECT_THAT(problems(), UnorderedElementsAre(HasSubstr("payment p1 of order"),
                                               HasSubstr("is unpaid and is not held")));
  sale_->repair().IgnoreError();
  expect_mended();
  EXPECT_EQ(states_of(order), "unpaid>paid");
  EXPECT_THAT(payments(), ElementsAre("p1 kept"));
}

TEST_P(PaymentAuditTest, EndWithoutItsPaymentIsMended) {
  publish();
  const OrderId order = bought(1);
  drain();
  pay(order, "p1");
  lose_events();
  backend_.client()("DEL", SaleKeys{}.payments());

  EXPECT_THAT(repairs(), ElementsAre(HasSubstr("appended its lost event")));
  drain();
  EXPECT_THAT(payments(), ElementsAre("p1 kept"));
  EXPECT_EQ(backend_.orders().find_payment("p1")->value().amount_cents, kPrice);
}

TEST_P(PaymentAuditTest, AcknowledgedEventWithoutRowIsNamed) {
  publish();
  const OrderId order = bought(1);
  drain();
  pay(order, "p1");
  Client& client = backend_.client();
  const Reply read =
      client("XREADGROUP", "GROUP", "g1", "stranger", "STREAMS", "stream.orders", ">");
  const auto& entry = read.elements().at(0).elements().at(1).elements().at(0);
  client("XACK", "stream.orders", "g1", entry.elements().at(0).text());

  EXPECT_THAT(problems(), Contains(HasSubstr("is not stored as paid p1, and the event is lost")));
}

/// No payment is both acknowledged and forgotten while one of its three places in the keyspace is left.
TEST_P(PaymentAuditTest, RandomLossesForgetNoPayment) {
  constexpr std::int64_t kOrders = 30;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  rushgate::testing::Random random(seed);
  publish(kOrders);
  std::vector<OrderId> orders;
  for (std::int64_t user = 1; user <= kOrders; ++user) orders.push_back(bought(user));
  drain();
  std::vector<std::string> acknowledged;
  for (const OrderId order : orders) {
    const std::string first = concat("a", order);
    pay(order, first);
    acknowledged.push_back(first + " kept");
    if (random.below(3) > 0) continue;
    const std::string second = concat("b", order);
    ASSERT_EQ(pay(order, second).outcome, ChangeOutcome::kTooLate);
    acknowledged.push_back(second + " due");
  }
  lose_events();
  for (const OrderId order : orders) {
    const auto loss = random.below(3);
    if (loss == 0) set_hold(order, "");
    if (loss == 1) backend_.client()("HDEL", SaleKeys{}.payments(), concat("a", order));
  }

  EXPECT_GE(problems().size(), orders.size());
  sale_->repair().IgnoreError();
  expect_mended();
  EXPECT_THAT(payments(), ::testing::UnorderedElementsAreArray(acknowledged));
}

/// Each repair is one script, so a process that is killed between two makes nothing worse.
TEST_P(PaymentAuditTest, InterruptedRepairIsFinishedByRepetition) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  rushgate::testing::Random random(seed);
  publish(200);
  bool is_whole = false;
  std::int64_t user = 0;
  for (std::size_t requests = 0; !is_whole; requests += 1 + random.below(10)) {
    SCOPED_TRACE(concat("killed after ", requests, " requests"));
    const OrderId paid = bought(++user);
    const OrderId cancelled = bought(++user);
    const OrderId unpaid = bought(++user);
    drain();
    pay(paid, concat("a", paid));
    pay(paid, concat("b", paid));
    sale_->cancel(cancelled, "no");
    lose_events();
    set_hold(unpaid, concat("1 ", user, " 1 1 1 1"));

    std::size_t left = SIZE_MAX;
    faults::FaultyBackend dying(backend_.keyspace(), [&](const Request&) {
      using Fault = faults::FaultyBackend::Fault;
      if (left == 0) return Fault::kRequestLost;
      --left;
      return Fault::kNone;
    });
    const auto sale = open_sale(dying);
    left = requests;
    is_whole = sale->repair().ok();

    sale_->repair().IgnoreError();
    expect_mended();
    EXPECT_EQ(stored(paid).status, OrderStatus::kPaid);
    EXPECT_EQ(stored(cancelled).status, OrderStatus::kCancelled);
    EXPECT_EQ(pay(unpaid, concat("c", unpaid)).outcome, ChangeOutcome::kDone);
    EXPECT_EQ(backend_.orders().list_payments({.order = paid})->size(), 2U);
  }
}

// ---- Holds ----

TEST_P(PaymentAuditTest, WrongHoldIsNamedAndMended) {
  publish();
  const OrderId stored_order = bought(1);
  drain();
  const OrderId queued = bought(2);
  for (const OrderId order : {stored_order, queued}) {
    const std::string user = order == queued ? "2" : "1";
    const std::string times = concat(backend_.clock().now_ms(), " ", backend_.clock().now_ms() + 1);
    for (const std::string& wrong :
         {concat("1 ", user, " 1 1 ", times), concat("1 ", user, " 3 250 ", times),
          concat("1 9 1 250 ", times), concat("1 ", user, " 1 250 7 7")}) {
      set_hold(order, wrong);
      EXPECT_THAT(problems(), ElementsAre(HasSubstr(concat("is held as \"", wrong, "\""))));
      EXPECT_THAT(
          repairs(),
          ElementsAre(HasSubstr(concat("order ", order, ": is held as 1 ", user, " 1 250 "))));
      EXPECT_THAT(problems(), IsEmpty());
    }
  }
}

TEST_P(PaymentAuditTest, HoldWithoutDeadlineIsNamedAndMended) {
  publish();
  const OrderId order = bought(1);
  drain();
  backend_.client()("DEL", SaleKeys{}.deadlines());

  EXPECT_THAT(problems(), ElementsAre(HasSubstr("and has no such deadline")));
  EXPECT_THAT(repairs(), ElementsAre(HasSubstr("is held as")));
  expect_mended();
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(stored(order).status, OrderStatus::kCancelled);
}

TEST_P(PaymentAuditTest, HoldWithoutOrderIsNamed) {
  publish();
  set_hold(4'242, "1 9 1 250 1 2");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("order 4242 is held, and no store has it")));
  set_hold(4'242, "1 9 paid p9");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("order 4242 is in no store, and ended as paid p9")));
}

TEST_P(PaymentAuditTest, ForgedClosingIsNamedAndMended) {
  publish();
  const OrderId order = bought(1);
  backend_.client()("HSET", SaleKeys{}.held(), "closed:1", "somebody");
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kOverloaded);

  EXPECT_THAT(problems(), ElementsAre(HasSubstr("voucher 1: its holds are closed")));
  EXPECT_THAT(repairs(), ElementsAre("voucher 1: opened its holds"));
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  expect_mended();
}

TEST_P(PaymentAuditTest, WrongPaymentInKeyspaceIsNamed) {
  publish();
  const OrderId order = bought(1);
  drain();
  pay(order, "p1");
  Client& client = backend_.client();
  client("HSET", SaleKeys{}.payments(), "p1", concat(order, " 999 paid"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("999 paid\" in the keyspace, and 250 cents")));
  client("HDEL", SaleKeys{}.payments(), "p1");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("has payment p1 in the stream, and the keyspace")));
  drain();
  client("HSET", SaleKeys{}.payments(), "p1", concat(order, " 999 paid"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("in the database")));
  EXPECT_THAT(repairs(), ElementsAre(HasSubstr("payment p1: removed its entry")));
  expect_mended();
}

}  // namespace
}  // namespace rushgate
