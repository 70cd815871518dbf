// An order database that lost what it had stored (a restored backup, a standby that lagged) is caught up from
// the order stream, or the sale says what is lost.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "tests/support/hooked_backend.h"
#include "tests/support/random.h"
#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/archive_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Random;

constexpr std::int64_t kRetainMs = 600'000;

/// Returns everything that a database knows about its orders, one line for each row. Not when a row was
/// written, nor the positions of changes.
std::vector<std::string> contents_of(OrderStore& orders) {
  std::vector<std::string> lines;
  const auto add_order = [&lines](const Order& order) {
    lines.push_back(concat("order ", order.id, " user ", order.user.text(), " voucher ",
                           order.voucher, " ", order_status_name(order.status), " limit ",
                           order.limit, " at ", order.admitted_at_ms, " entry ",
                           order.entry.to_string(), " version ", order.version, " price ",
                           order.price_cents, " pieces ", order.quantity, " due ", order.due_at_ms,
                           " key ", order.idempotency_key, " keeps ", order.keeps_stock ? 1 : 0,
                           order.keeps_allowance ? 1 : 0));
    return absl::OkStatus();
  };
  const absl::Status read =
      for_each_order(orders, {}, [&](const Order& order) { add_order(order).IgnoreError(); });
  EXPECT_TRUE(read.ok()) << read;
  const auto payments = orders.payments()->list_payments({}).value();
  for (const Payment& payment : payments) {
    lines.push_back(concat("payment ", payment.id, " order ", payment.order, " amount ",
                           payment.amount_cents, " ", payment_state_name(payment.state), " at ",
                           payment.received_at_ms, " refunded ", payment.refunded_at_ms, " ",
                           payment.reason));
  }
  std::vector<std::string> changes;
  const auto all = orders.payments()->changes(0, 100'000, {}).value();
  for (const OrderChange& change : all) {
    // A refund that is carried out again ends later.
    const bool is_end = change.to == OrderStatus::kRefunded;
    changes.push_back(concat("change of ", change.order, " ", order_status_name(change.from), ">",
                             order_status_name(change.to), " at ", is_end ? 0 : change.at_ms, " ",
                             change.reason, " by ", change.actor));
  }
  std::ranges::sort(changes);
  lines.insert(lines.end(), changes.begin(), changes.end());
  const auto versions = orders.vouchers()->all_versions().value();
  for (const VoucherVersion& version : versions) {
    lines.push_back(concat("voucher ", version.voucher.id, " version ", version.version, " ",
                           version_state_name(version.state), " ", version.voucher.title, " stock ",
                           version.voucher.stock, " price ", version.voucher.price_cents));
  }
  return lines;
}

class LostCommitsTest : public PaidSaleTest {
 protected:
  LostCommitsTest() { use_worker(); }

  /// Makes a worker that retains what it has stored.
  void use_worker(std::int64_t retain_ms = kRetainMs) {
    worker_.reset();
    worker_ = make_worker("c1", {.retain_ms = retain_ms});
  }
  [[nodiscard]] std::filesystem::path copy() const {
    return backend_.orders_file().string() + ".copy";
  }
  void copy_orders() { backend_.copy_orders(copy()); }

  /// Restores the copy, and opens the sale with it.
  void put_orders_back() {
    close_and_put_back();
    open();
    use_worker();
  }
  void close_and_put_back() {
    worker_.reset();
    sale_.reset();
    backend_.put_orders_back(copy());
  }

  /// Restores the copy, and expects that the database has everything again.
  void expect_nothing_is_lost() {
    drain();
    expect_audit_passes();
    const std::vector<std::string> before = contents();
    put_orders_back();
    expect_caught_up(before);
  }
  void expect_caught_up(const std::vector<std::string>& before) {
    drain();
    EXPECT_EQ(contents(), before);
    expect_audit_passes();
  }

  /// Returns the reason of each dead letter.
  std::vector<std::string> dead_reasons() {
    std::vector<std::string> reasons;
    const auto letters = sale_->dead_letters().value();
    for (const DeadLetter& letter : letters) reasons.push_back(letter.reason);
    return reasons;
  }
  std::vector<std::string> contents() { return contents_of(backend_.orders()); }
  std::vector<OrderId> buy_for(std::int64_t first_user, std::int64_t count, VoucherId voucher = 1) {
    std::vector<OrderId> orders;
    for (std::int64_t user = first_user; user < first_user + count; ++user) {
      const BuyResult result = sale_->buy(voucher, user);
      EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
      orders.push_back(result.order);
    }
    return orders;
  }
  std::int64_t entries_in_stream() {
    return backend_.client()("XLEN", SaleKeys{}.order_stream).integer();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, LostCommitsTest,
                         each_backend_that(&SaleBackendKind::keeps_orders_in_file), backend_name);

TEST_P(LostCommitsTest, RestoredDatabaseIsCaughtUp) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  buy_for(1, 5);
  drain();
  copy_orders();
  buy_for(6, 5);
  drain();
  buy_for(11, 5);  // still queued
  const std::vector<std::string> none = contents();
  put_orders_back();
  EXPECT_LT(contents().size(), none.size()) << "the copy lacks orders";
  drain();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 15);
  expect_audit_passes();
  buy_for(16, 5);
  expect_nothing_is_lost();
}

TEST_P(LostCommitsTest, QueuedStatusFollowsCatchingUp) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  copy_orders();
  const std::vector<OrderId> orders = buy_for(1, 3);
  drain();
  put_orders_back();
  for (const OrderId order : orders) {
    EXPECT_EQ(sale_->status(order)->location, OrderLocation::kQueued);
  }
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  drain();
  for (const OrderId order : orders) {
    EXPECT_EQ(sale_->status(order)->location, OrderLocation::kStored);
  }
}

TEST_P(LostCommitsTest, RefusedVersionKeepsItsNumber) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  buy_for(1, 3);
  copy_orders();
  EXPECT_FALSE(sale_->add_stock(1, -3).ok()) << "three are sold";
  ASSERT_TRUE(sale_->add_stock(1, 1).ok());
  buy_for(4, 1);
  put_orders_back();
  drain();
  expect_audit_passes();
  const auto versions = backend_.orders().versions(1).value();
  ASSERT_EQ(versions.size(), 3U);
  EXPECT_EQ(versions[1].state, VoucherVersion::State::kRefused);
  EXPECT_EQ(versions[2].voucher.stock, 4);
}

TEST_P(LostCommitsTest, LostVersionsAreRestored) {
  copy_orders();
  Voucher first = voucher(1, 2);
  ASSERT_TRUE(sale_->publish(first).ok());
  buy_for(1, 2);
  ASSERT_TRUE(sale_->add_stock(1, 2).ok());
  buy_for(3, 1);
  first.stock = 5;
  first.title = "Tea";
  first.price_cents = 70;
  ASSERT_TRUE(sale_->publish(first).ok());
  buy_for(4, 1);
  drain();
  std::vector<std::string> before = contents();
  put_orders_back();
  drain();
  expect_audit_passes();
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(sale_->summary(1)->value().voucher.title, "Tea");
  buy_for(5, 1);
  EXPECT_EQ(buy(1, 9), Outcome::kSoldOut);
}

TEST_P(LostCommitsTest, PaymentsAndCancellationsAreAppliedAgain) {
  publish(3);
  const OrderId paid = bought(1);
  ASSERT_EQ(pay(paid, "p1").outcome, ChangeOutcome::kDone);
  const OrderId cancelled = bought(2);
  drain();
  copy_orders();
  ASSERT_EQ(sale_->cancel(cancelled, "asked").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(pay(cancelled, "p2").outcome, ChangeOutcome::kTooLate);
  const OrderId again = bought(2);
  ASSERT_EQ(pay(again, "p3").outcome, ChangeOutcome::kDone);
  drain();
  backend_.advance_ms(2 * 60'000);  // the keyspace forgets stored payments
  const OrderId late = bought(4);
  drain();
  backend_.advance_ms(2 * kPaymentMs);  // it times out
  drain();
  EXPECT_EQ(stored(late).status, OrderStatus::kCancelled);
  expect_nothing_is_lost();
}

/// The ends of holds are forgotten, and the database does not have them yet.
TEST_P(LostCommitsTest, ChangesDuringCatchingUpFindPresentState) {
  publish(3);
  copy_orders();
  const OrderId paid = bought(1);
  ASSERT_EQ(pay(paid, "p1").outcome, ChangeOutcome::kDone);
  const OrderId cancelled = bought(2);
  ASSERT_EQ(sale_->cancel(cancelled, "asked").outcome, ChangeOutcome::kDone);
  drain();
  backend_.advance_ms(2 * 60'000);
  bought(3);
  drain();
  const std::vector<std::string> before = contents();
  put_orders_back();
  const ChangeResult repeated = pay(paid, "p1");
  EXPECT_TRUE(repeated.outcome == ChangeOutcome::kDone ||
              repeated.outcome == ChangeOutcome::kOverloaded)
      << change_outcome_name(repeated.outcome) << repeated.detail;
  EXPECT_NE(sale_->cancel(paid, "asked").outcome, ChangeOutcome::kDone);
  EXPECT_NE(pay(cancelled, "p9", kPrice + 1).outcome, ChangeOutcome::kDone);
  drain();
  expect_audit_passes();
  EXPECT_EQ(stored(paid).status, OrderStatus::kPaid);
  EXPECT_EQ(stored(cancelled).status, OrderStatus::kCancelled);
}

TEST_P(LostCommitsTest, RebuildDuringCatchingUpCountsLostOrders) {
  ASSERT_TRUE(sale_->publish(voucher(1, 4)).ok());
  copy_orders();
  buy_for(1, 3);
  drain();
  put_orders_back();
  backend_.client()("DEL", SaleKeys{}.stock(1));
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 4), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 5), Outcome::kSoldOut);
  drain();
  expect_audit_passes();
}

TEST_P(LostCommitsTest, UsesAndRefundsAreAppliedAgain) {
  publish(3);
  const OrderId used = bought(1);
  const OrderId refunded = bought(2);
  const OrderId both = bought(3);
  for (const OrderId order : {used, refunded, both}) {
    ASSERT_EQ(pay(order, concat("p", order)).outcome, ChangeOutcome::kDone);
  }
  drain();
  copy_orders();
  ASSERT_EQ(sale_->use(used, "door").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->refund(refunded, "asked", "anna").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->use(both).outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->refund(both, "broken").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->confirm_refund(concat("p", refunded)).outcome, ChangeOutcome::kDone);
  bought(4);  // a piece that was given back
  expect_nothing_is_lost();
  expect_nothing_is_lost();
}

/// The rebuild has counted the order as refunded, and the database has lost the refund.
TEST_P(LostCommitsTest, RefundBeforeRebuildGivesBackOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  const std::vector<OrderId> orders = buy_for(1, 2);
  drain();
  copy_orders();
  ASSERT_EQ(sale_->refund(orders[0], "asked").outcome, ChangeOutcome::kDone);
  backend_.client()("DEL", SaleKeys{}.stock(1));
  EXPECT_EQ(buy(1, 3), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 4), Outcome::kSoldOut);
  expect_nothing_is_lost();
  EXPECT_EQ(buy(1, 4), Outcome::kSoldOut);
}

TEST_P(LostCommitsTest, DeletedOrdersStayDeleted) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  ASSERT_TRUE(sale_->publish(voucher(2, 9)).ok());
  const std::vector<OrderId> orders = buy_for(1, 2);
  drain();
  ASSERT_TRUE(sale_->close(1).ok());
  backend_.advance_ms(1);
  ASSERT_TRUE(sale_->archive(1).ok());
  ASSERT_TRUE(sale_->delete_archived(1).ok());
  copy_orders();
  buy_for(5, 2, 2);
  expect_nothing_is_lost();
  EXPECT_EQ(backend_.orders().find(orders[0]).value(), std::nullopt);
  EXPECT_THAT(dead_reasons(), IsEmpty());
}

TEST_P(LostCommitsTest, DeadLettersStayDead) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  copy_orders();
  const std::vector<OrderId> orders = buy_for(1, 4);
  backend_.orders().poison([&](const Order& order) { return order.id <= orders[2]; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  drain();
  backend_.orders().poison({});
  auto letters = sale_->dead_letters().value();
  ASSERT_EQ(letters.size(), 3U);
  ASSERT_TRUE(sale_->retry_dead_letter(letters[1].id).value());
  ASSERT_TRUE(sale_->discard_dead_letter(letters[2].id, "given up").value());
  expect_nothing_is_lost();
  EXPECT_EQ(sale_->dead_letters()->size(), 1U);
  EXPECT_EQ(backend_.orders().find(orders[2]).value(), std::nullopt) << "it was discarded";
}

// ---- A standby that lagged ----

/// Two workers, whose database is replaced while they run.
class FailoverTest : public LostCommitsTest {
 protected:
  FailoverTest() { second_ = make_worker("c2", {.retain_ms = kRetainMs}); }

  /// Copies the present primary, which a standby has received up to now.
  void replicate() {
    const std::filesystem::path to =
        backend_.orders_file().string() + ".standby" + std::to_string(++standbys_);
    for (const char* const suffix : {"", "-wal"}) {
      const std::string from = primary_.string() + suffix;
      if (!std::filesystem::exists(from)) continue;
      std::filesystem::copy_file(from, to.string() + suffix);
    }
    next_ = to;
  }
  void fail_over() {
    primary_ = next_;
    opened_.push_back(SqliteOrderStore::open(primary_).value());
    backend_.orders().fail_over_to(*opened_.back());
    replicate();
  }
  void drain_both() {
    for (int i = 0; i < 3; ++i) {
      drain(*worker_);
      drain(*second_);
      backend_.advance_ms(WorkerOptions{}.retry_after_ms);
    }
  }

  std::vector<std::unique_ptr<OrderStore>> opened_;
  std::filesystem::path primary_ = backend_.orders_file();
  std::filesystem::path next_;
  std::unique_ptr<OrderWorker> second_;
  int standbys_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Backends, FailoverTest,
                         each_backend_that(&SaleBackendKind::keeps_orders_in_file), backend_name);

TEST_P(FailoverTest, CommitLostBeforeAcknowledgementIsRepeated) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  buy_for(1, 5);
  drain();
  replicate();
  buy_for(6, 5);
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point point) {
    if (point == faults::FaultyOrderStore::Point::kAfterWrite && opened_.empty()) fail_over();
  });
  EXPECT_THAT(worker_->step().reason, HasSubstr("made anew"));
  backend_.orders().at_every_point({});
  drain_both();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 10);
  expect_audit_passes();
}

/// The second worker has read its batch, and the first has acknowledged one since, which is lost.
TEST_P(FailoverTest, NextWriteFindsLostBatch) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  drain_both();
  replicate();
  buy_for(1, 1);
  before_next_write([&] {
    buy_for(2, 4);
    EXPECT_EQ(worker_->step().stored, 4U);
    fail_over();
  });
  second_->step();
  drain_both();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 5);
  expect_audit_passes();
}

TEST_P(FailoverTest, AuditNamesLostBatch) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  replicate();
  buy_for(1, 1);
  drain_both();
  fail_over();
  EXPECT_THAT(sale_->audit()->problems, Contains(HasSubstr("it has lost orders")));
  drain_both();
  worker_ = make_worker("c1", {.retain_ms = kRetainMs});
  drain();
  expect_audit_passes();
}

TEST_P(FailoverTest, IdleWorkerFindsLostBatch) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  replicate();
  fail_over();
  buy_for(1, 1);
  drain_both();
  replicate();
  buy_for(2, 3);
  drain_both();
  fail_over();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 1);
  backend_.advance_ms(10'000);
  drain_both();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 4);
}

TEST_P(FailoverTest, ChangeFindsLostBatch) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const OrderId first = buy_for(1, 1)[0];
  drain_both();
  replicate();
  buy_for(2, 4);
  drain_both();
  fail_over();
  EXPECT_EQ(sale_->use(first).outcome, ChangeOutcome::kOverloaded) << "it is caught up first";
  drain_both();
  EXPECT_EQ(sale_->use(first).outcome, ChangeOutcome::kDone);
  EXPECT_EQ(backend_.orders().count_live(1).value(), 5);
  expect_audit_passes();
}

TEST_P(FailoverTest, RestoredVersionsAreLostAgain) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2)).ok());
  drain_both();
  replicate();
  ASSERT_TRUE(sale_->add_stock(1, 3).ok());
  fail_over();  // to a standby that another one copies before the version is restored
  buy_for(1, 5);
  drain_both();
  fail_over();
  drain_both();
  EXPECT_EQ(buy(1, 9), Outcome::kSoldOut);
  ASSERT_TRUE(sale_->add_stock(1, 1).ok());
  drain_both();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 5);
  expect_audit_passes();
}

/// The rebuild is the first to meet the other database.
TEST_P(FailoverTest, RebuildReadsDatabaseThatIsCaughtUp) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  replicate();
  buy_for(1, 2);
  drain_both();
  backend_.client()("DEL", SaleKeys{}.stock(1));
  fail_over();
  EXPECT_EQ(buy(1, 3), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 4), Outcome::kSoldOut);
  drain_both();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 3);
  expect_audit_passes();
}

/// The database has lost nothing but the epoch in which the voucher was rebuilt.
TEST_P(FailoverTest, LostEpochIsPassed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  drain_both();
  replicate();
  backend_.client()("DEL", SaleKeys{}.stock(1));
  buy_for(1, 1);
  fail_over();
  drain_both();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 1);
  expect_audit_passes();
}

/// The rebuild that sold the piece of a kept batch again began an epoch, which the database has lost.
TEST_P(FailoverTest, BatchKeptBeforeLostEpochIsReadAgain) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  replicate();
  fail_over();
  use_worker();  // it looks for a new session only after a first one
  drain_both();
  replicate();
  const OrderId held = buy_for(1, 1)[0];
  backend_.orders().fail_writes();
  EXPECT_EQ(worker_->step().kind, OrderWorker::Step::Kind::kPaused);
  backend_.orders().fail_writes(absl::OkStatus());
  backend_.client()("FLUSHALL");
  buy_for(2, 3);
  fail_over();
  backend_.advance_ms(10'000);
  drain_both();
  EXPECT_EQ(sale_->status(held)->location, OrderLocation::kDeadLetter);
  EXPECT_THAT(dead_reasons(), ElementsAre("the keyspace lost it, and meanwhile its stock was sold "
                                          "again"));
  EXPECT_EQ(backend_.orders().count_live(1).value(), 3);
  expect_audit_passes();
}

TEST_P(FailoverTest, DamagedEpochIsRefused) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  backend_.client()("HSET", SaleKeys{}.stream_owner(), "epoch", 1'000'000'000'000);
  const auto refused = Sale::open(backend_.keyspace(), backend_.orders(), {});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("one of them is damaged"));
}

/// Everything at random, with failovers between the steps of two workers.
TEST_P(FailoverTest, RandomHistoriesLoseNothing) {
  Random random(random_seed());
  publish(6);
  ASSERT_TRUE(sale_->publish(voucher(2, 8, {.per_user = 3})).ok());
  drain_both();
  replicate();
  std::map<OrderId, OrderStatus> expected;
  std::vector<OrderId> orders;
  int payments = 0;
  const auto any_order = [&] { return orders[random.below(orders.size())]; };
  const auto note = [&](OrderId order, const ChangeResult& result, OrderStatus status) {
    if (result.outcome == ChangeOutcome::kDone) expected[order] = status;
  };
  std::vector<OrderId> uncertain;  // their refunds began, perhaps
  const int failovers = 6;
  for (int i = 0; i < 60 * failovers; ++i) {
    const std::uint64_t action = orders.empty() ? 0 : random.below(20);
    if (action < 6) {
      const BuyResult bought =
          sale_->buy(random.below(2) == 0 ? 1 : 2, static_cast<std::int64_t>(1 + random.below(12)));
      if (bought.outcome != Outcome::kAccepted) continue;
      orders.push_back(bought.order);
      expected[bought.order] = OrderStatus::kCreated;
    } else if (action < 8) {
      const OrderId order = any_order();
      note(order, pay(order, concat("p", ++payments)), OrderStatus::kPaid);
    } else if (action == 8) {
      const OrderId order = any_order();
      note(order, sale_->cancel(order, "asked"), OrderStatus::kCancelled);
    } else if (action == 9) {
      const OrderId order = any_order();
      note(order, sale_->use(order, "door"), OrderStatus::kUsed);
    } else if (action == 10) {
      const OrderId order = any_order();
      const ChangeResult result = sale_->refund(order, "asked");
      note(order, result, OrderStatus::kRefunded);
      if (result.outcome == ChangeOutcome::kOutcomeUnknown) uncertain.push_back(order);
    } else if (action == 11) {
      const auto due = backend_.orders().list_payments({.state = Payment::State::kDue}).value();
      if (!due.empty()) sale_->confirm_refund(due[0].id);
    } else if (action == 12) {
      const absl::Status added = sale_->add_stock(random.below(2) == 0 ? 1 : 2, 1);
      EXPECT_TRUE(added.ok()) << added;
    } else if (action == 13 && random.below(4) == 0) {
      backend_.client()("DEL", SaleKeys{}.stock(1));
    } else if (action == 14 && random.below(2) == 0) {
      replicate();
    } else if (action == 15 && random.below(5) == 0) {
      fail_over();
    } else {
      (random.below(2) == 0 ? worker_ : second_)->step();
      if (random.below(4) == 0) backend_.advance_ms(WorkerOptions{}.retry_after_ms / 2);
    }
  }
  fail_over();
  use_worker();  // idle ones look for a new session after a while
  second_ = make_worker("c2", {.retain_ms = kRetainMs});
  drain_both();
  for (const VoucherId id : {1, 2}) sale_->buy(id, 99);  // rebuilds one whose stock was deleted
  drain_both();
  for (const OrderId order : uncertain) {
    const ChangeResult result = sale_->refund(order, "asked");
    EXPECT_EQ(result.outcome, ChangeOutcome::kDone) << result.detail;
    note(order, result, OrderStatus::kRefunded);
  }
  expect_audit_passes();
  EXPECT_THAT(dead_reasons(), IsEmpty());
  for (const auto& [order, status] : expected) {
    const Order found = stored(order);
    const bool is_open = status == OrderStatus::kCreated;  // or unpaid, or timed out
    if (!is_open) {
      EXPECT_EQ(order_status_name(found.status), order_status_name(status))
          << order << ": " << states_of(order);
    }
    EXPECT_EQ(found.id, order);
  }
}

// ---- Entries that are gone ----

TEST_P(LostCommitsTest, MissingOrdersAreNamedAndNothingIsSold) {
  use_worker(0);
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  buy_for(1, 2);
  drain();
  copy_orders();
  buy_for(3, 3);
  drain();
  close_and_put_back();
  const auto refused = Sale::open(backend_.keyspace(), backend_.orders(), {});
  ASSERT_TRUE(absl::IsDataLoss(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("the order database has lost orders"));
  EXPECT_EQ(backend_.client()("HEXISTS", SaleKeys{}.voucher(1), "closed"), Reply::integer(1));
  // A worker stores nothing either.
  use_worker();
  EXPECT_THAT(worker_->step().reason, HasSubstr("the order database has lost orders"));

  const auto accepted =
      Sale::open(backend_.keyspace(), backend_.orders(), {.accept_lost_orders = true});
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_TRUE(Sale::open(backend_.keyspace(), backend_.orders(), {}).ok()) << "once is enough";
  open();
  use_worker();
  // The last entry that a group was given stays in its stream.
  for (std::int64_t user = 11; user <= 17; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 19), Outcome::kSoldOut);
  drain();
  expect_audit_passes();
}

TEST_P(LostCommitsTest, NewerCopyOpensClosedVouchers) {
  use_worker(0);
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  buy_for(1, 2);
  drain();
  copy_orders();
  buy_for(3, 3);
  drain();
  const std::string newest = copy().string() + ".newest";
  backend_.copy_orders(newest);
  close_and_put_back();
  EXPECT_TRUE(absl::IsDataLoss(Sale::open(backend_.keyspace(), backend_.orders(), {}).status()));
  backend_.put_orders_back(newest);
  open();
  buy_for(6, 5);
  EXPECT_EQ(buy(1, 19), Outcome::kSoldOut);
  drain();
  expect_audit_passes();
}

TEST_P(LostCommitsTest, EntriesGoAfterTheirTime) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1'000)).ok());
  for (int i = 0; i < 40; ++i) {
    buy_for(1 + 10 * i, 10);
    drain();
    backend_.advance_ms(kRetainMs / 16);
  }
  // The rest of a node of Redis's stream stays.
  EXPECT_GE(entries_in_stream(), 160);
  EXPECT_LE(entries_in_stream(), 300);
  for (int i = 0; i < 20; ++i) {
    backend_.advance_ms(kRetainMs / 8);
    worker_->step();
  }
  EXPECT_LE(entries_in_stream(), 100) << "an idle worker trims, too";
}

TEST_P(LostCommitsTest, StreamHasNoMoreThanItsBound) {
  worker_ = make_worker("c1", {.retain_ms = kRetainMs, .retain_max = 200});
  ASSERT_TRUE(sale_->publish(voucher(1, 1'000)).ok());
  for (int i = 0; i < 80; ++i) {
    buy_for(1 + 10 * i, 10);
    drain();
    backend_.advance_ms(100);
    EXPECT_LE(entries_in_stream(), 320);
  }
}

// ---- Interruptions ----

/// The process ends before each request of the catching up.
TEST_P(LostCommitsTest, InterruptedCatchingUpIsRepeated) {
  publish(10);
  const OrderId first = bought(1);
  drain();
  copy_orders();
  ASSERT_EQ(pay(first, "p1").outcome, ChangeOutcome::kDone);
  bought(2);
  ASSERT_TRUE(sale_->add_stock(1, 3).ok());
  drain();
  const std::vector<std::string> before = contents();
  constexpr int kEnds = 14;  // the requests of the catching up, and some more
  for (int at = 1; at <= kEnds; ++at) {
    close_and_put_back();
    int requests = 0;
    HookedBackend hooked(backend_.keyspace(), {.before = [&](const Request&) {
                           if (++requests == at) throw std::runtime_error("the process ends");
                         }});
    try {
      Sale::open(hooked, backend_.orders(), {}).IgnoreError();
    } catch (const std::runtime_error&) {
    }
    open();
    use_worker();
    worker_->step();
    expect_caught_up(before);
  }
}

}  // namespace
}  // namespace rushgate
