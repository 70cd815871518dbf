// A keyspace belongs to one database. Keys of another system are not adopted by accident.
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "engine/sale/keyspace/keyspace_owner.h"
#include "tests/support/hooked_backend.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class OwnershipTest : public SaleTest {
 protected:
  absl::StatusOr<std::unique_ptr<Sale>> open_sale(OrderStore& orders, SaleOptions options = {}) {
    return Sale::open(backend_.keyspace(), orders, std::move(options));
  }

  static std::string text_of(const absl::Status& status) { return std::string(status.message()); }

  /// Writes a voucher like another system: `sold` orders, one per user, from user 1.
  void sell_elsewhere(VoucherId id, std::int64_t free, int sold) {
    Client& client = backend_.client();
    client("SET", SaleKeys{}.stock(id), free);
    for (int user = 1; user <= sold; ++user) client("SADD", SaleKeys{}.buyers(id), user);
  }
};
/// With lanes, nothing is adopted.
INSTANTIATE_TEST_SUITE_P(Backends, OwnershipTest, each_backend_without_lanes(), backend_name);

TEST_P(OwnershipTest, KeyspaceOfAnotherDatabaseIsRefused) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  MemoryOrderStore another;
  const auto refused = open_sale(another);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(text_of(refused.status()), HasSubstr("belongs to another order database"));
  drain();
  expect_audit_passes();
}

TEST_P(OwnershipTest, ForeignStreamIsRefusedUnderAnyPrefix) {
  MemoryOrderStore another;
  SaleOptions options;
  options.keys.prefix = "other:";
  EXPECT_TRUE(absl::IsFailedPrecondition(open_sale(another, options).status()));
  options.keys.order_stream = "other.orders";
  EXPECT_TRUE(open_sale(another, options).ok());
  options.keys.prefix = "seckill:";
  EXPECT_TRUE(absl::IsFailedPrecondition(open_sale(another, options).status()));
}

TEST_P(OwnershipTest, RunningSaleRefusesKeyspaceTakenByAnother) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  backend_.client()("FLUSHALL");
  MemoryOrderStore another;
  const auto other = open_sale(another);
  ASSERT_TRUE(other.ok()) << other.status();
  const BuyResult bought = sale_->buy(1, 1);
  // On Redis, the check of a new connection may also detect it.
  EXPECT_THAT(bought.outcome, AnyOf(Outcome::kFailed, Outcome::kUnavailable));
  EXPECT_THAT(bought.detail, HasSubstr("belongs to another order database"));
  EXPECT_TRUE(absl::IsFailedPrecondition(sale_->publish(voucher(2, 3))));
}

TEST_P(OwnershipTest, WorkerLeavesOrdersOfAnotherDatabase) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  drain();  // creates the group
  backend_.client()("FLUSHALL");
  MemoryOrderStore another;
  const auto other = open_sale(another);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE((*other)->publish(voucher(1, 3)).ok());
  EXPECT_EQ((*other)->buy(1, 5).outcome, Outcome::kAccepted);
  EXPECT_THAT(worker_->step().reason, HasSubstr("NOGROUP"));
  backend_.advance_ms(WorkerOptions{}.retry_after_ms);
  const OrderWorker::Step step = worker_->step();
  EXPECT_EQ(step.kind, OrderWorker::Step::Kind::kPaused);
  EXPECT_THAT(step.reason, HasSubstr("belongs to another order database"));
  EXPECT_EQ(backend_.orders().count_live(1).value(), 0);
}

TEST_P(OwnershipTest, ForeignStreamIsRefusedUnlessAdopted) {
  backend_.client()("FLUSHALL");
  backend_.client()("XADD", "stream.orders", "*", "userId", 5, "voucherId", 1, "id", 42);
  MemoryOrderStore fresh;
  const auto refused = open_sale(fresh);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(text_of(refused.status()), HasSubstr("stream.orders was made by another system"));
  EXPECT_TRUE(open_sale(fresh, {.adopt = true}).ok());
}

TEST_P(OwnershipTest, ForeignStockIsNotSoldAsOurs) {
  sell_elsewhere(1, 37, 63);
  const absl::Status refused = sale_->publish(voucher(1, 100));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(text_of(refused), HasSubstr("37 are free and 63 have bought"));
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:1"), Reply::bulk("37"));
  EXPECT_EQ(buy(1, 200), Outcome::kUnknownVoucher);
}

TEST_P(OwnershipTest, AdoptedStockAndBuyersCount) {
  sell_elsewhere(1, 2, 3);
  auto adopting = open_sale(backend_.orders(), {.adopt = true});
  ASSERT_TRUE(adopting.ok()) << adopting.status();
  EXPECT_TRUE(absl::IsFailedPrecondition((*adopting)->publish(voucher(1, 6))));
  ASSERT_TRUE((*adopting)->publish(voucher(1, 5)).ok());
  EXPECT_EQ(buy(1, 2), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 11), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 12), Outcome::kAccepted);
  EXPECT_EQ(buy(1, 13), Outcome::kSoldOut);
  drain();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 5);
  expect_audit_passes();
  backend_.client()("DEL", "seckill:stock:1");
  EXPECT_EQ(buy(1, 13), Outcome::kSoldOut) << "a rebuild knows the adopted buyers";
  ASSERT_TRUE(sale_->add_stock(1, 1).ok());
  EXPECT_EQ(buy(1, 3), Outcome::kLimitReached);
  EXPECT_EQ(buy(1, 13), Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(OwnershipTest, AdoptedOrdersStillQueuedAreStoredOnce) {
  sell_elsewhere(1, 2, 3);
  backend_.client()("XADD", "stream.orders", "*", "userId", 3, "voucherId", 1, "id", 42);
  auto adopting = open_sale(backend_.orders(), {.adopt = true});
  ASSERT_TRUE(adopting.ok()) << adopting.status();
  ASSERT_TRUE((*adopting)->publish(voucher(1, 5)).ok());
  drain();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 3);
  EXPECT_EQ(backend_.orders().find(42).value()->user, 3);
  expect_audit_passes();
}

/// A second file of the same database: a backup, or the file on a cloned host.
class CopiedDatabaseTest : public OwnershipTest {
 protected:
  /// Copies the database, as it is, and opens the copy.
  std::unique_ptr<OrderStore> copied() {
    const std::filesystem::path copy = backend_.orders_file().string() + ".copy";
    for (const char* const suffix : {"", "-wal"}) {
      std::filesystem::copy_file(backend_.orders_file().string() + suffix, copy.string() + suffix);
    }
    return SqliteOrderStore::open(copy).value();
  }

  std::unique_ptr<OrderStore> new_database() {
    return SqliteOrderStore::open(backend_.orders_file().string() + ".new").value();
  }

  std::unique_ptr<OrderStore> opened_again() {
    return SqliteOrderStore::open(backend_.orders_file()).value();
  }

  /// Closes the first copy, and waits for the end of its lease.
  void close_first() {
    worker_.reset();
    sale_.reset();
    backend_.advance_ms(KeyspaceOwner::kLeaseMs);
  }

  /// Opens a sale on a copy after the end of the first one's lease.
  void take_over(OrderStore& copy, std::unique_ptr<Sale>& moved) {
    backend_.advance_ms_while_stopped(KeyspaceOwner::kLeaseMs);
    auto opened = open_sale(copy);
    ASSERT_TRUE(opened.ok()) << opened.status();
    moved = *std::move(opened);
  }

  /// Expects that a worker that lost the lease leaves its order to the copy.
  void expect_order_is_left(OrderWorker& stopped, OrderStore& copy) {
    const OrderWorker::Step step = stopped.step();
    EXPECT_EQ(step.kind, OrderWorker::Step::Kind::kPaused);
    EXPECT_THAT(step.reason, HasSubstr(".copy on "));
    OrderWorker worker(backend_.keyspace(), copy, SaleKeys{}, {.consumer = "c1"});
    EXPECT_EQ(worker.step().stored, 1U);
    EXPECT_EQ(copy.count_live(1).value(), 1);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, CopiedDatabaseTest,
                         each_backend_that(&SaleBackendKind::is_server), backend_name);

TEST_P(CopiedDatabaseTest, OpenCopyIsRefusedByName) {
  const auto copy = copied();
  const auto refused = open_sale(*copy);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(text_of(refused.status()), HasSubstr(backend_.orders_file().string() + " on "));
  OrderWorker worker(backend_.keyspace(), *copy, SaleKeys{}, {.consumer = "c2"});
  EXPECT_THAT(worker.step().reason, HasSubstr("another copy of this order database is open"));
}

TEST_P(CopiedDatabaseTest, SameFileIsShared) {
  const auto same = opened_again();
  const auto other = open_sale(*same);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE((*other)->publish(voucher(1, 3)).ok());
  EXPECT_EQ((*other)->buy(1, 1).outcome, Outcome::kAccepted);
  EXPECT_EQ(buy(1, 2), Outcome::kAccepted);
  drain();
  EXPECT_EQ(same->count_live(1).value(), 2);
}

TEST_P(CopiedDatabaseTest, IdleWorkerKeepsLease) {
  const auto copy = copied();
  for (int i = 0; i < 6; ++i) {
    backend_.advance_ms(KeyspaceOwner::kLeaseMs / 2);
    EXPECT_EQ(worker_->step().kind, OrderWorker::Step::Kind::kIdle);
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(open_sale(*copy).status()));
}

TEST_P(CopiedDatabaseTest, SellerAloneKeepsLease) {
  worker_.reset();
  const auto copy = copied();
  for (int i = 0; i < 6; ++i) backend_.advance_ms(KeyspaceOwner::kLeaseMs / 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(open_sale(*copy).status()));
  sale_.reset();
  backend_.advance_ms(KeyspaceOwner::kLeaseMs);
  EXPECT_TRUE(open_sale(*copy).ok()) << "it is closed";
}

/// The process is stopped after the write, for longer than the lease.
TEST_P(CopiedDatabaseTest, StoppedWorkerLeavesOrdersToNewCopy) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const auto copy = copied();
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  std::unique_ptr<Sale> moved;
  backend_.orders().at_every_point([&](faults::FaultyOrderStore::Point point) {
    if (point == faults::FaultyOrderStore::Point::kAfterWrite) take_over(*copy, moved);
  });
  expect_order_is_left(*worker_, *copy);
}

/// The process is stopped right before the acknowledgement.
TEST_P(CopiedDatabaseTest, StoppedWorkerAcknowledgesNothing) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const auto copy = copied();
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  std::unique_ptr<Sale> moved;
  worker_ = make_worker("c1", {.on_stored = [&](auto) { take_over(*copy, moved); }});
  expect_order_is_left(*worker_, *copy);
}

TEST_P(CopiedDatabaseTest, CopyWithoutTrimmedOrdersIsRefusedLater) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const auto copy = copied();
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  drain();
  close_first();
  const auto older = open_sale(*copy);
  EXPECT_TRUE(absl::IsDataLoss(older.status())) << older.status();
  EXPECT_TRUE(open_sale(*copy, {.accept_lost_orders = true}).ok());
}

/// A publication is the last write of the first copy.
TEST_P(CopiedDatabaseTest, CopyBeforePublicationGetsIt) {
  const auto copy = copied();
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  close_first();
  EXPECT_TRUE(open_sale(*copy).ok());
  EXPECT_EQ(copy->vouchers()->applied(1).value()->voucher.stock, 3);
}

/// A change in the database alone is the last write of the first copy.
TEST_P(CopiedDatabaseTest, CopyBeforeUseIsRefusedLater) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const OrderId order = sale_->buy(1, 1).order;
  drain();
  const auto copy = copied();
  ASSERT_EQ(sale_->use(order).outcome, ChangeOutcome::kDone);
  close_first();
  EXPECT_TRUE(absl::IsDataLoss(open_sale(*copy).status())) << "nothing is retained";
}

TEST_P(CopiedDatabaseTest, CopyBeforeRefundIsRefusedLater) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const OrderId order = sale_->buy(1, 1).order;
  drain();
  const auto copy = copied();
  ASSERT_EQ(sale_->refund(order, "asked").outcome, ChangeOutcome::kDone);
  close_first();
  EXPECT_TRUE(absl::IsDataLoss(open_sale(*copy).status())) << "nothing is retained";
}

TEST_P(CopiedDatabaseTest, CopyBeforeConfirmedRefundIsRefusedLater) {
  Voucher paid = voucher(1, 3);
  paid.payment_ms = 60'000;
  ASSERT_TRUE(sale_->publish(paid).ok());
  const OrderId order = sale_->buy(1, 1).order;
  const PayRequest payment{.order = order, .payment = "p1", .amount_cents = paid.price_cents};
  ASSERT_EQ(sale_->pay(payment).outcome, ChangeOutcome::kDone);
  drain();
  ASSERT_EQ(sale_->refund(order, "asked").outcome, ChangeOutcome::kDone);
  const auto copy = copied();
  ASSERT_EQ(sale_->confirm_refund("p1").outcome, ChangeOutcome::kDone);
  close_first();
  EXPECT_TRUE(absl::IsDataLoss(open_sale(*copy).status())) << "nothing is retained";
}

TEST_P(CopiedDatabaseTest, FullKeyspaceLearnsRecordedCheckpoint) {
  Client& client = backend_.client();
  KeyspaceOwner owner(SaleStores(backend_.orders()), SaleKeys{}, {.is_shared = true});
  ASSERT_TRUE(owner.verify(client).ok());
  client("CONFIG", "SET", "maxmemory", 1);
  const absl::Status sealed = owner.seal(client).status();
  client("CONFIG", "SET", "maxmemory", 0);
  EXPECT_TRUE(sealed.ok()) << sealed;
  EXPECT_EQ(client("HGET", SaleKeys{}.stream_owner(), "recorded"),
            Reply::bulk(std::to_string(backend_.orders().state().value().revision)));
}

TEST_P(CopiedDatabaseTest, CompleteCopyIsOpenedLater) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  drain();
  const auto copy = copied();
  close_first();
  const auto moved = open_sale(*copy);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ((*moved)->buy(1, 2).outcome, Outcome::kAccepted);
}

TEST_P(CopiedDatabaseTest, LeaseOfStoppedProcessEnds) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const auto copy = copied();
  backend_.advance_ms_while_stopped(KeyspaceOwner::kLeaseMs);
  const auto moved = open_sale(*copy);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ((*moved)->buy(1, 1).outcome, Outcome::kAccepted);
  // The first one was only silent. It stores nothing more.
  const OrderWorker::Step step = worker_->step();
  EXPECT_EQ(step.kind, OrderWorker::Step::Kind::kPaused);
  EXPECT_THAT(step.reason, HasSubstr(".copy on "));
  EXPECT_EQ(backend_.orders().count_live(1).value(), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(sale_->publish(voucher(2, 3))));
}

TEST_P(CopiedDatabaseTest, CopyWithoutLeaseRebuildsNothing) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1)).ok());
  const auto copy = copied();
  backend_.advance_ms_while_stopped(KeyspaceOwner::kLeaseMs);
  const auto moved = open_sale(*copy);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ((*moved)->buy(1, 1).outcome, Outcome::kAccepted);
  backend_.client()("DEL", SaleKeys{}.stock(1));
  const BuyResult refused = sale_->buy(1, 2);
  EXPECT_EQ(refused.outcome, Outcome::kFailed);
  EXPECT_THAT(refused.detail, HasSubstr("another copy of this order database is open"));
  EXPECT_EQ(backend_.client()("EXISTS", SaleKeys{}.stock(1)), Reply::integer(0));
  EXPECT_EQ((*moved)->buy(1, 2).outcome, Outcome::kSoldOut);
}

TEST_P(CopiedDatabaseTest, RestoredBackupReplacesFile) {
  copied().reset();
  const std::string file = backend_.orders_file().string();
  for (const char* const suffix : {"-wal", "-shm"}) std::filesystem::remove(file + suffix);
  std::filesystem::rename(file + ".copy", file);
  const auto restored = opened_again();
  EXPECT_TRUE(open_sale(*restored).ok());
  EXPECT_FALSE(sale_->publish(voucher(1, 3)).ok()) << "its file is gone";
}

TEST_P(CopiedDatabaseTest, FlushedKeyspaceIsFreeForNewDatabase) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_EQ(buy(1, 1), Outcome::kAccepted);
  worker_ = make_worker("c1", {.on_stored = [&](auto) { backend_.client()("FLUSHALL"); }});
  worker_->step();
  worker_.reset();
  sale_.reset();
  const auto another = new_database();
  const auto opened = open_sale(*another);
  EXPECT_TRUE(opened.ok()) << opened.status();
}

/// Its owner ended before it confirmed its claim.
TEST_P(CopiedDatabaseTest, LeaseWithoutOwnerIsIgnored) {
  close_first();
  Client& client = backend_.client();
  const std::string owner = SaleKeys{}.stream_owner();
  client("FLUSHALL");
  client("HSET", owner, "instance", "another", "instance_place", "elsewhere", "instance_name",
         "another", "instance_until", backend_.clock().now_ms() + 1'000, "recorded", 1'000);
  const auto another = new_database();
  const auto opened = open_sale(*another);
  EXPECT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(client("HGET", owner, "recorded"), Reply::nil());
}

TEST_P(CopiedDatabaseTest, LeaseIsRenewedAfterThrowingRenewal) {
  worker_.reset();
  sale_.reset();
  bool throws = false;
  HookedBackend hooked(backend_.keyspace(), {.before = [&](const Request&) {
                         if (std::exchange(throws, false)) throw std::bad_alloc();
                       }});
  const auto sale = Sale::open(hooked, backend_.orders());
  ASSERT_TRUE(sale.ok()) << sale.status();
  const auto copy = copied();
  throws = true;
  EXPECT_THROW(backend_.advance_ms(KeyspaceOwner::kLeaseMs / 2), std::bad_alloc);
  for (int i = 0; i < 3; ++i) backend_.advance_ms(KeyspaceOwner::kLeaseMs / 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(open_sale(*copy).status()));
}

TEST_P(CopiedDatabaseTest, RestartedOwnerNeedsNoNewLease) {
  const auto copy = copied();
  restart();
  EXPECT_TRUE(sale_->publish(voucher(1, 3)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(open_sale(*copy).status()));
}

/// An embedded keyspace, which another process reaches by a port.
class EmbeddedCopyTest : public CopiedDatabaseTest {
 protected:
  absl::StatusOr<std::unique_ptr<Sale>> open_by_port(OrderStore& copy) {
    return Sale::open(port_, copy);
  }

 private:
  LuaOnlyBackend port_{backend_.keyspace()};
};
INSTANTIATE_TEST_SUITE_P(Backends, EmbeddedCopyTest,
                         ::testing::ValuesIn(sale_backends(TestTime::kManual,
                                                           [](const SaleBackendKind& kind) {
                                                             return !kind.is_server &&
                                                                    kind.keeps_orders_in_file;
                                                           })),
                         backend_name);

TEST_P(EmbeddedCopyTest, CopyThatComesByPortIsRefused) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const auto copy = copied();
  const auto refused = open_by_port(*copy);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(text_of(refused.status()), HasSubstr(backend_.orders_file().string() + " on "));
}

TEST_P(EmbeddedCopyTest, EmbeddedSaleTakesLeaseBack) {
  ASSERT_TRUE(sale_->publish(voucher(1, 3)).ok());
  const auto copy = copied();
  backend_.advance_ms(KeyspaceOwner::kLeaseMs);
  const auto by_port = open_by_port(*copy);
  ASSERT_TRUE(by_port.ok()) << by_port.status();
  EXPECT_EQ((*by_port)->buy(1, 1).outcome, Outcome::kAccepted);
  drain();
  EXPECT_EQ(backend_.orders().count_live(1).value(), 1);
  EXPECT_TRUE(absl::IsFailedPrecondition((*by_port)->publish(voucher(2, 3))));
}

}  // namespace
}  // namespace rushgate
