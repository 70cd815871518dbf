// The end of a sale: archiving and deleting it, on every backend.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/archive_store.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ArchiveTest : public PaidSaleTest {
 protected:
  /// Sells a voucher to four users: one pays, one cancels, one times out, one is refunded.
  void sell() {
    publish();
    for (std::int64_t user = 1; user <= 4; ++user) orders_.push_back(bought(user));
    pay(orders_[0], "p0");
    pay(orders_[3], "p3");
    sale_->cancel(orders_[1], "no");
    backend_.advance_ms(kPaymentMs);
    drain();
    ASSERT_EQ(sale_->refund(orders_[3], "broken").outcome, ChangeOutcome::kDone);
  }
  void end() {
    ASSERT_TRUE(sale_->close(1).ok());
    ASSERT_EQ(sale_->confirm_refund("p3").outcome, ChangeOutcome::kDone);
  }
  ArchiveStore& archive() { return *backend_.orders().archive(); }
  /// Archives the voucher's versions alone, like a process that is interrupted then.
  absl::Status archive_voucher() { return archive().archive_voucher(1, backend_.clock().now_ms()); }
  void expect_refused(const std::string& why) { expect_refused(sale_->archive(1), why); }
  static void expect_refused(const absl::Status& status, const std::string& why) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }

  std::vector<OrderId> orders_;
};
INSTANTIATE_TEST_SUITE_P(Backends, ArchiveTest, each_backend(), backend_name);

/// Excludes memory: such a keyspace has no older state to return to.
class RolledBackArchiveTest : public ArchiveTest {};
INSTANTIATE_TEST_SUITE_P(Backends, RolledBackArchiveTest,
                         each_backend_that(&SaleBackendKind::can_roll_back), backend_name);

/// Only the sale on a server stays open while its keyspace is rolled back. In manual time each run of
/// the server has the same name.
class ReconnectedArchiveTest : public ThreadedSaleTest {
 protected:
  void archive_and_roll_back() {
    ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
    EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
    while (worker_->step().kind == OrderWorker::Step::Kind::kWorked) {
    }
    ASSERT_TRUE(sale_->close(1).ok());
    save();
    ASSERT_EQ(sale_->archive(1), absl::OkStatus());
    backend_.roll_back();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, ReconnectedArchiveTest,
                         each_backend_that(&SaleBackendKind::is_server, TestTime::kMachines),
                         backend_name);

TEST_P(ArchiveTest, EndedSaleLeavesNothingBehind) {
  sell();
  end();
  const std::vector<OrderChange> before = changes();

  const absl::Status archived = sale_->archive(1);
  ASSERT_TRUE(archived.ok()) << archived;

  EXPECT_THAT(*backend_.orders().list({}), IsEmpty());
  EXPECT_THAT(*backend_.orders().list_payments({}), IsEmpty());
  EXPECT_EQ(changes(), before) << "for those that have not seen them";
  const auto of_refunded = *backend_.orders().changes(0, 10, orders_[3]);
  ASSERT_EQ(of_refunded.size(), 3U);
  EXPECT_EQ(*backend_.orders().changes(of_refunded[0].position, 1, orders_[3]),
            std::vector{of_refunded[1]});
  EXPECT_EQ(backend_.orders().list_payments({.order = orders_[0]})->size(), 1U);
  EXPECT_THAT(*backend_.orders().list_payments({.order = orders_[0], .after = "p0"}), IsEmpty());
  EXPECT_THAT(*backend_.orders().versions(1), IsEmpty());
  EXPECT_EQ(*backend_.orders().count_live(1), 0);
  const Reply keys = backend_.client()("KEYS", "seckill:*:1");
  EXPECT_TRUE(keys.elements().empty()) << to_debug_string(keys);
  EXPECT_THAT(*sale_->summaries(), IsEmpty());
  expect_audit_passes();
}

TEST_P(ArchiveTest, ArchivedOrdersAreStillKnown) {
  sell();
  end();
  ASSERT_TRUE(sale_->archive(1).ok());

  EXPECT_EQ(stored(orders_[0]).status, OrderStatus::kPaid);
  EXPECT_EQ(sale_->status(orders_[0])->location, OrderLocation::kStored);
  EXPECT_EQ(states_of(orders_[3]), "unpaid>paid>refunding>refunded");
  EXPECT_TRUE(pay(orders_[0], "p0").is_repeated);
  EXPECT_TRUE(sale_->cancel(orders_[1], "no").is_repeated);
  EXPECT_EQ(sale_->use(orders_[0]).outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(sale_->refund(orders_[0], "late").outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(archive().list_archived({.voucher = 1})->size(), 4U);
  EXPECT_EQ(archive().list_archived({.voucher = 1, .status = OrderStatus::kPaid})->size(), 1U);
}

TEST_P(ArchiveTest, ChangeOfArchivedVoucherIsRefused) {
  sell();
  end();
  ASSERT_TRUE(sale_->archive(1).ok());

  expect_refused(sale_->close(1), "voucher 1 was archived");
  expect_refused(sale_->add_stock(1, 5), "voucher 1 was archived");
  EXPECT_TRUE(absl::IsNotFound(sale_->close(2))) << "never on sale";
  const auto published = sale_->publish_if_new(paid_voucher());
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_FALSE(*published);
}

/// The stream keeps the entry of a stored order, between those of queued ones.
TEST_P(ArchiveTest, UntrimmedStreamShowsNoDeletedOrder) {
  for (const VoucherId id : {2, 3}) ASSERT_TRUE(sale_->publish(voucher(id, 5)).ok());
  const OrderId gone = sale_->buy(2, 7).order;
  const OrderId queued = sale_->buy(3, 7).order;
  ASSERT_EQ(sale_->orders_of(7)->size(), 2U);
  ASSERT_EQ(sale_->cancel(gone, "no").outcome, ChangeOutcome::kTooLate);
  ASSERT_EQ(make_worker("c2", {.batch_max = 1, .trim = false})->step().stored, 1U);
  const auto other = open_sale(backend_.keyspace());  // another process ends the sale
  ASSERT_TRUE(other->close(2).ok());
  ASSERT_TRUE(other->archive(2).ok());

  const auto is_queued_alone = [&] {
    const auto states = sale_->orders_of(7);
    return states.ok() && states->size() == 1 && states->front().order->id == queued &&
           states->front().location == OrderLocation::kQueued;
  };
  EXPECT_TRUE(is_queued_alone()) << "archived";
  EXPECT_EQ(sale_->cancel(gone, "no").outcome, ChangeOutcome::kTooLate) << "it is known";
  ASSERT_EQ(*other->delete_archived(2), 1U);
  EXPECT_TRUE(is_queued_alone()) << "deleted";
  EXPECT_EQ(sale_->cancel(gone, "no").outcome, ChangeOutcome::kUnknownOrder);
}

TEST_P(ArchiveTest, LatePaymentOfArchivedOrderIsDue) {
  sell();
  end();
  ASSERT_TRUE(sale_->archive(1).ok());

  EXPECT_EQ(pay(orders_[1], "late").outcome, ChangeOutcome::kTooLate);
  drain();

  EXPECT_EQ(payments(), std::vector<std::string>{"late due"});
  ASSERT_EQ(sale_->confirm_refund("late").outcome, ChangeOutcome::kDone);
  EXPECT_THAT(payments(), IsEmpty()) << "it follows its order";
  EXPECT_EQ((*backend_.orders().find_payment("late"))->state, Payment::State::kRefunded);
  EXPECT_TRUE(sale_->confirm_refund("late").is_repeated);
  expect_audit_passes();
}

TEST_P(ArchiveTest, IdIsNotResurrected) {
  sell();
  end();
  ASSERT_TRUE(sale_->archive(1).ok());

  EXPECT_EQ(buy(1, 50), Outcome::kUnknownVoucher);
  restart();
  EXPECT_EQ(buy(1, 50), Outcome::kUnknownVoucher);
  const absl::Status published = sale_->publish(paid_voucher());
  EXPECT_EQ(published.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(published.message()), HasSubstr("was archived"));
  EXPECT_EQ(sale_->wait_for(1, 50).outcome, WaitOutcome::kUnknownVoucher);
}

TEST_P(ArchiveTest, UnsettledSaleIsRefused) {
  EXPECT_EQ(sale_->archive(1).code(), absl::StatusCode::kNotFound);
  sell();
  expect_refused("has not ended");
  const OrderId unpaid = bought(7);
  ASSERT_TRUE(sale_->close(1).ok());
  expect_refused("is queued");
  drain();
  expect_refused("order " + std::to_string(unpaid) + " is unpaid");
  sale_->cancel(unpaid, "no");
  expect_refused("a change of order " + std::to_string(unpaid) + " is queued");
  drain();
  expect_refused("payment p3 is due");
  sale_->confirm_refund("p3");
  EXPECT_TRUE(sale_->archive(1).ok());
  EXPECT_TRUE(sale_->archive(1).ok()) << "again";
}

TEST_P(ArchiveTest, UnpaidOrderLeavesVoucherAsItWas) {
  publish();
  const OrderId order = bought(5);
  drain();
  ASSERT_TRUE(sale_->close(1).ok());
  const std::size_t versions = backend_.orders().versions(1)->size();

  expect_refused(archive_voucher(), "order " + std::to_string(order) + " is unpaid");

  EXPECT_EQ(backend_.orders().versions(1)->size(), versions);
  EXPECT_THAT(*archive().archived_vouchers(), IsEmpty());
  EXPECT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  drain();
  EXPECT_EQ(states_of(order), "unpaid>paid");
  expect_audit_passes();
}

/// The refund begins after the checks of the orders and before the voucher is archived.
TEST_P(ArchiveTest, RefundBegunMeanwhileIsRefused) {
  sell();
  end();
  int times_asked = 0;
  HookedBackend hooked(backend_.keyspace(), {.before = [&](const Request& request) {
                         if (request[0] != "TIME" || ++times_asked != 2) return;
                         OrderEvent begun{.kind = OrderEvent::Kind::kRefundBegun, .reason = "no"};
                         begun.order.id = orders_[0];
                         const auto state = *backend_.orders().state();
                         const BatchFence fence{.epoch = state.epoch};
                         EXPECT_TRUE(backend_.orders().apply({&begun, 1}, fence).ok());
                       }});
  const auto archiving = open_sale(hooked);
  times_asked = 0;

  expect_refused(archiving->archive(1), "order " + std::to_string(orders_[0]) + " is refunding");

  expect_refused("payment p0 is due");
  EXPECT_EQ(stored(orders_[0]).status, OrderStatus::kRefunded);
  sale_->confirm_refund("p0");
  EXPECT_TRUE(sale_->archive(1).ok());
}

TEST_P(ArchiveTest, KeyspaceDecidesAboutEndOfSale) {
  sell();
  sale_->confirm_refund("p3");
  ManualClock later;
  later.set_now_ms(backend_.clock().now_ms() + 2 * 86'400'000);
  BackendWithClock ahead(backend_.keyspace(), later);

  expect_refused(open_sale(ahead)->archive(1), "has not ended");
}

TEST_P(ArchiveTest, UnmovedOrderIsNotRefunded) {
  sell();
  end();
  ASSERT_TRUE(archive_voucher().ok());

  EXPECT_EQ(sale_->use(orders_[0]).outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(sale_->refund(orders_[0], "late").outcome, ChangeOutcome::kTooLate);
  EXPECT_EQ(pay(orders_[1], "late").outcome, ChangeOutcome::kTooLate);
  drain();
  restart();

  EXPECT_EQ(states_of(orders_[0]), "unpaid>paid");
  EXPECT_EQ(payments(), std::vector<std::string>{"late due"});
  expect_audit_passes();
}

/// A worker of another process has read the versions, and is about to rebuild the voucher.
TEST_P(ArchiveTest, RebuildOfArchivedVoucherLeavesNothing) {
  sell();
  end();
  bool is_armed = false;
  bool is_read = false;
  backend_.orders().before_every_read([&] { is_read = is_armed; });
  HookedBackend hooked(backend_.keyspace(), {.before = [&](const Request& request) {
                         const bool is_look = request[0] == "HEXISTS" || request[0] == "EXISTS";
                         if (is_look || !is_read || !std::exchange(is_armed, false)) return;
                         const absl::Status archived = sale_->archive(1);
                         EXPECT_TRUE(archived.ok()) << archived;
                       }});
  OrderWorker rebuilding(hooked, backend_.orders(), SaleKeys{});
  backend_.client()("DEL", SaleKeys{}.stock(1));
  is_armed = true;

  EXPECT_EQ(rebuilding.step().reason, "");

  EXPECT_FALSE(is_armed);
  const Reply keys = backend_.client()("KEYS", "seckill:*:1");
  EXPECT_TRUE(keys.elements().empty()) << to_debug_string(keys);
  EXPECT_EQ(backend_.client()("SCARD", SaleKeys{}.vouchers()), Reply::integer(0));
  EXPECT_EQ(backend_.client()("HLEN", SaleKeys{}.held()), Reply::integer(0));
  backend_.orders().before_every_read({});
  expect_audit_passes();
}

TEST_P(ArchiveTest, InterruptedArchivingIsFinishedByOpen) {
  sell();
  end();
  ASSERT_TRUE(archive_voucher().ok());
  ASSERT_EQ(*archive().archive_orders(1, 1), 1U);

  restart();

  EXPECT_THAT(*backend_.orders().list({}), IsEmpty());
  EXPECT_EQ(archive().list_archived({})->size(), 4U);
  EXPECT_EQ(buy(1, 50), Outcome::kUnknownVoucher);
  expect_audit_passes();
}

TEST_P(ArchiveTest, VoucherWithoutOrdersIsFinishedByOpen) {
  publish();
  ASSERT_TRUE(sale_->close(1).ok());
  ASSERT_TRUE(archive_voucher().ok());

  restart();

  const Reply keys = backend_.client()("KEYS", "seckill:*:1");
  EXPECT_TRUE(keys.elements().empty()) << to_debug_string(keys);
  EXPECT_EQ(backend_.client()("SCARD", SaleKeys{}.vouchers()), Reply::integer(0));
  expect_audit_passes();
}

TEST_P(ArchiveTest, ArchivingRaisesCheckpoint) {
  sell();
  end();
  const std::int64_t before = backend_.orders().state()->checkpoint;
  ASSERT_TRUE(sale_->archive(1).ok());
  const std::int64_t after = backend_.orders().state()->checkpoint;
  EXPECT_GT(after, before);
  EXPECT_EQ(backend_.client()("HGET", SaleKeys{}.stream_owner(), "checkpoint"),
            Reply::bulk(concat(after)));
}

TEST_P(ArchiveTest, EmptiedKeyspaceIsArchivedToo) {
  sell();
  end();
  backend_.client()("FLUSHALL");
  EXPECT_EQ(sale_->archive(1), absl::OkStatus());
  EXPECT_EQ(archive().list_archived({})->size(), 4U);
  expect_audit_passes();
}

TEST_P(ArchiveTest, RepairRemovesKeysOfArchivedVoucher) {
  sell();
  end();
  backend_.client()("COPY", SaleKeys{}.voucher(1), "saved");
  ASSERT_TRUE(sale_->archive(1).ok());
  backend_.client()("RENAME", "saved", SaleKeys{}.voucher(1));
  backend_.client()("SADD", SaleKeys{}.vouchers(), 1);
  EXPECT_FALSE(sale_->audit()->passed());
  const auto report = sale_->repair();
  EXPECT_THAT(report->repairs,
              ::testing::ElementsAre("voucher 1: removed its keys, it is archived"));
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
}

TEST_P(RolledBackArchiveTest, LostRemovalIsRepeatedByOpen) {
  sell();
  end();
  save();
  ASSERT_TRUE(sale_->archive(1).ok());
  roll_back();
  restart();

  const Reply keys = backend_.client()("KEYS", "seckill:*:1");
  EXPECT_TRUE(keys.elements().empty()) << to_debug_string(keys);
  EXPECT_EQ(buy(1, 50), Outcome::kUnknownVoucher);
  drain();
  EXPECT_THAT(*sale_->dead_letters(), IsEmpty());
  expect_audit_passes();
}

TEST_P(ReconnectedArchiveTest, LostRemovalIsRepeatedByOpenSale) {
  archive_and_roll_back();
  EXPECT_EQ(buy(1, 50), Outcome::kUnknownVoucher);
  const Reply keys = backend_.client()("KEYS", "seckill:*:1");
  EXPECT_TRUE(keys.elements().empty()) << to_debug_string(keys);
  EXPECT_EQ(backend_.client()("SCARD", SaleKeys{}.vouchers()), Reply::integer(0));
  expect_audit_passes();
}

/// As an old hold that cannot be removed while memory is short.
TEST_P(ReconnectedArchiveTest, UnremovableKeyRefusesNoConnection) {
  Client& client = backend_.client();
  const std::string held = SaleKeys{}.held();
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  ASSERT_TRUE(sale_->close(1).ok());
  client("SET", held, "not a hash");
  save();
  client("DEL", held);
  ASSERT_EQ(sale_->archive(1), absl::OkStatus());
  backend_.roll_back();
  EXPECT_EQ(client("EXISTS", held), Reply::integer(1));
  EXPECT_EQ(buy(1, 50), Outcome::kUnknownVoucher);
}

/// The worker notices the loss first, and removes nothing.
TEST_P(ReconnectedArchiveTest, LossNoticedByWorkerIsMendedBySale) {
  archive_and_roll_back();
  {
    const auto of_worker = backend_.open_another();
    OrderWorker worker(*of_worker, backend_.orders(), SaleKeys{}, {.consumer = "c2"});
    worker.step();
  }
  EXPECT_EQ(buy(1, 50), Outcome::kUnknownVoucher);
}

TEST_P(RolledBackArchiveTest, EntriesOfArchivedOrdersAreKnown) {
  publish();
  const OrderId paid = bought(1);
  const OrderId cancelled = bought(2);
  pay(paid, "p1");
  sale_->cancel(cancelled, "no");
  save();
  drain();
  ASSERT_TRUE(sale_->close(1).ok());
  ASSERT_TRUE(sale_->archive(1).ok());
  roll_back();
  restart();

  drain();
  EXPECT_EQ(stored(paid).status, OrderStatus::kPaid);
  EXPECT_EQ(stored(cancelled).status, OrderStatus::kCancelled);
  EXPECT_EQ(archive().list_archived({})->size(), 2U);
  EXPECT_THAT(*backend_.orders().list({}), IsEmpty());
  EXPECT_THAT(payments(), IsEmpty());
  EXPECT_THAT(*sale_->dead_letters(), IsEmpty());
  expect_audit_passes();
}

TEST_P(ArchiveTest, ArchivedOrdersAreDeleted) {
  sell();
  EXPECT_EQ(sale_->delete_archived(1).status().code(), absl::StatusCode::kFailedPrecondition);
  end();
  ASSERT_TRUE(sale_->archive(1).ok());

  EXPECT_EQ(*sale_->delete_archived(1), 4U);
  EXPECT_EQ(*sale_->delete_archived(1), 0U);
  EXPECT_THAT(changes(), IsEmpty());

  EXPECT_EQ(sale_->status(orders_[0])->location, OrderLocation::kUnknown);
  const auto vouchers = archive().archived_vouchers();
  ASSERT_EQ(vouchers->size(), 1U);
  EXPECT_TRUE(vouchers->front().is_deleted);
  EXPECT_FALSE(vouchers->front().has_unmoved_orders);
  EXPECT_EQ(vouchers->front().last.voucher.id, 1);
  EXPECT_EQ(sale_->publish(paid_voucher()).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(ArchiveTest, NoDeadlineOfArchivedSaleIsLeft) {
  publish();
  Voucher other = paid_voucher();
  other.id = 2;
  ASSERT_TRUE(sale_->publish(other).ok());
  for (std::int64_t user = 1; user <= 9; ++user)
    ASSERT_EQ(pay(bought(user), concat(user)).outcome, ChangeOutcome::kDone);
  const OrderId unpaid = sale_->buy(2, 1).order;
  drain();
  ASSERT_TRUE(sale_->close(1).ok());

  const absl::Status archived = sale_->archive(1);
  ASSERT_TRUE(archived.ok()) << archived;

  std::string deadline = concat(unpaid);
  deadline.insert(deadline.size() - 1, ":");
  EXPECT_EQ(backend_.client()("ZRANGE", SaleKeys{}.deadlines(), 0, -1),
            Reply::array({Reply::bulk(deadline)}));
  backend_.advance_ms(kPaymentMs);
  drain();
  EXPECT_EQ(stored(unpaid).status, OrderStatus::kCancelled);
}

TEST_P(ArchiveTest, DeadLettersAreDiscardedOnRequest) {
  sell();
  end();
  for (const VoucherId voucher : {1, 2}) {
    backend_.client()("XADD", SaleKeys{}.dead_letters(), "*", "entry", "1-1", "reason", "broken",
                      "userId", 9, "voucherId", voucher, "id", 10 + voucher);
  }
  const absl::Status refused = sale_->archive(1);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("dead letters"));

  backend_.client()("XADD", "stream.orders", "*", "userId", 9, "voucherId", 1, "id", 21);
  expect_refused(sale_->archive(1, {.discard_dead_letters = "too early"}), "order 21 is queued");
  EXPECT_EQ(sale_->dead_letters()->size(), 2U) << "nothing was done";
  drain();

  const absl::Status archived = sale_->archive(1, {.discard_dead_letters = "the sale is over"});

  ASSERT_TRUE(archived.ok()) << archived;
  const auto discarded = *sale_->discarded_letters();
  ASSERT_EQ(discarded.size(), 1U);
  EXPECT_EQ(discarded[0].letter.order.field("id"), "11");
  EXPECT_EQ(discarded[0].why, "the sale is over");
  const auto left = *sale_->dead_letters();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].order.field("voucherId"), "2");
}

TEST_P(ArchiveTest, DiscardedLettersGoWithTheirOrders) {
  sell();
  end();
  for (const VoucherId voucher : {1, 2}) {  // order 11 of voucher 1, order 12 of voucher 2
    backend_.client()("XADD", SaleKeys{}.dead_letters(), "*", "entry", "1-1", "reason", "broken",
                      "userId", 9, "voucherId", voucher, "id", 10 + voucher);
    ASSERT_TRUE(*sale_->discard_dead_letter(sale_->dead_letters()->at(0).id, "a test"));
  }
  ASSERT_TRUE(sale_->archive(1).ok());
  EXPECT_EQ(sale_->discarded_letters()->size(), 2U);
  EXPECT_EQ(sale_->status(11)->location, OrderLocation::kDeadLetter);

  ASSERT_TRUE(sale_->delete_archived(1).ok());

  const auto letters = *sale_->discarded_letters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].letter.order.field("voucherId"), "2");
  EXPECT_EQ(sale_->status(11)->location, OrderLocation::kUnknown);
  EXPECT_EQ(sale_->status(12)->location, OrderLocation::kDeadLetter);
}

}  // namespace
}  // namespace rushgate
