#include "engine/core/base/file_size_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/faults/resource_limits.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

constexpr std::size_t kLimit = 4096;

class FileSizeSignalTest : public ::testing::Test {
 protected:
  FileSizeSignalTest() : file_(open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)) {}
  ~FileSizeSignalTest() override { close(file_); }

  /// Fills the file to the limit and writes once more. Returns the error of that write, 0 for none.
  int write_past_limit() const {
    const std::string bytes(kLimit, 'x');
    const FileSizeLimit limit(kLimit);
    while (write(file_, bytes.data(), bytes.size()) > 0) continue;
    return errno;
  }

  static bool is_blocked() {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return sigismember(&blocked, SIGXFSZ) == 1;
  }
  static bool is_pending() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGXFSZ) == 1;
  }

 private:
  [[nodiscard]] std::string path() const { return (directory_.path() / "file").string(); }

  TemporaryDirectory directory_;
  int file_;
};

TEST_F(FileSizeSignalTest, WritePastLimitIsAnError) {
  {
    const FileSizeSignalBlock block;
    EXPECT_EQ(write_past_limit(), EFBIG);
    EXPECT_TRUE(is_pending());
  }
  EXPECT_FALSE(is_pending());
  EXPECT_FALSE(is_blocked());
}

TEST_F(FileSizeSignalTest, NestedBlocksEndWithOutermost) {
  {
    const FileSizeSignalBlock outer;
    {
      const FileSizeSignalBlock inner;
      EXPECT_EQ(write_past_limit(), EFBIG);
    }
    EXPECT_TRUE(is_blocked());
  }
  EXPECT_FALSE(is_blocked());
  EXPECT_FALSE(is_pending());
}

TEST_F(FileSizeSignalTest, ErrnoSurvivesBlock) {
  errno = 0;
  {
    const FileSizeSignalBlock block;
    errno = ENOTTY;
  }
  EXPECT_EQ(errno, ENOTTY);
}

TEST_F(FileSizeSignalTest, UnneededBlockChangesNothing) {
  const FileSizeSignalBlock block(/*is_needed=*/false);
  EXPECT_FALSE(is_blocked());
}

TEST_F(FileSizeSignalTest, LimitIsDetected) {
  EXPECT_FALSE(has_file_size_limit()) << "these tests run without one";
  const FileSizeLimit limit(std::size_t{1} << 40);
  EXPECT_TRUE(has_file_size_limit());
}

}  // namespace
}  // namespace rushgate
