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

/// The destructor removes the directory with its contents. It is in memory if there is space, since to wait
/// for a disk proves nothing: what is synchronised, and lost without, the tests note themselves.
class TemporaryDirectory {
 public:
  enum class Where : std::uint8_t {
    kInMemory,
    kShort,  // the same, else in /tmp, ignoring TMPDIR: for sockets, whose paths have at most 107 bytes
    kInTmp,   // in /tmp, ignoring TMPDIR
    kOnDisk,  // to wait for a disk, as in production
  };

  explicit TemporaryDirectory(Where where = Where::kInMemory) {
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
    constexpr std::uintmax_t kBytesMin = std::uintmax_t{1} << 30;  // a container may have few
    std::error_code error;
    const bool is_possible =
        access(kMemory, W_OK) == 0 && std::filesystem::space(kMemory, error).available >= kBytesMin;
    const bool is_wanted = where == Where::kInMemory || where == Where::kShort;
    if (is_wanted && is_possible && !error) return kMemory;
    const bool is_short = where == Where::kShort || where == Where::kInTmp;
    return is_short ? "/tmp" : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

}  // namespace rushgate
