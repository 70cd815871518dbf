// The program on a disk without space, and under a file size limit.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "tests/support/faults/resource_limits.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kRequests = 3000;

std::string requests() {
  std::string text;
  for (int user = 1; user <= kRequests; ++user) {
    const std::string number = std::to_string(user);
    text.append(number).append(",").append(number).append(",1\n");
  }
  return text;
}

class ProgramFullDiskTest : public ::testing::Test {
 protected:
  ProgramFullDiskTest() {
    files_.write_requests(requests());
    files_.write_vouchers({kRequests});
  }

  /// Runs the program. Expects no signal, and an error message for a failure. Returns the exit
  /// code.
  static int run(const std::vector<std::string>& arguments) {
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.signal, 0) << result.err;
    EXPECT_THAT(result.exit_code, AnyOf(kExitOk, kExitUsage, kExitFailure)) << result.err;
    EXPECT_EQ(result.exit_code == kExitOk, result.err.find("rushgate: ") == std::string::npos)
        << result.err;
    return result.exit_code;
  }

  const SaleFiles files_ = {};
};

TEST_F(ProgramFullDiskTest, FileSizeLimitIsErrorNotDeath) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer writes a file of 512 KiB before main()";
#endif
  int failures = 0;
  for (const rlim_t kib : {0U, 1U, 16U, 40U, 64U, 100U, 200U, 400U}) {
    SCOPED_TRACE(std::to_string(kib) + " KiB a file");
    {
      const FileSizeLimit limit(kib << 10);
      Program replay(files_.replay({"--patience", "0"}));
      const ProgramResult result = replay.wait();
      EXPECT_EQ(result.signal, 0);
      if (result.exit_code == kExitFailure) ++failures;
    }
  }
  EXPECT_GT(failures, 3);
  EXPECT_EQ(run(files_.replay()), kExitOk);
  EXPECT_EQ(run(files_.command("audit")), kExitOk);
}

void write_file(const char* path, const std::string& text) { std::ofstream(path) << text; }

/// Gives this thread and its child processes their own mounts. Users other than root get them in a
/// user namespace. Returns false and sets errno if neither is permitted.
bool unshare_mounts() {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", user + " " + user + " 1");
    write_file("/proc/self/gid_map", group + " " + group + " 1");
  }
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Mounts a file system of `kib` KiB at `path`. It ends with this process. Returns false and sets
/// errno if that is not permitted.
bool mount_small_disk(const std::filesystem::path& path, std::size_t kib) {
  static const bool kIsApart = unshare_mounts();
  const std::string size = "size=" + std::to_string(kib) + "k";
  return kIsApart && mount("rushgate-test", path.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

// Skipped in a container without the right to mount: no disk can be full there.
TEST_F(ProgramFullDiskTest, FullDiskIsErrorNotDeath) {
  int failures = 0;
  for (const std::size_t kib : {40U, 60U, 80U, 120U, 160U, 200U, 260U, 340U, 420U, 600U, 900U}) {
    SCOPED_TRACE("a disk of " + std::to_string(kib) + " KiB");
    std::filesystem::create_directories(files_.sale());
    if (!mount_small_disk(files_.sale(), kib)) {
      ASSERT_THAT(errno, AnyOf(EPERM, EACCES, ENOSYS)) << std::strerror(errno);
      GTEST_SKIP() << "a file system may not be mounted here: " << std::strerror(errno)
                   << "; FileSizeLimitIsErrorNotDeath and FullDiskTest have to do";
    }
    failures += run(files_.replay({"--patience", "0"})) == kExitFailure ? 1 : 0;
    failures += run(files_.replay({"--patience", "0"})) == kExitFailure ? 1 : 0;
    run(files_.command("audit"));
    ASSERT_EQ(umount(files_.sale().c_str()), 0) << std::strerror(errno);
  }
  EXPECT_GT(failures, 10);
}

// Skipped like the test above.
TEST_F(ProgramFullDiskTest, ServerResumesWhenDiskIsFreed) {
  constexpr std::size_t kDiskKib = 4'096;
  std::filesystem::create_directories(files_.sale());
  if (!mount_small_disk(files_.sale(), kDiskKib)) {
    ASSERT_THAT(errno, AnyOf(EPERM, EACCES, ENOSYS)) << std::strerror(errno);
    GTEST_SKIP() << "a file system may not be mounted here: " << std::strerror(errno);
  }
  const TemporaryDirectory sockets(TemporaryDirectory::Where::kInTmp);
  const std::string socket = (sockets.path() / "redis.sock").string();
  const auto filler = files_.sale() / "filler";
  std::ofstream(filler) << std::string(kDiskKib * 3 / 4 << 10, 'x');
  {
    Program server(files_.command("serve", {"--port", "0", "--unixsocket", socket}));
    ASSERT_TRUE(server.wait_for_error_text("serving on"));
    testing::RawConnection client(socket);
    const std::string value(10'000, 'v');
    std::int64_t accepted = 0;
    const auto append = [&] { return client.call(Request::of("RPUSH", "list", value)); };
    while (!append().is_error()) ++accepted;
    EXPECT_TRUE(has_code(append(), "MISCONF"));
    std::filesystem::remove(filler);
    const auto freed = std::chrono::steady_clock::now();
    while (append().is_error()) ASSERT_FALSE(server.has_ended());
    const auto resumed = std::chrono::steady_clock::now() - freed;
    RecordProperty("resumed_ms", static_cast<int>(resumed / std::chrono::milliseconds(1)));
    EXPECT_EQ(client.call(Request::of("LLEN", "list")), Reply::integer(accepted + 1));
    server.send(SIGTERM);
    server.wait();
  }
  ASSERT_EQ(umount(files_.sale().c_str()), 0) << std::strerror(errno);
}

}  // namespace
}  // namespace rushgate
