// The port for durable storage of the keyspace. The engine defines the meaning of the bytes
// (docs/format.md); a store only keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <rushgate/copy_portion.h>
#include <rushgate/stream_id.h>

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
    virtual void append_segment(std::uint64_t stream, StreamId first, std::string_view bytes) = 0;
    /// Removes the segments of `stream` that lie wholly before `before`, that is, each segment
    /// whose successor has first <= before.
    virtual void trim_stream(std::uint64_t stream, StreamId before) = 0;
    /// Removes the segment that begins at `first`, if it exists.
    virtual void remove_segment(std::uint64_t stream, StreamId first) = 0;
    /// Removes the streams `first` to `last`, where `first` <= `last`, with all their segments.
    virtual void drop_streams(std::uint64_t first, std::uint64_t last) = 0;
  };

  StoreBatch() = default;
  /// A batch for a store that keeps no state records drops them (Store::keeps_state()).
  explicit StoreBatch(bool keeps_state) : keeps_state_(keeps_state) {}

  void put(std::string_view key, std::string_view value) {
    if (keeps_state_) add(Operation::kPut, key, value);
  }
  /// The same, where `write_key(std::string&)` and `write_value(std::string&)` append the key and
  /// the value to the batch's own bytes.
  template <class WriteKey, class WriteValue>
  void put_written(WriteKey write_key, WriteValue write_value) {
    if (keeps_state_) add_written(Operation::kPut, write_key, write_value);
  }
  void remove(std::string_view key) {
    if (keeps_state_) add(Operation::kRemove, key, {});
  }
  /// The same, where `write_key` is as in put_written().
  template <class WriteKey>
  void remove_written(WriteKey write_key) {
    if (keeps_state_) add_written(Operation::kRemove, write_key, [](std::string&) {});
  }
  void remove_range(std::string_view begin, std::string_view end) {
    if (keeps_state_) add(Operation::kRemoveRange, begin, end);
  }
  void append_segment(std::uint64_t stream, StreamId first, std::string_view bytes) {
    add_stream(Operation::kAppendSegment, stream, first, bytes);
  }
  void trim_stream(std::uint64_t stream, StreamId before) {
    add_stream(Operation::kTrimStream, stream, before, {});
  }
  void remove_segment(std::uint64_t stream, StreamId first) {
    add_stream(Operation::kRemoveSegment, stream, first, {});
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
    kAppendSegment,
    kTrimStream,
    kRemoveSegment,
    kDropStreams
  };

  void add(Operation operation, std::string_view key, std::string_view value);
  template <class WriteKey, class WriteValue>
  void add_written(Operation operation, WriteKey write_key, WriteValue write_value) {
    const std::size_t begin = begin_record(operation);
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
  /// Appends the head of a record, which end_record() fills in. Returns where it begins.
  std::size_t begin_record(Operation operation);
  void end_record(std::size_t begin, std::size_t key_end);
  void add_stream(Operation operation, std::uint64_t stream, StreamId id, std::string_view bytes);

  std::string
      bytes_;  // operation (1), length of key (4), length of value (4), key, value; repeated
  bool is_sync_deferred_ = false;
  bool keeps_state_ = true;
};

/// What the effects of a request survive once its reply was sent.
enum class Durability : std::uint8_t {
  kMemory,    // nothing: they are lost when the process ends
  kOs,        // the end of the process, not a power cut: they are written to the operating system
  kEverySec,  // as kOs; also a power cut, about the last second excepted
  kSync,      // also a power cut: they are fsynced before the reply
};

/// A segment: consecutive entries of a stream that one commit batch appended.
struct StreamSegment {
  StreamId first;     // id of its first entry
  std::string bytes;  // the entries, encoded by the keyspace; never empty
};

/// A store for the keyspace. After load(), calls come from one thread at a time: the one that holds
/// the executor's turn. Only sync() may be called from any thread at any time. After a failed
/// commit() or sync() it is undefined which writes were kept; the engine then stops writing until
/// reopen() succeeds.
class Store {
 public:
  virtual ~Store() = default;

  /// Visits every state record in ascending order of keys. Called once, before any other function.
  /// The views are valid during the call.
  virtual absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) = 0;

  /// Stores the batch atomically. When it returns, the batch is as durable as durability() says,
  /// unless the batch defers its sync. If it throws (out of memory), nothing of the batch was
  /// stored.
  virtual absl::Status commit(const StoreBatch& batch) = 0;

  /// Makes every finished commit safe against power loss.
  virtual absl::Status sync() = 0;

  /// Appends to `segments` the segments of `stream` that may hold ids in [from, to], in ascending
  /// order, beginning with the segment that contains `from`. Stops after at least one segment once
  /// `bytes_max` is exceeded. An empty result means that there are no more.
  virtual absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to,
                                   std::size_t bytes_max, std::vector<StreamSegment>& segments) = 0;

  /// As read_stream(), in descending order: from the segment that contains `from` down to the one
  /// that contains `to`.
  virtual absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                        std::size_t bytes_max,
                                        std::vector<StreamSegment>& segments) = 0;

  /// Sets `stream` to the greatest number of a stream that has segments, also if the keyspace has
  /// deleted it; 0 if there is none.
  virtual absl::Status find_last_stream(std::uint64_t& stream) = 0;

  [[nodiscard]] virtual Durability durability() const = 0;

  /// Returns false if the store drops state records. A batch for it need not have any. Constant.
  [[nodiscard]] virtual bool keeps_state() const { return true; }

  /// Returns the memory that the store uses permanently. It counts towards the memory limit.
  [[nodiscard]] virtual std::size_t memory_bytes() const { return 0; }

  /// A number that a store counts, and its name, as in "stalls".
  struct Figure {
    std::string_view name;
    std::uint64_t value = 0;
  };
  /// Returns what the store has counted since it was opened, for INFO. Must not wait.
  [[nodiscard]] virtual std::vector<Figure> figures() const { return {}; }

  /// Copies the contents to the directory `dir`, as they were after a commit that finished during
  /// the call or just before it. A store can be opened from the copy. Tables that an earlier call
  /// left there stay. Where the file system permits, files that `previous`, an earlier copy, has
  /// too become links to those, and others links to the store's own; so do not open a copy where it
  /// is. The copy is on the disk when the call returns. Any thread may call this at any time, one
  /// at a time. `previous` may be empty. Default: kUnimplemented.
  virtual absl::Status copy_to(const std::filesystem::path& dir,
                               const std::filesystem::path& previous, AfterPortion after);

  // ---- After a failure ----

  /// Returns true if reopen() may succeed. Constant.
  [[nodiscard]] virtual bool can_reopen() const { return false; }

  /// Runs a function while no other thread uses the store.
  using Exclusively = absl::FunctionRef<void(absl::FunctionRef<void()> run)>;
  /// Makes the store work again after a failed commit() or sync(), with the contents after the last
  /// successful commit(): a failed one is undone, however much of it was stored. Called on one
  /// thread at a time. Other threads may read meanwhile, except while `exclusively` runs a
  /// function; their reads may fail. Errors:
  /// - kDataLoss, kUnimplemented: only opening another store can help.
  /// - any other: a later call may succeed.
  virtual absl::Status reopen(Exclusively exclusively);
};

/// Returns "memory", "os", "everysec" or "sync".
std::string_view durability_name(Durability durability);
/// Returns the durability of this name, if there is one.
std::optional<Durability> parse_durability(std::string_view name);

}  // namespace rushgate
