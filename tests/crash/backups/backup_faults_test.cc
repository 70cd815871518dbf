// A backup, and a restoration, that meet a fault at each change of a file, or are killed there. The older
// backup stays whole, and nothing that is not whole is taken for a backup or for a sale.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/crash/backups/faulty_files.h"
#include "tests/support/sweep.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/flash_sale.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using faults::FaultyFiles;
using testing::Sweep;

constexpr VoucherId kCopied = 7;
constexpr int kChangesMax = 1'000;  // the bound of a sweep
constexpr std::uint64_t kShare = 12;
const BackupOptions kKept{.keep = 1};  // so a complete backup removes the older one

using Contents = std::map<std::string, std::string>;  // of files, by their names

Contents read_all(const fs::path& dir) {
  Contents contents;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    contents[entry.path().lexically_relative(dir).string()] =
        std::string(std::istreambuf_iterator<char>(in), {});
  }
  return contents;
}

class BackupFaultsTest : public ::testing::TestWithParam<FaultyFiles::Fault> {
 protected:
  void SetUp() override {
    sale_ = open(shop_);
    ASSERT_NE(sale_, nullptr);
    ASSERT_EQ(sale_->publish({.id = kCopied, .stock = 1'000'000, .limits = {.per_user = 0}}),
              absl::OkStatus());
    buy();
    back_up();
  }

  static std::unique_ptr<FlashSale> open(const fs::path& dir) {
    auto sale = FlashSale::open(dir.string());
    EXPECT_EQ(sale.status(), absl::OkStatus());
    return sale.ok() ? *std::move(sale) : nullptr;
  }
  void buy() {
    ASSERT_EQ(sale_->buy(kCopied, 1).outcome, Outcome::kAccepted);
    ASSERT_EQ(sale_->drain(), absl::OkStatus());
  }

  /// Fails the test unless the sale in `dir` opens and passes its audit.
  static void expect_whole(const fs::path& dir) {
    const auto sale = open(dir);
    ASSERT_NE(sale, nullptr);
    const auto report = sale->audit();
    ASSERT_EQ(report.status(), absl::OkStatus());
    EXPECT_TRUE(report->passed()) << *report;
  }
  /// Makes a backup without a fault, which becomes the older one of the next.
  void back_up() {
    if (sale_ == nullptr) sale_ = open(shop_);
    const auto made = sale_->backup(backups_, kKept);
    ASSERT_EQ(made.status(), absl::OkStatus());
    older_ = made->path;
    before_ = read_all(older_);
    buy();
  }
  /// Fails the test unless the older backup is unchanged, or a whole one has replaced it.
  void check_backups() {
    bool has_whole = fs::exists(older_);
    if (has_whole) {
      EXPECT_EQ(read_all(older_), before_);
    }
    for (const auto& entry : fs::directory_iterator(backups_)) {
      if (!entry.is_directory() || entry.path() == older_) continue;
      // As an operator would, who names what is there.
      const fs::path restored = dir_.path() / "restored";
      const auto found = restore_backup(entry.path(), restored);
      const bool is_hidden = entry.path().filename().string().starts_with('.');
      if (found.ok()) {
        expect_whole(restored);
        has_whole |= !is_hidden;
      } else {
        EXPECT_TRUE(is_hidden) << entry.path() << found.status();
        EXPECT_FALSE(fs::exists(restored));
      }
      fs::remove_all(restored);
    }
    EXPECT_TRUE(has_whole);
  }

  /// Runs `attempt` with a fault at a change in `dir`, in a child process if it is killed. Returns false
  /// if it made fewer changes.
  template <class Attempt>
  bool attempt_with_fault(const fs::path& dir, int at, bool lasts, Attempt attempt) {
    const FaultyFiles::Plan plan{.dir = dir, .fault = GetParam(), .at = at, .lasts = lasts};
    if (GetParam() != FaultyFiles::Fault::kKill) {
      const FaultyFiles faulty(plan);
      attempt();
      return FaultyFiles::changes() >= at;
    }
    const pid_t child = ::fork();
    if (child == 0) {
      const FaultyFiles faulty(plan);
      attempt();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

  const TemporaryDirectory dir_;
  const fs::path shop_ = dir_.path() / "shop";
  const fs::path backups_ = dir_.path() / "backups";
  std::unique_ptr<FlashSale> sale_;
  fs::path older_;
  Contents before_;
};

TEST_P(BackupFaultsTest, FaultyBackupLeavesOneWhole) {
  const bool is_killed = GetParam() == FaultyFiles::Fault::kKill;
#if defined(__SANITIZE_THREAD__)
  if (is_killed) GTEST_SKIP() << "the thread sanitizer allows a forked process no threads";
#endif
  Sweep sweep(kShare);
  SCOPED_TRACE(sweep.seed_text());
  for (int at = sweep.next(); at < kChangesMax; at = sweep.next()) {
    SCOPED_TRACE(at);
    if (is_killed) sale_.reset();  // the child opens it
    const bool has_met = attempt_with_fault(backups_, at, at % 2 == 0, [&] {
      const auto sale = is_killed ? open(shop_) : nullptr;
      static_cast<void>((is_killed ? *sale : *sale_).backup(backups_, kKept));
    });
    check_backups();
    if (HasFailure()) return;
    if (!has_met) return;
    back_up();
  }
  FAIL() << "a backup has more than " << kChangesMax << " changes";
}

TEST_P(BackupFaultsTest, FaultyRestorationLeavesNoHalfSale) {
  sale_.reset();
  const fs::path places = dir_.path() / "places";
  fs::create_directory(places);
  Sweep sweep(kShare);
  SCOPED_TRACE(sweep.seed_text());
  for (int at = sweep.next(); at < kChangesMax; at = sweep.next()) {
    SCOPED_TRACE(at);
    const fs::path target = places / "shop";
    const bool has_met = attempt_with_fault(
        places, at, at % 2 == 0, [&] { static_cast<void>(restore_backup(older_, target)); });
    EXPECT_EQ(read_all(older_), before_);
    if (fs::exists(target)) {
      expect_whole(target);
      fs::remove_all(target);
    }
    ASSERT_EQ(restore_backup(older_, target).status(), absl::OkStatus());
    expect_whole(target);
    fs::remove_all(target);
    if (HasFailure()) return;
    if (!has_met) return;
  }
  FAIL() << "a restoration has more than " << kChangesMax << " changes";
}

std::string fault_name(const ::testing::TestParamInfo<FaultyFiles::Fault>& info) {
  switch (info.param) {
    case FaultyFiles::Fault::kNone:
      break;
    case FaultyFiles::Fault::kError:
      return "Error";
    case FaultyFiles::Fault::kFullDisk:
      return "FullDisk";
    case FaultyFiles::Fault::kKill:
      return "Kill";
  }
  return "None";
}

INSTANTIATE_TEST_SUITE_P(Faults, BackupFaultsTest,
                         ::testing::Values(FaultyFiles::Fault::kError,
                                           FaultyFiles::Fault::kFullDisk,
                                           FaultyFiles::Fault::kKill),
                         fault_name);

}  // namespace
}  // namespace rushgate
