// A directory for the length of a test.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace rushgate {

/// Goes, with all that is in it, when this goes.
class TemporaryDirectory {
 public:
  enum class Where : std::uint8_t {
    kOnDisk,
    kInMemory,  // where the system has such files: when waiting for a disk would prove nothing
  };

  explicit TemporaryDirectory(Where where = Where::kOnDisk) {
    constexpr const char* kMemory = "/dev/shm";
    const bool in_memory = where == Where::kInMemory && access(kMemory, W_OK) == 0;
    const std::filesystem::path parent =
        in_memory ? kMemory : std::filesystem::temp_directory_path();
    std::string name = (parent / "rushgate-test-XXXXXX").string();
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
  std::filesystem::path path_;
};

}  // namespace rushgate
