// The worker: from the stream to the database, with and without failures.
#include <atomic>
#include <chrono>
#include <future>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "engine/core/base/time_units.h"
#include "engine/sale/stream/backlog.h"
#include "engine/sale/stream/consumers.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/order_worker_thread.h>

namespace rushgate {
namespace {

using StepKind = OrderWorker::Step::Kind;

class WorkerTest : public SaleTest {
 protected:
  std::vector<OrderId> accept(VoucherId id, std::int64_t first, int count) {
    std::vector<OrderId> orders;
    for (int i = 0; i < count; ++i) {
      const BuyResult result = sale_->buy(id, first + i);
      EXPECT_EQ(result.outcome, Outcome::kAccepted);
      orders.push_back(result.order);
    }
    return orders;
  }

  void expect_created(const std::vector<OrderId>& orders) {
    for (const OrderId order : orders) {
      const auto state = sale_->status(order);
      ASSERT_TRUE(state.ok()) << state.status();
      EXPECT_EQ(state->location, OrderLocation::kStored) << order;
    }
  }

  std::int64_t pending_entries() {
    const Reply pending = backend_.client()("XPENDING", "stream.orders", "g1");
    return pending.is_error() ? -1 : pending.elements()[0].integer();
  }

  std::int64_t faulty_orders() {
    return backend_.client()("HLEN", "stream.orders.faults").integer();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, WorkerTest, each_backend(), backend_name);

TEST_P(WorkerTest, AcceptedOrderIsQueuedThenCreated) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 2})).ok());
  const BuyResult bought = sale_->buy(1, 7);
  const auto queued = sale_->status(bought.order);
  ASSERT_TRUE(queued.ok()) << queued.status();
  EXPECT_EQ(queued->location, OrderLocation::kQueued);
  drain();
  const auto created = sale_->status(bought.order);
  ASSERT_TRUE(created.ok() && created->order.has_value());
  EXPECT_EQ(created->location, OrderLocation::kStored);
  EXPECT_EQ(created->order->user, 7);
  EXPECT_EQ(created->order->voucher, 1);
  EXPECT_EQ(created->order->limit, 2);
  EXPECT_EQ(created->order->created_at_ms, backend_.keyspace().clock().now_ms());
  const auto orders = sale_->orders_of(7);
  ASSERT_TRUE(orders.ok());
  EXPECT_EQ(orders->size(), 1U);
  EXPECT_EQ(sale_->status(bought.order + 1)->location, OrderLocation::kUnknown);
  expect_audit_passes();
}

TEST_P(WorkerTest, OrdersOfUserIncludeQueuedAndFailed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100, {.per_user = 0})).ok());
  const OrderId created = accept(1, 7, 2)[0];  // and one of another user
  drain();
  const OrderId failed = accept(1, 7, 2)[0];
  backend_.orders().poison([](const Order&) { return true; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  drain();
  backend_.orders().poison(nullptr);
  const OrderId queued = accept(1, 7, 2)[0];

  const auto states = sale_->orders_of(7);
  ASSERT_TRUE(states.ok()) << states.status();
  ASSERT_EQ(states->size(), 3U);
  const std::pair<OrderId, OrderLocation> expected[] = {{created, OrderLocation::kStored},
                                                        {queued, OrderLocation::kQueued},
                                                        {failed, OrderLocation::kDeadLetter}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*states)[i].location, expected[i].second);
    ASSERT_TRUE((*states)[i].order.has_value());
    EXPECT_EQ((*states)[i].order->id, expected[i].first);
    EXPECT_EQ((*states)[i].order->user, 7);
    EXPECT_EQ((*states)[i].reason.empty(), i != 2) << (*states)[i].reason;
  }
  EXPECT_TRUE(sale_->orders_of(9)->empty());
}

TEST_P(WorkerTest, OrdersBeforeFirstWorkerAreStored) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 50);
  drain();
  expect_created(orders);
}

TEST_P(WorkerTest, RestartStoresReadButUnstoredOrders) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 20);
  backend_.orders().fail_write(1);
  EXPECT_EQ(worker_->step().kind, StepKind::kPaused);
  EXPECT_EQ(pending_entries(), 20);
  for (const OrderId order : orders)
    EXPECT_EQ(sale_->status(order)->location, OrderLocation::kQueued);
  restart();
  for (const OrderId order : orders)
    EXPECT_EQ(sale_->status(order)->location, OrderLocation::kQueued);
  drain();
  expect_created(orders);
  EXPECT_EQ(pending_entries(), 0);
  expect_audit_passes();
}

TEST_P(WorkerTest, BatchReadInPartsIsStoredAtomically) {
  constexpr int kBatch = 2'300;
  ASSERT_TRUE(sale_->publish(voucher(1, 2 * kBatch)).ok());
  const auto orders = accept(1, 1, kBatch + 1);
  const auto worker = make_worker("c2", {.batch_max = kBatch});
  backend_.orders().fail_write(1);
  EXPECT_EQ(worker->step().kind, StepKind::kPaused);
  EXPECT_EQ(pending_entries(), kBatch);
  const auto same = make_worker("c2", {.batch_max = kBatch});  // after a restart
  EXPECT_EQ(same->step().stored, std::size_t{kBatch});
  EXPECT_EQ(pending_entries(), 0);
  EXPECT_EQ(same->step().stored, 1U);
  EXPECT_EQ(*backend_.orders().count_live(1), static_cast<std::int64_t>(orders.size()));
  expect_audit_passes();
}

TEST_P(WorkerTest, StoredUnacknowledgedBatchIsNotStoredTwice) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 20);
  backend_.orders().fail_write(1, faults::FaultyOrderStore::Kept::kYes);
  EXPECT_EQ(worker_->step().kind, StepKind::kPaused);
  restart();
  drain();
  expect_created(orders);
  EXPECT_EQ(*backend_.orders().count_live(1), 20);
  expect_audit_passes();
}

TEST_P(WorkerTest, OutageCountsAgainstNoOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 5);
  backend_.orders().fail_writes();
  for (int i = 0; i < 20; ++i) {
    const auto step = worker_->step();
    EXPECT_EQ(step.kind, StepKind::kPaused);
    EXPECT_FALSE(step.reason.empty());
    backend_.advance_ms(1'000);
  }
  EXPECT_EQ(pending_entries(), 5);
  backend_.orders().fail_writes(absl::OkStatus());
  drain();
  expect_created(orders);
  EXPECT_TRUE(sale_->dead_letters()->empty());
}

TEST_P(WorkerTest, OnlyOwnFaultCountsAgainstOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 5);
  using Code = absl::StatusCode;
  for (const Code code : {Code::kUnavailable, Code::kDataLoss, Code::kInternal, Code::kUnknown,
                          Code::kFailedPrecondition, Code::kResourceExhausted, Code::kNotFound}) {
    backend_.orders().fail_writes(absl::Status(code, ""));
    for (int i = 0; i < WorkerOptions{}.attempts_max; ++i) {
      const auto step = worker_->step();
      EXPECT_EQ(step.kind, StepKind::kPaused);
      EXPECT_EQ(step.faulted, 0U);
      EXPECT_FALSE(step.reason.empty()) << "though the store gave none";
      EXPECT_EQ(worker_->step().kind, StepKind::kPaused) << "until the retry is due";
      backend_.advance_ms(1'000);
    }
  }
  EXPECT_EQ(faulty_orders(), 0);
  backend_.orders().fail_writes(absl::InvalidArgumentError("its own"));
  EXPECT_EQ(worker_->step().faulted, 5U);
  EXPECT_EQ(faulty_orders(), 5);
  backend_.orders().fail_writes(absl::OkStatus());
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  drain();
  expect_created(orders);
  EXPECT_TRUE(sale_->dead_letters()->empty());
}

TEST_P(WorkerTest, OutagePausesGrowAndBatchIsReadOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 5);
  const auto worker = make_worker("c2", {.isolate_after = 1'000, .claim_idle_ms = 3'600'000});
  const int before = backend_.orders().writes();
  backend_.orders().fail_writes();
  for (int second = 0; second < 60; ++second) {
    EXPECT_EQ(worker->step().kind, StepKind::kPaused);
    backend_.advance_ms(1'000);
  }
  EXPECT_EQ(backend_.orders().writes() - before, 9) << "after 0, 1, 3, 7, 15, 25, 35, 45 and 55 s";
  const Reply pending = backend_.client()("XPENDING", "stream.orders", "g1", "-", "+", 100);
  ASSERT_EQ(pending.elements().size(), orders.size());
  for (const Reply& entry : pending.elements()) {
    EXPECT_EQ(entry.elements()[3], Reply::integer(1)) << "deliveries";
  }
  backend_.orders().fail_writes(absl::OkStatus());
  drain(*worker);
  expect_created(orders);
  EXPECT_EQ(pending_entries(), 0);
}

TEST_P(WorkerTest, HeldBatchIsReadAgainBeforeClaim) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  accept(1, 1, 5);
  backend_.orders().fail_writes();
  for (int second = 0; second < 60; ++second) {
    EXPECT_EQ(worker_->step().kind, StepKind::kPaused);
    backend_.advance_ms(1'000);
  }
  const Reply pending = backend_.client()("XPENDING", "stream.orders", "g1", "-", "+", 1);
  EXPECT_EQ(pending.elements()[0].elements()[3], Reply::integer(2)) << "deliveries";
}

TEST_P(WorkerTest, OrderFailingLikeOutageIsIsolated) {
  using Poison = faults::FaultyOrderStore::Poison;
  ASSERT_TRUE(sale_->publish(voucher(1, 1'000)).ok());
  std::int64_t user = 1;
  for (const Poison poison : {Poison::kFailsAsAnOutage, Poison::kThrows}) {
    auto orders = accept(1, user, 100);
    user += 100;
    const OrderId bad = orders[61];
    orders.erase(orders.begin() + 61);
    backend_.orders().poison([bad](const Order& order) { return order.id == bad; }, poison);
    drain();
    expect_created(orders);
    const auto failed = sale_->status(bad);
    ASSERT_TRUE(failed.ok()) << failed.status();
    EXPECT_EQ(failed->location, OrderLocation::kDeadLetter);
    EXPECT_THAT(failed->reason, ::testing::HasSubstr("poison"));
    EXPECT_EQ(pending_entries(), 0);
    expect_audit_passes();
  }
}

TEST_P(WorkerTest, OrdersFailingLikeOutageAreIsolated) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1'000)).ok());
  const auto bad = accept(1, 1, 60);
  const auto good = accept(1, 61, 60);
  backend_.orders().poison([&](const Order& order) { return order.user <= 60; },
                           faults::FaultyOrderStore::Poison::kFailsAsAnOutage);
  drain(*worker_, 60);
  expect_created(good);
  EXPECT_EQ(sale_->dead_letters()->size(), bad.size());
  expect_audit_passes();
}

TEST_P(WorkerTest, OrderFailingAloneWaitsForOthers) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const OrderId bad = accept(1, 1, 1).front();
  backend_.orders().poison([bad](const Order& order) { return order.id == bad; },
                           faults::FaultyOrderStore::Poison::kFailsAsAnOutage);
  for (int second = 0; second < 200; ++second) {
    worker_->step();
    backend_.advance_ms(1'000);
  }
  EXPECT_EQ(sale_->status(bad)->location, OrderLocation::kQueued);
  EXPECT_EQ(faulty_orders(), 0);
  const auto others = accept(1, 2, 10);
  drain();
  expect_created(others);
  EXPECT_EQ(sale_->status(bad)->location, OrderLocation::kDeadLetter);
  expect_audit_passes();
}

TEST_P(WorkerTest, LongOutageCountsAgainstNoOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 40);
  backend_.orders().fail_writes();
  const int before = backend_.orders().writes();
  for (int second = 0; second < 600; ++second) {
    EXPECT_EQ(worker_->step().kind, StepKind::kPaused);
    backend_.advance_ms(1'000);
  }
  EXPECT_LT(backend_.orders().writes() - before, 60 * 17) << "a bounded number a pause";
  EXPECT_EQ(faulty_orders(), 0);
  const auto later = accept(1, 41, 10);
  backend_.orders().fail_writes(absl::OkStatus());
  drain();
  expect_created(orders);
  expect_created(later);
  EXPECT_TRUE(sale_->dead_letters()->empty());
  expect_audit_passes();
}

TEST_P(WorkerTest, OutageWhileIsolatingCountsAgainstNoOrder) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 40);
  const auto worker = make_worker("c2", {.isolate_after = 1});
  backend_.orders().fail_write(1);
  EXPECT_EQ(worker->step().kind, StepKind::kPaused);
  int writes = 0;
  backend_.orders().poison([&](const Order&) { return ++writes > 10; },
                           faults::FaultyOrderStore::Poison::kFailsAsAnOutage);
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point point) {
    if (point == faults::FaultyOrderStore::Point::kBeforeWrite && writes > 10)
      backend_.orders().fail_writes();
  });
  backend_.advance_ms(1'000);
  EXPECT_EQ(worker->step().kind, StepKind::kPaused);
  backend_.orders().poison(nullptr);
  backend_.orders().at_every_point(nullptr);
  backend_.orders().fail_writes(absl::OkStatus());
  EXPECT_EQ(faulty_orders(), 0);
  drain(*worker);
  expect_created(orders);
  EXPECT_TRUE(sale_->dead_letters()->empty());
}

TEST_P(WorkerTest, FaultsOfStoredOrderAreForgotten) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 5);
  backend_.orders().poison([&](const Order& order) { return order.id == orders[2]; });
  EXPECT_EQ(worker_->step().faulted, 1U);
  EXPECT_EQ(faulty_orders(), 1);
  backend_.orders().poison(nullptr);
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  drain();
  expect_created(orders);
  EXPECT_EQ(faulty_orders(), 0);
}

TEST_P(WorkerTest, BadOrderIsBuriedWithReasonAndRetriable) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  auto orders = accept(1, 1, 33);
  const OrderId bad = orders[17];
  orders.erase(orders.begin() + 17);
  backend_.orders().poison([bad](const Order& order) { return order.id == bad; });
  drain();
  expect_created(orders);
  const auto failed = sale_->status(bad);
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->location, OrderLocation::kDeadLetter);
  EXPECT_FALSE(failed->reason.empty());
  expect_audit_passes();

  restart();
  EXPECT_EQ(sale_->status(bad)->location, OrderLocation::kDeadLetter);
  const auto letters = sale_->dead_letters();
  ASSERT_TRUE(letters.ok());
  ASSERT_EQ(letters->size(), 1U);
  EXPECT_TRUE(*sale_->retry_dead_letter(letters->front().id));
  EXPECT_FALSE(*sale_->retry_dead_letter(letters->front().id)) << "once";
  EXPECT_EQ(sale_->status(bad)->location, OrderLocation::kQueued);
  expect_audit_passes();
  drain();
  expect_created({bad});
  expect_audit_passes();
}

TEST_P(WorkerTest, BadOrderDoesNotBlockLaterOrders) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const OrderId bad = accept(1, 1, 1).front();
  backend_.orders().poison([bad](const Order& order) { return order.id == bad; });
  worker_->step();
  const auto later = accept(1, 50, 10);
  for (int i = 0; i < 3; ++i) worker_->step();
  expect_created(later);
}

TEST_P(WorkerTest, DeliveriesAreNotCountedAsFaults) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const OrderId bad = accept(1, 1, 1).front();
  // Many deliveries during outages, with restarts, are no fault of the order.
  for (int i = 0; i < 10; ++i) {
    backend_.orders().fail_write(1);
    worker_->step();
    restart();
  }
  EXPECT_EQ(sale_->status(bad)->location, OrderLocation::kQueued);
  drain();
  expect_created({bad});
}

TEST_P(WorkerTest, DeadConsumersOrdersAreClaimed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 10);
  {
    const auto dying = make_worker("c9");
    backend_.orders().fail_write(1);
    EXPECT_EQ(dying->step().kind, StepKind::kPaused);
  }
  const auto heir = make_worker("c2", {.claim_idle_ms = 60'000});
  EXPECT_EQ(heir->step().kind, StepKind::kIdle) << "not idle for long enough";
  backend_.advance_ms(60'000);
  EXPECT_EQ(heir->step().kind, StepKind::kWorked);
  expect_created(orders);
  EXPECT_EQ(pending_entries(), 0);
}

TEST_P(WorkerTest, ClaimingContinuesBehindBusyOrders) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  auto orders = accept(1, 1, 30);
  const auto dying = make_worker("c9");
  backend_.orders().fail_write(1);
  EXPECT_EQ(dying->step().kind, StepKind::kPaused);
  // The last ten have been idle for long. One call scans ten entries for each one that it may
  // return.
  const Reply entries = backend_.client()("XREVRANGE", "stream.orders", "+", "-", "COUNT", 10);
  for (const Reply& entry : entries.elements()) {
    backend_.client()("XCLAIM", "stream.orders", "g1", "c9", 0, entry.elements()[0].text(), "IDLE",
                      120'000, "JUSTID");
  }
  const auto heir = make_worker("c2", {.batch_max = 1, .claim_idle_ms = 60'000});
  while (heir->step().kind == StepKind::kWorked) {
  }
  expect_created({orders.begin() + 20, orders.end()});
  EXPECT_EQ(pending_entries(), 20);
}

TEST_P(WorkerTest, DeletedPendingEntriesAreReportedWithBuyers) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 3);
  const auto dying = make_worker("c9");
  backend_.orders().fail_write(1);
  EXPECT_EQ(dying->step().kind, StepKind::kPaused);
  const Reply first = backend_.client()("XRANGE", "stream.orders", "-", "+", "COUNT", 1);
  const std::string entry = first.elements()[0].elements()[0].text();
  backend_.client()("HSET", "stream.orders.faults", entry, 1);
  EXPECT_EQ(backend_.client()("XDEL", "stream.orders", entry), Reply::integer(1));

  std::ostringstream text;
  const auto logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
  const auto heir = make_worker("c2", {.claim_idle_ms = 0, .logger = logger});
  const OrderWorker::Step step = heir->step();
  EXPECT_EQ(step.lost, 1U);
  EXPECT_EQ(step.stored, 2U);
  EXPECT_THAT(text.str(), ::testing::HasSubstr("[warning]"));
  EXPECT_THAT(text.str(), ::testing::HasSubstr(entry));
  EXPECT_EQ(heir->step().lost, 0U) << "once";
  EXPECT_EQ(pending_entries(), 0);
  EXPECT_EQ(backend_.client()("EXISTS", "stream.orders.faults"), Reply::integer(0));
  expect_created({orders[1], orders[2]});
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, ::testing::ElementsAre(::testing::HasSubstr("lost: user 1 ")));
}

TEST_P(WorkerTest, ConsumerWithWorkersNameIsReported) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  drain();
  const auto orders = accept(1, 1, 3);
  backend_.client()("XREADGROUP", "GROUP", "g1", "c1", "COUNT", 1, "STREAMS", "stream.orders", ">");
  std::ostringstream text;
  const auto logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
  drain(*make_worker("c1", {.logger = logger}));
  EXPECT_THAT(text.str(), ::testing::HasSubstr("c1 reads stream.orders"));
  EXPECT_THAT(sale_->audit()->warnings, ::testing::ElementsAre(::testing::StartsWith("c1 reads")));
  drain(*make_worker("c1", {.claim_idle_ms = 0}));
  expect_created(orders);
}

TEST_P(WorkerTest, RestartedWorkerReadsItsPendingEntriesAtOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 3);
  backend_.orders().fail_write(1);
  EXPECT_EQ(worker_->step().kind, StepKind::kPaused);
  EXPECT_EQ(pending_entries(), 3);
  restart();
  EXPECT_EQ(worker_->step().stored, 3U);
}

TEST_P(WorkerTest, WorkersOfOneNameStoreOrdersOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 3);
  backend_.orders().fail_write(1);
  EXPECT_EQ(worker_->step().kind, StepKind::kPaused) << "it keeps the batch";
  const auto same_name = make_worker("c1");
  EXPECT_EQ(same_name->step().stored, 3U);
  const auto later = accept(1, 4, 2);
  backend_.advance_ms(WorkerOptions{}.claim_idle_ms);
  drain();
  drain(*same_name);
  expect_created(orders);
  expect_created(later);
  EXPECT_EQ(pending_entries(), 0);
  expect_audit_passes();
}

TEST_P(WorkerTest, ForeignConsumerIsReportedOnce) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  drain();
  accept(1, 1, 3);
  backend_.client()("XREADGROUP", "GROUP", "g1", "their-worker", "COUNT", 1, "STREAMS",
                    "stream.orders", ">");
  std::ostringstream text;
  const auto logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
  const auto worker = make_worker("c2", {.logger = logger});
  drain(*worker);
  EXPECT_THAT(text.str(), ::testing::HasSubstr("their-worker reads stream.orders"));
  EXPECT_THAT(text.str(), ::testing::Not(::testing::HasSubstr("c1@")));
  text.str("");
  backend_.advance_ms(WorkerOptions{}.claim_idle_ms);
  drain(*worker);
  EXPECT_EQ(text.str(), "");
}

TEST_P(WorkerTest, WorkersShareWork) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 40);
  const auto first = make_worker("a", {.batch_max = 10});
  const auto second = make_worker("b", {.batch_max = 10});
  std::size_t stored[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    stored[0] += first->step().stored;
    stored[1] += second->step().stored;
  }
  EXPECT_EQ(stored[0], 20U);
  EXPECT_EQ(stored[1], 20U);
  expect_created(orders);
  expect_audit_passes();
}

TEST_P(WorkerTest, OrderRefusedByDatabaseIsBuried) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const auto orders = accept(1, 1, 3);
  backend_.orders().poison([&](const Order& order) { return order.id == orders[1]; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  drain();
  expect_created({orders[0], orders[2]});
  EXPECT_EQ(sale_->status(orders[1])->location, OrderLocation::kDeadLetter);
  expect_audit_passes();
}

TEST_P(WorkerTest, InvalidEntryIsBuriedWithReason) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  backend_.client()("XADD", "stream.orders", "*", "userId", "5", "voucherId", "1", "id",
                    "not a number");
  backend_.client()("XADD", "stream.orders", "*", "userId", "5");
  const auto orders = accept(1, 1, 2);
  drain();
  expect_created(orders);
  const auto letters = sale_->dead_letters();
  ASSERT_TRUE(letters.ok());
  ASSERT_EQ(letters->size(), 2U);
  EXPECT_THAT((*letters)[0].reason, ::testing::HasSubstr("id is not a number"));
  EXPECT_THAT((*letters)[1].reason, ::testing::HasSubstr("id is missing"));
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->passed()) << "somebody else writes to the order stream: the audit says so";
}

TEST_P(WorkerTest, DeletedJunkEntryIsAccountedForOnceDiscarded) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  Client& client = backend_.client();
  const std::string junk = client("XADD", "stream.orders", "*", "userId", "5").text();
  client("XGROUP", "CREATE", "stream.orders", "g1", "0");
  const std::string consumer = consumer_name("c1", backend_.orders().state()->identity);
  client("XREADGROUP", "GROUP", "g1", consumer, "STREAMS", "stream.orders", ">");
  client("XDEL", "stream.orders", junk);
  const auto orders = accept(1, 1, 2);
  drain();
  expect_created(orders);
  EXPECT_FALSE(sale_->audit()->passed());
  const auto letters = sale_->dead_letters();
  ASSERT_TRUE(letters.ok() && letters->size() == 1U);
  const std::int64_t before_ms = backend_.clock().now_ms();
  EXPECT_TRUE(*sale_->discard_dead_letter(letters->front().id, "junk"));
  EXPECT_FALSE(*sale_->discard_dead_letter(letters->front().id, "junk")) << "once";
  EXPECT_TRUE(sale_->dead_letters()->empty());
  expect_audit_passes();
  const auto discarded = sale_->discarded_letters();
  ASSERT_TRUE(discarded.ok() && discarded->size() == 1U);
  EXPECT_EQ(discarded->front().why, "junk");
  EXPECT_GE(discarded->front().discarded_at_ms, before_ms);
  EXPECT_EQ(discarded->front().letter.id, letters->front().id);
  EXPECT_EQ(discarded->front().letter.entry, junk);
}

TEST_P(WorkerTest, DiscardedOrderStaysAdmittedAndFailed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  const auto orders = accept(1, 1, 3);
  backend_.orders().poison([&](const Order& order) { return order.id == orders[1]; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  drain();
  backend_.orders().poison(nullptr);
  const DeadLetter letter = sale_->dead_letters()->at(0);
  ASSERT_TRUE(*sale_->discard_dead_letter(letter.id, "sold elsewhere"));
  EXPECT_FALSE(*sale_->retry_dead_letter(letter.id));
  const auto state = sale_->status(orders[1]);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->location, OrderLocation::kDeadLetter);
  EXPECT_EQ(state->reason, letter.reason + "; discarded: sold elsewhere");
  EXPECT_EQ(sale_->orders_of(2)->at(0).location, OrderLocation::kDeadLetter);
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_EQ(report->vouchers.front().created, 2);
  EXPECT_EQ(report->vouchers.front().dead, 0);
  EXPECT_EQ(report->vouchers.front().discarded, 1);

  backend_.client()("DEL", "seckill:stock:1", "seckill:order:1");
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached) << "a rebuild knows its buyer";
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:1"), Reply::bulk("7"));
  expect_audit_passes();
}

TEST_P(WorkerTest, DiscardedUnadmittedOrderIsAccountedFor) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  const auto orders = accept(1, 1, 1);
  backend_.client()("XADD", "stream.orders", "*", "userId", 1, "voucherId", 1, "id", 99);
  drain();
  expect_created(orders);
  EXPECT_FALSE(sale_->audit()->passed()) << "the user has one order more than was admitted";
  ASSERT_TRUE(*sale_->discard_dead_letter(sale_->dead_letters()->at(0).id, "never admitted"));
  expect_audit_passes();
}

TEST_P(WorkerTest, ForeignEntriesWithoutLimitAreOnePerUser) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  backend_.client()("XADD", "stream.orders", "*", "userId", "5", "voucherId", "1", "id",
                    "1234567890123");
  drain();
  const auto order = backend_.orders().find(1'234'567'890'123);
  ASSERT_TRUE(order.ok() && order->has_value());
  EXPECT_EQ((*order)->limit, 1);
}

TEST_P(WorkerTest, OnlyStoredOrdersAreTrimmed) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1'000)).ok());
  accept(1, 1, 50);
  drain();
  accept(1, 500, 5);
  const Reply length = backend_.client()("XLEN", "stream.orders");
  EXPECT_LE(length.integer(), 6);
  EXPECT_GE(length.integer(), 5);
}

TEST_P(WorkerTest, StreamIsNotTrimmedIfTurnedOff) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1'000)).ok());
  const auto orders = accept(1, 1, 50);
  const auto worker = make_worker("c2", {.trim = false});
  drain(*worker);
  expect_created(orders);
  EXPECT_EQ(backend_.client()("XLEN", "stream.orders"), Reply::integer(50));
  expect_audit_passes();
}

TEST_P(WorkerTest, UnreadOtherGroupPreventsTrimming) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1'000)).ok());
  backend_.client()("XGROUP", "CREATE", "stream.orders", "analytics", "0", "MKSTREAM");
  accept(1, 1, 50);
  drain();
  EXPECT_EQ(backend_.client()("XLEN", "stream.orders"), Reply::integer(50));
  expect_audit_passes();
}

TEST_P(WorkerTest, DestroyedGroupIsRecreatedFromBeginning) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  drain();
  const auto orders = accept(1, 1, 3);
  backend_.client()("XGROUP", "DESTROY", "stream.orders", "g1");
  drain();
  expect_created(orders);
}

// ---- On threads ----

class WorkerThreadTest : public ThreadedSaleTest {
 protected:
  std::unique_ptr<OrderWorkerThread> start(WorkerOptions options, const std::string& name = "t") {
    return std::make_unique<OrderWorkerThread>(make_worker(name, std::move(options)),
                                               /*pause_ms=*/1);
  }
  void accept(std::int64_t first, int count) {
    for (std::int64_t user = first; user < first + count; ++user) {
      EXPECT_EQ(buy(1, user), Outcome::kAccepted);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, WorkerThreadTest, each_backend(TestTime::kMachines),
                         backend_name);

TEST_P(WorkerThreadTest, ThreadStoresOrdersAndStopsCleanly) {
  ASSERT_TRUE(sale_->publish(voucher(1, 500)).ok());
  const auto thread = start({.block_ms = 5});
  accept(1, 300);
  while (thread->stored() < 300) std::this_thread::yield();
  thread->stop();
  EXPECT_EQ(*backend_.orders().count_live(1), 300);
  expect_audit_passes();
}

// Without an interrupt these would wait for an hour.

TEST_P(WorkerThreadTest, WaitingWorkerThreadStopsAtOnce) {
  const auto thread = start({.claim_idle_ms = kHourMs, .block_ms = kHourMs});
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  accept(1, 5);
  while (thread->stored() < 5) std::this_thread::yield();  // then it waits again
  thread->stop();
  thread->stop();  // repeated: no effect
}

TEST_P(WorkerThreadTest, UpdatedCountsIncludeStoredOrders) {
  ASSERT_TRUE(sale_->publish(voucher(1, 5)).ok());
  accept(1, 5);
  std::promise<void> stored;
  std::promise<void> released;
  bool is_held = false;
  HookedBackend keyspace(backend_.keyspace(), {.after = [&](const Request&, const Reply&) {
                           if (is_held || *has_unstored(backend_.client(), SaleKeys{})) return;
                           is_held = true;
                           stored.set_value();
                           released.get_future().wait();
                         }});
  OrderWorkerThread thread(std::make_unique<OrderWorker>(
      keyspace, backend_.orders(), SaleKeys{},
      WorkerOptions{.consumer = "c", .claim_idle_ms = kHourMs, .block_ms = kHourMs}));
  stored.get_future().wait();
  EXPECT_EQ(thread.stored(), 0U);
  const auto updated = std::async(std::launch::async, [&] {
    thread.update_counts();
    return thread.stored();
  });
  EXPECT_NE(updated.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  released.set_value();
  updated.wait();
  EXPECT_EQ(thread.stored(), 5U);
  thread.update_counts();  // it waits for orders
  thread.stop();
  thread.update_counts();  // it has ended
}

TEST_P(WorkerThreadTest, UnstartedWorkerThreadStopsAtOnce) {
  start({.claim_idle_ms = kHourMs, .block_ms = kHourMs})->stop();
}

TEST_P(WorkerThreadTest, ThreadWithDefaultOptionsWaitsForOrders) {
  constexpr int kPollsMax = 1'000;  // a spinning thread exceeds this at once
  const auto thread = start({});
  const auto contains = [&](const char* section, const std::string& text) {
    return backend_.client()("INFO", section).text().find(text) != std::string::npos;
  };
  const std::string read = "cmdstat_xreadgroup:calls=";
  const auto reads = [&] {
    const std::string stats(backend_.client()("INFO", "commandstats").text());
    const std::size_t at = stats.find(read);
    return at == std::string::npos ? 0 : std::stoi(stats.substr(at + read.size()));
  };
  while (!contains("clients", "blocked_clients:1") && reads() < kPollsMax) {
  }
  EXPECT_LT(reads(), 10);
  thread->stop();
}

TEST_P(WorkerThreadTest, PausedLoopWaits) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  accept(1, 5);
  backend_.orders().fail_write(1);
  const auto worker = make_worker("loop", {.retry_after_ms = 50});
  std::size_t stored = 0;
  int steps = 0;
  for (; stored < 5 && steps < 1'000; ++steps) stored += worker->wait_and_step(kHourMs).stored;
  EXPECT_EQ(stored, 5U);
  EXPECT_LE(steps, 4) << "one fails, one waits for the end of the pause";
}

TEST_P(WorkerThreadTest, InterruptEndsWaitForPause) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  accept(1, 5);
  backend_.orders().fail_write(1);
  const auto worker = make_worker("loop", {.retry_after_ms = kHourMs});
  EXPECT_EQ(worker->step().kind, StepKind::kPaused);
  worker->interrupt();
  EXPECT_EQ(worker->wait_and_step(kHourMs).kind, StepKind::kPaused);
}

TEST_P(WorkerThreadTest, ConcurrentBuyersAndWorkersLoseNothing) {
  ASSERT_TRUE(sale_->publish(voucher(1, 2'000, {.per_user = 2})).ok());
  std::vector<std::unique_ptr<OrderWorkerThread>> workers;
  for (const char* name : {"w1", "w2"}) workers.push_back(start({.block_ms = 5}, name));
  std::atomic<int> accepted = 0;
  std::vector<std::thread> buyers;
  for (int t = 0; t < 4; ++t) {
    buyers.emplace_back([&, t] {
      for (int i = 0; i < 2'000; ++i) {
        const std::int64_t user = 1 + (i * 7 + t * 13) % 900;
        if (sale_->buy(1, user).outcome == Outcome::kAccepted) ++accepted;
      }
    });
  }
  for (auto& buyer : buyers) buyer.join();
  EXPECT_EQ(accepted, 1'800) << "900 users, two each";
  bool is_stored = false;
  while (!is_stored) {
    is_stored = workers[0]->stored() + workers[1]->stored() >= 1'800;
    expect_audit_passes();
  }
  for (auto& worker : workers) worker->stop();
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_EQ(report->vouchers.front().created, 1'800);
}

TEST_P(WorkerThreadTest, AuditsPassDuringRetriesAndVoucherChanges) {
  Voucher changing = voucher(1, 100, {.per_user = 0});
  ASSERT_TRUE(sale_->publish(changing).ok());
  std::atomic<int> asked = 0;
  backend_.orders().poison([&](const Order&) { return ++asked % 7 == 0; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  const auto worker = start({.block_ms = 5});
  constexpr int kRounds = 40;
  std::thread seller([&] {
    for (int round = 0; round < kRounds; ++round) {
      accept(1, 20);
      changing.stock += 20;
      EXPECT_TRUE(sale_->publish(changing).ok());
      const auto letters = sale_->dead_letters();
      ASSERT_TRUE(letters.ok()) << letters.status();
      for (const DeadLetter& letter : *letters) {
        EXPECT_TRUE(sale_->retry_dead_letter(letter.id).ok());
      }
    }
  });
  std::int64_t admitted = 0;
  while (admitted < kRounds * 20 && !HasFailure()) {
    const auto report = sale_->audit();
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) break;
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    admitted = report->vouchers.front().admitted;
  }
  seller.join();
  worker->stop();
}

TEST_P(WorkerThreadTest, ThreadSurvivesOrderStoreExceptions) {
  int throws = 3;
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  accept(1, 10);
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point) {
    if (throws > 0 && --throws >= 0) throw std::runtime_error("thrown");
  });
  const auto worker = start({.retry_after_ms = 1, .block_ms = 5});
  while (worker->stored() < 10) std::this_thread::yield();
  worker->stop();
  EXPECT_EQ(worker->buried(), 0U);
  EXPECT_EQ(*backend_.orders().count_live(1), 10);
}

}  // namespace
}  // namespace rushgate
