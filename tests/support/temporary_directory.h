// A directory for one test.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace rushgate {

/// The destructor removes the directory with its contents.
class TemporaryDirectory {
 public:
  enum class Where : std::uint8_t {
    kOnDisk,
    kInMemory,  // in memory if possible, for tests in which waiting for a disk proves nothing
    kInTmp,     // in /tmp, ignoring TMPDIR: for sockets, whose paths have at most 107 bytes
  };

  explicit TemporaryDirectory(Where where = Where::kOnDisk) {
    std::string name = (parent(where) / "rushgate-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory " + name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  static std::filesystem::path parent(Where where) {
    constexpr const char* kMemory = "/dev/shm";
    if (where == Where::kInTmp) return "/tmp";
    const bool in_memory = where == Where::kInMemory && access(kMemory, W_OK) == 0;
    return in_memory ? kMemory : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

}  // namespace rushgate
