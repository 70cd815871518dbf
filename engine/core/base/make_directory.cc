#include "engine/core/base/make_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

absl::Status failed(int error, const char* doing, const fs::path& dir) {
  return absl::ErrnoToStatus(error, std::string(doing) + " directory " + dir.string());
}

}  // namespace

absl::Status sync_directory(const fs::path& dir) {
  const int file = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return errno == EACCES ? absl::OkStatus() : failed(errno, "opening", dir);
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  return error == 0 ? absl::OkStatus() : failed(error, "syncing", dir);
}

absl::Status sync_file(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, "opening " + path.string());
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  return error == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, "syncing " + path.string());
}

absl::Status make_directory(const fs::path& dir, SyncDirectory sync) {
  std::error_code error;
  fs::path there = fs::absolute(dir, error);
  if (error) return failed(error.value(), "finding", dir);
  if (!there.has_filename()) there = there.parent_path();  // a trailing slash: a/b/
  std::vector<fs::path> missing;
  while (fs::status(there, error).type() == fs::file_type::not_found) {
    missing.push_back(there);
    there = there.parent_path();
  }
  if (error) return failed(error.value(), "looking for", there);
  if (!fs::is_directory(there, error)) {
    return absl::FailedPreconditionError(there.string() + " is not a directory");
  }
  absl::Status synced = sync(there.parent_path());
  for (; synced.ok() && !missing.empty(); missing.pop_back()) {
    fs::create_directory(missing.back(), error);
    if (error) return failed(error.value(), "making", missing.back());
    synced = sync(missing.back().parent_path());
  }
  return synced;
}

}  // namespace rushgate
