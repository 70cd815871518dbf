// Failures of locks and disks, at every call in turn.
#include <functional>
#include <optional>

#include <SQLiteCpp/Column.h>
#include <sqlite3.h>

#include "tests/support/faults/faulty_sqlite_vfs.h"
#include "tests/support/sweep.h"
#include "tests/unit/storage/sqlite/sqlite_fixture.h"
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using faults::FaultySqliteVfs;
using FileFault = FaultySqliteVfs::Kind;
using Lasting = FaultySqliteVfs::Lasting;

// ---- Locks ------------------------------------------------------------------------------------

using SqliteBusyTest = SqliteTest;

TEST_F(SqliteBusyTest, HeldWriteLockIsUnavailable) {
  options_.busy_timeout_ms = 1;
  const auto store = open();
  SQLite::Database other = open_raw();
  other.exec("BEGIN IMMEDIATE");
  const absl::Status status = write_now(*store, make_orders(1, 1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(file().string() + ": database is locked"), std::string::npos)
      << status;
  EXPECT_EQ(apply_now(*store, make_paid_orders(1, 1)).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(store->record_pending(first_version()).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(store->list({}).ok());  // a reader does not wait for writers
  EXPECT_TRUE(try_open().ok());       // nor does opening a current database
  other.exec("ROLLBACK");
  EXPECT_TRUE(write_now(*store, make_orders(1, 1)).ok());
}

TEST_F(SqliteBusyTest, FullDatabaseIsUnavailableButReadable) {
  options_.busy_timeout_ms = 1;
  auto store = open();
  ASSERT_TRUE(write_now(*store, make_orders(1, 10)).ok());
  FaultySqliteVfs disk;
  options_.vfs = disk.name();
  store = open();
  disk.fail(FileFault::kFull, 1, Lasting::kForGood);
  const absl::Status status = write_now(*store, make_orders(11, 10)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_NE(status.message().find("full"), std::string::npos) << status;
  EXPECT_EQ(store->list({})->size(), 10U);
  disk.stop();
  EXPECT_TRUE(write_now(*store, make_orders(11, 10)).ok());
  EXPECT_EQ(store->list({})->size(), 20U);
}

TEST_F(SqliteBusyTest, BatchIsSyncedOnceBeforeWriteReturns) {
  FaultySqliteVfs disk;
  options_.vfs = disk.name();
  const auto store = open();
  ASSERT_TRUE(write_now(*store, make_orders(1, 10)).ok());
  const int before = disk.syncs();
  ASSERT_TRUE(write_now(*store, make_orders(11, 10)).ok());
  EXPECT_EQ(disk.syncs(), before + 1);
}

// ---- Every call fails once --------------------------------------------------------------------

struct FaultCase {
  std::string name;
  FileFault kind;
  Lasting lasting;

  friend void PrintTo(const FaultCase& fault, std::ostream* out) { *out << fault.name; }
};

class SqliteFaultsTest : public SqliteTest, public ::testing::WithParamInterface<FaultCase> {
 protected:
  SqliteFaultsTest() {
    options_.busy_timeout_ms = 0;
    options_.vfs = disk_.name();
  }

  /// Uses a store from creation to the last write. The n-th call to the disk fails, and its
  /// operation is then repeated without a fault. Returns true if the fault occurred.
  bool run_with_fault(int nth) {
    SCOPED_TRACE("fault at call " + std::to_string(nth));
    stored_.clear();
    used_ = 0;
    for (const auto& entry : std::filesystem::directory_iterator(database_.directory())) {
      std::filesystem::remove(entry.path());
    }
    disk_.fail(GetParam().kind, nth, GetParam().lasting);
    has_failed_ = false;

    std::unique_ptr<SqliteOrderStore> store = open_somehow();
    publish_somehow(*store);
    write_somehow(*store, make_orders(1, 40));
    write_somehow(*store, make_orders(21, 40));  // half of them for the second time
    use_somehow(*store);
    copy_log_somehow();
    write_somehow(*store, make_orders(61, 400));
    store.reset();
    store = open_somehow();
    write_somehow(*store, make_orders(400, 100));

    stop_faults();
    check(*store);
    EXPECT_EQ(store->applied(kVoucher).value()->version, 1);
    store.reset();
    EXPECT_EQ(check_integrity(), "ok");
    return has_failed_;
  }

 private:
  void stop_faults() { has_failed_ |= disk_.stop(); }

  /// Runs `call`. If it fails, expects an injected fault, runs `check_unchanged`, and repeats the
  /// call on a working disk.
  void somehow(
      const std::function<absl::Status()>& call,
      const std::function<void()>& check_unchanged = [] {}) {
    const absl::Status status = call();
    if (status.ok()) return;
    stop_faults();
    EXPECT_TRUE(has_failed_);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    check_unchanged();
    const absl::Status again = call();
    EXPECT_TRUE(again.ok()) << again;
  }

  std::unique_ptr<SqliteOrderStore> open_somehow() {
    std::unique_ptr<SqliteOrderStore> store;
    somehow([&] {
      auto opened = try_open();
      absl::Status status = opened.status();
      if (opened.ok()) store = *std::move(opened);
      return status;
    });
    return store;
  }

  void write_somehow(SqliteOrderStore& store, const std::vector<Order>& orders) {
    somehow([&] { return write_now(store, orders).status(); }, [&] { check(store); });
    for (const Order& order : orders) {
      if (stored_.empty() || stored_.back().id < order.id) stored_.push_back(order);
    }
  }

  /// Sets the first orders to used, and records a surplus payment of each.
  void use_somehow(SqliteOrderStore& store) {
    std::vector<OrderEvent> events;
    for (OrderId id = 1; id <= 10; ++id) {
      events.push_back({.kind = OrderEvent::Kind::kUsed, .order = {.id = id}});
      events.push_back({.kind = OrderEvent::Kind::kSurplusPayment, .order = {.id = id}});
      events.back().payment.id = "p" + std::to_string(id);
    }
    somehow([&] { return apply_now(store, events).status(); }, [&] { check(store); });
    for (std::size_t i = 0; i < 10; ++i) stored_[i].status = OrderStatus::kUsed;
    used_ = 10;
  }

  void publish_somehow(SqliteOrderStore& store) {
    somehow([&] { return store.record_pending(first_version()); },
            [&] { EXPECT_FALSE(store.latest(kVoucher)->has_value()); });
    somehow([&] { return store.resolve(kVoucher, 1, VoucherVersion::State::kApplied, ""); },
            [&] { EXPECT_EQ(store.pending()->size(), 1U); });
  }

  /// Makes a checkpoint, as the store does when the log is long. Its failure is harmless.
  void copy_log_somehow() {
    sqlite3* other = nullptr;
    if (sqlite3_open_v2(file().c_str(), &other, SQLITE_OPEN_READWRITE, disk_.name().c_str()) ==
        SQLITE_OK) {
      sqlite3_wal_checkpoint_v2(other, nullptr, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
    }
    sqlite3_close(other);
  }

  void check(SqliteOrderStore& store) const {
    OrderFilter all;
    all.count_max = 10'000;
    const auto listed = store.list(all);
    ASSERT_TRUE(listed.ok()) << listed.status();
    EXPECT_TRUE(*listed == stored_) << listed->size() << " orders, not " << stored_.size();
    EXPECT_EQ(store.count_live(kVoucher).value(), static_cast<std::int64_t>(stored_.size()));
    EXPECT_EQ(store.list_payments({})->size(), used_);
    EXPECT_EQ(store.changes(0, 1'000, std::nullopt)->size(), used_);
  }

  FaultySqliteVfs disk_;
  bool has_failed_ = false;
  std::vector<Order> stored_;
  std::size_t used_ = 0;  // orders
};

TEST_P(SqliteFaultsTest, NothingIsLostAtAnyFailedCall) {
  testing::Sweep sweep(/*share=*/5);
  SCOPED_TRACE(sweep.seed_text());
  int nth = sweep.next();
  while (run_with_fault(nth) && !HasFailure()) nth = sweep.next();
  EXPECT_GT(nth, 20) << "too few calls were made";
  RecordProperty("calls", nth - 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, SqliteFaultsTest,
    ::testing::Values(FaultCase{"FullOnce", FileFault::kFull, Lasting::kOnce},
                      FaultCase{"Full", FileFault::kFull, Lasting::kForGood},
                      FaultCase{"IoErrorOnce", FileFault::kIoError, Lasting::kOnce},
                      FaultCase{"IoError", FileFault::kIoError, Lasting::kForGood},
                      FaultCase{"BusyOnce", FileFault::kBusy, Lasting::kOnce},
                      FaultCase{"Busy", FileFault::kBusy, Lasting::kForGood}),
    [](const ::testing::TestParamInfo<FaultCase>& fault) { return fault.param.name; });

}  // namespace
}  // namespace rushgate
