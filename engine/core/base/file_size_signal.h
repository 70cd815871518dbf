// Turns the signal of the file size limit (RLIMIT_FSIZE, `ulimit -f`) into an error.
#pragma once

#include <csignal>

namespace rushgate {

/// Blocks SIGXFSZ on the calling thread: a write past the limit then fails with EFBIG and does not
/// end the process. The signal's disposition and the other threads stay as they are, so an
/// embedding program keeps its own. Costs three system calls.
///
/// Destroy the object on the thread that created it.
class FileSizeSignalBlock {
 public:
  /// Does nothing unless `is_needed`.
  explicit FileSizeSignalBlock(bool is_needed = true);
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;
  ~FileSizeSignalBlock();

 private:
  const bool is_needed_;
  sigset_t before_{};
};

/// Returns true if the process has a file size limit now.
bool has_file_size_limit();

}  // namespace rushgate
