// A small file system for the files of a database server.
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.h"

namespace rushgate::testing {

/// Its file system is seen by this thread, and by the threads and processes that it starts from now on. It ends
/// with this object. Not thread-safe.
class SmallDisk {
 public:
  /// `size` is that of tmpfs: "4m".
  explicit SmallDisk(const std::string& size);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// Returns false if this process must not mount anything.
  [[nodiscard]] bool is_there() const { return is_there_; }
  /// Changes the size. Throws std::runtime_error.
  void resize(const std::string& size);
  /// Makes a directory that belongs to the user of the servers.
  [[nodiscard]] std::filesystem::path make_directory() const;

 private:
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  bool is_there_ = false;
};

}  // namespace rushgate::testing
