// The limit on the size of files (RLIMIT_FSIZE, `ulimit -f`) as an error instead of a signal.
#pragma once

#include <csignal>

namespace rushgate {

/// Keeps SIGXFSZ from the calling thread: a write past the limit fails with EFBIG instead of ending
/// the process. The signal's disposition and other threads stay as they are, so a program that
/// embeds the library keeps its own. Costs three system calls.
///
/// Destroy it on the thread that made it.
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

/// Returns true if the process has such a limit now.
bool has_file_size_limit();

}  // namespace rushgate
