#include "storage/rocksdb/log_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/log_fragment.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

// A record is a write batch: number of its first operation (8), number of operations (4), then the
// operations. The first one of a commit is the synced position: tag, length, bytes.
constexpr std::size_t kBatchHeadBytes = 12;
constexpr char kLogDataTag = 3;
constexpr std::size_t kRecordBytesOfInterest = kBatchHeadBytes + 2 + kSyncedPositionBytes;

// Returns the record's synced position; 0 without one.
std::uint64_t synced_position(std::string_view record) {
  if (record.size() < kRecordBytesOfInterest) return 0;
  const std::string_view data = record.substr(kBatchHeadBytes);
  const bool is_position = data[0] == kLogDataTag &&
                           data[1] == static_cast<char>(kSyncedPositionBytes) &&
                           data[2] == kSyncedPositionTag;
  return is_position ? read_big_endian(data.data() + 3) : 0;
}

// Reads the synced positions of one file's commits, in order. Skips unreadable parts.
class LogReader {
 public:
  explicit LogReader(std::unique_ptr<rocksdb::SequentialFile> file)
      : file_(std::move(file)), buffer_(LogFragment::kBlockBytes) {}

  std::optional<std::uint64_t> next_position() {
    while (const std::optional<LogFragment> fragment = next_fragment()) {
      if (fragment->begins_record()) {
        record_.clear();
      } else if (!assembling_) {
        continue;
      }
      const std::size_t wanted = kRecordBytesOfInterest - record_.size();
      record_ += fragment->payload.substr(0, std::min(wanted, fragment->payload.size()));
      assembling_ = !fragment->ends_record();
      if (!assembling_) return synced_position(record_);
    }
    return std::nullopt;
  }

  [[nodiscard]] const rocksdb::Status& status() const { return status_; }

 private:
  std::optional<LogFragment> next_fragment() {
    for (;;) {
      if (block_.size() < LogFragment::kHeadBytes && !read_block()) return std::nullopt;
      const std::optional<LogFragment> fragment = read_fragment(block_);
      if (!fragment) {
        skip_block();  // damaged, or preallocated and not written
        continue;
      }
      block_.remove_prefix(fragment->bytes());
      if (fragment->type >= LogFragment::Type::kFull &&
          fragment->type <= LogFragment::Type::kLast) {
        return fragment;
      }
    }
  }

  // Returns false at the end of the file.
  bool read_block() {
    rocksdb::Slice read;
    status_ = file_->Read(LogFragment::kBlockBytes, &read, buffer_.data());
    block_ = to_view(read);
    return status_.ok() && block_.size() >= LogFragment::kHeadBytes;
  }

  void skip_block() {
    assembling_ = false;
    block_ = {};
  }

  std::unique_ptr<rocksdb::SequentialFile> file_;
  rocksdb::Status status_;
  std::vector<char> buffer_;
  std::string_view block_;   // unread part of the block
  std::string record_;       // the first bytes of the current record
  bool assembling_ = false;  // between a first and a last fragment
};

std::vector<std::pair<std::uint64_t, std::string>> log_files(std::vector<std::string> names) {
  std::vector<std::pair<std::uint64_t, std::string>> logs;
  for (std::string& name : names) {
    if (const auto number = log_number(name)) logs.emplace_back(*number, std::move(name));
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

}  // namespace

absl::Status check_log(rocksdb::Env& env, const std::filesystem::path& dir,
                       std::uint64_t recovery_end) {
  std::vector<std::string> names;
  rocksdb::Status status = env.GetChildren(dir.string(), &names);
  if (!status.ok()) return to_absl(status, "listing the log", dir);
  for (const auto& [number, name] : log_files(std::move(names))) {
    std::unique_ptr<rocksdb::SequentialFile> file;
    status = env.NewSequentialFile((dir / name).string(), &file, rocksdb::EnvOptions());
    if (!status.ok()) return to_absl(status, "reading the log", dir);
    LogReader reader(std::move(file));
    while (const std::optional<std::uint64_t> synced = reader.next_position()) {
      if (*synced < recovery_end) continue;
      return absl::DataLossError(
          "the log in " + dir.string() + " is damaged: operation " + std::to_string(recovery_end) +
          " had been synced and cannot be read; later ones can (" + name + ")");
    }
    if (!reader.status().ok()) return to_absl(reader.status(), "reading the log", dir);
  }
  return absl::OkStatus();
}

}  // namespace rushgate
