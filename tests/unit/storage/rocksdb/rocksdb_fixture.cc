#include "tests/unit/storage/rocksdb/rocksdb_fixture.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

namespace rushgate {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kStream = 1;
constexpr std::size_t kSegmentBytes = 300;

std::string segment_bytes(std::uint64_t number) {
  return std::to_string(number) + std::string(kSegmentBytes, static_cast<char>('a' + number % 26));
}

std::vector<fs::path> files_with(const fs::path& dir, const char* extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

absl::Status commit_number(Store& store, std::uint64_t number) {
  StoreBatch batch;
  batch.put("record " + std::to_string(number), std::to_string(number * number));
  batch.put("last", std::to_string(number));
  batch.append_segment(kStream, {number, 0}, segment_bytes(number));
  return store.commit(batch);
}

std::uint64_t count_commits(Store& store) {
  std::map<std::string, std::string> state;
  const absl::Status loaded = store.load(
      [&](std::string_view key, std::string_view value) { state[std::string(key)] = value; });
  EXPECT_TRUE(loaded.ok()) << loaded;
  const std::uint64_t count = state.contains("last") ? std::stoull(state["last"]) : 0;
  EXPECT_EQ(state.size(), count == 0 ? 0 : count + 1);
  std::vector<StreamSegment> segments;
  const absl::Status read =
      store.read_stream(kStream, StreamId::min(), StreamId::max(), SIZE_MAX, segments);
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(segments.size(), count);
  for (std::uint64_t number = 1; number <= std::min<std::uint64_t>(count, segments.size());
       ++number) {
    EXPECT_EQ(state["record " + std::to_string(number)], std::to_string(number * number));
    EXPECT_EQ(segments[number - 1].first, (StreamId{number, 0}));
    EXPECT_EQ(segments[number - 1].bytes, segment_bytes(number));
  }
  return count;
}

fs::path newest_log(const fs::path& dir) { return files_with(dir, ".log").back(); }
std::vector<fs::path> tables(const fs::path& dir) { return files_with(dir, ".sst"); }

std::uintmax_t logs_bytes(const fs::path& dir) {
  std::uintmax_t bytes = 0;
  for (const fs::path& log : files_with(dir, ".log")) {
    std::error_code deleted;
    const std::uintmax_t size = fs::file_size(log, deleted);
    if (!deleted) bytes += size;
  }
  return bytes;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::unique_ptr<RocksDbStore> RocksDbTest::open() {
  auto store = try_open();
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

std::vector<std::pair<std::string, std::uintmax_t>> RocksDbTest::list() const {
  std::vector<std::pair<std::string, std::uintmax_t>> files;
  for (const auto& entry : fs::directory_iterator(dir())) {
    files.emplace_back(entry.path().filename().string(), entry.file_size());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace rushgate
