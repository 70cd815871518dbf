// Durability `everysec` in manual mode: a power cut loses at most one second of the manual clock.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/executor/engine_on_disk.h"

namespace rushgate {
namespace {

class EverySecondTest : public EngineOnDiskTest {
 protected:
  EverySecondTest() { open(&clock_, Durability::kEverySec); }

  void cut_power_and_reopen() {
    disk_->cut_power();
    close();
    disk_->power_on();
    open(&clock_, Durability::kEverySec);
  }
};

TEST_F(EverySecondTest, SecondOldWriteSurvivesPowerCut) {
  (*client_)("SET", "k", "v");
  engine_->advance_ms(1'000);
  cut_power_and_reopen();
  EXPECT_EQ((*client_)("GET", "k"), Reply::bulk("v"));
}

TEST_F(EverySecondTest, SecondBeginsWithFirstUnsyncedWrite) {
  (*client_)("SET", "first", "v");
  engine_->advance_ms(999);
  (*client_)("SET", "second", "v");
  const int before = disk_->log_syncs();
  engine_->advance_ms(1);
  EXPECT_EQ(disk_->log_syncs(), before + 1);
  (*client_)("SET", "third", "v");
  engine_->advance_ms(999);
  EXPECT_EQ(disk_->log_syncs(), before + 1);
  cut_power_and_reopen();
  EXPECT_EQ((*client_)("EXISTS", "first", "second", "third"), Reply::integer(2));
}

TEST_F(EverySecondTest, NothingIsSyncedWithoutWrites) {
  (*client_)("SET", "k", "v");
  engine_->advance_ms(5'000);
  const int before = disk_->log_syncs();
  engine_->advance_ms(60'000);
  EXPECT_EQ(disk_->log_syncs(), before);
}

TEST_F(EverySecondTest, SyncsKeepTheirPlaceAmongTimers) {
  const std::int64_t start_ms = clock_.monotonic_ms();
  std::vector<std::string> seen;
  const auto look = [&] { seen.push_back(std::to_string(disk_->log_syncs())); };
  const int before = disk_->log_syncs();
  (*client_)("SET", "k", "v");
  engine_->scheduler().at(start_ms + 999, look);
  engine_->scheduler().at(start_ms + 1'000, look);
  engine_->scheduler().at(start_ms + 1'500, [&] { (*client_)("SET", "k", "w"); });
  engine_->scheduler().at(start_ms + 2'499, look);
  engine_->scheduler().at(start_ms + 2'500, look);
  engine_->advance_ms(10'000);
  std::vector<std::string> expected;
  for (const int syncs : {0, 1, 1, 2}) expected.push_back(std::to_string(before + syncs));
  EXPECT_EQ(seen, expected);
}

TEST_F(EverySecondTest, CloseSyncsEarlierWrites) {
  (*client_)("SET", "k", "v");
  close();
  disk_->cut_power();
  disk_->power_on();
  open(&clock_, Durability::kEverySec);
  EXPECT_EQ((*client_)("GET", "k"), Reply::bulk("v"));
}

TEST_F(EverySecondTest, FailedSyncStopsWrites) {
  (*client_)("SET", "k", "v");
  disk_->fail_next_sync();
  engine_->advance_ms(1'000);
  EXPECT_FALSE(engine_->health().ok());
  EXPECT_EQ((*client_)("SET", "k", "w").error_code(), "MISCONF");
}

}  // namespace
}  // namespace rushgate
