// Limits of the process's resources, for one test.
#pragma once

#include <sys/resource.h>

#include <stdexcept>

namespace rushgate {

/// Limits the process and its new child processes. The destructor restores the previous limit.
class ResourceLimit {
 public:
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

 protected:
  ResourceLimit(int resource, rlim_t limit) : resource_(resource) {
    if (getrlimit(resource_, &before_) != 0) throw std::runtime_error("no limit to read");
    const rlimit lowered{limit, before_.rlim_max};
    if (setrlimit(resource_, &lowered) != 0) throw std::runtime_error("no limit to set");
  }
  ~ResourceLimit() { setrlimit(resource_, &before_); }

 private:
  const int resource_;
  rlimit before_{};
};

/// Limits the size of files. Report no failures meanwhile: standard output may be a file.
class FileSizeLimit final : public ResourceLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : ResourceLimit(RLIMIT_FSIZE, bytes) {}
};

/// Limits the number of open files.
class OpenFilesLimit final : public ResourceLimit {
 public:
  explicit OpenFilesLimit(rlim_t files) : ResourceLimit(RLIMIT_NOFILE, files) {}

  /// Returns the limit at present, which the code under test may have changed.
  [[nodiscard]] static rlim_t now() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }
};

}  // namespace rushgate
