// A directory for the length of a test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace rushgate {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "rushgate-apps-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no directory " + path);
    path_ = path;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace rushgate
