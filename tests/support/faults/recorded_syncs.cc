#include "tests/support/faults/recorded_syncs.h"

#include <dlfcn.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <string>
#include <system_error>

namespace rushgate::faults {
namespace {

namespace fs = std::filesystem;

std::mutex mutex;                               // guards the members below
std::optional<std::vector<fs::path>> recorded;  // empty unless a recorder exists

int sync(const char* name, int file) {
  const auto system = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name));
  const int result = system(file);
  const std::lock_guard lock(mutex);
  if (result != 0 || !recorded) return result;
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(file), error);
  if (!error) recorded->push_back(path);
  return result;
}

}  // namespace

RecordedSyncs::RecordedSyncs() {
  const std::lock_guard lock(mutex);
  recorded.emplace();
}

RecordedSyncs::~RecordedSyncs() {
  const std::lock_guard lock(mutex);
  recorded.reset();
}

std::vector<fs::path> RecordedSyncs::paths() const {
  const std::lock_guard lock(mutex);
  return *recorded;
}

}  // namespace rushgate::faults

extern "C" int fsync(int file) { return rushgate::faults::sync("fsync", file); }
extern "C" int fdatasync(int file) { return rushgate::faults::sync("fdatasync", file); }
