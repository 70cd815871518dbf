// A stream: entries in ascending order of ids, kept in the store with a bounded tail in memory, and
// its consumer groups. Semantics: https://redis.io/docs/latest/develop/data-types/streams/
//
//   store: runs                         memory
//   ┌─────┬─────┬─────┬─────┬─────┐     ┌─────────────────┐ ┌──────────┐
//   │     │     │     │     │     │     │ the newest runs │ │ open run │
//   └─────┴─────┴─────┴─────┴─────┘     └─────────────────┘ └──────────┘
//      ^ first_id                       tail                what the current group
//                                                           appended    ^ last_id
//
// The newest runs, and what was read last, are a cache: all streams share its budget
// (stream_cache.h). Without it they are read from the store.
//
// Entries below first_id() are trimmed, whether or not their runs are still there. One deleted
// further up stays in its run; its id is kept in memory, with a record of its own, until everything
// before it is gone too, or all of its run is deleted. Then the run leaves the store, and a gap
// takes the place of its ids. Neighbouring gaps are merged.
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
#include "engine/base/stream_id.h"
#include "engine/keyspace/stream_cache.h"
#include "engine/keyspace/stream_group.h"
#include "engine/keyspace/stream_run.h"
#include "engine/store/store.h"

namespace rushgate {

class RecordReader;
class RecordCounts;
class RecordWriter;
enum class RecordKind : std::uint8_t;

/// A data structure: durable changes go through streams.h. Not thread-safe: it belongs to whoever
/// has the turn (reading too, as it keeps what it last read). Does not own the store, nor `caches`,
/// which must outlive its cache. Reading fails with the store's error, or kDataLoss.
class Stream {
 public:
  /// As in Redis with stream-node-max-entries 100 and no limit in bytes: what an approximate trim
  /// removes are whole nodes.
  static constexpr std::uint32_t kNodeEntries = 100;

  /// What the stream's header keeps.
  struct Counters {
    std::uint64_t length = 0;         // entries that can be read
    std::uint64_t entries_added = 0;  // ever
    StreamId first_id;                // of the first entry that can be read; 0-0 if there is none
    StreamId last_id;                 // the greatest id ever given
    StreamId max_deleted_id;          // the greatest id ever deleted by XDEL
    std::uint32_t node_position =
        0;  // of the first entry in its node, deleted ones before it counted

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

  /// The id that an entry gets by itself at `now_ms`; never below an earlier one, even if the clock
  /// is. Nothing if none is left.
  [[nodiscard]] std::optional<StreamId> next_id(std::int64_t now_ms) const {
    return id_after(last_id(), now_ms);
  }
  [[nodiscard]] static std::optional<StreamId> id_after(StreamId last, std::int64_t now_ms);

  // ---- Reading ----

  /// False to stop. Must neither read nor change the stream.
  using Visit = absl::FunctionRef<bool(const StreamEntry&)>;

  /// The entries in [from, to], ascending.
  absl::Status read(StreamId from, StreamId to, Visit visit) const;
  /// The entries in [from, to], descending from `to`.
  absl::Status read_back(StreamId from, StreamId to, Visit visit) const;
  /// Sets `found` if there is such an entry.
  absl::Status contains(StreamId id, bool& found) const;

  /// May an entry above `start` have been deleted? (Redis's streamRangeHasTombstones.)
  [[nodiscard]] bool may_have_gap_from(StreamId start) const;
  /// How many of all entries ever added stand up to `id`, as far as can be told without counting;
  /// else kEntriesReadUnknown.
  [[nodiscard]] std::int64_t entries_up_to(StreamId id) const;
  /// How many entries the group has yet to be given; nothing if that cannot be told.
  [[nodiscard]] std::optional<std::int64_t> lag(const StreamGroup& group) const;

  // ---- Groups ----

  using Groups = std::map<std::string, std::unique_ptr<StreamGroup>, std::less<>>;
  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] StreamGroup* find_group(std::string_view name) const;

  /// Before an entry is appended, or last_id() raised. kDataLoss if the store's newest run goes
  /// beyond last_id(). Asks the store until it has said no, which it needs to do once.
  absl::Status check_end();

  // ---- What streams.h changes, and takes back. Neither undo nor record. Nothing that takes back
  // needs memory: nodes of sets and maps that were taken out are put back ----

  /// Where the open runs stand.
  struct OpenMark {
    std::size_t full_runs;
    RunWriter::Mark writer;
  };
  [[nodiscard]] OpenMark open_mark() const { return {full_runs_.size(), writer_.mark()}; }
  /// `id` must be above last_id().
  void append(StreamId id, StreamFields fields);
  /// Entries of integers, one a row of `values`, under `id` and those that follow it with the same
  /// ms, of which there must be enough.
  void append_rows(StreamId id, std::span<const std::string_view> names,
                   std::span<const std::int64_t> values);
  void take_back_appends(const OpenMark& mark, const Counters& counters);

  void set_counters(const Counters& counters) { counters_ = counters; }
  /// What XSETID tells of entries that may never have been here.
  void set_history(StreamId last_id, std::uint64_t entries_added, StreamId max_deleted_id) {
    // So many more, or fewer, seem to have been trimmed: they are not in the store.
    trimmed_in_store_ += entries_added - counters_.entries_added;
    counters_.last_id = last_id;
    counters_.entries_added = entries_added;
    counters_.max_deleted_id = max_deleted_id;
    forget_known_end();
  }

  [[nodiscard]] std::set<StreamId>& deleted() { return deleted_; }

  /// Entries that were deleted, and whose runs have left the store.
  struct Gap {
    StreamId last;
    std::uint64_t count = 0;
  };
  using Gaps = std::map<StreamId, Gap>;  // by the id of the first entry
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
  /// Sets `ids` to the entries of the run in which `id` stands if all of them are deleted, and the
  /// store has the run; else to none.
  absl::Status find_dead_run(StreamId id, std::vector<StreamId>& ids);
  /// Does no run of the store begin between these two entries, which stand in different runs?
  [[nodiscard]] bool are_neighbours(StreamId last, StreamId first) const;
  /// Deleted entries whose runs may be dead, but were not in the store when find_dead_run() looked.
  [[nodiscard]] std::vector<StreamId> take_unchecked() { return std::exchange(unchecked_, {}); }

  /// What a trim removes.
  struct Cut {
    std::uint64_t removed = 0;  // entries that could be read
    StreamId first_id;          // the counters after it
    std::uint32_t node_position = 0;
  };
  struct TrimTo {
    std::optional<std::uint64_t> length_max;  // this many entries stay; or
    StreamId min_id = {};                     // none below this one
    bool whole_nodes = false;                 // approximate
    std::uint64_t removed_max = 0;            // approximate: at most so many; 0: no limit
  };
  /// What `to` would remove; changes nothing.
  absl::Status find_cut(const TrimTo& to, Cut& cut) const;
  /// Where the stream begins if the entry first_id() was deleted.
  absl::Status find_front(Cut& cut) const;
  /// kDataLoss: there are more or fewer entries than length().
  [[nodiscard]] absl::Status miscounted() const;

  void attach_group(std::unique_ptr<StreamGroup> group);
  Groups::node_type take_group(StreamGroup& group);
  void put_back(Groups::node_type group);
  /// Their records are written by complete_records().
  void touch(StreamGroup& group);
  void touch(StreamGroup& group, StreamConsumer& consumer);
  /// Before one that was created is destroyed by its undo step.
  void untouch(const StreamGroup& group);
  void untouch(const StreamConsumer& consumer);

  // ---- Records (stream_records.cc) ----

  void write_header(RecordWriter& writer) const;
  bool read_header(RecordReader& reader);
  /// One state record, at open; they come in ascending order of keys. `key_rest` stands behind kind
  /// and object id. False if it makes no sense.
  bool load_element(RecordKind kind, RecordReader& key_rest, std::string_view value);

  void record_deleted(StoreBatch& batch, StreamId id) const;
  void record_no_longer_deleted(StoreBatch& batch, StreamId id) const;
  void record_gap(StoreBatch& batch, StreamId first, const Gap& gap) const;
  void record_no_gap(StoreBatch& batch, StreamId first) const;
  void record_pending(StoreBatch& batch, const StreamGroup& group, StreamId id,
                      const PendingEntry& entry) const;
  void record_no_longer_pending(StoreBatch& batch, const StreamGroup& group, StreamId id) const;
  /// With all its consumers and pending entries.
  void record_group_removal(StoreBatch& batch, const StreamGroup& group) const;
  /// Adds how many records the store has of the stream, but for its header and its runs.
  void count_records(RecordCounts& counts) const;
  /// Removes those of one kind, one by one.
  void remove_each_record(StoreBatch& batch, RecordKind kind) const;
  /// Without its pending entries.
  void record_consumer_removal(StoreBatch& batch, const StreamGroup& group,
                               const StreamConsumer& consumer) const;

  /// Once a group of requests, if the stream was touched: hands over the open runs, and the records
  /// of touched groups and consumers.
  void complete_records(StoreBatch& batch);
  /// The batch was kept: the open runs join the tail, whose oldest runs are dropped.
  void settle();
  /// Frees what can be read from the store again.
  void drop_cache() { cache_slot_.drop(); }

  /// Bytes held beside itself: about, as to its trees. What the store holds is not counted, nor is
  /// the cache, which StreamCaches counts.
  [[nodiscard]] std::size_t memory_bytes() const {
    return open_bytes_ + writer_.memory_bytes() + rest_bytes() + groups_bytes_;
  }
  /// The same, told from what there is instead of what was counted: for tests.
  [[nodiscard]] std::size_t measured_bytes() const;
  /// Of the cache alone, told from what there is: for tests.
  [[nodiscard]] std::size_t cache_bytes() const;

 private:
  using Run = StreamCache::Run;
  /// Where a run's bytes are, whoever holds them. Null bytes: there is none.
  struct RunView {
    StreamId first;
    std::string_view bytes;
  };
  class NodeCutter;

  /// The cut before the first entry that can be read and for which `stays` returns true.
  absl::Status cut_before(absl::FunctionRef<bool(StreamId)> stays, Cut& cut) const;
  /// miscounted() if length() does not allow for what the cut removes.
  [[nodiscard]] absl::Status check(const Cut& cut) const;

  /// Every entry in [from, to], deleted ones above first_id() too, and gaps that begin there.
  absl::Status scan(
      StreamId from, StreamId to,
      absl::FunctionRef<bool(const StreamEntry&, bool is_deleted)> visit,
      absl::FunctionRef<bool(const Gap&)> visit_gap = [](const Gap&) { return true; }) const;
  [[nodiscard]] bool is_deleted(StreamId id) const {
    return (!deleted_.empty() && deleted_.contains(id)) || (!gaps_.empty() && is_in_gap(id));
  }
  [[nodiscard]] bool is_in_gap(StreamId id) const;
  /// While it is in use.
  [[nodiscard]] StreamCache& cache() const { return *cache_slot_.cache(); }
  void forget_known_end();

  // While the cache is in use.
  // The first run that ends at or after `from`; the last that begins at or before `from`.
  absl::Status find_run_from(StreamId from, RunView& run) const;
  absl::Status find_run_back(StreamId from, RunView& run) const;
  [[nodiscard]] RunView find_in_memory_from(StreamId from) const;
  [[nodiscard]] RunView find_in_memory_back(StreamId from) const;
  absl::Status find_in_store_from(StreamId from, RunView& run) const;
  absl::Status find_in_store_back(StreamId from, RunView& run) const;
  absl::Status load_chunk_from(StreamId from, std::size_t bytes_max) const;
  absl::Status load_chunk_back(StreamId from) const;
  absl::Status decode(const RunView& run) const;
  /// The last id that only the store may hold; nothing if everything that can be read is in memory.
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
  [[nodiscard]] bool is_dead(StreamId last_of_run) const;
  void open_run_for(StreamId id);
  void count_appended(StreamId first, StreamId last, std::uint64_t count);
  void settle_tail();
  void append_to_tail(Run run);
  void shorten_tail();
  void record_open_runs(StoreBatch& batch) const;
  void record_trim(StoreBatch& batch);
  void record_touched(StoreBatch& batch) const;

  const std::uint64_t object_id_;
  Store& store_;
  Counters counters_;
  std::set<StreamId>
      deleted_;  // above first_id: entries that stand in their runs but cannot be read
  Gaps gaps_;    // above first_id
  std::uint64_t gap_entries_ = 0;
  std::vector<StreamId> unchecked_;
  Groups groups_;
  std::size_t groups_bytes_ = 0;  // of what groups_ points to

  std::vector<Run> full_runs_;  // of the current group, before that in writer_
  std::size_t open_bytes_ = 0;  // that full_runs_ point to
  RunWriter writer_;

  std::vector<StreamGroup*> touched_groups_;
  std::vector<std::pair<StreamGroup*, StreamConsumer*>> touched_consumers_;
  std::uint64_t trimmed_in_store_ =
      0;  // entries before first_id, deleted ones too, when the store was last told to trim
  bool is_end_checked_ = true;

  mutable std::string key_;  // of the record being written: no allocation each time
  mutable std::string value_;
  mutable StreamCaches::Slot cache_slot_;
};

}  // namespace rushgate
