#include "engine/core/base/make_directory.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class MakeDirectoryTest : public ::testing::Test {
 protected:
  absl::Status make(const fs::path& dir) {
    synced_.clear();
    return make_directory(dir, [&](const fs::path& synced) {
      synced_.push_back(synced);
      // The directory exists when it is synced, and each name is synced before the next directory
      // is created in it.
      EXPECT_TRUE(fs::is_directory(synced));
      return synced_.size() == failing_ ? absl::UnavailableError("injected") : absl::OkStatus();
    });
  }
  [[nodiscard]] fs::path path() const { return directory_.path(); }

  const TemporaryDirectory directory_;
  std::vector<fs::path> synced_;
  std::size_t failing_ = 0;
};

TEST_F(MakeDirectoryTest, EveryNewNameIsSynced) {
  ASSERT_TRUE(make(path() / "a" / "b").ok());
  EXPECT_TRUE(fs::is_directory(path() / "a" / "b"));
  EXPECT_THAT(synced_, ElementsAre(path().parent_path(), path(), path() / "a"));
}

TEST_F(MakeDirectoryTest, ExistingDirectoryIsSyncedInItsParent) {
  ASSERT_TRUE(make(path()).ok());
  EXPECT_THAT(synced_, ElementsAre(path().parent_path()));
}

TEST_F(MakeDirectoryTest, TrailingSlashChangesNothing) {
  ASSERT_TRUE(make(path() / "a" / "").ok());
  EXPECT_THAT(synced_, ElementsAre(path().parent_path(), path()));
}

TEST_F(MakeDirectoryTest, RelativePathBeginsAtWorkingDirectory) {
  const fs::path before = fs::current_path();
  fs::current_path(path());
  const absl::Status made = make("a");
  fs::current_path(before);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_TRUE(fs::is_directory(path() / "a"));
}

TEST_F(MakeDirectoryTest, FailedSyncStopsAndIsRepeated) {
  failing_ = 2;
  EXPECT_EQ(make(path() / "a" / "b").code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(fs::exists(path() / "a" / "b"));
  failing_ = 0;
  ASSERT_TRUE(make(path() / "a" / "b").ok());
  EXPECT_THAT(synced_, ElementsAre(path(), path() / "a"));
}

TEST_F(MakeDirectoryTest, FileInTheWayIsRefused) {
  std::ofstream(path() / "file") << "x";
  EXPECT_EQ(make(path() / "file").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(make(path() / "file" / "a").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(MakeDirectoryTest, RealDirectoryCanBeSynced) {
  EXPECT_TRUE(sync_directory(path()).ok());
  EXPECT_EQ(sync_directory(path() / "absent").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(make_directory(path() / "c").ok());
}

}  // namespace
}  // namespace rushgate
