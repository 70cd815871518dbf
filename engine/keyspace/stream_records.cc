// The records of a stream, without its segments (stream_segment.h). docs/format.md defines the
// layout.
#include "engine/keyspace/records.h"
#include "engine/keyspace/removal_records.h"
#include "engine/keyspace/stream.h"
#include <rushgate/store.h>

namespace rushgate {
namespace {

void write_id(RecordWriter& writer, StreamId id) { writer.varint(id.ms).varint(id.seq); }

void count_group(const StreamGroup& group, RecordCounts& counts) {
  ++counts[RecordKind::kStreamGroup];
  counts[RecordKind::kStreamConsumer] += group.consumers.size();
  counts[RecordKind::kStreamPending] += group.pending.size();
}

StreamId read_id(RecordReader& reader) {
  const std::uint64_t ms = reader.varint();
  const std::uint64_t seq = reader.varint();
  return {ms, seq};
}

}  // namespace

// ---- The header ----

void Stream::write_header(RecordWriter& writer) const {
  writer.varint(counters_.length).varint(counters_.entries_added);
  write_id(writer, counters_.first_id);
  write_id(writer, counters_.last_id);
  write_id(writer, counters_.max_deleted_id);
  writer.varint(counters_.node_position);
}

bool Stream::read_header(RecordReader& reader) {
  // Above the limit of XSETID's ENTRIESADDED, and low enough that it can still count up.
  constexpr std::uint64_t kEntriesAddedMax = 3ULL << 62;
  counters_.length = reader.varint();
  counters_.entries_added = reader.varint();
  counters_.first_id = read_id(reader);
  counters_.last_id = read_id(reader);
  counters_.max_deleted_id = read_id(reader);
  const std::uint64_t node_position = reader.varint();
  counters_.node_position = static_cast<std::uint32_t>(node_position % kNodeEntries);
  is_end_checked_ = false;
  return reader.ok() && counters_.entries_added <= kEntriesAddedMax &&
         counters_.length <= counters_.entries_added && counters_.first_id <= counters_.last_id &&
         (counters_.length > 0) == (counters_.first_id != StreamId{}) &&
         node_position < kNodeEntries;
}

// ---- Writing ----

RecordWriter Stream::begin_key(RecordKind kind) const {
  key_.clear();
  RecordWriter writer(key_);
  writer.byte(static_cast<std::uint8_t>(kind)).fixed64(object_id_);
  return writer;
}

void Stream::record_deleted(StoreBatch& batch, StreamId id) const {
  begin_key(RecordKind::kStreamDeleted).id(id);
  batch.put(key_, {});
}

void Stream::record_no_longer_deleted(StoreBatch& batch, StreamId id) const {
  begin_key(RecordKind::kStreamDeleted).id(id);
  batch.remove(key_);
}

void Stream::record_gap(StoreBatch& batch, StreamId first, const Gap& gap) const {
  begin_key(RecordKind::kStreamGap).id(first);
  value_.clear();
  RecordWriter value(value_);
  write_id(value, gap.last);
  value.varint(gap.count);
  batch.put(key_, value_);
}

void Stream::record_no_gap(StoreBatch& batch, StreamId first) const {
  begin_key(RecordKind::kStreamGap).id(first);
  batch.remove(key_);
}

void Stream::record_pending(StoreBatch& batch, const StreamGroup& group, StreamId id,
                            const PendingEntry& entry) const {
  begin_key(RecordKind::kStreamPending).text(group.name).id(id);
  value_.clear();
  RecordWriter(value_)
      .signed_varint(entry.delivered_ms)
      .varint(entry.deliveries)
      .rest(entry.consumer->name);
  batch.put(key_, value_);
}

void Stream::record_no_longer_pending(StoreBatch& batch, const StreamGroup& group,
                                      StreamId id) const {
  begin_key(RecordKind::kStreamPending).text(group.name).id(id);
  batch.remove(key_);
}

void Stream::record_group_removal(StoreBatch& batch, const StreamGroup& group) const {
  begin_key(RecordKind::kStreamGroup).text(group.name);
  batch.remove(key_);
  RecordCounts counts;
  count_group(group, counts);
  for (const auto kind : {RecordKind::kStreamConsumer, RecordKind::kStreamPending}) {
    if (counts[kind] <= kSingleRemovalsMax) {
      remove_each_of_group(batch, kind, group);
    } else {
      // The length precedes the name, so no other group's records begin with these bytes.
      begin_key(kind).text(group.name);
      remove_prefix(batch, key_);
    }
  }
}

void Stream::remove_each_of_group(StoreBatch& batch, RecordKind kind,
                                  const StreamGroup& group) const {
  if (kind == RecordKind::kStreamGroup) {
    begin_key(kind).text(group.name);
    batch.remove(key_);
  } else if (kind == RecordKind::kStreamConsumer) {
    for (const auto& [name, consumer] : group.consumers) {
      record_consumer_removal(batch, group, *consumer);
    }
  } else if (kind == RecordKind::kStreamPending) {
    for (const auto& [id, entry] : group.pending) record_no_longer_pending(batch, group, id);
  }
}

void Stream::count_records(RecordCounts& counts) const {
  counts[RecordKind::kStreamDeleted] += deleted_.size();
  counts[RecordKind::kStreamGap] += gaps_.size();
  for (const auto& [name, group] : groups_) count_group(*group, counts);
}

void Stream::remove_each_record(StoreBatch& batch, RecordKind kind) const {
  if (kind == RecordKind::kStreamDeleted) {
    for (const StreamId id : deleted_) record_no_longer_deleted(batch, id);
  } else if (kind == RecordKind::kStreamGap) {
    for (const auto& [first, gap] : gaps_) record_no_gap(batch, first);
  } else {
    for (const auto& [name, group] : groups_) remove_each_of_group(batch, kind, *group);
  }
}

void Stream::record_consumer_removal(StoreBatch& batch, const StreamGroup& group,
                                     const StreamConsumer& consumer) const {
  begin_key(RecordKind::kStreamConsumer).text(group.name).rest(consumer.name);
  batch.remove(key_);
}

void Stream::record_dirty(StoreBatch& batch) const {
  for (const StreamGroup* group : dirty_groups_) {
    if (!group->attached) continue;  // its removal is recorded already
    begin_key(RecordKind::kStreamGroup).text(group->name);
    value_.clear();
    RecordWriter value(value_);
    write_id(value, group->last_delivered);
    value.signed_varint(group->entries_read);
    batch.put(key_, value_);
  }
  for (const auto& [group, consumer] : dirty_consumers_) {
    if (!group->attached || !consumer->attached) continue;
    begin_key(RecordKind::kStreamConsumer).text(group->name).rest(consumer->name);
    value_.clear();
    RecordWriter(value_).signed_varint(consumer->seen_ms);
    batch.put(key_, value_);
  }
}

// ---- Loading ----

bool Stream::load_element(RecordKind kind, RecordReader& key_rest, std::string_view value) {
  RecordReader value_reader(value);
  switch (kind) {
    case RecordKind::kStreamDeleted:
      return load_deleted(key_rest, value_reader);
    case RecordKind::kStreamGroup:
      return load_group(key_rest, value_reader);
    case RecordKind::kStreamConsumer:
      return load_consumer(key_rest, value_reader);
    case RecordKind::kStreamPending:
      return load_pending(key_rest, value_reader);
    case RecordKind::kStreamGap:
      return load_gap(key_rest, value_reader);
    case RecordKind::kHeader:
    case RecordKind::kElement:
    case RecordKind::kSetSegment:
      break;
  }
  return false;
}

bool Stream::load_deleted(RecordReader& key, RecordReader& value) {
  const StreamId id = key.id();
  if (!key.ok() || !key.at_end() || !value.at_end()) return false;
  if (length() == 0 || id <= first_id() || id > last_id()) return false;
  deleted_.insert(deleted_.end(), id);
  return true;
}

bool Stream::load_gap(RecordReader& key, RecordReader& value) {
  const StreamId first = key.id();
  const Gap gap{.last = read_id(value), .count = value.varint()};
  if (!key.ok() || !key.at_end() || !value.ok() || !value.at_end()) return false;
  if (length() == 0 || first <= first_id() || first > gap.last || gap.last > last_id())
    return false;
  if (gap.count == 0) return false;
  if (!gaps_.empty() && gaps_.rbegin()->second.last >= first) return false;
  const auto deleted = deleted_.lower_bound(first);
  if (deleted != deleted_.end() && *deleted <= gap.last) return false;
  insert_gap(first, gap);
  return true;
}

bool Stream::load_group(RecordReader& key, RecordReader& value) {
  auto group = std::make_unique<StreamGroup>();
  group->name = key.text();
  group->last_delivered = read_id(value);
  group->entries_read = value.signed_varint();
  if (!key.ok() || !key.at_end() || !value.ok() || !value.at_end()) return false;
  if (find_group(group->name) != nullptr) return false;
  attach_group(std::move(group));
  return true;
}

bool Stream::load_consumer(RecordReader& key, RecordReader& value) {
  StreamGroup* group = find_group(key.text());
  auto consumer = std::make_unique<StreamConsumer>();
  consumer->name = key.rest();
  consumer->seen_ms = value.signed_varint();
  if (!key.ok() || !value.ok() || !value.at_end() || group == nullptr) return false;
  if (group->find_consumer(consumer->name) != nullptr) return false;
  group->attach_consumer(std::move(consumer));
  return true;
}

bool Stream::load_pending(RecordReader& key, RecordReader& value) {
  StreamGroup* group = find_group(key.text());
  const StreamId id = key.id();
  PendingEntry entry;
  entry.delivered_ms = value.signed_varint();
  entry.deliveries = value.varint();
  const std::string_view consumer = value.rest();
  if (!key.ok() || !key.at_end() || !value.ok() || group == nullptr) return false;
  entry.consumer = group->find_consumer(consumer);
  if (entry.consumer == nullptr) return false;
  group->assign_pending(id, entry);
  return true;
}

}  // namespace rushgate
