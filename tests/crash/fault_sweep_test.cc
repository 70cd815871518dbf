// One scripted sale, repeated with a later call failing each time, until no call is left to fail.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/crash/recovery_fixture.h"
#include "tests/support/faults/faulty_sqlite_vfs.h"
#include "tests/support/sweep.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sqlite_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultyOrderStore;
using faults::FaultySqliteVfs;
using faults::FaultyStore;

constexpr int kCallsMax = 5'000;  // the bound of a sweep, which would otherwise never end
constexpr std::int64_t kPoisonedUser = 2;

// The expected end state, whichever call fails.
constexpr std::int64_t kFirstStock = 4;
constexpr std::int64_t kStock = 6;  // of voucher 1 after its change; eight users want it
constexpr std::int64_t kUsers = 8;
// Voucher 2: two for each user. Voucher 3: one, to be paid.
constexpr std::int64_t kOrders = kStock + 3 * kUsers;

/// The script, its two stores, and the results that buyers got.
class SweptSale {
 public:
  explicit SweptSale(OrderStore& database) : orders_(database) {
    orders_.poison([this](const Order& order) { return is_poisonous_ && is_poison(order); });
  }

  void keep_on_rocksdb() { on_disk_.emplace(); }

  FaultyOrderStore& orders() { return orders_; }

  /// Opens the kept data through a store that can fail on request.
  absl::Status open() {
    running_.reset();
    store_.reset();
    if (on_disk_) {
      RocksDbStoreOptions options;
      options.log_bytes_max = std::size_t{256} << 10;
      auto opened = RocksDbStore::open(on_disk_->path() / "keyspace", options);
      if (!opened.ok()) return opened.status();
      store_ = std::make_unique<FaultyStore>(*std::move(opened));
    } else {
      store_ = std::make_unique<FaultyStore>(kept_);
    }
    if (arm_) arm_(*store_);
    // The engine's own store only forwards. It may be destroyed before the calls are counted.
    auto running = RunningSale::open(std::make_unique<FaultyStore>(static_cast<Store&>(*store_)),
                                     orders_, clock_, {.batch_max = 6, .attempts_max = 2});
    if (!running.ok()) return running.status();
    running_ = *std::move(running);
    return absl::OkStatus();
  }

  /// Sets `arm`, which chooses the failing calls of the store that the next open() creates.
  void arm(std::function<void(FaultyStore&)> arm) { arm_ = std::move(arm); }

  /// Runs the sale as far as possible. Failures are ignored.
  void run_script() {
    is_poisonous_ = true;
    if (!open().ok()) return;
    publish(1, kFirstStock, 1);
    publish(2, 100, 2);
    static_cast<void>(sale().publish(paid_voucher()));
    buy_for_everybody(2, "first");
    buy_for_everybody(3, "paid");
    change_orders();
    step_for_a_while();
    refund_orders();
    buy_for_everybody(1, "only");
    publish(1, kStock, 1);
    step_for_a_while();
    buy_for_everybody(2, "second");
    step_for_a_while();
    is_poisonous_ = false;
    retry_dead_letters();
    step_for_a_while();
  }

  [[nodiscard]] int commits() const { return store_->commits(); }
  [[nodiscard]] int syncs() const { return store_->syncs(); }

  /// Restarts without failures, lets every buyer ask again, and checks the result.
  void recover_and_check() {
    is_poisonous_ = false;
    arm_ = nullptr;
    const absl::Status opened = open();
    ASSERT_TRUE(opened.ok()) << opened;
    expect_told_orders_exist();
    finish();
  }

  /// Does the same without a restart.
  void finish_and_check() {
    is_poisonous_ = false;
    ASSERT_NE(running_, nullptr);
    EXPECT_TRUE(running_->engine().health().ok()) << running_->engine().health();
    finish();
  }

 private:
  static bool is_poison(const Order& order) {
    return order.user == kPoisonedUser && order.voucher == 2;
  }

  Sale& sale() { return running_->sale(); }

  void publish(VoucherId voucher, std::int64_t stock, std::int64_t per_user) {
    static_cast<void>(sale().publish(voucher_on_sale(voucher, stock, per_user)));
  }

  void buy_for_everybody(VoucherId voucher, const std::string& which) {
    for (std::int64_t user = 1; user <= kUsers; ++user) {
      const std::string idempotency_key = which + " of user " + std::to_string(user);
      const BuyResult result = sale().buy(voucher, user, idempotency_key);
      if (result.outcome != Outcome::kAccepted) continue;
      const auto [told, is_new] = told_.try_emplace({voucher, idempotency_key}, result.order);
      EXPECT_TRUE(is_new || told->second == result.order) << idempotency_key << ": another order";
    }
  }

  // ---- Payments ----

  static Voucher paid_voucher() {
    Voucher paid = voucher_on_sale(3, 100, 1);
    paid.payment_ms = std::int64_t{24} * 3'600'000;
    return paid;
  }
  static std::string payment_of(OrderId order, int which) {
    return std::to_string(order) + '-' + std::to_string(which);
  }
  /// The fates of the orders of voucher 3, by turns.
  enum class Fate : std::uint8_t { kPaid, kPaidTwice, kCancelled, kRefunded };
  static constexpr int kFates = 4;

  std::map<OrderId, Fate> fates() {
    std::map<OrderId, Fate> fates;
    int next = 0;
    for (std::int64_t user = 1; user <= kUsers; ++user, ++next) {
      const auto told = told_.find({3, "paid of user " + std::to_string(user)});
      if (told != told_.end()) fates.emplace(told->second, static_cast<Fate>(next % kFates));
    }
    return fates;
  }
  ChangeResult pay(OrderId order, int which) {
    return sale().pay({.order = order, .payment = payment_of(order, which), .amount_cents = 100});
  }
  /// Pays and cancels. May be repeated: each change has the same outcome.
  void change_orders(bool must_succeed = false) {
    for (const auto& [order, fate] : fates()) {
      const ChangeResult first =
          fate == Fate::kCancelled ? sale().cancel(order, "no") : pay(order, 1);
      const bool may_be_late = fate == Fate::kRefunded && first.outcome == ChangeOutcome::kTooLate;
      if (must_succeed && !may_be_late) {
        EXPECT_EQ(first.outcome, ChangeOutcome::kDone) << first.detail;
      }
      if (fate != Fate::kPaidTwice || first.outcome != ChangeOutcome::kDone) continue;
      const ChangeResult second = pay(order, 2);
      EXPECT_NE(second.outcome, ChangeOutcome::kDone);
      if (must_succeed) {
        EXPECT_EQ(second.outcome, ChangeOutcome::kTooLate) << second.detail;
      }
    }
  }
  void refund_orders(bool must_succeed = false) {
    for (const auto& [order, fate] : fates()) {
      if (fate != Fate::kRefunded) continue;
      const ChangeResult refunded = sale().refund(order, "broken");
      if (must_succeed) {
        EXPECT_EQ(refunded.outcome, ChangeOutcome::kDone) << refunded.detail;
      }
    }
  }
  void expect_fates() {
    for (const auto& [order, fate] : fates()) {
      const auto stored = orders_.find(order);
      ASSERT_TRUE(stored.ok() && stored->has_value()) << order;
      const OrderStatus expected = fate == Fate::kCancelled  ? OrderStatus::kCancelled
                                   : fate == Fate::kRefunded ? OrderStatus::kRefunded
                                                             : OrderStatus::kPaid;
      EXPECT_EQ((*stored)->status, expected) << order;
      std::map<std::string, Payment::State> payments;
      const auto found = orders_.list_payments({.order = order});
      ASSERT_TRUE(found.ok()) << found.status();
      for (const Payment& payment : *found) payments.emplace(payment.id, payment.state);
      std::map<std::string, Payment::State> wanted;
      using State = Payment::State;
      const State first = fate == Fate::kRefunded ? State::kDue : State::kKept;
      if (fate != Fate::kCancelled) wanted.emplace(payment_of(order, 1), first);
      if (fate == Fate::kPaidTwice) wanted.emplace(payment_of(order, 2), State::kDue);
      EXPECT_EQ(payments, wanted) << order;
    }
  }

  void step_for_a_while() {
    constexpr int kRounds = 4;
    for (int i = 0; i < kRounds; ++i) {
      for (std::size_t worker = 0; worker < RunningSale::kWorkers; ++worker) {
        static_cast<void>(running_->worker(worker).step());
      }
      running_->engine().advance_ms(WorkerOptions{}.retry_after_ms);
    }
  }

  void retry_dead_letters() {
    const auto letters = sale().dead_letters();
    if (!letters.ok()) return;
    for (const DeadLetter& letter : *letters) {
      static_cast<void>(sale().retry_dead_letter(letter.id));
    }
  }

  void expect_told_orders_exist() {
    for (const auto& [request, order] : told_) {
      const auto state = sale().status(order);
      ASSERT_TRUE(state.ok()) << state.status();
      EXPECT_NE(state->location, OrderLocation::kUnknown) << "lost: order " << order;
    }
  }

  void finish() {
    ASSERT_TRUE(sale().publish(voucher_on_sale(1, kStock, 1)).ok());
    ASSERT_TRUE(sale().publish(voucher_on_sale(2, 100, 2)).ok());
    ASSERT_TRUE(sale().publish(paid_voucher()).ok());
    expect_audit_passes(sale());
    buy_for_everybody(3, "paid");
    change_orders(true);
    buy_for_everybody(2, "first");
    buy_for_everybody(1, "only again");  // some buyers saw the first stock sold out
    buy_for_everybody(2, "second");
    expect_finished();
  }

  void expect_finished() {
    EXPECT_TRUE(running_->drain());
    expect_only_poison_died();
    retry_dead_letters();
    EXPECT_TRUE(running_->drain());
    refund_orders(true);
    expect_audit_passes(sale());
    expect_fates();

    const auto stored = orders_.list({.count_max = 10'000});
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(static_cast<std::int64_t>(stored->size()), kOrders);
    std::map<OrderId, Order> by_id;
    for (const Order& order : *stored) by_id.emplace(order.id, order);
    for (const auto& [request, order] : told_) {
      const auto found = by_id.find(order);
      ASSERT_NE(found, by_id.end()) << "lost: order " << order;
      EXPECT_EQ(found->second.voucher, request.first);
    }
    const Reply pending = running_->client()("XPENDING", "stream.orders", "g1");
    ASSERT_TRUE(pending.is_aggregate());
    EXPECT_EQ(pending.elements()[0], Reply::integer(0));
  }

  /// Expects that only an order's own fault buries it.
  void expect_only_poison_died() {
    const auto letters = sale().dead_letters();
    ASSERT_TRUE(letters.ok()) << letters.status();
    for (const DeadLetter& letter : *letters) {
      EXPECT_EQ(letter.order.field("userId"), std::to_string(kPoisonedUser)) << letter.reason;
      EXPECT_EQ(letter.order.field("voucherId"), "2") << letter.reason;
    }
  }

  MemoryStore kept_{{.keep_state = true}};
  std::optional<TemporaryDirectory> on_disk_;
  ManualClock clock_;
  FaultyOrderStore orders_;
  bool is_poisonous_ = false;
  std::function<void(FaultyStore&)> arm_;
  std::unique_ptr<FaultyStore> store_;
  std::unique_ptr<RunningSale> running_;
  std::map<std::pair<VoucherId, std::string>, OrderId> told_;
};

// ---- The keyspace's store ----

enum class StoreKind : std::uint8_t { kMemory, kRocksDb };

class StoreSweepTest : public ::testing::TestWithParam<std::tuple<StoreKind, FaultyStore::Kept>> {
 protected:
  static FaultyStore::Kept kept() { return std::get<1>(GetParam()); }

  /// Runs the script once for each n up to the number that `calls` returns. `fail` makes the nth
  /// call of the store fail.
  void sweep(const std::function<void(FaultyStore&, int nth)>& fail,
             const std::function<int(const SweptSale&)>& calls) {
    testing::Sweep places(/*share=*/3);
    SCOPED_TRACE(places.seed_text());
    int nth = 0;
    bool is_hit = true;
    while (is_hit && !HasFailure()) {
      nth = places.next();
      ASSERT_LT(nth, kCallsMax);
      SCOPED_TRACE("call " + std::to_string(nth));
      MemoryOrderStore database;
      SweptSale sale(database);
      if (std::get<0>(GetParam()) == StoreKind::kRocksDb) sale.keep_on_rocksdb();
      sale.arm([&](FaultyStore& store) { fail(store, nth); });
      sale.run_script();
      is_hit = calls(sale) >= nth;
      sale.recover_and_check();
    }
    RecordProperty("calls_failed", nth - 1);
    EXPECT_GT(nth, 5) << "the script calls that often";
  }
};
INSTANTIATE_TEST_SUITE_P(
    Stores, StoreSweepTest,
    ::testing::Combine(::testing::Values(StoreKind::kMemory, StoreKind::kRocksDb),
                       ::testing::Values(FaultyStore::Kept::kNo, FaultyStore::Kept::kYes)),
    [](const auto& kind) {
      return std::string(std::get<0>(kind.param) == StoreKind::kMemory ? "Memory" : "RocksDb") +
             (std::get<1>(kind.param) == FaultyStore::Kept::kNo ? "Dropped" : "Kept");
    });

TEST_P(StoreSweepTest, FailedCommitLosesAndDoublesNothing) {
  sweep([](FaultyStore& store, int nth) { store.fail_commit(nth, kept()); },
        [](const SweptSale& sale) { return sale.commits(); });
}

TEST_P(StoreSweepTest, FailedSyncLosesAndDoublesNothing) {
  sweep([](FaultyStore& store, int nth) { store.fail_sync(nth, kept()); },
        [](const SweptSale& sale) { return sale.syncs(); });
}

// ---- The database of orders ----

struct WriteFault {
  std::string name;
  absl::Status error;
  FaultyOrderStore::Kept kept;
};

class WriteSweepTest : public ::testing::TestWithParam<WriteFault> {};
INSTANTIATE_TEST_SUITE_P(
    Errors, WriteSweepTest,
    ::testing::Values(
        WriteFault{"Busy", absl::UnavailableError("busy"), FaultyOrderStore::Kept::kNo},
        WriteFault{"AnswerLost", absl::UnavailableError("gone"), FaultyOrderStore::Kept::kYes},
        WriteFault{"Internal", absl::InternalError("fault"), FaultyOrderStore::Kept::kNo},
        WriteFault{"InternalKept", absl::InternalError("fault"), FaultyOrderStore::Kept::kYes},
        WriteFault{"AnOrders", absl::InvalidArgumentError("fault"), FaultyOrderStore::Kept::kNo},
        WriteFault{"AnOrdersKept", absl::InvalidArgumentError("fault"),
                   FaultyOrderStore::Kept::kYes}),
    [](const auto& fault) { return fault.param.name; });

TEST_P(WriteSweepTest, FailedWriteLosesAndDoublesNothing) {
  for (const bool restart : {false, true}) {
    int nth = 0;
    bool is_hit = true;
    while (is_hit && !HasFailure()) {
      ASSERT_LT(++nth, kCallsMax);
      SCOPED_TRACE("write " + std::to_string(nth) + (restart ? ", then a restart" : ""));
      MemoryOrderStore database;
      SweptSale sale(database);
      sale.orders().fail_write(nth, GetParam().kept, GetParam().error);
      sale.run_script();
      is_hit = sale.orders().writes() >= nth;
      restart ? sale.recover_and_check() : sale.finish_and_check();
    }
    RecordProperty("writes_failed", nth - 1);
    EXPECT_GT(nth, 5) << "the script writes that often";
  }
}

// ---- The disk below SQLite ----

struct DiskFault {
  std::string name;
  FaultySqliteVfs::Kind kind;
  FaultySqliteVfs::Lasting lasting;
};

class DiskSweepTest : public ::testing::TestWithParam<DiskFault> {};
INSTANTIATE_TEST_SUITE_P(
    Faults, DiskSweepTest,
    ::testing::Values(
        DiskFault{"BusyOnce", FaultySqliteVfs::Kind::kBusy, FaultySqliteVfs::Lasting::kOnce},
        DiskFault{"BusyForGood", FaultySqliteVfs::Kind::kBusy, FaultySqliteVfs::Lasting::kForGood},
        DiskFault{"FullOnce", FaultySqliteVfs::Kind::kFull, FaultySqliteVfs::Lasting::kOnce},
        DiskFault{"FullForGood", FaultySqliteVfs::Kind::kFull, FaultySqliteVfs::Lasting::kForGood},
        DiskFault{"IoErrorOnce", FaultySqliteVfs::Kind::kIoError, FaultySqliteVfs::Lasting::kOnce},
        DiskFault{"IoErrorForGood", FaultySqliteVfs::Kind::kIoError,
                  FaultySqliteVfs::Lasting::kForGood}),
    [](const auto& fault) { return fault.param.name; });

TEST_P(DiskSweepTest, FailingDatabaseDiskLosesAndDoublesNothing) {
  FaultySqliteVfs disk;
  testing::Sweep places(/*share=*/4);
  SCOPED_TRACE(places.seed_text());
  int nth = 0;
  bool is_hit = true;
  while (is_hit && !HasFailure()) {
    nth = places.next();
    ASSERT_LT(nth, kCallsMax);
    SCOPED_TRACE("call " + std::to_string(nth));
    const TemporaryDirectory directory;
    SqliteOrderStoreOptions options;
    options.busy_timeout_ms = 1;
    options.vfs = disk.name();
    auto database = SqliteOrderStore::open(directory.path() / "orders.db", options);
    ASSERT_TRUE(database.ok()) << database.status();
    SweptSale sale(**database);
    disk.fail(GetParam().kind, nth, GetParam().lasting);
    sale.run_script();
    is_hit = disk.stop();
    sale.recover_and_check();
  }
  RecordProperty("calls_failed", nth - 1);
  EXPECT_GT(nth, 5) << "the script calls that often";
}

}  // namespace
}  // namespace rushgate
