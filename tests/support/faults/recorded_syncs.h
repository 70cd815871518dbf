// Records which files and directories this process syncs.
#pragma once

#include <filesystem>
#include <vector>

namespace rushgate::faults {

/// Replaces fsync() and fdatasync() in the test program, for all libraries. The replacements call
/// the system's functions.
class RecordedSyncs {
 public:
  /// Starts recording. Only one recorder may exist at a time.
  RecordedSyncs();
  ~RecordedSyncs();
  RecordedSyncs(const RecordedSyncs&) = delete;
  RecordedSyncs& operator=(const RecordedSyncs&) = delete;

  /// Returns the paths that were synced with success, in order.
  [[nodiscard]] std::vector<std::filesystem::path> paths() const;
};

}  // namespace rushgate::faults
