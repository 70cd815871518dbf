// A limit on the size of files, for one test.
#pragma once

#include <sys/resource.h>

#include <stdexcept>

namespace rushgate {

/// Limits the process and its new child processes. The destructor restores the previous limit.
/// Report no failures meanwhile: standard output may be a file.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    if (getrlimit(RLIMIT_FSIZE, &before_) != 0) throw std::runtime_error("no limit to read");
    const rlimit limit{bytes, before_.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("no limit to set");
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace rushgate
