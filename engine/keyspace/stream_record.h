// Builds the records of a stream, except its header and its segments. docs/format.md defines their
// layout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rushgate {

class RecordWriter;
class StoreBatch;
enum class RecordKind : std::uint8_t;

/// One record at a time. Keeps its buffers for their capacity.
class StreamRecord {
 public:
  explicit StreamRecord(std::uint64_t object_id) : object_id_(object_id) {}

  /// Begins a record with an empty value. Returns the writer of the key's rest, which follows kind
  /// and object id.
  RecordWriter begin(RecordKind kind);
  /// Returns the writer of the value.
  RecordWriter value();

  [[nodiscard]] std::string_view key() const { return key_; }
  void put(StoreBatch& batch) const;
  void remove(StoreBatch& batch) const;

 private:
  const std::uint64_t object_id_;
  std::string key_;
  std::string value_;
};

}  // namespace rushgate
