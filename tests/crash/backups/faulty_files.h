// Changes of files that fail, or that end the process. Replaces the functions of libc in this test
// program, for all libraries.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rushgate::faults {

/// Counts the changes in a directory during its lifetime: files made, written, synced, linked, renamed
/// and removed. One of them, and with `lasts` all later ones, meets the fault. There is one such object
/// at a time. Thread-safe.
class FaultyFiles {
 public:
  enum class Fault : std::uint8_t {
    kNone,
    kError,     // EIO
    kFullDisk,  // ENOSPC, and a write stores half of its bytes first; syncs and removals work
    kKill,      // SIGKILL, where a write stores half of its bytes first
  };
  struct Plan {
    std::filesystem::path dir;  // absolute
    Fault fault = Fault::kNone;
    int at = 0;  // the number of the change, from 1
    bool lasts = false;
  };

  explicit FaultyFiles(const Plan& plan);
  ~FaultyFiles();
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;

  /// Returns the number of changes so far.
  [[nodiscard]] static int changes();
};

}  // namespace rushgate::faults
