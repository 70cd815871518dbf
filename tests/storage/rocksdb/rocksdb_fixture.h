// What the tests of the store on disk share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "storage/rocksdb/rocksdb_store.h"
#include "tests/temporary_directory.h"

namespace rushgate {

/// A place for a store, with room beside it; nothing is there yet.
class StoreDirectory {
 public:
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  const TemporaryDirectory parent_;
  const std::filesystem::path path_ = parent_.path() / "store";
};

/// Numbered commits, each with two state records and a run of stream 1. So a store tells how many
/// it holds, and whether it holds them whole.
absl::Status commit_number(Store& store, std::uint64_t number);

/// How many commits a store holds that was just opened: the first ones, or the test fails.
std::uint64_t count_commits(Store& store);

std::filesystem::path newest_log(const std::filesystem::path& dir);
/// All that were left behind; a compaction that did not end may have left one that is not read.
std::vector<std::filesystem::path> tables(const std::filesystem::path& dir);
/// What all logs hold together.
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
  /// Names and sizes of all files.
  [[nodiscard]] std::vector<std::pair<std::string, std::uintmax_t>> list() const;

  StoreDirectory directory_;
  RocksDbStoreOptions options_;
};

}  // namespace rushgate
