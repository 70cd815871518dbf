#include "storage/rocksdb/log_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/crc.hpp>

#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

// The format of a log file, https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format:
// blocks of 32 KiB, each a row of fragments; a fragment is a checksum (4 bytes), a length (2), a
// type (1) and the payload. A record is a full fragment, or a first, any middle and a last one.
constexpr std::size_t kBlockBytes = 32768;
constexpr std::size_t kFragmentHeadBytes = 7;
enum FragmentType : std::uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// A record is a write batch: sequence number of its first operation (8), number of operations (4),
// then the operations, of which a commit's first is the mark: tag, length, bytes.
constexpr std::size_t kBatchHeadBytes = 12;
constexpr char kLogDataTag = 3;
constexpr std::size_t kRecordBytesOfInterest = kBatchHeadBytes + 2 + kSyncedMarkBytes;

std::uint32_t read_little_endian(const char* from, int bytes) {
  std::uint32_t value = 0;
  while (bytes-- > 0) value = value << 8 | static_cast<std::uint8_t>(from[bytes]);
  return value;
}

std::uint32_t masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;  // CRC-32C
  crc.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t plain = crc.checksum();
  return ((plain >> 15) | (plain << 17)) + 0xa282ead8U;
}

// What the record's mark says; 0 without one.
std::uint64_t synced_mark(std::string_view record) {
  if (record.size() < kRecordBytesOfInterest) return 0;
  const std::string_view mark = record.substr(kBatchHeadBytes);
  const bool is_mark = mark[0] == kLogDataTag && mark[1] == static_cast<char>(kSyncedMarkBytes) &&
                       mark[2] == kSyncedMarkTag;
  return is_mark ? read_big_endian(mark.data() + 3) : 0;
}

// The marks of one file's commits, in order; what cannot be read is skipped.
class LogReader {
 public:
  explicit LogReader(std::unique_ptr<rocksdb::SequentialFile> file)
      : file_(std::move(file)), buffer_(kBlockBytes) {}

  std::optional<std::uint64_t> next_mark() {
    while (const std::optional<Fragment> fragment = next_fragment()) {
      if (fragment->type == kFull || fragment->type == kFirst) record_.clear();
      if (fragment->type == kFirst) assembling_ = true;
      if (fragment->type == kMiddle || fragment->type == kLast) {
        if (!assembling_) continue;
      }
      const std::size_t wanted = kRecordBytesOfInterest - record_.size();
      record_ += fragment->payload.substr(0, std::min(wanted, fragment->payload.size()));
      if (fragment->type == kFirst || fragment->type == kMiddle) continue;
      assembling_ = false;
      return synced_mark(record_);
    }
    return std::nullopt;
  }

  [[nodiscard]] const rocksdb::Status& status() const { return status_; }

 private:
  struct Fragment {
    FragmentType type;
    std::string_view payload;
  };

  std::optional<Fragment> next_fragment() {
    for (;;) {
      if (block_.size() < kFragmentHeadBytes && !read_block()) return std::nullopt;
      const auto length = read_little_endian(block_.data() + 4, 2);
      const auto type = static_cast<std::uint8_t>(block_[6]);
      if (type == kZero && length == 0) {
        skip_block();  // space that was set aside and not written
        continue;
      }
      if (block_.size() < kFragmentHeadBytes + length ||
          masked_crc(block_.substr(6, 1 + length)) != read_little_endian(block_.data(), 4)) {
        skip_block();
        continue;
      }
      const std::string_view payload = block_.substr(kFragmentHeadBytes, length);
      block_.remove_prefix(kFragmentHeadBytes + length);
      if (type >= kFull && type <= kLast) return Fragment{static_cast<FragmentType>(type), payload};
    }
  }

  // False at the end of the file.
  bool read_block() {
    rocksdb::Slice read;
    status_ = file_->Read(kBlockBytes, &read, buffer_.data());
    block_ = to_view(read);
    return status_.ok() && block_.size() >= kFragmentHeadBytes;
  }

  void skip_block() {
    assembling_ = false;
    block_ = {};
  }

  std::unique_ptr<rocksdb::SequentialFile> file_;
  rocksdb::Status status_;
  std::vector<char> buffer_;
  std::string_view block_;   // what is left of the block
  std::string record_;       // the first bytes of the record that is being put together
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
    while (const std::optional<std::uint64_t> synced = reader.next_mark()) {
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
