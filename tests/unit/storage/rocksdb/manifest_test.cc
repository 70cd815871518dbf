// RocksDB's list of its files, torn by a power cut or damaged.
#include "storage/rocksdb/manifest.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ManifestTest : public RocksDbTest {
 protected:
  static constexpr std::uint64_t kCommits = 10;

  void SetUp() override {
    const auto store = open();
    for (std::uint64_t number = 1; number <= kCommits; ++number) {
      ASSERT_TRUE(commit_number(*store, number).ok());
    }
  }

  [[nodiscard]] fs::path manifest() const {
    const std::string name = read_file(dir() / "CURRENT");
    return dir() / name.substr(0, name.size() - 1);
  }

  /// Opens the store with this MANIFEST, and restores the MANIFEST afterwards.
  void expect_opens_with(const std::string& torn) {
    const fs::path kept = dir().parent_path() / "kept";
    fs::copy(dir(), kept, fs::copy_options::recursive);
    write_file(manifest(), torn);
    auto store = try_open();
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(count_commits(**store), kCommits);
    store->reset();
    fs::remove_all(dir());
    fs::rename(kept, dir());
  }

  void expect_damaged() {
    const auto before = list();
    const auto opened = try_open();
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss) << opened.status();
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr(manifest().string()));
    EXPECT_EQ(list(), before);
  }
};

std::string flip(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  return bytes;
}

/// Returns a record that RocksDB can read.
std::string last_record(const std::string& manifest) {
  const std::size_t begin =
      readable_bytes(std::string_view(manifest).substr(0, manifest.size() - 1));
  return manifest.substr(begin);
}

TEST_F(ManifestTest, RecordsAreReadableUpToDamage) {
  const std::string whole = read_file(manifest());
  EXPECT_EQ(readable_bytes(whole), whole.size());
  std::uint64_t before = 0;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::uint64_t readable = readable_bytes(std::string_view(whole).substr(0, bytes));
    EXPECT_GE(readable, before);
    EXPECT_LE(readable, bytes);
    EXPECT_LE(readable_bytes(flip(whole, bytes)), bytes);
    before = readable;
  }
  EXPECT_LT(before, whole.size());
}

// RocksDB alone refuses to open these.
TEST_F(ManifestTest, UnsyncedEndIsCutOff) {
  const std::string whole = read_file(manifest());
  const std::string record = last_record(whole);
  for (std::size_t at = 0; at < record.size(); at += 5) {
    SCOPED_TRACE(at);
    const std::string damaged = whole + flip(record, at);
    expect_opens_with(damaged);
    expect_opens_with(damaged + record);
  }
  expect_opens_with(whole + record.substr(0, record.size() / 2));
  expect_opens_with(whole + std::string(600, '\0') + record);
  expect_opens_with(whole + std::string(600, 'x'));
}

TEST_F(ManifestTest, DamageToSyncedPartIsReported) {
  const std::string whole = read_file(manifest());
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    SCOPED_TRACE(at);
    write_file(manifest(), flip(whole, at));
    expect_damaged();
  }
  write_file(manifest(), whole.substr(0, whole.size() - 3));
  expect_damaged();
  write_file(manifest(), whole);
  EXPECT_EQ(count_commits(*open()), kCommits);
}

TEST_F(ManifestTest, TruncatedNoteIsIgnored) {
  const std::string whole = read_file(manifest());
  const std::string note = read_file(dir() / kNotedManifestName);
  for (std::size_t bytes = 0; bytes < note.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    write_file(dir() / kNotedManifestName, note.substr(0, bytes));
    write_file(manifest(), whole.substr(0, whole.size() - 3));
    EXPECT_TRUE(cut_torn_manifest(*rocksdb::Env::Default(), dir()).ok());
  }
}

}  // namespace
}  // namespace rushgate
