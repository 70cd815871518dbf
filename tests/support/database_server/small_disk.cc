#include "tests/support/database_server/small_disk.h"

#include <sched.h>
#include <sys/mount.h>

#include <stdexcept>

#include "tests/support/database_server/server_process.h"

namespace rushgate::testing {
namespace {

bool mount_at(const std::filesystem::path& path, const std::string& size, unsigned long flags) {
  const std::string options = "mode=0777,size=" + size;
  return ::mount("none", path.c_str(), "tmpfs", flags, options.c_str()) == 0;
}

}  // namespace

SmallDisk::SmallDisk(const std::string& size)
    : is_there_(::unshare(CLONE_NEWNS) == 0 &&
                ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                mount_at(directory_.path(), size, 0)) {}

SmallDisk::~SmallDisk() {
  if (is_there_) ::umount2(directory_.path().c_str(), MNT_DETACH);
}

void SmallDisk::resize(const std::string& size) {
  if (!mount_at(directory_.path(), size, MS_REMOUNT)) {
    throw std::runtime_error("remounting " + directory_.path().string());
  }
}

std::filesystem::path SmallDisk::make_directory() const {
  const std::filesystem::path path = directory_.path() / "files";
  std::filesystem::create_directory(path);
  std::filesystem::permissions(path, std::filesystem::perms::all);
  own(path);
  return path;
}

}  // namespace rushgate::testing
