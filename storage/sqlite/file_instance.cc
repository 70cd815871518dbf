#include "storage/sqlite/file_instance.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "a host without a name";
}

/// Returns an id of the running system. A cloned virtual machine has another one, although its
/// files have the same inodes. Elsewhere than on Linux: the host's name.
std::string system_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id.empty() ? host_name() : id;
}

/// Returns the mount namespace of this process. In another one, a path may lead to another file.
std::string mounts_id() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/mnt", error).string();
}

}  // namespace

absl::StatusOr<DatabaseInstance> instance_of(const std::string& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) {
    return absl::UnavailableError(concat(file, ": ", std::generic_category().message(errno)));
  }
  std::error_code error;
  const std::string path = std::filesystem::canonical(file, error).string();
  const std::string system = system_id();
  return DatabaseInstance{.id = concat(system, ":", found.st_dev, ":", found.st_ino),
                          .place = path.empty() ? "" : concat(system, ":", mounts_id(), ":", path),
                          .name = concat(file, " on ", host_name(), " (process ", getpid(), ")")};
}

}  // namespace rushgate
