// A sale on each backend of the list (sale_backends.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/sale/keyspace/keyspace_run.h"
#include "tests/support/hooked_backend.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sale/sale_backends.h"
#include <rushgate/engine.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale.h>
#include <rushgate/sqlite_order_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {

/// The keyspace, the database and the clock of a sale.
class SaleBackend {
 public:
  explicit SaleBackend(const SaleBackendKind& kind, TestTime time = TestTime::kManual)
      : kind_(kind),
        time_(time),
        kept_(kind.make_keyspace(directory_.path(),
                                 time == TestTime::kManual ? &manual_clock_ : nullptr)) {
    open();
  }

  /// Closes and opens everything, like a restarted process.
  void reopen() {
    close();
    open();
  }
  /// Closes the keyspace. Remaining clients get CLOSED.
  void close() {
    client_.reset();
    backend_in_manual_time_.reset();
    backend_.reset();
  }

  /// Saves the keyspace for roll_back(). Closes it unless it is a server: call reopen().
  void save() {
    if (!kind_.is_server) close();
    kept_->save();
  }
  /// Restores the saved keyspace: a server restarted from its dump, or an old directory next to a
  /// newer database.
  void roll_back() {
    if (!kind_.is_server) close();
    kept_->roll_back();
  }

  /// Copies the file of the database as it is now. Nobody may be writing.
  void copy_orders(const std::filesystem::path& to) const {
    for (const char* const suffix : {"", "-wal"}) {
      const std::string from = orders_file().string() + suffix;
      if (!std::filesystem::exists(from)) continue;
      std::filesystem::copy_file(from, to.string() + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  /// Closes everything, puts a copy in the place of the database's file, and opens everything.
  void put_orders_back(const std::filesystem::path& copy) {
    close();
    orders_.reset();
    database_.reset();
    for (const char* const suffix : {"", "-wal", "-shm"}) {
      const std::string to = orders_file().string() + suffix;
      std::filesystem::remove(to);
      if (std::filesystem::exists(copy.string() + suffix)) {
        std::filesystem::copy_file(copy.string() + suffix, to);
      }
    }
    open();
  }

  [[nodiscard]] const SaleBackendKind& kind() const { return kind_; }
  [[nodiscard]] Backend& keyspace() {
    return backend_in_manual_time_ ? *backend_in_manual_time_ : *backend_;
  }
  /// Opens the keyspace like another process at the same time.
  [[nodiscard]] std::unique_ptr<Backend> open_another() { return kept_->open_another(*backend_); }
  /// Returns a client to inspect the keyspace.
  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] faults::FaultyOrderStore& orders() { return *orders_; }
  /// Returns the file of the database, unless it is in memory.
  [[nodiscard]] std::filesystem::path orders_file() const {
    return directory_.path() / "orders.db";
  }
  [[nodiscard]] const Clock& clock() { return keyspace().clock(); }
  [[nodiscard]] bool has_manual_time() const { return time_ == TestTime::kManual; }
  /// Advances manual time.
  void advance_ms(std::int64_t duration_ms) {
    if (backend_ == nullptr) return manual_clock_.advance_ms(duration_ms);
    kept_->advance_ms(*backend_, duration_ms);
    if (backend_in_manual_time_) backend_in_manual_time_->run_timers();
  }
  /// Advances manual time while this process is stopped: no timer of its sale runs.
  void advance_ms_while_stopped(std::int64_t duration_ms) {
    kept_->advance_ms(*backend_, duration_ms);
  }
  /// Sets only the time of day, if it is manual.
  void set_now_ms(std::int64_t now_ms) { kept_->set_now_ms(now_ms); }

 private:
  void open() {
    orders_.reset();
    if (kind_.keeps_orders_in_file) database_.reset();
    if (database_ == nullptr) database_ = kind_.open_orders(orders_file());
    orders_ = std::make_unique<faults::FaultyOrderStore>(*database_);
    backend_ = kept_->open();
    if (has_manual_time()) {
      backend_in_manual_time_ = std::make_unique<OneThreadBackend>(*backend_, manual_clock_);
    }
    client_ = backend_->open_client();
  }

  const SaleBackendKind& kind_;
  const TestTime time_;
  const TemporaryDirectory directory_;
  ManualClock manual_clock_;
  const std::unique_ptr<TestKeyspace> kept_;
  std::unique_ptr<OrderStore> database_;
  std::unique_ptr<faults::FaultyOrderStore> orders_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<OneThreadBackend> backend_in_manual_time_;
  std::unique_ptr<Client> client_;
};

/// A sale and a worker.
class SaleFixture : public ::testing::Test {
 protected:
  SaleFixture(const SaleBackendKind& kind, TestTime time, SaleOptions options = {})
      : backend_(kind, time), options_(std::move(options)) {
    open();
  }

  /// Closes voucher 1 like a process that began a rebuild `ago_ms` ago, in the same run of the
  /// keyspace.
  void close_as_somebody(std::int64_t ago_ms) {
    Client& client = backend_.client();
    const Reply time = client("TIME");
    const std::int64_t now_ms = std::stoll(std::string(time.elements()[0].text())) * 1'000 +
                                std::stoll(std::string(time.elements()[1].text())) / 1'000;
    client("HSET", "seckill:voucher:1", "closed", "somebody:1", "closed_run",
           client.run(keyspace_run_script(), {}, {}).text(), "closed_at", now_ms - ago_ms);
  }

  /// Returns an id above those of the present entries.
  [[nodiscard]] StreamId future_entry() {
    return {.ms = static_cast<std::uint64_t>(backend_.clock().now_ms() + 3'600'000)};
  }
  /// Makes this the last id of the order stream, which must exist: the next entry gets the next one. So
  /// ids come again after a loss, as they may do if a clock is set back.
  void set_last_entry(const StreamId& id) {
    const Reply set = backend_.client()("XSETID", SaleKeys{}.order_stream, id.to_string());
    EXPECT_EQ(set, Reply::ok());
  }
  /// The worker reads an entry and cannot store it yet. The keyspace is lost, and its next entry comes
  /// behind `last` again.
  void lose_entry_after_reading(const StreamId& last) {
    backend_.orders().poison([](const Order& /*order*/) { return true; });
    EXPECT_EQ(worker_->step().faulted, 1U);
    backend_.orders().poison(nullptr);
    backend_.client()("FLUSHALL");
    make_worker("c2")->step();
    set_last_entry(last);
  }

  void open() {
    worker_.reset();
    sale_.reset();
    sale_ = open_sale(backend_.keyspace());
    worker_ = make_worker("c1");
  }
  void restart() {
    worker_.reset();
    sale_.reset();
    backend_.reopen();
    open();
  }

  /// Saves the keyspace for roll_back().
  void save() {
    close_if_embedded();
    backend_.save();
    open_if_embedded();
  }
  /// Makes the keyspace the saved one. Only the sale on a server stays open meanwhile.
  void roll_back() {
    close_if_embedded();
    backend_.roll_back();
    backend_.advance_ms(1);
    open_if_embedded();
  }

  /// Runs `happens` once, before the `nth` write to the database from now on.
  void before_write(int nth, std::function<void()> happens) {
    using Point = faults::FaultyOrderStore::Point;
    backend_.orders().at_every_point([happens = std::move(happens), nth](Point point) mutable {
      if (point == Point::kBeforeWrite && --nth == 0) happens();
    });
  }
  /// Runs `happens` once, between a worker's next read and its write.
  void before_next_write(std::function<void()> happens) { before_write(1, std::move(happens)); }

  std::unique_ptr<Sale> open_sale(Backend& keyspace) {
    auto sale = Sale::open(keyspace, backend_.orders(), options_);
    if (!sale.ok()) throw std::runtime_error(sale.status().ToString());
    return *std::move(sale);
  }

  std::unique_ptr<OrderWorker> make_worker(const std::string& consumer,
                                           WorkerOptions options = {}) {
    options.consumer = consumer;
    return std::make_unique<OrderWorker>(backend_.keyspace(), backend_.orders(), SaleKeys{},
                                         options);
  }

  /// Returns a voucher on sale for a day, since an hour ago.
  [[nodiscard]] Voucher voucher(VoucherId id, std::int64_t stock, Limits limits = {}) {
    const std::int64_t now_ms = backend_.clock().now_ms();
    return {.id = id,
            .title = "voucher",
            .stock = stock,
            .begin_ms = now_ms - 3'600'000,
            .end_ms = now_ms + 86'400'000,
            .price_cents = 100,
            .limits = limits};
  }

  Outcome buy(VoucherId id, std::int64_t user, std::string_view key = {}) {
    const BuyResult result = sale_->buy(id, user, key);
    EXPECT_TRUE(result.detail.empty()) << result.detail;
    return result.outcome;
  }

  void expect_audit_passes() {
    const auto report = sale_->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  }

  SaleBackend backend_;
  const SaleOptions options_;
  std::unique_ptr<Sale> sale_;
  std::unique_ptr<OrderWorker> worker_;

 private:
  void close_if_embedded() {
    if (backend_.kind().is_server) return;
    worker_.reset();
    sale_.reset();
  }
  void open_if_embedded() {
    if (backend_.kind().is_server) return;
    backend_.reopen();
    open();
  }
};

/// Uses manual time: one thread, and the same result every time.
class SaleTest : public SaleFixture, public ::testing::WithParamInterface<SaleBackendParam> {
 protected:
  SaleTest() : SaleFixture(*GetParam(), TestTime::kManual) {}

  /// Steps the worker until it has no work left, moving time for its retries.
  void drain(OrderWorker& worker, int retries_max = 20) {
    for (int retry = 0; retry < retries_max; ++retry) {
      bool is_done = true;
      while (true) {
        const OrderWorker::Step step = worker.step();
        is_done = is_done && step.faulted == 0 && step.kind != OrderWorker::Step::Kind::kPaused;
        if (step.kind != OrderWorker::Step::Kind::kWorked) break;
      }
      if (is_done) return;
      backend_.advance_ms(WorkerOptions{}.retry_after_ms);
    }
  }
  void drain() { drain(*worker_); }
};

/// Uses the machine's time, for tests with threads.
class ThreadedSaleTest : public SaleFixture,
                         public ::testing::WithParamInterface<SaleBackendParam> {
 protected:
  ThreadedSaleTest() : SaleFixture(*GetParam(), TestTime::kMachines) {}
};

}  // namespace rushgate
