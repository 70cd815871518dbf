// The changes of one commit batch, in order, as records for the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/stream_id.h"

namespace rushgate {

/// A flat buffer of operations. Appending allocates nothing once it has grown. Not thread-safe.
class StoreBatch {
 public:
  /// Receives the operations, in order.
  class Visitor {
   public:
    virtual ~Visitor() = default;
    virtual void put(std::string_view key, std::string_view value) = 0;
    virtual void remove(std::string_view key) = 0;
    /// Removes every key in [begin, end). Removes none if `end` is not above `begin`.
    virtual void remove_range(std::string_view begin, std::string_view end) = 0;
    /// Appends a segment to a stream. Its ids are above all ids in the stream.
    virtual void append_run(std::uint64_t stream, StreamId first, std::string_view bytes) = 0;
    /// Removes the segments of `stream` that lie wholly before `before`, that is, each segment
    /// whose successor has first <= before.
    virtual void trim_stream(std::uint64_t stream, StreamId before) = 0;
    /// Removes the segment that begins at `first`, if it exists.
    virtual void remove_run(std::uint64_t stream, StreamId first) = 0;
    /// Removes the streams `first` to `last`, where `first` <= `last`, with all their segments.
    virtual void drop_streams(std::uint64_t first, std::uint64_t last) = 0;
  };

  StoreBatch() = default;
  /// A batch for a store that keeps no state records drops them (Store::keeps_state()).
  explicit StoreBatch(bool keeps_state) : keeps_state_(keeps_state) {}
  [[nodiscard]] bool keeps_state() const { return keeps_state_; }

  void put(std::string_view key, std::string_view value) {
    if (keeps_state_) add(Operation::kPut, key, value);
  }
  /// The same, where `write_key(std::string&)` and `write_value(std::string&)` append the key and
  /// the value to the batch's own bytes.
  template <class WriteKey, class WriteValue>
  void put_written(WriteKey write_key, WriteValue write_value) {
    if (!keeps_state_) return;
    const std::size_t begin = begin_record(Operation::kPut);
    try {
      write_key(bytes_);
      const std::size_t key_end = bytes_.size();
      write_value(bytes_);
      end_record(begin, key_end);
    } catch (...) {
      bytes_.resize(begin);
      throw;
    }
  }
  void remove(std::string_view key) {
    if (keeps_state_) add(Operation::kRemove, key, {});
  }
  void remove_range(std::string_view begin, std::string_view end) {
    if (keeps_state_) add(Operation::kRemoveRange, begin, end);
  }
  void append_run(std::uint64_t stream, StreamId first, std::string_view bytes) {
    add_stream(Operation::kAppendRun, stream, first, bytes);
  }
  void trim_stream(std::uint64_t stream, StreamId before) {
    add_stream(Operation::kTrimStream, stream, before, {});
  }
  void remove_run(std::uint64_t stream, StreamId first) {
    add_stream(Operation::kRemoveRun, stream, first, {});
  }
  void drop_streams(std::uint64_t first, std::uint64_t last);
  void drop_stream(std::uint64_t stream) { drop_streams(stream, stream); }

  void visit(Visitor& visitor) const;

  /// Lets a commit with durability kSync return without an fsync, because the batch may be lost in
  /// a power cut. The next fsync includes it.
  void defer_sync() { is_sync_deferred_ = true; }
  [[nodiscard]] bool is_sync_deferred() const { return is_sync_deferred_; }

  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] std::size_t size_bytes() const { return bytes_.size(); }
  void clear() {
    constexpr std::size_t kBytesKept = std::size_t{16} << 20;  // above an ordinary batch
    if (bytes_.capacity() > kBytesKept) bytes_ = std::string();
    bytes_.clear();
    is_sync_deferred_ = false;
  }

  /// Removes the operations added since size_bytes() was `size_bytes`.
  void truncate(std::size_t size_bytes) {
    if (size_bytes == 0) return clear();
    bytes_.resize(size_bytes);
  }

 private:
  enum class Operation : std::uint8_t {
    kPut,
    kRemove,
    kRemoveRange,
    kAppendRun,
    kTrimStream,
    kRemoveRun,
    kDropStreams
  };

  void add(Operation operation, std::string_view key, std::string_view value);
  /// Appends the head of a record, which end_record() fills in. Returns where it begins.
  std::size_t begin_record(Operation operation);
  void end_record(std::size_t begin, std::size_t key_end);
  void add_stream(Operation operation, std::uint64_t stream, StreamId id, std::string_view bytes);

  std::string
      bytes_;  // operation (1), length of key (4), length of value (4), key, value; repeated
  bool is_sync_deferred_ = false;
  bool keeps_state_ = true;
};

}  // namespace rushgate
