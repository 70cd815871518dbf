#include "engine/redis/keyspace/streams.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/core/base/status_macros.h"
#include "engine/redis/keyspace/keyspace.h"

namespace rushgate::streams {
namespace {

void insert_gap(Database& db, Object& object, StreamId first, const StreamDeletions::Gap& gap) {
  db.changes().reserve_undo(object);
  StreamDeletions& deletions = object.stream().log().deletions();
  deletions.insert_gap(first, gap);
  db.changes().push_undo(object, [&deletions, first] { deletions.take_gap(first); });
  deletions.record_gap(db.changes().records(), first, gap);
}

void erase_gap(Database& db, Object& object, StreamId first) {
  db.changes().reserve_undo(object);
  StreamDeletions& deletions = object.stream().log().deletions();
  db.changes().push_undo(object, [&deletions, gap = deletions.take_gap(first)]() mutable {
    deletions.put_back(std::move(gap));
  });
  deletions.record_no_gap(db.changes().records(), first);
}

/// Removes the deletion of these entries.
void take_deleted(Database& db, Object& object, std::span<const StreamId> ids) {
  db.changes().reserve_undo(object);
  StreamDeletions::Ids& deleted = object.stream().log().deletions().edit_ids();
  StreamDeletions::Ids taken;
  for (const StreamId id : ids) taken.insert(taken.end(), deleted.extract(id));
  db.changes().push_undo(object,
                         [&deleted, taken = std::move(taken)]() mutable { deleted.merge(taken); });
}

/// Removes the gaps before the stream's first entry.
void forget_gaps(Database& db, Object& object) {
  const StreamLog& log = object.stream().log();
  const StreamDeletions::Gaps& gaps = log.deletions().gaps();
  while (!gaps.empty()) {
    const StreamId first = gaps.begin()->first;
    if (log.length() > 0 && first > log.first_id()) return;
    erase_gap(db, object, first);
  }
}

using Ids = absl::InlinedVector<StreamId, 8>;

/// Removes the segment of these deleted entries from the store. A gap replaces it. Entries that are
/// not in `now_deleted` have records. `entries_left`: see StreamLog::find_position_behind().
void remove_dead_segment(Database& db, Object& object, std::span<const StreamId> ids,
                         const Ids& now_deleted, std::uint64_t& entries_left) {
  StreamLog& log = object.stream().log();
  const StreamDeletions::Gaps& gaps = log.deletions().gaps();
  StreamId first = ids.front();
  StreamDeletions::Gap gap{.last = ids.back(), .count = ids.size(), .next = {}};
  const auto above = gaps.upper_bound(first);
  const bool joins_above = above != gaps.end() && log.are_neighbours(gap.last, above->first);
  if (joins_above) {
    gap = {.last = above->second.last,
           .count = gap.count + above->second.count,
           .next = above->second.next};
  } else {
    gap.next = log.find_position_behind(gap.last, db.keyspace().limits(), entries_left);
  }
  if (log.is_last_node_gone(gap.last, gap.next)) gap.next = {};
  if (joins_above) erase_gap(db, object, StreamId(above->first));

  const auto below = gaps.lower_bound(first);
  if (below != gaps.begin() && log.are_neighbours(std::prev(below)->second.last, first)) {
    gap.count += std::prev(below)->second.count;
    first = std::prev(below)->first;
    erase_gap(db, object, first);
  }

  db.changes().records().remove_segment(log.object_id(), ids.front());
  for (const StreamId id : ids) {
    if (!std::binary_search(now_deleted.begin(), now_deleted.end(), id)) {
      log.deletions().record_no_longer_deleted(db.changes().records(), id);
    }
  }
  take_deleted(db, object, ids);
  insert_gap(db, object, first, gap);
}

/// Moves the beginning of the stream as in `cut`. Forgets ids of deleted entries before it and
/// calls `forgotten` for each.
template <class Forgotten>
void apply_cut(Database& db, Object& object, const StreamLog::Cut& cut, Forgotten forgotten) {
  db.changes().reserve_undo(object);
  StreamLog& log = object.stream().log();
  const StreamCounters old = log.counters();
  StreamCounters counters = old;
  counters.length -= cut.removed;
  counters.first_id = cut.first_id;
  counters.position = cut.position;
  db.changes().push_undo(object, [&log, old] { log.set_counters(old); });
  log.set_counters(counters);

  forget_gaps(db, object);
  const auto& deleted = log.deletions().ids();
  const auto end = counters.length == 0 ? deleted.end() : deleted.lower_bound(counters.first_id);
  if (deleted.begin() == end) return;
  const std::vector<StreamId> ids(deleted.begin(), end);
  for (const StreamId id : ids) forgotten(id);
  take_deleted(db, object, ids);
}

/// Prepares an append: checks the store, adds the undo step, signals blocked clients.
absl::Status begin_append(Database& db, Object& object) {
  StreamLog& log = object.stream().log();
  RETURN_IF_ERROR(log.check_end());
  db.changes().reserve_undo(object);
  db.changes().push_undo(object,
                         [&log, savepoint = log.append_savepoint(), counters = log.counters()] {
                           log.roll_back_appends(savepoint, counters);
                         });
  db.keyspace().note_change(object);
  db.changes().mark_dirty(object);
  db.keyspace().signal(object, KeySignal::kReady);
  return absl::OkStatus();
}

absl::Status ids_exhausted() { return absl::OutOfRangeError("the stream has run out of ids"); }

/// Finds the existing entries of `ids`, ascending, each once.
absl::Status find_existing(const StreamLog& log, std::span<const StreamId> ids, Ids& existing) {
  Ids sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const StreamId id : sorted) {
    bool found = false;
    RETURN_IF_ERROR(log.contains(id, found));
    if (found) existing.push_back(id);
  }
  return absl::OkStatus();
}

void mark_deleted(Database& db, Object& object, const Ids& ids) {
  db.changes().reserve_undo(object);
  StreamLog& log = object.stream().log();
  const StreamCounters old = log.counters();
  StreamCounters counters = old;
  counters.length -= ids.size();
  counters.max_deleted_id = std::max(counters.max_deleted_id, ids.back());
  StreamDeletions::Ids& deleted = log.deletions().edit_ids();
  db.changes().push_undo(
      object, [&log, &deleted, old, ids = std::vector<StreamId>(ids.begin(), ids.end())] {
        log.set_counters(old);
        for (const StreamId id : ids) deleted.erase(id);
      });
  log.set_counters(counters);
  deleted.insert(ids.begin(), ids.end());
}

/// Records the deletion of entries above the first one, ascending, or removes their segments.
void record_deleted(Database& db, Object& object, const Ids& deleted) {
  StreamLog& log = object.stream().log();
  std::uint64_t entries_left = 1'000;  // bounds the time
  std::vector<StreamId> segment;
  const auto find_dead_segment = [&](StreamId id) {
    return log.find_dead_segment(id, segment).ok() && !segment.empty();
  };
  for (const StreamId id : log.take_unchecked()) {
    if (find_dead_segment(id)) remove_dead_segment(db, object, segment, deleted, entries_left);
  }
  for (const StreamId id : deleted) {
    if (!log.deletions().ids().contains(id)) continue;  // its segment was removed
    if (find_dead_segment(id)) {
      remove_dead_segment(db, object, segment, deleted, entries_left);
    } else {
      log.deletions().record_deleted(db.changes().records(), id);
    }
  }
}

}  // namespace

// ---- Mutators ----

Object& create(Database& db, std::string_view key) {
  Keyspace& keyspace = db.keyspace();
  return db.create(key, std::make_unique<Stream>(keyspace.next_object_id(), keyspace.store(),
                                                 keyspace.stream_caches()));
}

absl::Status append(Database& db, Object& object, StreamId id, StreamFields fields) {
  RETURN_IF_ERROR(begin_append(db, object));
  object.stream().log().append(id, fields);
  return absl::OkStatus();
}

absl::StatusOr<StreamId> append_automatic(Database& db, Object& object, StreamFields fields) {
  const std::optional<StreamId> id = object.stream().log().next_id(db.keyspace().now_ms());
  if (!id) return ids_exhausted();
  RETURN_IF_ERROR(append(db, object, *id, fields));
  return *id;
}

absl::Status append_rows(Database& db, Object& object, std::span<const std::string_view> names,
                         std::span<const std::int64_t> values) {
  if (values.empty()) return absl::OkStatus();
  const std::uint64_t rows = values.size() / names.size();
  const std::optional<StreamId> id = object.stream().log().next_id(db.keyspace().now_ms());
  if (!id || rows - 1 > std::numeric_limits<std::uint64_t>::max() - id->seq) return ids_exhausted();
  RETURN_IF_ERROR(begin_append(db, object));
  object.stream().log().append_rows(*id, names, values);
  return absl::OkStatus();
}

absl::Status erase(Database& db, Object& object, std::span<const StreamId> ids,
                   std::uint64_t& erased) {
  StreamLog& log = object.stream().log();
  erased = 0;
  Ids existing;
  RETURN_IF_ERROR(find_existing(log, ids, existing));
  if (existing.empty()) return absl::OkStatus();

  const bool is_first_erased = existing.front() == log.first_id();
  if (existing.size() + (is_first_erased ? 0 : 1) > log.length()) return log.miscounted();
  const Changes::Savepoint savepoint = db.changes().savepoint();
  mark_deleted(db, object, existing);
  Ids kept_deleted = existing;  // the ones that reading must skip
  if (is_first_erased) {
    StreamLog::Cut front;
    if (absl::Status read = log.find_front(db.keyspace().limits(), front); !read.ok()) {
      db.changes().roll_back_to(savepoint);
      return read;
    }
    apply_cut(db, object, front, [&](StreamId id) {
      if (std::binary_search(existing.begin(), existing.end(), id)) return;
      log.deletions().record_no_longer_deleted(db.changes().records(), id);
    });
    const auto kept = log.length() == 0 ? kept_deleted.end()
                                        : std::lower_bound(kept_deleted.begin(), kept_deleted.end(),
                                                           log.first_id());
    kept_deleted.erase(kept_deleted.begin(), kept);
  }
  record_deleted(db, object, kept_deleted);
  db.keyspace().note_change(object);
  db.changes().mark_dirty(object);
  erased = existing.size();
  return absl::OkStatus();
}

namespace {

/// Removes the entries that no group awaits, the oldest first, up to the number of the cut. A trim
/// of whole nodes removes none of other nodes.
absl::Status trim_acknowledged(Database& db, Object& object, const StreamLog::TrimTo& to,
                               const StreamLog::Cut& cut, std::uint64_t& removed) {
  const StreamLog& log = object.stream().log();
  const bool has_end = to.whole_nodes || !to.length_max;
  const StreamId end = has_end && cut.first_id != StreamId{} ? cut.first_id : StreamId::max();
  const StreamId delivered = delivered_to_all(object.stream());
  std::vector<StreamId> ids;
  absl::Status read = log.read(StreamId::min(), end, [&](const StreamEntry& entry) {
    const bool is_last = entry.id() == end || ids.size() == cut.removed;
    if (is_last || entry.id() > delivered) return false;
    if (!is_awaited(object.stream(), entry.id())) ids.push_back(entry.id());
    return true;
  });
  return read.ok() ? erase(db, object, ids, removed) : read;
}

}  // namespace

absl::Status trim(Database& db, Object& object, const StreamLog::TrimTo& to, std::uint64_t& removed,
                  PendingRemoval pending) {
  StreamLog& log = object.stream().log();
  StreamLog::Cut cut;
  removed = 0;
  db.changes().memory().note(object);  // the log may keep a part of the entries that it reads
  absl::Status read = log.find_cut(to, db.keyspace().limits(), cut);
  if (!read.ok() || cut.removed == 0) return read;
  if (pending == PendingRemoval::kAcknowledgedOnly) {
    return trim_acknowledged(db, object, to, cut, removed);
  }
  if (pending == PendingRemoval::kForget) {
    const StreamId last = cut.first_id.previous().value_or(log.last_id());
    forget_pending(db, object, log.first_id(), last);
  }
  removed = cut.removed;
  apply_cut(db, object, cut, [&](StreamId id) {
    log.deletions().record_no_longer_deleted(db.changes().records(), id);
  });
  db.keyspace().note_change(object);
  db.changes().mark_dirty(object);
  return read;
}

}  // namespace rushgate::streams
