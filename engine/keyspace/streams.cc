#include "engine/keyspace/streams.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/keyspace/keyspace.h"

namespace rushgate::streams {
namespace {

void insert_gap(Database& db, Object& object, StreamId first, const Stream::Gap& gap) {
  db.changes().reserve_undo(object);
  Stream& stream = object.stream();
  stream.insert_gap(first, gap);
  db.changes().push_undo(object, [&stream, first] { stream.take_gap(first); });
  stream.record_gap(db.changes().records(), first, gap);
}

void erase_gap(Database& db, Object& object, StreamId first) {
  db.changes().reserve_undo(object);
  Stream& stream = object.stream();
  db.changes().push_undo(object, [&stream, gap = stream.take_gap(first)]() mutable {
    stream.put_back(std::move(gap));
  });
  stream.record_no_gap(db.changes().records(), first);
}

/// Removes the deletion of these entries.
void take_deleted(Database& db, Object& object, std::span<const StreamId> ids) {
  db.changes().reserve_undo(object);
  Stream& stream = object.stream();
  std::set<StreamId> taken;
  for (const StreamId id : ids) taken.insert(taken.end(), stream.deleted().extract(id));
  db.changes().push_undo(
      object, [&stream, taken = std::move(taken)]() mutable { stream.deleted().merge(taken); });
}

/// Removes the gaps before the stream's first entry.
void forget_gaps(Database& db, Object& object) {
  const Stream& stream = object.stream();
  while (!stream.gaps().empty()) {
    const StreamId first = stream.gaps().begin()->first;
    if (stream.length() > 0 && first > stream.first_id()) return;
    erase_gap(db, object, first);
  }
}

using Ids = absl::InlinedVector<StreamId, 8>;

/// Removes the segment of these deleted entries from the store. A gap replaces it. Entries that are
/// not in `now_deleted` have records.
void remove_dead_segment(Database& db, Object& object, std::span<const StreamId> ids,
                         const Ids& now_deleted) {
  Stream& stream = object.stream();
  StreamId first = ids.front();
  Stream::Gap gap{.last = ids.back(), .count = ids.size()};
  db.changes().records().remove_segment(stream.object_id(), first);
  for (const StreamId id : ids) {
    if (!std::binary_search(now_deleted.begin(), now_deleted.end(), id)) {
      stream.record_no_longer_deleted(db.changes().records(), id);
    }
  }
  take_deleted(db, object, ids);

  const auto above = stream.gaps().upper_bound(first);
  if (above != stream.gaps().end() && stream.are_neighbours(gap.last, above->first)) {
    gap.count += above->second.count;
    gap.last = above->second.last;
    erase_gap(db, object, StreamId(above->first));
  }
  const auto below = stream.gaps().lower_bound(first);
  if (below != stream.gaps().begin() &&
      stream.are_neighbours(std::prev(below)->second.last, first)) {
    gap.count += std::prev(below)->second.count;
    first = std::prev(below)->first;
    erase_gap(db, object, first);
  }
  insert_gap(db, object, first, gap);
}

/// Moves the beginning of the stream as in `cut`. Forgets ids of deleted entries before it and
/// calls `forgotten` for each.
template <class Forgotten>
void apply_cut(Database& db, Object& object, const Stream::Cut& cut, Forgotten forgotten) {
  db.changes().reserve_undo(object);
  Stream& stream = object.stream();
  const Stream::Counters old = stream.counters();
  Stream::Counters counters = old;
  counters.length -= cut.removed;
  counters.first_id = cut.first_id;
  counters.node_position = cut.node_position;
  db.changes().push_undo(object, [&stream, old] { stream.set_counters(old); });
  stream.set_counters(counters);

  forget_gaps(db, object);
  const auto& deleted = stream.deleted();
  const auto end = counters.length == 0 ? deleted.end() : deleted.lower_bound(counters.first_id);
  if (deleted.begin() == end) return;
  const std::vector<StreamId> ids(deleted.begin(), end);
  for (const StreamId id : ids) forgotten(id);
  take_deleted(db, object, ids);
}

/// Prepares an append: checks the store, adds the undo step, signals blocked clients.
absl::Status begin_append(Database& db, Object& object) {
  Stream& stream = object.stream();
  if (absl::Status end = stream.check_end(); !end.ok()) return end;
  db.changes().reserve_undo(object);
  db.changes().push_undo(
      object, [&stream, savepoint = stream.append_savepoint(), counters = stream.counters()] {
        stream.roll_back_appends(savepoint, counters);
      });
  ++object.revision;
  db.changes().mark_dirty(object);
  db.keyspace().signal(object, KeySignal::kReady);
  return absl::OkStatus();
}

absl::Status ids_exhausted() { return absl::OutOfRangeError("the stream has run out of ids"); }

/// Finds the existing entries of `ids`, ascending, each once.
absl::Status find_existing(const Stream& stream, std::span<const StreamId> ids, Ids& existing) {
  Ids sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const StreamId id : sorted) {
    bool found = false;
    if (absl::Status read = stream.contains(id, found); !read.ok()) return read;
    if (found) existing.push_back(id);
  }
  return absl::OkStatus();
}

void mark_deleted(Database& db, Object& object, const Ids& ids) {
  db.changes().reserve_undo(object);
  Stream& stream = object.stream();
  const Stream::Counters old = stream.counters();
  Stream::Counters counters = old;
  counters.length -= ids.size();
  counters.max_deleted_id = std::max(counters.max_deleted_id, ids.back());
  db.changes().push_undo(object,
                         [&stream, old, ids = std::vector<StreamId>(ids.begin(), ids.end())] {
                           stream.set_counters(old);
                           for (const StreamId id : ids) stream.deleted().erase(id);
                         });
  stream.set_counters(counters);
  stream.deleted().insert(ids.begin(), ids.end());
}

/// Records the deletion of entries above the first one, ascending, or removes their segments.
void record_deleted(Database& db, Object& object, const Ids& deleted) {
  Stream& stream = object.stream();
  std::vector<StreamId> segment;
  const auto find_dead_segment = [&](StreamId id) {
    return stream.find_dead_segment(id, segment).ok() && !segment.empty();
  };
  for (const StreamId id : stream.take_unchecked()) {
    if (find_dead_segment(id)) remove_dead_segment(db, object, segment, deleted);
  }
  for (const StreamId id : deleted) {
    if (!stream.deleted().contains(id)) continue;  // its segment was removed
    if (find_dead_segment(id)) {
      remove_dead_segment(db, object, segment, deleted);
    } else {
      stream.record_deleted(db.changes().records(), id);
    }
  }
}

}  // namespace

// ---- Entries ----

Object& create(Database& db, std::string_view key) {
  Keyspace& keyspace = db.keyspace();
  return db.create(key, std::make_unique<Stream>(keyspace.next_object_id(), keyspace.store(),
                                                 keyspace.stream_caches()));
}

absl::Status append(Database& db, Object& object, StreamId id, StreamFields fields) {
  if (absl::Status begun = begin_append(db, object); !begun.ok()) return begun;
  object.stream().append(id, fields);
  return absl::OkStatus();
}

absl::StatusOr<StreamId> append_automatic(Database& db, Object& object, StreamFields fields) {
  const std::optional<StreamId> id = object.stream().next_id(db.keyspace().now_ms());
  if (!id) return ids_exhausted();
  if (absl::Status appended = append(db, object, *id, fields); !appended.ok()) return appended;
  return *id;
}

absl::Status append_rows(Database& db, Object& object, std::span<const std::string_view> names,
                         std::span<const std::int64_t> values) {
  if (values.empty()) return absl::OkStatus();
  const std::uint64_t rows = values.size() / names.size();
  const std::optional<StreamId> id = object.stream().next_id(db.keyspace().now_ms());
  if (!id || rows - 1 > std::numeric_limits<std::uint64_t>::max() - id->seq) return ids_exhausted();
  if (absl::Status begun = begin_append(db, object); !begun.ok()) return begun;
  object.stream().append_rows(*id, names, values);
  return absl::OkStatus();
}

absl::Status erase(Database& db, Object& object, std::span<const StreamId> ids,
                   std::uint64_t& erased) {
  Stream& stream = object.stream();
  erased = 0;
  Ids existing;
  if (absl::Status read = find_existing(stream, ids, existing); !read.ok()) return read;
  if (existing.empty()) return absl::OkStatus();

  const bool is_first_erased = existing.front() == stream.first_id();
  if (existing.size() + (is_first_erased ? 0 : 1) > stream.length()) return stream.miscounted();
  const Changes::Savepoint savepoint = db.changes().savepoint();
  mark_deleted(db, object, existing);
  Ids kept_deleted = existing;  // the ones that reading must skip
  if (is_first_erased) {
    Stream::Cut front;
    if (absl::Status read = stream.find_front(front); !read.ok()) {
      db.changes().roll_back_to(savepoint);
      return read;
    }
    apply_cut(db, object, front, [&](StreamId id) {
      const auto erased_now = std::find(kept_deleted.begin(), kept_deleted.end(), id);
      if (erased_now != kept_deleted.end()) {
        kept_deleted.erase(erased_now);
      } else {
        stream.record_no_longer_deleted(db.changes().records(), id);
      }
    });
  }
  record_deleted(db, object, kept_deleted);
  ++object.revision;
  db.changes().mark_dirty(object);
  erased = existing.size();
  return absl::OkStatus();
}

absl::Status trim(Database& db, Object& object, const Stream::TrimTo& to, std::uint64_t& removed) {
  Stream& stream = object.stream();
  Stream::Cut cut;
  absl::Status read = stream.find_cut(to, cut);
  removed = read.ok() ? cut.removed : 0;
  if (removed == 0) return read;
  apply_cut(db, object, cut,
            [&](StreamId id) { stream.record_no_longer_deleted(db.changes().records(), id); });
  ++object.revision;
  db.changes().mark_dirty(object);
  return read;
}

// ---- Groups ----

StreamGroup& create_group(Database& db, Object& object, std::string_view name,
                          StreamId last_delivered, std::int64_t entries_read) {
  db.changes().reserve_undo(object);
  Stream& stream = object.stream();
  auto made = std::make_unique<StreamGroup>();
  StreamGroup& group = *made;
  group.name = name;
  group.last_delivered = last_delivered;
  group.entries_read = entries_read;
  stream.attach_group(std::move(made));
  db.changes().push_undo(object, [&stream, &group] {
    stream.forget_dirty(group);
    stream.take_group(group);
  });
  stream.mark_dirty(group);
  db.changes().mark_dirty(object);
  return group;
}

void destroy_group(Database& db, Object& object, StreamGroup& group) {
  db.changes().reserve_undo(object);
  Stream& stream = object.stream();
  stream.record_group_removal(db.changes().records(), group);
  const std::size_t bytes = group.memory_bytes();
  Stream::Groups::node_type node = stream.take_group(group);
  Removed<StreamGroup> held(db.keyspace().lazy_free(), std::move(node.mapped()), bytes);
  // Also if the stream is new: its list of changed groups refers to this one until the batch ends.
  db.changes().push_undo_always(
      object, [&stream, held = std::move(held), node = std::move(node)]() mutable {
        node.mapped() = held.take();
        stream.put_back(std::move(node));
      });
  db.changes().mark_dirty(object);
  db.keyspace().signal(object, KeySignal::kGone);
}

void set_group_position(Database& db, Object& object, StreamGroup& group, StreamId last_delivered,
                        std::int64_t entries_read) {
  db.changes().reserve_undo(object);
  db.changes().push_undo(object,
                         [&group, old_id = group.last_delivered, old_read = group.entries_read] {
                           group.last_delivered = old_id;
                           group.entries_read = old_read;
                         });
  group.last_delivered = last_delivered;
  group.entries_read = entries_read;
  object.stream().mark_dirty(group);
  db.changes().mark_dirty(object);
}

StreamConsumer& create_consumer(Database& db, Object& object, StreamGroup& group,
                                std::string_view name) {
  db.changes().reserve_undo(object);
  Stream& stream = object.stream();
  auto made = std::make_unique<StreamConsumer>();
  StreamConsumer& consumer = *made;
  consumer.name = name;
  consumer.seen_ms = db.keyspace().now_ms();
  group.attach_consumer(std::move(made));
  db.changes().push_undo(object, [&stream, &group, &consumer] {
    stream.forget_dirty(consumer);
    group.take_consumer(consumer);
  });
  stream.mark_dirty(group, consumer);
  db.changes().mark_dirty(object);
  return consumer;
}

std::size_t remove_consumer(Database& db, Object& object, StreamGroup& group,
                            StreamConsumer& consumer) {
  db.changes().reserve_undo(object);
  const Stream& stream = object.stream();
  for (const StreamId id : consumer.pending) {
    stream.record_no_longer_pending(db.changes().records(), group, id);
  }
  stream.record_consumer_removal(db.changes().records(), group, consumer);
  const std::size_t removed = consumer.pending.size();
  // Also if the stream is new: its list of changed consumers refers to this one until the batch
  // ends.
  db.changes().push_undo_always(object, [&group, taken = group.take_consumer(consumer)]() mutable {
    group.put_back(std::move(taken));
  });
  db.changes().mark_dirty(object);
  return removed;
}

void see_consumer(Database& db, Object& object, StreamGroup& group, StreamConsumer& consumer) {
  const std::int64_t now_ms = db.keyspace().now_ms();
  if (consumer.seen_ms == now_ms) return;
  db.changes().reserve_undo(object);
  db.changes().push_undo(object, [&consumer, old = consumer.seen_ms] { consumer.seen_ms = old; });
  consumer.seen_ms = now_ms;
  object.stream().mark_dirty(group, consumer);
  db.changes().mark_dirty(object);
}

void assign_pending(Database& db, Object& object, StreamGroup& group, StreamId id,
                    const PendingEntry& entry) {
  db.changes().reserve_undo(object);
  const std::optional<PendingEntry> old = group.assign_pending(id, entry);
  if (old) {
    db.changes().push_undo(object, [&group, id, old = *old] { group.assign_pending(id, old); });
  } else {
    db.changes().push_undo(object, [&group, id] { group.take_pending(id); });
  }
  object.stream().record_pending(db.changes().records(), group, id, entry);
}

bool acknowledge(Database& db, Object& object, StreamGroup& group, StreamId id) {
  db.changes().reserve_undo(object);
  StreamGroup::TakenEntry taken = group.take_pending(id);
  if (taken.entry.empty()) return false;
  db.changes().push_undo(
      object, [&group, taken = std::move(taken)]() mutable { group.put_back(std::move(taken)); });
  object.stream().record_no_longer_pending(db.changes().records(), group, id);
  return true;
}

}  // namespace rushgate::streams
