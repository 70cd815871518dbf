// A sale over a damaged or invalid database file: no waiting order is lost.
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/sqlite_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

/// A sale on a keyspace that keeps running, over a database file that is closed and reopened.
class DamagedDatabaseTest : public ::testing::TestWithParam<SaleBackendParam> {
 protected:
  static constexpr int kStored = 2'000;  // enough for every table and index to have many pages
  static constexpr int kQueued = 50;

  void SetUp() override {
    ASSERT_TRUE(open_database().ok());
    auto sale = Sale::open(keyspace_.keyspace(), *database_);
    ASSERT_TRUE(sale.ok()) << sale.status();
    const absl::Status published =
        (*sale)->publish({.id = 1,
                          .title = "voucher",
                          .stock = 10'000,
                          .begin_ms = 0,
                          .end_ms = keyspace_.clock().now_ms() + 3'600'000,
                          .price_cents = 100,
                          .limits = {}});
    ASSERT_TRUE(published.ok()) << published;
    buy(**sale, 1, kStored);
    EXPECT_EQ(work(kStored / 1'000).stored, static_cast<std::size_t>(kStored));
    buy(**sale, kStored + 1, kQueued);
    database_.reset();  // flushes everything to the file
    fs::copy_file(file(), copy());
  }

  static void buy(Sale& sale, std::int64_t first, int count) {
    for (std::int64_t user = first; user < first + count; ++user)
      ASSERT_EQ(sale.buy(1, user).outcome, Outcome::kAccepted);
  }

  absl::Status open_database() {
    auto database = SqliteOrderStore::open(file());
    if (!database.ok()) return database.status();
    database_ = *std::move(database);
    return absl::OkStatus();
  }

  /// Runs `steps` steps of a worker. Returns the sum of their results.
  OrderWorker::Step work(int steps) {
    OrderWorker worker(keyspace_.keyspace(), *database_, SaleKeys{});
    OrderWorker::Step sum;
    for (int i = 0; i < steps; ++i) {
      const OrderWorker::Step step = worker.step();
      sum.kind = step.kind;
      sum.reason = step.reason;
      sum.stored += step.stored;
      sum.buried += step.buried;
      sum.faulted += step.faulted;
      keyspace_.advance_ms(WorkerOptions{}.retry_after_ms);
    }
    return sum;
  }

  void expect_names_the_file(const std::string& text) {
    EXPECT_THAT(text, ::testing::HasSubstr(file().string()));
  }

  /// Expects that every queued order is stored once the file is repaired, and that none has died.
  void expect_nothing_was_lost() {
    database_.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file().string() + suffix);
    fs::copy_file(copy(), file());
    ASSERT_TRUE(open_database().ok());
    EXPECT_EQ(work(2).stored, static_cast<std::size_t>(kQueued));
    auto sale = Sale::open(keyspace_.keyspace(), *database_);
    ASSERT_TRUE(sale.ok()) << sale.status();
    EXPECT_TRUE((*sale)->dead_letters()->empty());
    const auto report = (*sale)->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    EXPECT_EQ(report->vouchers.front().created, kStored + kQueued);
  }

  [[nodiscard]] fs::path file() const { return directory_.path() / "orders.db"; }
  [[nodiscard]] fs::path copy() const { return directory_.path() / "copy.db"; }

  TemporaryDirectory directory_;
  SaleBackend keyspace_{*GetParam()};  // without its database
  std::unique_ptr<SqliteOrderStore> database_;
};

INSTANTIATE_TEST_SUITE_P(Backends, DamagedDatabaseTest, each_backend(), backend_name);

TEST_P(DamagedDatabaseTest, OverwrittenBytesPauseWorkerWithoutLoss) {
  const auto bytes = static_cast<std::streamoff>(fs::file_size(file()));
  {
    std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(bytes / 2);
    out << std::string(static_cast<std::size_t>(bytes / 2), '\xa5');
  }
  ASSERT_TRUE(open_database().ok()) << "the header and the schema are whole";
  const OrderWorker::Step steps = work(20);
  EXPECT_EQ(steps.kind, OrderWorker::Step::Kind::kPaused);
  expect_names_the_file(steps.reason);
  EXPECT_THAT(steps.reason, ::testing::HasSubstr("malformed"));
  EXPECT_EQ(steps.stored, 0U);
  EXPECT_EQ(steps.faulted, 0U);
  EXPECT_EQ(steps.buried, 0U);
  EXPECT_EQ(write_now(*database_, {}).status(), absl::OkStatus()) << "an empty batch reads nothing";
  EXPECT_EQ(database_->list({.count_max = 10'000}).status().code(), absl::StatusCode::kDataLoss);
  expect_nothing_was_lost();
}

TEST_P(DamagedDatabaseTest, InvalidDatabaseFileIsRefusedWithoutLoss) {
  std::ofstream(file(), std::ios::trunc) << std::string(5'000, 'x');
  const absl::Status opened = open_database();
  EXPECT_EQ(opened.code(), absl::StatusCode::kDataLoss);
  expect_names_the_file(std::string(opened.message()));
  EXPECT_THAT(std::string(opened.message()), ::testing::HasSubstr("not a database"));
  expect_nothing_was_lost();
}

TEST_P(DamagedDatabaseTest, DatabaseDamagedWhileOpenPausesWorker) {
  ASSERT_TRUE(open_database().ok());
  std::ofstream(file(), std::ios::trunc) << std::string(5'000, 'x');
  const OrderWorker::Step steps = work(20);
  EXPECT_EQ(steps.kind, OrderWorker::Step::Kind::kPaused);
  expect_names_the_file(steps.reason);
  EXPECT_EQ(steps.faulted, 0U);
  EXPECT_EQ(steps.buried, 0U);
  expect_nothing_was_lost();
}

}  // namespace
}  // namespace rushgate
