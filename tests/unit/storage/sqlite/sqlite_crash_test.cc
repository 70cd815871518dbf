// A writer is killed in the middle of its batches.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <random>
#include <thread>

#include <SQLiteCpp/Column.h>

#include "tests/unit/storage/sqlite/sqlite_fixture.h"
#include <rushgate/random_seed.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

constexpr std::int64_t kBatch = 50;

class SqliteCrashTest : public SqliteTest {
 protected:
  /// Writes batches for ever, and a byte to the pipe after each. Each second batch has payments.
  [[noreturn]] void write_batches(OrderId first, int pipe) {
    const auto store = open();
    for (;; first += kBatch) {
      if (!write_batch(*store, first).ok()) _exit(1);
      if (write(pipe, "x", 1) != 1) _exit(1);
    }
  }

  static absl::Status write_batch(SqliteOrderStore& store, OrderId first) {
    return is_paid(first) ? apply_now(store, make_paid_orders(first, kBatch)).status()
                          : write_now(store, make_orders(first, kBatch)).status();
  }
  static bool is_paid(OrderId order) { return (order - 1) / kBatch % 2 == 1; }

  static void expect_payments(SqliteOrderStore& store) {
    OrderFilter all;
    all.count_max = 1'000'000;
    const std::vector<Order> orders = store.list(all).value();
    std::size_t paid = 0;
    for (const Order& order : orders) {
      EXPECT_EQ(order.status, is_paid(order.id) ? OrderStatus::kPaid : OrderStatus::kCreated);
      if (is_paid(order.id)) ++paid;
    }
    PaymentFilter payments;
    payments.count_max = all.count_max;
    EXPECT_EQ(store.list_payments(payments)->size(), paid);
    EXPECT_EQ(store.changes(0, all.count_max, std::nullopt)->size(), paid);
  }

  /// Starts a process that writes from `first` on. Kills it a moment after it has reported
  /// `batches`. Returns the number of batches that it reported as stored.
  std::int64_t write_and_kill(OrderId first, int batches, std::chrono::microseconds moment) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) write_batches(first, ends[1]);
    close(ends[1]);
    std::int64_t stored = 0;
    char byte = 0;
    while (stored < batches && read(ends[0], &byte, 1) == 1) ++stored;
    std::this_thread::sleep_for(moment);  // a crash needs real time
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(ends[0], &byte, 1) == 1) ++stored;
    close(ends[0]);
    return stored;
  }
};

TEST_F(SqliteCrashTest, KilledWriterLeavesOnlyWholeBatches) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  std::int64_t count = 0;
  for (int round = 0; round < 15; ++round) {
    const std::int64_t said = write_and_kill(count + 1, static_cast<int>(random() % 5),
                                             std::chrono::microseconds(random() % 3000));
    ASSERT_EQ(check_integrity(), "ok");
    const auto store = open();
    const std::int64_t now = store->count_live(kVoucher).value();
    EXPECT_EQ(now % kBatch, 0);
    EXPECT_GE(now, count + said * kBatch) << "a stored batch was lost";
    EXPECT_LE(now, count + (said + 1) * kBatch);
    count = now;
    expect_payments(*store);
    // The next orders can be written.
    ASSERT_TRUE(write_batch(*store, count + 1).ok());
    count += kBatch;
  }
}

}  // namespace
}  // namespace rushgate
