// Helpers for the tests of the store on disk.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include <rushgate/rocksdb_store.h>

namespace rushgate {

/// A path for a store that does not exist yet, in a directory of its own.
class StoreDirectory {
 public:
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  const TemporaryDirectory parent_;
  const std::filesystem::path path_ = parent_.path() / "store";
};

/// Makes a numbered commit: two state records and a segment of stream 1. A store then shows the
/// number of its commits, and whether they are complete.
absl::Status commit_number(Store& store, std::uint64_t number);

/// Returns the number of commits in a store that was just opened. Fails the test unless they are
/// the first ones, and complete.
std::uint64_t count_commits(Store& store);

std::filesystem::path newest_log(const std::filesystem::path& dir);
/// Returns all table files. An interrupted compaction may leave some that are not in use.
std::vector<std::filesystem::path> tables(const std::filesystem::path& dir);
/// Returns the total size of all logs.
std::uintmax_t logs_bytes(const std::filesystem::path& dir);

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view bytes);

class RocksDbTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<RocksDbStore>> try_open() {
    return RocksDbStore::open(dir(), options_);
  }
  std::unique_ptr<RocksDbStore> open();

  [[nodiscard]] const std::filesystem::path& dir() const { return directory_.path(); }
  /// Returns names and sizes of all files.
  [[nodiscard]] std::vector<std::pair<std::string, std::uintmax_t>> list() const;

  StoreDirectory directory_;
  RocksDbStoreOptions options_;
};

}  // namespace rushgate
