// A path for a database during one test.
#pragma once

#include <filesystem>

#include "tests/support/temporary_directory.h"

namespace rushgate {

/// The name of a file that does not exist yet, in a new directory. The directory is deleted at the
/// end.
class TemporaryDatabase {
 public:
  explicit TemporaryDatabase(TemporaryDirectory::Where where = TemporaryDirectory::Where::kInMemory)
      : directory_(where) {}

  [[nodiscard]] std::filesystem::path file() const { return directory() / "orders.db"; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  const TemporaryDirectory directory_;
};

}  // namespace rushgate
