// Commands for the life of an order: pay, cancel, use, refund, payments, close, export, watch. Each
// runs on an own keyspace and on a redis-server.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "tests/unit/apps/keyspace_program_test.h"
#include "tests/unit/apps/opened_sale.h"
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kPrice = 250;

class OrdersProgramTest : public KeyspaceProgramTest {
 protected:
  void SetUp() override {
    const auto sale = open_sale_here(true);
    ASSERT_NE(sale, nullptr);
    Voucher voucher{.id = 1, .stock = 10, .price_cents = kPrice, .payment_ms = 3'600'000};
    voucher.limits.per_user = 5;
    ASSERT_TRUE(sale->publish(voucher).ok());
    ASSERT_TRUE(sale->publish({.id = 2, .stock = 10, .price_cents = kPrice}).ok());
  }

  std::unique_ptr<FlashSale> open_sale_here(bool create = false) {
    SaleArguments options;
    options.dir = files_.sale();
    options.create = create;
    if (server_) options.keyspace_url = server_->url();
    return opened_sale(options);
  }

  /// Buys in this process, with the idempotency key "click" if there is a reference. The order stays
  /// queued.
  std::string bought(const UserId& user, VoucherId voucher = 1, std::int64_t quantity = 1,
                     const std::string& reference = {}) {
    const auto sale = open_sale_here();
    const BuyResult result = sale->sale().buy({.voucher = voucher,
                                               .user = user,
                                               .idempotency_key = reference.empty() ? "" : "click",
                                               .quantity = quantity,
                                               .reference = reference});
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    return std::to_string(result.order);
  }

  ProgramResult pay(const std::string& order, const std::string& payment,
                    std::int64_t amount = kPrice) {
    return run("pay", {order, "--payment", payment, "--amount", std::to_string(amount)});
  }
  std::string state_of(const std::string& order) { return run_json("status", {order})["state"]; }
};

INSTANTIATE_TEST_SUITE_P(Keyspaces, OrdersProgramTest, kKeyspaces, keyspace_name);

// ---- Changes ------------------------------------------------------------------------------------

TEST_P(OrdersProgramTest, PaidOrderIsStoredAndRepeatable) {
  const std::string order = bought(7);
  const auto paid = pay(order, "p1");
  EXPECT_EQ(paid.exit_code, kExitOk) << paid.err;
  EXPECT_EQ(paid.out, "done: order " + order + " is paid\n");
  const auto again = pay(order, "p1");
  EXPECT_EQ(again.exit_code, kExitOk) << again.err;
  EXPECT_EQ(again.out, "done before: order " + order + " is paid\n");
  EXPECT_EQ(state_of(order), "paid");
  EXPECT_EQ(run("audit").exit_code, kExitOk);
}

TEST_P(OrdersProgramTest, RefusedPaymentExitsWith1) {
  const std::string order = bought(7);
  const auto wrong = pay(order, "p1", kPrice - 1);
  EXPECT_EQ(wrong.exit_code, kExitNegative);
  EXPECT_THAT(wrong.out, HasSubstr("refused: "));
  EXPECT_THAT(wrong.out, HasSubstr("250"));
  const auto unknown = pay("5", "p1");
  EXPECT_EQ(unknown.exit_code, kExitNegative);
  EXPECT_EQ(unknown.out, "unknown order: there is no order 5\n");
  const Json json = run_json("pay", {"5", "--payment", "p1", "--amount", "1"});
  EXPECT_EQ(json["outcome"], "unknown order");
  EXPECT_EQ(json["state"], nullptr);
}

TEST_P(OrdersProgramTest, CancelledOrderIsTooLateToPay) {
  const std::string order = bought(7);
  const auto cancelled = run("cancel", {order, "--reason", "no, thanks", "--actor", "till 3"});
  EXPECT_EQ(cancelled.exit_code, kExitOk) << cancelled.err;
  EXPECT_EQ(cancelled.out, "done: order " + order + " is cancelled\n");
  EXPECT_EQ(run("cancel", {order, "--reason", "no"}).exit_code, kExitOk) << "a repetition";

  const auto late = pay(order, "p1");
  EXPECT_EQ(late.exit_code, kExitNegative);
  EXPECT_THAT(late.out, HasSubstr("too late: order " + order + " is cancelled"));
  const Json life = run_json("status", {order});
  EXPECT_EQ(life["state"], "cancelled");
  EXPECT_EQ(life["payments"][0]["state"], "due");
  ASSERT_EQ(life["history"].size(), 1U);
  EXPECT_EQ(life["history"][0]["from"], "unpaid");
  EXPECT_EQ(life["history"][0]["reason"], "no, thanks");
  EXPECT_EQ(life["history"][0]["actor"], "till 3");
  EXPECT_EQ(run("audit").exit_code, kExitOk);
}

TEST_P(OrdersProgramTest, UsedOrderIsRefunded) {
  const std::string order = bought(7);
  const auto unpaid = run("use", {order});
  EXPECT_EQ(unpaid.exit_code, kExitNegative) << "not paid yet";
  EXPECT_EQ(unpaid.out, "too late: order " + order + " is unpaid: used is not possible\n");
  ASSERT_EQ(pay(order, "p1").exit_code, kExitOk);
  EXPECT_EQ(run("use", {order}).out, "done: order " + order + " is used\n");
  const auto refunded = run("refund", {order, "--reason", "rain"});
  EXPECT_EQ(refunded.exit_code, kExitOk) << refunded.err;
  EXPECT_EQ(refunded.out, "done: order " + order + " is refunded\n");
  EXPECT_EQ(run_json("refund", {order, "--reason", "rain"})["repeated"], true);
  EXPECT_EQ(state_of(order), "refunded");
  EXPECT_EQ(run("audit").exit_code, kExitOk);
}

TEST_P(OrdersProgramTest, QueuedOrderIsUsed) {
  const std::string order = bought(7, 2);
  const auto used = run("use", {order});
  EXPECT_EQ(used.exit_code, kExitOk) << used.err;
  EXPECT_EQ(state_of(order), "used");
}

TEST_P(OrdersProgramTest, ClosedVoucherIsRefundedWhole) {
  const std::string paid = bought(7);
  const std::string unpaid = bought(8);
  const std::string other = bought(9, 2);
  ASSERT_EQ(pay(paid, "p1").exit_code, kExitOk);
  const auto closed = run("close", {"1"});
  EXPECT_EQ(closed.exit_code, kExitOk) << closed.err;
  EXPECT_THAT(closed.out, HasSubstr("voucher 1 is closed: its sale ended at 2"));
  EXPECT_EQ(run("close", {"1"}).out, closed.out) << "a repetition";
  EXPECT_EQ(open_sale_here()->buy(1, 10).outcome, Outcome::kEnded);

  const auto refunded = run("refund", {"--voucher", "1", "--reason", "rain"});
  EXPECT_EQ(refunded.exit_code, kExitOk) << refunded.err;
  EXPECT_EQ(refunded.out, "voucher 1: 2 orders refunded or cancelled\n");
  EXPECT_EQ(run_json("refund", {"--voucher", "1", "--reason", "rain"})["changed"], 0);
  EXPECT_EQ(state_of(paid), "refunded");
  EXPECT_EQ(state_of(unpaid), "cancelled");
  EXPECT_EQ(state_of(other), "created");
  EXPECT_EQ(run("audit").exit_code, kExitOk);
}

TEST_P(OrdersProgramTest, EndedSaleIsArchivedAndDeleted) {
  const std::string paid = bought(7);
  ASSERT_EQ(pay(paid, "p1").exit_code, kExitOk);
  const auto refused = run("archive", {"1"});
  EXPECT_EQ(refused.exit_code, kExitNegative);
  EXPECT_THAT(refused.err, HasSubstr("voucher 1 cannot be archived: "));
  ASSERT_EQ(run("close", {"1"}).exit_code, kExitOk);
  open_sale_here()->client()("XADD", SaleKeys{}.dead_letters(), "*", "entry", "1-1", "reason",
                             "broken", "userId", 9, "voucherId", 1, "id", 11);
  EXPECT_THAT(run("archive", {"1"}).err, HasSubstr("it has dead letters"));

  const auto archived = run("archive", {"1", "--discard-dead-letters", "the sale is over"});
  EXPECT_EQ(archived.exit_code, kExitOk) << archived.err;
  EXPECT_EQ(archived.out, "voucher 1 is archived\n");
  EXPECT_EQ(run_json("orders", {"--voucher", "1", "--state", "paid"}).size(), 0U);
  EXPECT_EQ(state_of(paid), "paid") << "still known";
  EXPECT_EQ(run_json("dead-letters", {"--discarded"})[0]["why"], "the sale is over");

  const auto deleted = run("archive", {"1", "--delete"});
  EXPECT_EQ(deleted.exit_code, kExitOk) << deleted.err;
  EXPECT_EQ(deleted.out, "voucher 1 is archived\n1 archived orders are deleted\n");
  EXPECT_EQ(run("status", {paid}).exit_code, kExitNegative);
  EXPECT_EQ(run_json("dead-letters", {"--discarded"}).size(), 0U);
  for (const auto& result :
       {run("close", {"1"}), run("refund", {"--voucher", "1", "--reason", "rain"})}) {
    EXPECT_EQ(result.exit_code, kExitNegative);
    EXPECT_EQ(result.err, "rushgate: voucher 1 was archived\n");
  }
}

TEST_P(OrdersProgramTest, OrdersOfNameAreListed) {
  const std::string queued = bought(UserId("anna"));
  const std::string other = bought(UserId("042"));
  const Json listed = run_json("orders", {"--user", "anna"});
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["order"], queued);
  EXPECT_EQ(listed[0]["user"], "anna");
  const auto refused = run("orders", {"--user", "two words"});
  EXPECT_EQ(refused.exit_code, kExitUsage);
  EXPECT_THAT(refused.err, HasSubstr("no spaces"));
  EXPECT_EQ(run("archive", {"1", "--discard-dead-letters", ""}).exit_code, kExitUsage);
  ASSERT_EQ(pay(other, "p1").exit_code, kExitOk);
  const auto exported = run("export", {"--voucher", "1", "--what", "orders", "--format", "csv"});
  EXPECT_THAT(exported.out, HasSubstr("042"));
  EXPECT_EQ(run("audit").exit_code, kExitOk);
}

TEST_P(OrdersProgramTest, UnknownVoucherExitsWith1) {
  for (const auto& result :
       {run("close", {"9"}), run("refund", {"--voucher", "9", "--reason", "rain"})}) {
    EXPECT_EQ(result.exit_code, kExitNegative);
    EXPECT_EQ(result.err, "rushgate: voucher 9 was never on sale\n");
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST_P(OrdersProgramTest, InvalidArgumentsExitWith2) {
  const std::vector<std::vector<std::string>> wrong = {
      {"pay", "5", "--payment", "p1"},
      {"pay", "5", "--amount", "1"},
      {"pay", "5", "--payment", "p1", "--amount", "0"},
      {"pay", "5", "--payment", "", "--amount", "1"},
      {"pay", "--payment", "p1", "--amount", "1"},
      {"cancel", "5"},
      {"cancel", "-5", "--reason", "no"},
      {"use"},
      {"refund", "5"},
      {"refund", "--reason", "no"},
      {"refund", "5", "--voucher", "1", "--reason", "no"},
      {"payments", "--state", "paid"},
      {"close"},
      {"export", "--what", "orders"},
      {"export", "--what", "vouchers", "--format", "csv"},
      {"export", "--what", "orders", "--format", "xml"},
      {"watch", "--every", "0"},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    const auto result = run(arguments[0], {arguments.begin() + 1, arguments.end()});
    EXPECT_EQ(result.exit_code, kExitUsage) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, Not(IsEmpty()));
  }
}

// ---- Reading ------------------------------------------------------------------------------------

TEST_P(OrdersProgramTest, OrdersAreListedByState) {
  const std::string paid = bought(7);
  const std::string cancelled = bought(8);
  ASSERT_EQ(pay(paid, "p1").exit_code, kExitOk);
  ASSERT_EQ(run("cancel", {cancelled, "--reason", "no"}).exit_code, kExitOk);
  const std::string queued = bought(9, 1, 3, "till 3");

  EXPECT_EQ(run_json("orders", {}).size(), 3U);
  EXPECT_EQ(run_json("orders", {"--state", "paid"})[0]["order"], paid);
  EXPECT_EQ(run_json("orders", {"--state", "cancelled"})[0]["order"], cancelled);
  for (const char* const state : {"created", "unpaid", "used", "refunding", "refunded", "failed"}) {
    EXPECT_EQ(run_json("orders", {"--state", state}).size(), 0U) << state;
  }
  const Json waiting = run_json("orders", {"--state", "queued"});
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0]["order"], queued);
  EXPECT_EQ(waiting[0]["quantity"], 3);
  EXPECT_EQ(waiting[0]["price_cents"], kPrice);
  EXPECT_EQ(waiting[0]["reference"], "till 3");
  EXPECT_GT(waiting[0]["due_at"], waiting[0]["admitted_at"]);
  EXPECT_THAT(run("orders").out, HasSubstr("till 3"));
}

TEST_P(OrdersProgramTest, StatusShowsPaymentsAndHistory) {
  const std::string order = bought(7, 1, 2, "till 3");
  EXPECT_EQ(run("status", {order}).out, "queued\n");
  ASSERT_EQ(pay(order, "p1", 2 * kPrice).exit_code, kExitOk);
  const auto life = run("status", {order});
  EXPECT_EQ(life.exit_code, kExitOk);
  EXPECT_THAT(life.out, HasSubstr("paid: user 7, voucher 1, admitted at 2"));
  EXPECT_THAT(life.out, HasSubstr(", 2 for 500 cents, due at 2"));
  EXPECT_THAT(life.out, HasSubstr(", reference till 3, idempotency key click\n\npayment "));
  EXPECT_THAT(life.out, HasSubstr("\n\nfrom "));
}

TEST_P(OrdersProgramTest, DuePaymentsAreConfirmed) {
  const std::string first = bought(7);
  const std::string second = bought(8);
  ASSERT_EQ(pay(first, "p1").exit_code, kExitOk);
  ASSERT_EQ(pay(second, "p2").exit_code, kExitOk);
  ASSERT_EQ(pay(second, "p3").exit_code, kExitNegative) << "paid by p2";
  ASSERT_EQ(run("refund", {first, "--reason", "rain"}).exit_code, kExitOk);

  EXPECT_EQ(run_json("payments").size(), 3U);
  EXPECT_EQ(run_json("payments", {"--order", second}).size(), 2U);
  EXPECT_EQ(run_json("payments", {"--state", "kept"})[0]["payment"], "p2");
  EXPECT_EQ(run_json("payments", {"--state", "due"}).size(), 2U);

  const auto confirmed = run("payments", {"--confirm", "p1", "p3", "--state", "due"});
  EXPECT_EQ(confirmed.exit_code, kExitOk) << confirmed.err;
  EXPECT_THAT(confirmed.err, HasSubstr("2 confirmed\n"));
  EXPECT_THAT(confirmed.out, Not(HasSubstr("p1")));
  const auto kept = run("payments", {"--confirm", "p2", "p9"});
  EXPECT_EQ(kept.exit_code, kExitNegative);
  EXPECT_THAT(kept.err, HasSubstr("p2: refused: payment p2 is not due"));
  EXPECT_THAT(kept.err, HasSubstr("p9: refused: there is no payment p9\n0 confirmed\n"));

  const Json money = run_json("audit")["money"];
  EXPECT_EQ(money["received"], 3 * kPrice);
  EXPECT_EQ(money["kept"], kPrice);
  EXPECT_EQ(money["due"], 0);
  EXPECT_EQ(money["refunded"], 2 * kPrice);
  EXPECT_THAT(run("audit").out,
              HasSubstr("money in cents: received 750 = kept 250 + due 0 + refunded 500\n"));
}

// ---- Export -------------------------------------------------------------------------------------

TEST_P(OrdersProgramTest, ExportEqualsStores) {
  const std::string first = bought(7, 1, 2, "a \"b\", c\nd");
  const std::string second = bought(8);
  const std::string other = bought(9, 2);
  ASSERT_EQ(pay(first, "p,1", 2 * kPrice).exit_code, kExitOk);
  ASSERT_EQ(pay(second, "p2").exit_code, kExitOk);
  ASSERT_EQ(run("use", {other}).exit_code, kExitOk);

  Json orders = Json::array();
  Json payments = Json::array();
  Json history = Json::array();
  {
    const auto sale = open_sale_here();
    const std::vector<Order> stored = sale->orders().list({}).value();
    for (const Order& order : stored) orders.push_back(to_json(order));
    PaymentStore& store = *sale->orders().payments();
    const std::vector<Payment> received = store.list_payments({}).value();
    for (const Payment& payment : received) payments.push_back(to_json(payment));
    const std::vector<OrderChange> changes = store.changes(0, 100, {}).value();
    for (const OrderChange& change : changes) history.push_back(to_json(change));
  }
  const auto exported = [&](const std::string& what, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--what", what, "--format", "json"});
    return run("export", more).json();
  };
  ASSERT_EQ(orders.size(), 3U);
  EXPECT_EQ(exported("orders"), orders);
  EXPECT_EQ(exported("payments"), payments);
  EXPECT_EQ(exported("history"), history);
  EXPECT_EQ(exported("orders", {"--voucher", "2"}), Json::array({orders[2]}));
  EXPECT_EQ(exported("payments", {"--voucher", "1"}), payments);
  EXPECT_EQ(exported("payments", {"--voucher", "2"}), Json::array());
  EXPECT_EQ(exported("history", {"--voucher", "2"}).size(), 1U);

  const auto csv = run("export", {"--what", "payments", "--format", "csv"});
  EXPECT_THAT(csv.out, ::testing::StartsWith(
                           "payment,order,amount_cents,state,received_at,refunded_at,reason\r\n"));
  EXPECT_THAT(csv.out, HasSubstr("\r\n\"p,1\"," + first + ",500,kept,2"));
  EXPECT_THAT(csv.out, ::testing::EndsWith("Z,,\r\n"));
  EXPECT_THAT(run("export", {"--what", "orders", "--format", "csv"}).out,
              HasSubstr(",\"a \"\"b\"\", c\nd\",1,false,false,click\r\n"));
}

TEST_P(OrdersProgramTest, ExportReportsQueuedOrders) {
  bought(7);
  const auto result = run("export", {"--what", "orders", "--format", "json"});
  EXPECT_EQ(result.exit_code, kExitOk);
  EXPECT_EQ(result.out, "[]\n");
  EXPECT_THAT(result.err, HasSubstr("some orders are queued: only stored ones are visible"));
}

// ---- Watch --------------------------------------------------------------------------------------

TEST_P(OrdersProgramTest, WatchCountsWhileSaleIsHeld) {
  const std::string paid = bought(7);
  ASSERT_EQ(pay(paid, "p1").exit_code, kExitOk);
  const auto sale = open_sale_here();  // as a process that sells
  ASSERT_EQ(sale->buy(1, 8).outcome, Outcome::kAccepted);
  ASSERT_TRUE(sale->drain().ok());
  ASSERT_EQ(sale->buy(1, 9).outcome, Outcome::kAccepted);  // queued

  const auto all = run("watch", {"--count", "1", "--json"});
  EXPECT_EQ(all.exit_code, kExitOk) << all.err;
  EXPECT_EQ(all.json()["stock"], 17);
  EXPECT_EQ(all.json()["holds"], 2);
  EXPECT_EQ(all.json()["paid"], 1);
  EXPECT_EQ(all.json()["stored"], 2);
  EXPECT_EQ(run_json("watch", {"--count", "1", "--voucher", "2"})["stock"], 10);
  const auto lines = run("watch", {"--count", "2"});
  EXPECT_THAT(lines.out, ::testing::StartsWith("time "));
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 3) << lines.out;
}

}  // namespace
}  // namespace rushgate
