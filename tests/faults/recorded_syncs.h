// Which files and directories this process syncs.
#pragma once

#include <filesystem>
#include <vector>

namespace rushgate::faults {

/// Links fsync() and fdatasync() of its own into the test program, whatever library calls them.
/// They do what the system's do.
class RecordedSyncs {
 public:
  /// Records from now on; one at a time.
  RecordedSyncs();
  ~RecordedSyncs();
  RecordedSyncs(const RecordedSyncs&) = delete;
  RecordedSyncs& operator=(const RecordedSyncs&) = delete;

  /// Those that succeeded, in order.
  [[nodiscard]] std::vector<std::filesystem::path> paths() const;
};

}  // namespace rushgate::faults
