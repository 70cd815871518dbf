// An audit during a running sale is right: it runs before every request and around every write of an
// operation, and an operation runs before any request of it. A sale without faults always passes.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sale/audit/audit.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "tests/support/random.h"
#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AuditDuringSaleTest : public PaidSaleTest {
 protected:
  using Operation = std::function<void(Sale&, OrderWorker&)>;

  /// Returns a voucher that may be sold to 10 users, and to waiting users after that.
  Voucher terms(std::int64_t stock = 10, std::int64_t per_day = 0) {
    Voucher terms = paid_voucher(stock);
    terms.limits = {.per_user = 2, .per_user_day = per_day};
    terms.waiting_max = 100;
    return terms;
  }
  /// Sells everything: paid, unpaid, cancelled and queued orders, and users that wait.
  void sell_out() {
    ASSERT_TRUE(sale_->publish(terms()).ok());
    for (std::int64_t user = 1; user <= 8; ++user) orders_.push_back(bought(user));
    for (const std::size_t i : {0U, 1U, 2U}) pay(orders_[i], concat("p", i));
    drain();
    for (std::int64_t user = 9; user <= 10; ++user) orders_.push_back(bought(user));
    pay(orders_[8], "p8");
    for (std::int64_t user = 21; user <= 25; ++user) {
      ASSERT_EQ(sale_->wait_for(1, user).outcome, WaitOutcome::kWaiting);
    }
    expect_audit_passes();
  }

  void expect_right(Client& client) {
    const auto report = audit(client, backend_.orders(), SaleKeys{});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  }

  /// Audits before each request of an operation, and around each of its writes. Returns how often.
  int audit_inside(const Operation& operation) {
    Client& client = backend_.client();
    bool is_inside = true;  // also while the sale is opened
    int audits = 0;
    const auto check = [&] {
      if (std::exchange(is_inside, true)) return;
      SCOPED_TRACE(concat("audit ", ++audits));
      expect_right(client);
      is_inside = false;
    };
    HookedBackend hooked(backend_.keyspace(), {.before = [&](const Request&) { check(); }});
    backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point) { check(); });
    {
      const auto sale = open_sale(hooked);
      OrderWorker worker(hooked, backend_.orders(), SaleKeys{}, {.consumer = "c1"});
      is_inside = false;
      operation(*sale, worker);
      is_inside = true;
    }
    backend_.orders().at_every_point({});
    return audits;
  }

  /// Runs an operation before some of the requests of an audit.
  void run_inside_audit(const Operation& operation, testing::Random& random) {
    constexpr int kRuns = 12;
    int requests = 0;
    const auto audit_with = [&](int nth) {
      requests = 0;
      HookedClient client(backend_.keyspace().open_client(), {.before = [&](const Request&) {
                            if (++requests == nth) operation(*sale_, *worker_);
                          }});
      expect_right(client);
    };
    audit_with(0);
    const std::int64_t usual = requests;
    for (int run = 0; run < kRuns && !HasFailure(); ++run) {
      const auto nth = static_cast<int>(random.between(1, usual));
      SCOPED_TRACE(concat("before request ", nth, " of ", usual));
      audit_with(nth);
    }
  }

  std::vector<OrderId> orders_;
};
INSTANTIATE_TEST_SUITE_P(Backends, AuditDuringSaleTest, each_backend(), backend_name);

TEST_P(AuditDuringSaleTest, PublishingServesWaitingUsers) {
  sell_out();
  EXPECT_GT(audit_inside([&](Sale& sale, OrderWorker&) {
              EXPECT_TRUE(sale.publish(terms(12)).ok());
              EXPECT_TRUE(sale.add_stock(1, 2).ok());
            }),
            4);
  EXPECT_EQ(sale_->waiting_list(1)->size(), 1U);
}

TEST_P(AuditDuringSaleTest, RebuildIsNoProblem) {
  sell_out();
  EXPECT_GT(
      audit_inside([&](Sale& sale, OrderWorker&) { EXPECT_TRUE(sale.publish(terms(12, 2)).ok()); }),
      8);
}

TEST_P(AuditDuringSaleTest, OrdersChange) {
  sell_out();
  EXPECT_GT(audit_inside([&](Sale& sale, OrderWorker& worker) {
              EXPECT_EQ(sale.refund(orders_[0], "broken").outcome, ChangeOutcome::kDone);
              EXPECT_EQ(sale.cancel(orders_[3], "no").outcome, ChangeOutcome::kDone);
              EXPECT_EQ(
                  sale.pay({.order = orders_[4], .payment = "p4", .amount_cents = kPrice}).outcome,
                  ChangeOutcome::kDone);
              EXPECT_EQ(sale.confirm_refund("p0").outcome, ChangeOutcome::kDone);
              drain(worker);
            }),
            10);
}

TEST_P(AuditDuringSaleTest, ArchivingIsNoProblem) {
  sell_out();
  backend_.advance_ms(kPaymentMs);
  ASSERT_TRUE(sale_->close(1).ok());
  drain();
  EXPECT_GT(audit_inside([&](Sale& sale, OrderWorker&) {
              const absl::Status archived = sale.archive(1);
              EXPECT_TRUE(archived.ok()) << archived;
              EXPECT_TRUE(sale.delete_archived(1).ok());
            }),
            5);
  EXPECT_TRUE(sale_->audit()->vouchers.empty());
}

TEST_P(AuditDuringSaleTest, RunningRebuildIsWarnedOf) {
  sell_out();
  close_as_somebody(0);
  backend_.client()("HSET", SaleKeys{}.held(), "closed:1", "somebody:1");
  backend_.client()("DEL", SaleKeys{}.stock(1), SaleKeys{}.buyers(1));
  const auto running = sale_->audit();
  ASSERT_TRUE(running.ok()) << running.status();
  EXPECT_TRUE(running->passed()) << ::testing::PrintToString(running->problems);
  EXPECT_THAT(running->warnings, ElementsAre(HasSubstr("voucher 1 is being rebuilt")));

  backend_.advance_ms(VoucherRebuilder::kAbandonedMs);
  EXPECT_THAT(sale_->audit()->problems, Contains(HasSubstr("voucher 1: the keyspace has lost it")));
}

TEST_P(AuditDuringSaleTest, OperationsDuringAuditAreNoProblem) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  testing::Random random(seed);
  sell_out();
  std::int64_t user = 1'000;
  std::int64_t stock = 10;
  std::vector<OrderId> paid = {orders_[0], orders_[1], orders_[2]};
  const auto add_stock = [&](Sale& sale) { EXPECT_TRUE(sale.add_stock(1, 1).ok()), ++stock; };
  const auto buy_one = [&](Sale& sale) {
    for (const std::int64_t waiting : {21, 22, 23, 24, 25}) {
      sale.leave_waiting_list(1, waiting).IgnoreError();
    }
    add_stock(sale);
    const BuyResult result = sale.buy(1, ++user);
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    return result.order;
  };
  const Operation operations[] = {
      [&](Sale& sale, OrderWorker&) { buy_one(sale); },
      [&](Sale& sale, OrderWorker& worker) {
        const OrderId order = buy_one(sale);
        paid.push_back(order);
        pay(order, concat("q", order));
        if (random.chance(50)) drain(worker);
      },
      [&](Sale& sale, OrderWorker& worker) {
        sale.cancel(buy_one(sale), "no");
        if (random.chance(50)) drain(worker);
      },
      [&](Sale& sale, OrderWorker& worker) {
        drain(worker);
        sale.refund(paid.back(), "broken");
        if (paid.size() > 1) paid.pop_back();
      },
      [&](Sale& sale, OrderWorker&) { add_stock(sale); },
      [&](Sale& sale, OrderWorker&) {
        Voucher changed = sale.voucher(1).value()->voucher;
        changed.limits.per_user_day = changed.limits.per_user_day == 0 ? 2 : 0;
        EXPECT_TRUE(sale.publish(changed).ok()) << "a rebuild, every other time";
      },
      [&](Sale& sale, OrderWorker& worker) {
        Voucher other = terms();
        other.id = ++user;
        EXPECT_TRUE(sale.publish(other).ok());
        EXPECT_EQ(sale.buy(other.id, 5).outcome, Outcome::kAccepted);
        backend_.advance_ms(kPaymentMs);
        EXPECT_TRUE(sale.close(other.id).ok());
        drain(worker);
        const absl::Status archived = sale.archive(other.id);
        EXPECT_TRUE(archived.ok()) << archived;
      },
  };
  for (std::size_t i = 0; i < std::size(operations); ++i) {
    SCOPED_TRACE(concat("operation ", i));
    run_inside_audit(operations[i], random);
  }
}

}  // namespace
}  // namespace rushgate
