// The deleted entries of a stream between its first and its last readable entry, and their records.
//
// A deleted entry stays in its segment. Its id is kept in memory and in a record, until all entries
// before it are gone, or all of its segment are deleted. Then the segment is removed from the
// store, and a gap replaces its ids. Neighbouring gaps are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "engine/redis/keyspace/stream_counters.h"
#include "engine/redis/keyspace/stream_record.h"
#include <rushgate/stream_id.h>

namespace rushgate {

class RecordCounts;
class RecordReader;
class StoreBatch;
enum class RecordKind : std::uint8_t;

/// Changes come without undo log and records. Undo steps need no memory: removed nodes are put
/// back.
class StreamDeletions {
 public:
  /// Deleted entries whose segments were removed from the store.
  struct Gap {
    StreamId last;
    std::uint64_t count = 0;
    StreamNodePosition next;  // of the entry behind, which begins a node if that is not known
  };
  using Gaps = std::map<StreamId, Gap>;  // by id of the first entry
  using Ids = std::set<StreamId>;        // of deleted entries that are still in their segments

  explicit StreamDeletions(std::uint64_t object_id) : record_(object_id) {}

  /// Returns the number of deleted entries.
  [[nodiscard]] std::uint64_t count() const { return deleted().ids.size() + deleted().gap_entries; }
  [[nodiscard]] bool contains(StreamId id) const {
    return deleted_ != nullptr && (deleted_->ids.contains(id) || is_in_gap(id));
  }
  [[nodiscard]] bool is_in_gap(StreamId id) const;

  [[nodiscard]] const Ids& ids() const { return deleted().ids; }
  /// Needs memory until it was called once.
  [[nodiscard]] Ids& edit_ids() { return edit().ids; }
  [[nodiscard]] const Gaps& gaps() const { return deleted().gaps; }
  void insert_gap(StreamId first, const Gap& gap);
  Gaps::node_type take_gap(StreamId first);
  void put_back(Gaps::node_type gap);

  // ---- Records ----

  void record_deleted(StoreBatch& batch, StreamId id) const;
  void record_no_longer_deleted(StoreBatch& batch, StreamId id) const;
  void record_gap(StoreBatch& batch, StreamId first, const Gap& gap) const;
  void record_no_gap(StoreBatch& batch, StreamId first) const;
  /// Adds the numbers of records.
  void count_records(RecordCounts& counts) const;
  /// Removes the records of one kind, one by one.
  void remove_each_record(StoreBatch& batch, RecordKind kind) const;
  /// Loads a record of one of the two kinds; they come in ascending order of keys. `key` follows
  /// kind and object id. Returns false if the record is invalid.
  bool load(RecordKind kind, RecordReader& key, RecordReader& value,
            const StreamCounters& counters);

  /// Returns the memory on the heap, estimated.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  bool load_id(RecordReader& key, RecordReader& value, const StreamCounters& counters);
  bool load_gap(RecordReader& key, RecordReader& value, const StreamCounters& counters);

  struct Deleted {
    Ids ids;
    Gaps gaps;
    std::uint64_t gap_entries = 0;
  };
  [[nodiscard]] const Deleted& deleted() const {
    static const Deleted kNone;
    return deleted_ == nullptr ? kNone : *deleted_;
  }
  [[nodiscard]] Deleted& edit() {
    if (deleted_ == nullptr) deleted_ = std::make_unique<Deleted>();
    return *deleted_;
  }

  std::unique_ptr<Deleted> deleted_;  // null if no entry has been deleted
  StreamRecord record_;
};

}  // namespace rushgate
