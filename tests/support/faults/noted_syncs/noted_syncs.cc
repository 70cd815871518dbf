#include "tests/support/faults/noted_syncs/noted_syncs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>

namespace rushgate::testing {

namespace fs = std::filesystem;

std::vector<std::string> noting_environment(const fs::path& notes) {
  // In a build with AddressSanitizer, its runtime is loaded after the preloaded library.
  return {"LD_PRELOAD=" RUSHGATE_NOTED_SYNCS, "RUSHGATE_SYNCS=" + notes.string(),
          "ASAN_OPTIONS=verify_asan_link_order=0:detect_stack_use_after_return=0"};
}

void lose_unsynced(const fs::path& directory, const fs::path& notes,
                   const std::vector<fs::path>& spared) {
  std::map<ino_t, off_t> synced;  // inode and size at the last sync
  std::ifstream lines(notes);
  ino_t inode = 0;
  for (off_t size = 0; lines >> inode >> size;) synced[inode] = size;

  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const fs::path& path = entry.path();
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || path == notes) continue;
    if (std::find(spared.begin(), spared.end(), path) != spared.end()) continue;
    const auto known = synced.find(file.st_ino);
    const off_t kept = known == synced.end() ? 0 : known->second;
    if (kept < file.st_size) fs::resize_file(path, static_cast<std::uintmax_t>(kept));
  }
}

}  // namespace rushgate::testing
