// A stream: entries in ascending order of ids, kept in the store with a bounded tail in memory, and
// its consumer groups. Semantics: https://redis.io/docs/latest/develop/data-types/streams/
//
//   store: segments                     memory
//   ┌─────┬─────┬─────┬─────┬─────┐     ┌─────────────────┐ ┌──────────┐
//   │     │     │     │     │     │     │ newest segments │ │ open one │
//   └─────┴─────┴─────┴─────┴─────┘     └─────────────────┘ └──────────┘
//      ^ first_id                       tail                appended by the current
//                                                           batch       ^ last_id
//
// A segment is called a run in names (stream_segment.h). The newest segments and the ones read last are
// cached; all streams share the budget (stream_cache.h). Others are read from the store.
//
// Entries below first_id() are trimmed, even if their segments still exist. A deleted entry above it
// stays in its segment. Its id is kept in memory and in a record, until all entries before it are
// gone, or all of its segment are deleted. Then the segment is removed from the store, and a gap
// replaces its ids. Neighbouring gaps are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/keyspace/stream_cache.h"
#include "engine/keyspace/stream_group.h"
#include "engine/keyspace/stream_segment.h"
#include <rushgate/store.h>
#include <rushgate/stream_id.h>

namespace rushgate {

class RecordReader;
class RecordCounts;
class RecordWriter;
enum class RecordKind : std::uint8_t;

/// A data structure: durable changes go through streams.h. Not thread-safe, reading included: it
/// belongs to the thread that holds the turn. Does not own the store, nor `caches`, which must
/// outlive its cache. Reading fails with the store's error, or kDataLoss.
class Stream {
 public:
  /// As in Redis with stream-node-max-entries 100 and no limit in bytes: an approximate trim
  /// removes whole nodes.
  static constexpr std::uint32_t kNodeEntries = 100;

  /// The counters in the stream's header.
  struct Counters {
    std::uint64_t length = 0;         // readable entries
    std::uint64_t entries_added = 0;  // ever
    StreamId first_id;                // of the first readable entry; 0-0 if there is none
    StreamId last_id;                 // the greatest id ever given
    StreamId max_deleted_id;          // the greatest id ever deleted by XDEL
    std::uint32_t node_position =
        0;  // index of the first entry in its node, where deleted entries count

    friend bool operator==(const Counters&, const Counters&) = default;
  };

  Stream(std::uint64_t object_id, Store& store, StreamCaches& caches);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] std::uint64_t object_id() const { return object_id_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t length() const { return counters_.length; }
  [[nodiscard]] StreamId first_id() const { return counters_.first_id; }
  [[nodiscard]] StreamId last_id() const { return counters_.last_id; }
  [[nodiscard]] StreamId max_deleted_id() const { return counters_.max_deleted_id; }
  [[nodiscard]] std::uint64_t entries_added() const { return counters_.entries_added; }
  /// Deleted entries between first_id() and last_id().
  [[nodiscard]] std::uint64_t deleted_count() const { return deleted_.size() + gap_entries_; }

  /// Returns the automatic id at `now_ms`, never below an earlier id, even if the clock went back.
  /// Empty if no id is left.
  [[nodiscard]] std::optional<StreamId> next_id(std::int64_t now_ms) const {
    return id_after(last_id(), now_ms);
  }
  [[nodiscard]] static std::optional<StreamId> id_after(StreamId last, std::int64_t now_ms);

  // ---- Reading ----

  /// Returns false to stop. Must neither read nor change the stream.
  using Visit = absl::FunctionRef<bool(const StreamEntry&)>;

  /// Reads the entries in [from, to], ascending.
  absl::Status read(StreamId from, StreamId to, Visit visit) const;
  /// Reads the entries in [from, to], descending from `to`.
  absl::Status read_back(StreamId from, StreamId to, Visit visit) const;
  /// Sets `found` to whether the entry exists.
  absl::Status contains(StreamId id, bool& found) const;

  /// Returns true if an entry above `start` may be deleted. (Redis's streamRangeHasTombstones.)
  [[nodiscard]] bool may_have_gap_from(StreamId start) const;
  /// Returns how many of all entries ever added have ids up to `id`, if known without counting;
  /// else kEntriesReadUnknown.
  [[nodiscard]] std::int64_t entries_up_to(StreamId id) const;
  /// Returns the number of entries not yet delivered to the group; empty if unknown.
  [[nodiscard]] std::optional<std::int64_t> lag(const StreamGroup& group) const;

  // ---- Groups ----

  using Groups = std::map<std::string, std::unique_ptr<StreamGroup>, std::less<>>;
  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] StreamGroup* find_group(std::string_view name) const;

  /// Called before an entry is appended or last_id() is raised. Returns kDataLoss if the store's
  /// newest segment goes beyond last_id(). Asks the store until that was excluded once.
  absl::Status check_end();

  // ---- Changes for streams.h, and their undo steps, without undo log and records. Undo steps need
  // no memory: removed nodes of sets and maps are put back ----

  /// A savepoint of the open segments.
  struct AppendSavepoint {
    std::size_t full_segments;
    SegmentWriter::Savepoint writer;
  };
  [[nodiscard]] AppendSavepoint append_savepoint() const {
    return {full_segments_.size(), writer_.savepoint()};
  }
  /// `id` must be above last_id().
  void append(StreamId id, StreamFields fields);
  /// Appends entries of integers, one per row of `values`, with ids from `id` on in the same ms.
  /// Enough ids must be left.
  void append_rows(StreamId id, std::span<const std::string_view> names,
                   std::span<const std::int64_t> values);
  void roll_back_appends(const AppendSavepoint& savepoint, const Counters& counters);

  void set_counters(const Counters& counters) { counters_ = counters; }
  /// Sets the history of entries that may never have existed here (XSETID).
  void set_history(StreamId last_id, std::uint64_t entries_added, StreamId max_deleted_id) {
    // The difference counts as trimmed: these entries are not in the store.
    trimmed_in_store_ += entries_added - counters_.entries_added;
    counters_.last_id = last_id;
    counters_.entries_added = entries_added;
    counters_.max_deleted_id = max_deleted_id;
    forget_known_end();
  }

  [[nodiscard]] std::set<StreamId>& deleted() { return deleted_; }

  /// Deleted entries whose segments were removed from the store.
  struct Gap {
    StreamId last;
    std::uint64_t count = 0;
  };
  using Gaps = std::map<StreamId, Gap>;  // by id of the first entry
  [[nodiscard]] const Gaps& gaps() const { return gaps_; }
  void insert_gap(StreamId first, const Gap& gap) {
    gaps_.emplace(first, gap);
    gap_entries_ += gap.count;
  }
  Gaps::node_type take_gap(StreamId first) {
    const auto gap = gaps_.find(first);
    gap_entries_ -= gap->second.count;
    return gaps_.extract(gap);
  }
  void put_back(Gaps::node_type gap) {
    gap_entries_ += gap.mapped().count;
    gaps_.insert(std::move(gap));
  }
  /// Sets `ids` to the entries of the segment with `id` if all of them are deleted and the segment
  /// is in the store; else to none.
  absl::Status find_dead_segment(StreamId id, std::vector<StreamId>& ids);
  /// Returns true if no segment begins between these two entries of different segments.
  [[nodiscard]] bool are_neighbours(StreamId last, StreamId first) const;
  /// Returns deleted entries whose segments were not in the store at find_dead_segment().
  [[nodiscard]] std::vector<StreamId> take_unchecked() { return std::exchange(unchecked_, {}); }

  /// The effect of a trim.
  struct Cut {
    std::uint64_t removed = 0;  // readable entries
    StreamId first_id;          // the counters after the trim
    std::uint32_t node_position = 0;
  };
  struct TrimTo {
    std::optional<std::uint64_t> length_max;  // number of entries to keep; or
    StreamId min_id = {};                     // least id to keep
    bool whole_nodes = false;                 // approximate
    std::uint64_t removed_max = 0;            // approximate: the maximum removed; 0: no limit
  };
  /// Finds the effect of a trim. Changes nothing.
  absl::Status find_cut(const TrimTo& to, Cut& cut) const;
  /// Finds the new beginning of the stream if the entry first_id() is deleted.
  absl::Status find_front(Cut& cut) const;
  /// Returns kDataLoss: length() differs from the number of entries.
  [[nodiscard]] absl::Status miscounted() const;

  void attach_group(std::unique_ptr<StreamGroup> group);
  Groups::node_type take_group(StreamGroup& group);
  void put_back(Groups::node_type group);
  /// Schedules their records for complete_records().
  void mark_dirty(StreamGroup& group);
  void mark_dirty(StreamGroup& group, StreamConsumer& consumer);
  /// Called before the undo step of a creation destroys the object.
  void forget_dirty(const StreamGroup& group);
  void forget_dirty(const StreamConsumer& consumer);

  // ---- Records (stream_records.cc) ----

  void write_header(RecordWriter& writer) const;
  bool read_header(RecordReader& reader);
  /// Loads one state record; records come in ascending order of keys. `key_rest` follows kind and
  /// object id. Returns false if the record is invalid.
  bool load_element(RecordKind kind, RecordReader& key_rest, std::string_view value);

  void record_deleted(StoreBatch& batch, StreamId id) const;
  void record_no_longer_deleted(StoreBatch& batch, StreamId id) const;
  void record_gap(StoreBatch& batch, StreamId first, const Gap& gap) const;
  void record_no_gap(StoreBatch& batch, StreamId first) const;
  void record_pending(StoreBatch& batch, const StreamGroup& group, StreamId id,
                      const PendingEntry& entry) const;
  void record_no_longer_pending(StoreBatch& batch, const StreamGroup& group, StreamId id) const;
  /// Removes a group with its consumers and pending entries.
  void record_group_removal(StoreBatch& batch, const StreamGroup& group) const;
  /// Adds the number of the stream's records, without its header and its segments.
  void count_records(RecordCounts& counts) const;
  /// Removes the records of one kind, one by one.
  void remove_each_record(StoreBatch& batch, RecordKind kind) const;
  /// Removes a consumer without its pending entries.
  void record_consumer_removal(StoreBatch& batch, const StreamGroup& group,
                               const StreamConsumer& consumer) const;

  /// Called once per commit batch if the stream is dirty. Writes the open segments, and the records
  /// of dirty groups and consumers.
  void complete_records(StoreBatch& batch);
  /// Called after the commit: the open segments become part of the tail, which drops its oldest.
  void end_batch();
  /// Releases data that can be read from the store again.
  void drop_cache() { cache_slot_.drop(); }

  /// Returns the memory on the heap, estimated for trees. Excludes the store's memory, and the
  /// cache, which StreamCaches counts.
  [[nodiscard]] std::size_t memory_bytes() const {
    return open_bytes_ + writer_.memory_bytes() + rest_bytes() + groups_bytes_;
  }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;
  /// Computes the memory of the cache from its contents, for tests.
  [[nodiscard]] std::size_t cache_bytes() const;

 private:
  using Segment = StreamCache::Segment;
  /// The place of a segment's bytes, without ownership. Null bytes: no segment.
  struct SegmentView {
    StreamId first;
    std::string_view bytes;
  };
  class NodeCutter;

  /// Finds the cut before the first readable entry for which `stays` returns true.
  absl::Status cut_before(absl::FunctionRef<bool(StreamId)> stays, Cut& cut) const;
  /// Returns miscounted() if the cut would remove more than length() entries.
  [[nodiscard]] absl::Status check(const Cut& cut) const;

  /// Reads all entries in [from, to], deleted ones above first_id() too, and gaps from there.
  absl::Status scan(
      StreamId from, StreamId to,
      absl::FunctionRef<bool(const StreamEntry&, bool is_deleted)> visit,
      absl::FunctionRef<bool(const Gap&)> visit_gap = [](const Gap&) { return true; }) const;
  [[nodiscard]] bool is_deleted(StreamId id) const {
    return (!deleted_.empty() && deleted_.contains(id)) || (!gaps_.empty() && is_in_gap(id));
  }
  [[nodiscard]] bool is_in_gap(StreamId id) const;
  /// Valid while the cache is in use.
  [[nodiscard]] StreamCache& cache() const { return *cache_slot_.cache(); }
  void forget_known_end();

  // Valid while the cache is in use. Find the first segment that ends at or after `from`, and the
  // last that begins at or before `from`.
  absl::Status find_segment_from(StreamId from, SegmentView& segment) const;
  absl::Status find_segment_back(StreamId from, SegmentView& segment) const;
  [[nodiscard]] SegmentView find_in_memory_from(StreamId from) const;
  [[nodiscard]] SegmentView find_in_memory_back(StreamId from) const;
  absl::Status find_in_store_from(StreamId from, SegmentView& segment) const;
  absl::Status find_in_store_back(StreamId from, SegmentView& segment) const;
  absl::Status load_chunk_from(StreamId from, std::size_t bytes_max) const;
  absl::Status load_chunk_back(StreamId from) const;
  absl::Status decode(const SegmentView& segment) const;
  /// Returns the last id that may be only in the store; empty if all is in memory.
  [[nodiscard]] std::optional<StreamId> store_end() const;
  [[nodiscard]] std::size_t rest_bytes() const;

  bool load_deleted(RecordReader& key, RecordReader& value);
  bool load_gap(RecordReader& key, RecordReader& value);
  bool load_group(RecordReader& key, RecordReader& value);
  bool load_consumer(RecordReader& key, RecordReader& value);
  bool load_pending(RecordReader& key, RecordReader& value);
  void remove_each_of_group(StoreBatch& batch, RecordKind kind, const StreamGroup& group) const;
  RecordWriter begin_key(RecordKind kind) const;
  void enter(Groups::value_type& entry);
  [[nodiscard]] bool is_dead(StreamId last_of_segment) const;
  void open_segment_for(StreamId id);
  void count_appended(StreamId first, StreamId last, std::uint64_t count);
  void extend_tail();
  void append_to_tail(Segment segment);
  void shorten_tail();
  void record_open_segments(StoreBatch& batch) const;
  void record_trim(StoreBatch& batch);
  void record_dirty(StoreBatch& batch) const;

  const std::uint64_t object_id_;
  Store& store_;
  Counters counters_;
  std::set<StreamId>
      deleted_;  // above first_id: ids of deleted entries that are still in their segments
  Gaps gaps_;    // above first_id
  std::uint64_t gap_entries_ = 0;
  std::vector<StreamId> unchecked_;
  Groups groups_;
  std::size_t groups_bytes_ = 0;  // memory of the groups

  std::vector<Segment> full_segments_;  // of the current batch, older than writer_
  std::size_t open_bytes_ = 0;          // memory of full_segments_
  SegmentWriter writer_;

  std::vector<StreamGroup*> dirty_groups_;
  std::vector<std::pair<StreamGroup*, StreamConsumer*>> dirty_consumers_;
  std::uint64_t trimmed_in_store_ =
      0;  // entries before first_id at the store's last trim, deleted ones included
  bool is_end_checked_ = true;

  mutable std::string key_;  // of the current record, kept for its capacity
  mutable std::string value_;
  mutable StreamCaches::Slot cache_slot_;
};

}  // namespace rushgate
