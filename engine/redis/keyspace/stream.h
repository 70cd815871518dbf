// A stream: a log of entries (stream_log.h) and its consumer groups (stream_groups.h).
// Semantics: https://redis.io/docs/latest/develop/data-types/streams/
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/redis/keyspace/stream_groups.h"
#include "engine/redis/keyspace/stream_log.h"
#include <rushgate/store.h>
#include <rushgate/stream_id.h>

namespace rushgate {

class RecordReader;
class RecordCounts;
class RecordWriter;
enum class RecordKind : std::uint8_t;

/// Owns both parts. Not thread-safe, reading included: it belongs to the thread that holds the
/// turn. Durable changes go through streams.h.
class Stream {
 public:
  /// Does not own the store, nor `caches`, which must outlive the stream's cache.
  Stream(std::uint64_t object_id, Store& store, StreamCaches& caches)
      : log_(object_id, store, caches), groups_(object_id) {}

  [[nodiscard]] const StreamLog& log() const { return log_; }
  [[nodiscard]] StreamLog& log() { return log_; }
  [[nodiscard]] const StreamGroups& groups() const { return groups_; }
  [[nodiscard]] StreamGroups& groups() { return groups_; }

  // ---- A group's position in the log, counted as in Redis 7.0: exact where no deleted entry can
  // interfere, else unknown ----

  /// Returns true if an entry above `start` may be deleted. (Redis's streamRangeHasTombstones.)
  [[nodiscard]] bool may_have_gap_from(StreamId start) const;
  /// Returns how many of all entries ever added have ids up to `id`, if known without counting;
  /// else kEntriesReadUnknown.
  [[nodiscard]] std::int64_t entries_up_to(StreamId id) const;
  /// Returns the number of entries not yet delivered to the group; empty if unknown.
  [[nodiscard]] std::optional<std::int64_t> lag(const StreamGroup& group) const;

  // ---- Records. docs/format.md defines the layout ----

  void write_header(RecordWriter& writer) const { log_.counters().write(writer); }
  bool read_header(RecordReader& reader) { return log_.read_header(reader); }
  /// Loads one state record; records come in ascending order of keys. `key_rest` follows kind and
  /// object id. Returns false if the record is invalid.
  bool load_element(RecordKind kind, RecordReader& key_rest, std::string_view value);
  /// Adds the number of the stream's records, without its header and its segments.
  void count_records(RecordCounts& counts) const;
  /// Removes the records of one kind, one by one.
  void remove_each_record(StoreBatch& batch, RecordKind kind) const;

  /// Called once per commit batch if the stream is dirty. Writes the open segments, and the records
  /// of dirty groups and consumers.
  void complete_records(StoreBatch& batch);
  /// Called after the commit.
  void end_batch();
  /// Releases data that can be read from the store again.
  void drop_cache() { log_.drop_cache(); }

  /// Returns the memory on the heap, estimated for trees. Excludes the store's memory, and the
  /// cache, which StreamCaches counts.
  [[nodiscard]] std::size_t memory_bytes() const {
    return log_.memory_bytes() + groups_.memory_bytes();
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    return log_.measured_bytes() + groups_.measured_bytes();
  }

 private:
  StreamLog log_;
  StreamGroups groups_;
};

}  // namespace rushgate
