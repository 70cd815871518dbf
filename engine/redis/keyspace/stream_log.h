// The entries of a stream, in ascending order of ids. They are kept in the store with a bounded
// tail in memory (stream_segments.h).
//
// Entries below first_id() are trimmed, even if their segments still exist. A deleted entry above
// it stays in its segment until all entries of that are deleted (stream_deletions.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/redis/keyspace/encoding_limits.h"
#include "engine/redis/keyspace/stream_cache.h"
#include "engine/redis/keyspace/stream_counters.h"
#include "engine/redis/keyspace/stream_deletions.h"
#include "engine/redis/keyspace/stream_nodes.h"
#include "engine/redis/keyspace/stream_segment.h"
#include "engine/redis/keyspace/stream_segments.h"
#include <rushgate/store.h>
#include <rushgate/stream_id.h>

namespace rushgate {

class RecordReader;

/// A data structure: durable changes go through streams.h. Not thread-safe, reading included: it
/// belongs to the thread that holds the turn. Does not own the store, nor `caches`, which must
/// outlive its cache. Reading fails with the store's error, or kDataLoss.
class StreamLog {
 public:
  StreamLog(std::uint64_t object_id, Store& store, StreamCaches& caches)
      : object_id_(object_id),
        deletions_(object_id),
        segments_(object_id, store, caches, counters_) {}
  StreamLog(const StreamLog&) = delete;
  StreamLog& operator=(const StreamLog&) = delete;

  [[nodiscard]] std::uint64_t object_id() const { return object_id_; }
  [[nodiscard]] const StreamCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t length() const { return counters_.length; }
  [[nodiscard]] StreamId first_id() const { return counters_.first_id; }
  [[nodiscard]] StreamId last_id() const { return counters_.last_id; }
  [[nodiscard]] StreamId max_deleted_id() const { return counters_.max_deleted_id; }
  [[nodiscard]] std::uint64_t entries_added() const { return counters_.entries_added; }
  /// Returns the deleted entries between first_id() and last_id().
  [[nodiscard]] const StreamDeletions& deletions() const { return deletions_; }
  [[nodiscard]] StreamDeletions& deletions() { return deletions_; }

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
  /// Returns kDataLoss: length() differs from the number of entries.
  [[nodiscard]] absl::Status miscounted() const;

  // ---- Changes for streams.h, and their undo steps, without undo log and records. Undo steps need
  // no memory ----

  /// Returns kDataLoss if the store holds entries above last_id() (StreamSegments::check_end()).
  absl::Status check_end() { return segments_.check_end(); }
  [[nodiscard]] StreamSegments::Savepoint append_savepoint() const { return segments_.savepoint(); }
  /// `id` must be above last_id().
  void append(StreamId id, StreamFields fields);
  /// Appends entries of integers, one per row of `values`, with ids from `id` on in the same ms.
  /// Enough ids must be left.
  void append_rows(StreamId id, std::span<const std::string_view> names,
                   std::span<const std::int64_t> values);
  void roll_back_appends(const StreamSegments::Savepoint& savepoint,
                         const StreamCounters& counters);

  void set_counters(const StreamCounters& counters) {
    counters_ = counters;
    first_node_.reset();
  }
  /// Sets the history of entries that may never have existed here (XSETID).
  void set_history(StreamId last_id, std::uint64_t entries_added, StreamId max_deleted_id);

  // ---- Deleting ----

  /// Sets `ids` to the entries of the segment with `id` if all of them are deleted and the segment
  /// is in the store; else to none.
  absl::Status find_dead_segment(StreamId id, std::vector<StreamId>& ids);
  /// Returns deleted entries whose segments were not in the store at find_dead_segment().
  [[nodiscard]] std::vector<StreamId> take_unchecked() { return std::exchange(unchecked_, {}); }
  /// Returns true if no segment begins between these two entries of different segments.
  [[nodiscard]] bool are_neighbours(StreamId last, StreamId first) const {
    return segments_.are_neighbours(last, first);
  }

  // ---- Nodes (stream_log_nodes.cc) ----

  /// Sets `count` to the number of nodes with readable entries. Reads at most `entries_max`
  /// entries, and estimates the rest.
  absl::Status count_nodes(const EncodingLimits& limits, std::uint64_t entries_max,
                           std::uint64_t& count) const;
  /// Returns the position behind `last`, the last entry of a segment without readable ones. Counts
  /// `entries_left` down for each entry that it reads. When these are used up, or reading fails,
  /// the next entry begins a node.
  StreamNodePosition find_position_behind(StreamId last, const EncodingLimits& limits,
                                          std::uint64_t& entries_left) const;
  /// Returns true if no entry follows `last`, and the node at `position` behind it has no readable
  /// entry: in Redis it is gone.
  [[nodiscard]] bool is_last_node_gone(StreamId last, const StreamNodePosition& position) const;

  // ---- Trimming (stream_trimming.cc) ----

  /// The effect of a trim.
  struct Cut {
    std::uint64_t removed = 0;  // readable entries
    StreamId first_id;          // the counters after the trim
    StreamNodePosition position;
  };
  struct TrimTo {
    std::optional<std::uint64_t> length_max;  // number of entries to keep; or
    StreamId min_id = {};                     // least id to keep
    bool whole_nodes = false;                 // approximate
    std::uint64_t removed_max = 0;            // approximate: the maximum removed; 0: no limit
  };
  /// Finds the effect of a trim. Changes nothing.
  absl::Status find_cut(const TrimTo& to, const EncodingLimits& limits, Cut& cut) const;
  /// Finds the new beginning of the stream if the entry first_id() is deleted.
  absl::Status find_front(const EncodingLimits& limits, Cut& cut) const;

  // ---- The store ----

  /// Returns false if the record is invalid.
  bool read_header(RecordReader& reader);
  /// Called once per commit batch if the stream is dirty. Writes the open segments.
  void complete_records(StoreBatch& batch);
  /// Called after the commit.
  void end_batch() { segments_.end_batch(); }
  /// Releases data that can be read from the store again.
  void drop_cache() { segments_.drop_cache(); }

  /// Returns the memory on the heap, estimated for trees. Excludes the cache.
  [[nodiscard]] std::size_t memory_bytes() const { return segments_.memory_bytes() + rest_bytes(); }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const {
    return segments_.measured_bytes() + rest_bytes();
  }
  /// Computes the memory of the cache from its contents, for tests.
  [[nodiscard]] std::size_t cache_bytes() const { return segments_.cache_bytes(); }

 private:
  using Gap = StreamDeletions::Gap;

  /// Reads all entries in [from, to], deleted ones above first_id() too, and gaps from there.
  absl::Status scan(
      StreamId from, StreamId to,
      absl::FunctionRef<bool(const StreamEntry&, bool is_deleted)> visit,
      absl::FunctionRef<bool(const Gap&)> visit_gap = [](const Gap&) { return true; }) const;
  /// Reads entries from `from` on, at the position of `walk`. Calls `end_node` at the end of each
  /// node except the stream's last one. Stops if a callback returns false.
  absl::Status scan_nodes(
      StreamId from, StreamNodeWalk& walk, absl::FunctionRef<bool()> end_node,
      absl::FunctionRef<bool()> may_read = [] { return true; }) const;
  /// Reads the first node, from where the last call ended.
  absl::Status read_first_node(const EncodingLimits& limits) const;
  /// Finds the cut of an approximate trim.
  absl::Status cut_whole_nodes(const TrimTo& to, const EncodingLimits& limits, Cut& cut) const;
  /// Finds the cut before the first readable entry for which `stays` returns true.
  absl::Status cut_before(absl::FunctionRef<bool(StreamId)> stays, const EncodingLimits& limits,
                          Cut& cut) const;
  /// Returns miscounted() if the cut would remove more than length() entries.
  [[nodiscard]] absl::Status check(const Cut& cut) const;
  [[nodiscard]] std::size_t rest_bytes() const;

  /// The first node, as far as approximate trims have read it. Appends leave it valid.
  struct FirstNode {
    std::int64_t limit_entries;  // with which it was read
    std::int64_t limit_bytes;
    StreamNodePosition next;  // of the entry behind
    StreamNode node;
    bool is_complete = false;
  };

  const std::uint64_t object_id_;
  StreamCounters counters_;
  mutable std::unique_ptr<FirstNode> first_node_;  // null: not read
  StreamDeletions deletions_;
  StreamSegments segments_;
  std::vector<StreamId> unchecked_;
  std::uint64_t trimmed_in_store_ =
      0;  // entries before first_id at the store's last trim, deleted ones included
};

}  // namespace rushgate
