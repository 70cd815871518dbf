#include "storage/rocksdb/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "engine/core/base/file_size_signal.h"
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

// Returns the file's content: `<program> (pid <pid>), since <time>`, and a newline. Empty: not
// locked.
std::string describe_self() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::ostringstream text;
  text << program_invocation_short_name << " (pid " << getpid() << "), since " << time.data()
       << '\n';
  return text.str();
}

std::string read_holder(int file) {
  std::array<char, 256> text{};
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  std::string holder(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  holder = holder.substr(0, holder.find('\n'));
  return holder.empty() ? "another process" : holder;
}

/// Payload of a failure to lock: the owner.
constexpr char kHeld[] = "rushgate/held";

absl::Status failed(const char* doing, const std::filesystem::path& path) {
  const int error = errno;
  return absl::ErrnoToStatus(error, std::string(doing) + " " + path.string());
}

}  // namespace

bool is_held_by_another(const absl::Status& opened) { return opened.GetPayload(kHeld).has_value(); }

absl::StatusOr<DirectoryLock> DirectoryLock::take(const std::filesystem::path& dir) {
  const std::filesystem::path path = dir / kLockFileName;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return failed("opening", path);
  DirectoryLock lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed("locking", path);
    const std::string holder = read_holder(file);
    close(std::exchange(lock.file_, -1));  // not by the destructor, which would empty the file
    absl::Status held =
        absl::FailedPreconditionError("directory " + dir.string() + " is in use by " + holder);
    held.SetPayload(kHeld, absl::Cord(holder));
    return held;
  }
  // The owner's name is only informative: a full disk must not prevent the lock.
  const FileSizeSignalBlock no_signal;
  const std::string self = describe_self();
  const bool written = ftruncate(file, 0) == 0 && pwrite(file, self.data(), self.size(), 0) > 0;
  static_cast<void>(written);
  return lock;
}

bool DirectoryLock::is_of(const std::filesystem::path& dir) const {
  struct stat here {};
  struct stat locked {};
  return stat((dir / kLockFileName).c_str(), &here) == 0 && fstat(file_, &locked) == 0 &&
         here.st_dev == locked.st_dev && here.st_ino == locked.st_ino;
}

DirectoryLock::~DirectoryLock() {
  if (file_ < 0) return;
  const bool emptied = ftruncate(file_, 0) == 0;
  static_cast<void>(emptied);
  close(file_);
}

}  // namespace rushgate
