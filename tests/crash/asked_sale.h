// The requests of a sale and their results, across all processes of one test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/crash/recovery_fixture.h"
#include "tests/crash/sale_files.h"
#include "tests/crash/sale_process.h"
#include <rushgate/backend.h>
#include <rushgate/sale.h>

namespace rushgate {

/// A plan, the directory of its sale, and the rows that processes reported as accepted.
class AskedSale {
 public:
  explicit AskedSale(std::uint64_t seed, bool has_own_orders = false, bool takes_payments = false)
      : seed_(seed),
        has_own_orders_(has_own_orders),
        takes_payments_(takes_payments),
        plan_(SalePlan::make(seed, takes_payments)) {}

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }

  /// Adds the rows that one process reported. The last process must have requested every row.
  void note(const std::vector<AcceptedRow>& accepted) {
    last_.clear();
    for (const AcceptedRow& one : accepted) {
      if (one.report == RowReport::kAccepted) {
        said_[one.row].insert(one.order);
        last_.push_back(one);
      } else {
        changes_[one.order].insert(one.report);
        row_of_[one.order] = one.row;
      }
    }
  }

  /// Expects that nothing is lost, doubled or oversold. The processes must have ended.
  void check(Backend& keyspace) {
    const auto files = SaleFiles::open(directory(), has_own_orders_);
    ASSERT_TRUE(files.ok()) << files.status();
    const auto report = audit(keyspace, files->stores());
    ASSERT_EQ(report.vouchers.size(), plan_.vouchers.size());
    for (const VoucherAudit& voucher : report.vouchers) {
      EXPECT_EQ(voucher.created, voucher.admitted);
      EXPECT_EQ(voucher.free + voucher.created, voucher.published);
      EXPECT_EQ(voucher.queued + voucher.dead + voucher.given_back, 0);
    }
    const std::map<OrderId, Order> stored = stored_orders(*files->orders);
    if (takes_payments_) {
      check_changes(stored, *files->orders);
      EXPECT_EQ(report.money.received,
                report.money.kept + report.money.due + report.money.refunded);
      return check_rows(stored);
    }
    for (const Voucher& voucher : plan_.vouchers) {
      EXPECT_EQ(static_cast<std::int64_t>(count(stored, voucher)), plan_.orders_expected(voucher));
    }
    check_rows(stored);
  }

  /// Checks a keyspace that may have lost acknowledged writes: nothing is oversold, and there are
  /// as many orders as the plan expects. Returns how many orders were reported as accepted but have
  /// no row.
  std::size_t check_after_losses(Backend& keyspace) {
    const auto files = SaleFiles::open(directory(), has_own_orders_);
    EXPECT_TRUE(files.ok()) << files.status();
    if (!files.ok()) return 0;
    audit(keyspace, files->stores());
    const std::map<OrderId, Order> stored = stored_orders(*files->orders);
    for (const Voucher& voucher : plan_.vouchers) {
      const auto sold = static_cast<std::int64_t>(count(stored, voucher));
      EXPECT_GE(sold, plan_.orders_expected(voucher));
      EXPECT_LE(sold, voucher.stock);
    }
    for (const AcceptedRow& row : last_) {
      EXPECT_TRUE(stored.contains(row.order)) << "lost: row " << row.row << ", order " << row.order;
    }
    std::size_t lost = 0;
    for (const auto& [row, ids] : said_) {
      for (const OrderId id : ids) lost += stored.contains(id) ? 0U : 1U;
    }
    return lost;
  }

 private:
  static AuditReport audit(Backend& keyspace, const SaleStores& stores) {
    const auto sale = Sale::open(keyspace, stores);
    EXPECT_TRUE(sale.ok()) << sale.status();
    if (!sale.ok()) return {};
    const auto report = (*sale)->audit();
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    const auto letters = (*sale)->dead_letters();
    EXPECT_TRUE(letters.ok()) << letters.status();
    if (!report->passed() && letters.ok()) {
      for (const DeadLetter& letter : *letters) {
        ADD_FAILURE() << "dead: order " << letter.order.field("id").value_or("?") << ", "
                      << letter.order.field("event").value_or("admitted") << ": " << letter.reason;
      }
    }
    return *report;
  }

  /// Returns the stored orders. Expects that no user exceeds the limit.
  std::map<OrderId, Order> stored_orders(OrderStore& orders) {
    std::map<OrderId, Order> stored;
    for (const Voucher& voucher : plan_.vouchers) {
      const auto of_voucher = orders.list({.voucher = voucher.id, .count_max = 100'000});
      EXPECT_TRUE(of_voucher.ok()) << of_voucher.status();
      if (!of_voucher.ok()) continue;
      std::map<UserId, std::int64_t> bought;
      for (const Order& order : *of_voucher) {
        stored.emplace(order.id, order);
        if (!is_live(order)) continue;
        EXPECT_LE(++bought[order.user], voucher.limits.per_user)
            << "user " << order.user << ", voucher " << voucher.id;
      }
    }
    return stored;
  }

  static std::size_t count(const std::map<OrderId, Order>& stored, const Voucher& voucher) {
    std::size_t count = 0;
    for (const auto& [id, order] : stored) count += order.voucher == voucher.id ? 1U : 0U;
    return count;
  }

  /// Expects that every change that was reported as done is in the database, and that no order has
  /// two that exclude each other.
  void check_changes(const std::map<OrderId, Order>& stored, OrderStore& orders) {
    for (const auto& [order, reports] : changes_) {
      const OrderId id = order;  // clang 14 captures no structured binding
      SCOPED_TRACE("row " + std::to_string(row_of_[id]) + ", order " + std::to_string(id));
      const auto found = stored.find(id);
      ASSERT_NE(found, stored.end()) << "lost";
      const auto payment_is = [&](int which, Payment::State state) {
        const auto payment = orders.payments()->find_payment(payment_of_row(row_of_[id], which));
        return payment.ok() && payment->has_value() && (*payment)->state == state &&
               (*payment)->order == id;
      };
      const OrderStatus status = found->second.status;
      if (reports.contains(RowReport::kCancelled)) {
        EXPECT_EQ(status, OrderStatus::kCancelled);
      }
      if (reports.contains(RowReport::kRefunded)) {
        EXPECT_EQ(status, OrderStatus::kRefunded);
      }
      if (status == OrderStatus::kRefunded) {
        EXPECT_TRUE(payment_is(1, Payment::State::kDue));
      } else if (status == OrderStatus::kPaid) {
        EXPECT_TRUE(payment_is(1, Payment::State::kKept));
      } else if (reports.contains(RowReport::kPaid)) {
        ADD_FAILURE() << "was paid, and is " << order_status_name(status);
      }
      if (reports.contains(RowReport::kPaidLate)) {
        EXPECT_TRUE(payment_is(1, Payment::State::kDue));
        EXPECT_FALSE(is_live(status));
      }
      if (reports.contains(RowReport::kPaidTwice)) {
        EXPECT_TRUE(payment_is(2, Payment::State::kDue));
      }
    }
  }

  /// Expects exactly one order for every row that was ever accepted, and no other orders.
  void check_rows(const std::map<OrderId, Order>& stored) {
    std::set<OrderId> of_rows;
    for (const auto& [row, ids] : said_) {
      EXPECT_EQ(ids.size(), 1U) << "row " << row << " was accepted as several orders";
      const OrderId id = *ids.begin();
      EXPECT_TRUE(of_rows.insert(id).second) << "order " << id << " is the answer to two rows";
      const auto found = stored.find(id);
      ASSERT_NE(found, stored.end()) << "lost: row " << row << ", order " << id;
      EXPECT_EQ(found->second.voucher, plan_.rows[static_cast<std::size_t>(row)].voucher);
      EXPECT_EQ(found->second.user, plan_.rows[static_cast<std::size_t>(row)].user);
    }
    EXPECT_EQ(of_rows.size(), stored.size()) << "orders that no row was told of";
    EXPECT_EQ(last_.size(), said_.size()) << "the last process was told of every row again";
  }

  const std::uint64_t seed_;
  const bool has_own_orders_;
  const bool takes_payments_;
  const SalePlan plan_;
  const TemporaryDirectory directory_;
  std::map<std::int64_t, std::set<OrderId>> said_;  // by row
  std::vector<AcceptedRow> last_;                   // the accepted rows of the last process
  std::map<OrderId, std::set<RowReport>> changes_;
  std::map<OrderId, std::int64_t> row_of_;
};

}  // namespace rushgate
