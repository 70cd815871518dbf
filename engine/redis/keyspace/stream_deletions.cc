#include "engine/redis/keyspace/stream_deletions.h"

#include <iterator>
#include <utility>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/records.h"

namespace rushgate {

bool StreamDeletions::is_in_gap(StreamId id) const {
  const auto next = gaps().upper_bound(id);
  return next != gaps().begin() && std::prev(next)->second.last >= id;
}

void StreamDeletions::insert_gap(StreamId first, const Gap& gap) {
  Deleted& deleted = edit();
  deleted.gaps.emplace(first, gap);
  deleted.gap_entries += gap.count;
}

StreamDeletions::Gaps::node_type StreamDeletions::take_gap(StreamId first) {
  Deleted& deleted = edit();
  const auto gap = deleted.gaps.find(first);
  deleted.gap_entries -= gap->second.count;
  return deleted.gaps.extract(gap);
}

void StreamDeletions::put_back(Gaps::node_type gap) {
  Deleted& deleted = edit();
  deleted.gap_entries += gap.mapped().count;
  deleted.gaps.insert(std::move(gap));
}

std::size_t StreamDeletions::memory_bytes() const {
  if (deleted_ == nullptr) return 0;
  return heap_block(sizeof(Deleted)) + tree_bytes<StreamId>(ids().size()) +
         tree_bytes<Gaps::value_type>(gaps().size());
}

// ---- Records ----

void StreamDeletions::record_deleted(StoreBatch& batch, StreamId id) const {
  record_.put(
      batch, RecordKind::kStreamDeleted, [&](RecordWriter& key) { key.id(id); },
      [](RecordWriter&) {});
}

void StreamDeletions::record_no_longer_deleted(StoreBatch& batch, StreamId id) const {
  record_.remove(batch, RecordKind::kStreamDeleted, [&](RecordWriter& key) { key.id(id); });
}

void StreamDeletions::record_gap(StoreBatch& batch, StreamId first, const Gap& gap) const {
  record_.put(
      batch, RecordKind::kStreamGap, [&](RecordWriter& key) { key.id(first); },
      [&](RecordWriter& value) {
        value.varint_id(gap.last).varint(gap.count);
        if (!gap.next.begins_node()) gap.next.write(value);
      });
}

void StreamDeletions::record_no_gap(StoreBatch& batch, StreamId first) const {
  record_.remove(batch, RecordKind::kStreamGap, [&](RecordWriter& key) { key.id(first); });
}

void StreamDeletions::count_records(RecordCounts& counts) const {
  counts[RecordKind::kStreamDeleted] += ids().size();
  counts[RecordKind::kStreamGap] += gaps().size();
}

void StreamDeletions::remove_each_record(StoreBatch& batch, RecordKind kind) const {
  if (kind == RecordKind::kStreamDeleted) {
    for (const StreamId id : ids()) record_no_longer_deleted(batch, id);
  } else if (kind == RecordKind::kStreamGap) {
    for (const auto& [first, gap] : gaps()) record_no_gap(batch, first);
  }
}

// ---- Loading ----

bool StreamDeletions::load(RecordKind kind, RecordReader& key, RecordReader& value,
                           const StreamCounters& counters) {
  return kind == RecordKind::kStreamGap ? load_gap(key, value, counters)
                                        : load_id(key, value, counters);
}

bool StreamDeletions::load_id(RecordReader& key, RecordReader& value,
                              const StreamCounters& counters) {
  const StreamId id = key.id();
  if (!key.ok() || !key.at_end() || !value.at_end()) return false;
  if (counters.length == 0 || id <= counters.first_id || id > counters.last_id) return false;
  Ids& ids = edit_ids();
  ids.insert(ids.end(), id);
  return true;
}

bool StreamDeletions::load_gap(RecordReader& key, RecordReader& value,
                               const StreamCounters& counters) {
  const StreamId first = key.id();
  Gap gap{.last = value.varint_id(), .count = value.varint(), .next = {}};
  if (!value.at_end() && !gap.next.read(value)) return false;
  if (!key.ok() || !key.at_end() || !value.ok() || !value.at_end()) return false;
  if (counters.length == 0 || first <= counters.first_id) return false;
  if (first > gap.last || gap.last > counters.last_id || gap.count == 0) return false;
  if (!gaps().empty() && gaps().rbegin()->second.last >= first) return false;
  const auto deleted = ids().lower_bound(first);
  if (deleted != ids().end() && *deleted <= gap.last) return false;
  insert_gap(first, gap);
  return true;
}

}  // namespace rushgate
