// Backups of a sale that sells, and their restoration.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>
#include <rushgate/random_seed.h>
#include <rushgate/rocksdb_store.h>
#include <rushgate/sqlite_order_store.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr VoucherId kBackedUp = 7;
constexpr std::int64_t kPiecesToSell = 1'000'000;

class BackupTest : public ::testing::Test {
 protected:
  std::unique_ptr<FlashSale> open(const fs::path& dir, FlashSaleOptions options = {}) {
    auto sale = FlashSale::open(dir.string(), options);
    EXPECT_EQ(sale.status(), absl::OkStatus());
    return sale.ok() ? *std::move(sale) : nullptr;
  }
  std::unique_ptr<FlashSale> open_shop() {
    auto sale = open(shop_);
    EXPECT_EQ(
        sale->publish(
            {.id = kBackedUp, .title = "Tea", .stock = kPiecesToSell, .limits = {.per_user = 0}}),
        absl::OkStatus());
    return sale;
  }
  static void buy(FlashSale& sale, int pieces) {
    for (int i = 0; i < pieces; ++i) ASSERT_EQ(sale.buy(kBackedUp, 1).outcome, Outcome::kAccepted);
    ASSERT_EQ(sale.drain(), absl::OkStatus());
  }
  fs::path back_up(FlashSale& sale, std::size_t keep = 3) {
    const auto report = sale.backup(backups_, {.keep = keep});
    EXPECT_EQ(report.status(), absl::OkStatus());
    return report.ok() ? report->path : fs::path();
  }
  /// Restores a backup, and returns the pieces that were admitted in it.
  std::int64_t admitted_in(const fs::path& backup) {
    const fs::path restored = dir_.path() / ("restored" + std::to_string(restored_++));
    EXPECT_EQ(restore_backup(backup, restored).status(), absl::OkStatus());
    const auto sale = open(restored);
    if (sale == nullptr) return -1;
    EXPECT_EQ(sale->drain(), absl::OkStatus());
    const auto report = sale->audit();
    EXPECT_EQ(report.status(), absl::OkStatus());
    EXPECT_THAT(report->problems, IsEmpty());
    const auto summary = sale->voucher(kBackedUp);
    return summary.ok() && summary->has_value() ? (*summary)->admitted.value_or(-1) : -1;
  }
  [[nodiscard]] std::vector<fs::path> backups() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(backups_)) {
      // One that is being made or removed has a hidden name.
      const bool is_hidden = entry.path().filename().string().starts_with('.');
      if (!is_hidden && fs::exists(entry.path() / "backup.json")) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }

  const TemporaryDirectory dir_;
  const fs::path shop_ = dir_.path() / "shop";
  const fs::path backups_ = dir_.path() / "backups";
  int restored_ = 0;
  std::stop_source stop_;
};

TEST_F(BackupTest, BackupDuringRushPassesAudit) {
  const auto sale = open_shop();
  std::atomic<bool> is_over{false};
  std::atomic<std::int64_t> accepted{0};
  std::atomic<std::int64_t> wanted{0};  // however long the backup takes
  std::vector<std::thread> buyers;
  for (int i = 0; i < 2; ++i) {
    buyers.emplace_back([&] {
      while (!is_over) {
        if (accepted >= wanted) {
          std::this_thread::yield();
        } else if (sale->buy(kBackedUp, 1).outcome == Outcome::kAccepted) {
          ++accepted;
        }
      }
    });
  }
  struct Backup {
    fs::path path;
    std::int64_t before;  // accepted
    std::int64_t after;
  };
  std::vector<Backup> made;
  for (int round = 0; round < 2; ++round) {
    wanted = accepted + 5'000;
    for (const std::int64_t target = accepted + 200; accepted < target;) std::this_thread::yield();
    const std::int64_t before = accepted;
    const fs::path backup = back_up(*sale);
    made.push_back({backup, before, accepted + static_cast<std::int64_t>(buyers.size())});
  }
  is_over = true;
  for (std::thread& buyer : buyers) buyer.join();
  for (const Backup& backup : made) {
    const std::int64_t admitted = admitted_in(backup.path);
    EXPECT_GE(admitted, backup.before);
    EXPECT_LE(admitted, backup.after);
  }
}

TEST_F(BackupTest, NextBackupLinksUnchangedTables) {
  buy(*open_shop(), 10);
  const auto sale = open(shop_);  // the recovery writes the log to tables
  const fs::path first = back_up(*sale);
  buy(*sale, 10);
  const fs::path second = back_up(*sale);
  int tables = 0;
  for (const auto& entry : fs::directory_iterator(first / "keyspace")) {
    if (entry.path().extension() != ".sst") continue;
    ++tables;
    EXPECT_TRUE(fs::equivalent(entry.path(), second / "keyspace" / entry.path().filename()));
  }
  EXPECT_GT(tables, 0);
  EXPECT_EQ(admitted_in(first), 10);
  EXPECT_EQ(admitted_in(second), 20);
}

TEST_F(BackupTest, OldestBackupsAreRemoved) {
  const auto sale = open_shop();
  std::vector<fs::path> made;
  for (int i = 0; i < 4; ++i) made.push_back(back_up(*sale, 2));
  EXPECT_THAT(backups(), ::testing::ElementsAre(made[2], made[3]));
}

TEST_F(BackupTest, HalvesOfDifferentBackupsAreRefused) {
  const auto sale = open_shop();
  buy(*sale, 1);
  const fs::path yesterday = back_up(*sale);
  buy(*sale, 1);
  const fs::path today = back_up(*sale);
  const auto restore = [&] { return restore_backup(today, dir_.path() / "restored").status(); };
  const auto copy = [&](const char* half, const fs::path& from, const fs::path& to) {
    fs::remove_all(to / half);
    fs::copy(from / half, to / half, fs::copy_options::recursive);
  };
  const fs::path kept = dir_.path() / "kept";
  fs::create_directory(kept);
  copy("orders.db", today, kept);
  copy("orders.db", yesterday, today);
  EXPECT_EQ(restore().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(restore().message(), HasSubstr("of another backup"));
  copy("orders.db", kept, today);
  copy("keyspace", yesterday, today);
  EXPECT_EQ(restore().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(fs::exists(dir_.path() / "restored"));
}

TEST_F(BackupTest, RestoreRefusesDirectoryInUse) {
  auto sale = open_shop();
  const fs::path backup = back_up(*sale);
  EXPECT_TRUE(is_held_by_another(restore_backup(backup, shop_).status()));
  sale.reset();
  EXPECT_THAT(restore_backup(backup, shop_).status().message(), HasSubstr("is not empty"));
  EXPECT_EQ(restore_backup(dir_.path(), dir_.path() / "new").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(BackupTest, BackupOfSaleOnRedisHasOrdersAlone) {
  const testing::RedisServer redis;
  FlashSaleOptions options;
  options.orders_dir = shop_;
  const auto sale = FlashSale::open(redis.url(), options).value();
  ASSERT_EQ(sale->publish({.id = kBackedUp, .stock = kPiecesToSell, .limits = {.per_user = 0}}),
            absl::OkStatus());
  buy(*sale, 3);
  const auto report = sale->backup(backups_);
  ASSERT_EQ(report.status(), absl::OkStatus());
  EXPECT_FALSE(report->has_keyspace);

  const fs::path restored = dir_.path() / "restored";
  ASSERT_EQ(restore_backup(backups_, restored).status(), absl::OkStatus());
  const testing::RedisServer other;
  options.orders_dir = restored;
  const auto again = FlashSale::open(other.url(), options).value();
  EXPECT_EQ(again->buy(kBackedUp, 1).outcome, Outcome::kAccepted);
  ASSERT_EQ(again->drain(), absl::OkStatus());
  EXPECT_EQ((*again->voucher(kBackedUp).value()).admitted, 4);
  EXPECT_THAT(again->audit()->problems, IsEmpty());
}

TEST_F(BackupTest, StoppedBackupLeavesOlderOneWhole) {
  const auto sale = open_shop();
  const fs::path first = back_up(*sale);
  buy(*sale, 1);
  stop_.request_stop();
  EXPECT_EQ(sale->backup(backups_, {.stop = stop_.get_token()}).status().code(),
            absl::StatusCode::kAborted);
  EXPECT_THAT(backups(), ::testing::ElementsAre(first));
  EXPECT_FALSE(fs::exists(backups_ / ".incomplete"));
  EXPECT_EQ(admitted_in(back_up(*sale)), 1);
}

TEST_F(BackupTest, OrdersStoredBetweenPortionsAreNotCopied) {
  const auto sale = open_shop();
  const std::string reference(Order::kReferenceBytesMax, 'r');  // so that they are 3 MB
  const std::vector<BuyRequest> batch(2'048,
                                      {.voucher = kBackedUp, .user = 1, .reference = reference});
  constexpr int kBatches = 8;
  for (int i = 0; i < kBatches; ++i) sale->sale().buy_all(batch);
  ASSERT_EQ(sale->drain(), absl::OkStatus());
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  int portions = 0;
  ASSERT_EQ(sale->orders().copy_to(
                dir_.path() / "copy.db", [] { return absl::OkStatus(); },
                [&](const CopyPortion& portion) {
                  buy(*sale, 1);
                  EXPECT_LT(portion.bytes_left, std::exchange(left, portion.bytes_left));
                  ++portions;
                  return absl::OkStatus();
                }),
            absl::OkStatus());
  EXPECT_GT(portions, 1);
  const auto copy = SqliteOrderStore::open(dir_.path() / "copy.db", {.read_only = true}).value();
  EXPECT_EQ(copy->count_live(kBackedUp).value(),
            kBatches * static_cast<std::int64_t>(batch.size()));
  EXPECT_EQ(copy->check_integrity(), absl::OkStatus());
}

TEST_F(BackupTest, SaleInMemoryIsRefused) {
  const auto sale = FlashSale::open("memory:").value();
  EXPECT_EQ(sale->backup(backups_).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(backups(), IsEmpty());
}

/// Sells and makes backups until the process is killed.
[[noreturn]] void sell_and_back_up(const fs::path& shop, const fs::path& backups) {
  const auto sale = FlashSale::open(shop.string());
  if (!sale.ok()) _exit(1);
  while (true) {
    for (int i = 0; i < 50; ++i) static_cast<void>((*sale)->buy(kBackedUp, 1));
    if (!(*sale)->backup(backups, {.keep = 2}).ok()) _exit(1);
  }
}

TEST_F(BackupTest, KilledBackupLeavesOlderOnesWhole) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows a forked process no threads";
#endif
  const fs::path first = back_up(*open_shop());
  std::mt19937_64 random(random_seed());
  constexpr int kKills = 6;
  std::int64_t admitted = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const pid_t child = fork();
    if (child == 0) sell_and_back_up(shop_, backups_);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300'000));  // any moment
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed";
    const std::vector<fs::path> left = backups();
    ASSERT_FALSE(left.empty());
    for (const fs::path& backup : left) {
      const std::int64_t now_admitted = admitted_in(backup);
      EXPECT_GE(now_admitted, admitted);
      if (backup == left.back()) admitted = now_admitted;
    }
    admitted = 0;
  }
  EXPECT_GE(backups().size(), 1U);
}

}  // namespace
}  // namespace rushgate
