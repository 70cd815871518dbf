// The format of RocksDB's logs and MANIFEST
// (https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format): blocks of 32 KiB, each a
// row of fragments. A fragment is a checksum (4 bytes), a length (2), a type (1) and the payload. A
// record is a full fragment, or a first, any middle and a last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rushgate {

struct LogFragment {
  enum class Type : std::uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

  static constexpr std::size_t kBlockBytes = 32'768;
  /// Zeros fill the end of a block that has fewer bytes left.
  static constexpr std::size_t kHeadBytes = 7;

  Type type = Type::kFull;  // or one that this version of RocksDB does not write
  std::string_view payload;

  [[nodiscard]] std::size_t bytes() const { return kHeadBytes + payload.size(); }
  [[nodiscard]] bool begins_record() const { return type == Type::kFull || type == Type::kFirst; }
  [[nodiscard]] bool ends_record() const { return type == Type::kFull || type == Type::kLast; }
};

/// Returns the fragment at the beginning of `rest`, the rest of a block. Nothing: it is unreadable.
std::optional<LogFragment> read_fragment(std::string_view rest);

}  // namespace rushgate
