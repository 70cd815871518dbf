// Keys and names in the database. docs/format.md shows them byte by byte.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <rushgate/stream_id.h>

namespace rushgate {

inline constexpr char kStateFamily[] = "state";
inline constexpr char kStreamFamily[] = "stream";
inline constexpr char kFormatKey[] = "rushgate.format";  // in the default family

inline constexpr std::size_t kStreamNumberBytes = 8;
inline constexpr std::size_t kSegmentKeyBytes = 24;

/// The maximum number of open tables; a compaction may exceed it. RocksDB's default
/// is unlimited: then each table keeps a descriptor, and a flush that gets none
/// fails permanently. RespServer leaves descriptors for these files
/// (kFilesOfOthers).
inline constexpr int kOpenTablesMax = 64;

/// Returns the number of a log file; they ascend: 000012.log.
inline std::optional<std::uint64_t> log_number(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string_view rest = name.substr(static_cast<std::size_t>(end - name.data()));
  if (error != std::errc() || rest != ".log") return std::nullopt;
  return number;
}

inline std::string log_name(std::uint64_t number) {
  constexpr std::size_t kDigits = 6;  // at least
  const std::string digits = std::to_string(number);
  return std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits + ".log";
}

template <class To>
void put_big_endian(std::uint64_t value, To to) {
  for (int shift = 56; shift >= 0; shift -= 8) *to++ = static_cast<char>(value >> shift);
}

inline std::uint64_t read_big_endian(const char* from) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<std::uint8_t>(from[i]);
  return value;
}

/// The key of a segment in the stream family: stream number, ms, seq; 8 bytes each, big-endian.
class SegmentKey {
 public:
  SegmentKey(std::uint64_t stream, StreamId first) {
    put_big_endian(stream, bytes_.begin());
    put_big_endian(first.ms, bytes_.begin() + 8);
    put_big_endian(first.seq, bytes_.begin() + 16);
  }

  [[nodiscard]] std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

  /// Returns the least key above this one: 25 bytes.
  [[nodiscard]] std::string successor() const { return std::string(view()) + '\0'; }

  static std::uint64_t stream(std::string_view key) { return read_big_endian(key.data()); }
  static StreamId first(std::string_view key) {
    return {read_big_endian(key.data() + 8), read_big_endian(key.data() + 16)};
  }

 private:
  std::array<char, kSegmentKeyBytes> bytes_;
};

/// The synced position, which each commit puts before its operations in the log: all operations up
/// to this number had been synced. RocksDB does not interpret it (WriteBatch::PutLogData).
inline constexpr std::size_t kSyncedPositionBytes = 9;
inline constexpr char kSyncedPositionTag = 'S';

class SyncedPosition {
 public:
  explicit SyncedPosition(std::uint64_t sequence) {
    bytes_[0] = kSyncedPositionTag;
    put_big_endian(sequence, bytes_.begin() + 1);
  }

  [[nodiscard]] std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, kSyncedPositionBytes> bytes_;
};

}  // namespace rushgate
