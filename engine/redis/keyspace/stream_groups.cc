#include "engine/redis/keyspace/stream_groups.h"

#include <cassert>
#include <utility>

#include "engine/core/base/heap.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/removal_records.h"

namespace rushgate {
namespace {

void count_group(const StreamGroup& group, RecordCounts& counts) {
  ++counts[RecordKind::kStreamGroup];
  counts[RecordKind::kStreamConsumer] += group.consumers.size();
  counts[RecordKind::kStreamPending] += group.pending.size();
}

}  // namespace

StreamGroup* StreamGroups::find(std::string_view name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : found->second.get();
}

void StreamGroups::attach(std::unique_ptr<StreamGroup> group) {
  std::string name = group->name;
  enter(*groups_.emplace(std::move(name), std::move(group)).first);
}

void StreamGroups::put_back(ByName::node_type group) {
  enter(*groups_.insert(std::move(group)).position);
}

void StreamGroups::enter(ByName::value_type& entry) {
  auto& [name, group] = entry;
  group->attached = true;
  group->stream_bytes = &groups_bytes_;
  groups_bytes_ += group->memory_bytes() + heap_bytes(name);
}

StreamGroups::ByName::node_type StreamGroups::take(StreamGroup& group) {
  const auto found = groups_.find(group.name);
  assert(found != groups_.end() && found->second.get() == &group);
  groups_bytes_ -= group.memory_bytes() + heap_bytes(found->first);
  group.stream_bytes = nullptr;
  group.attached = false;
  return groups_.extract(found);
}

// ---- Dirty groups and consumers ----

void StreamGroups::mark_dirty(StreamGroup& group) {
  if (group.is_dirty) return;
  dirty_groups_.push_back(&group);
  group.is_dirty = true;
}

void StreamGroups::mark_dirty(StreamGroup& group, StreamConsumer& consumer) {
  if (consumer.is_dirty) return;
  dirty_consumers_.emplace_back(&group, &consumer);
  consumer.is_dirty = true;
}

void StreamGroups::forget_dirty(const StreamGroup& group) { std::erase(dirty_groups_, &group); }

void StreamGroups::forget_dirty(const StreamConsumer& consumer) {
  std::erase_if(dirty_consumers_, [&](const auto& dirty) { return dirty.second == &consumer; });
}

void StreamGroups::record_dirty(StoreBatch& batch) const {
  for (const StreamGroup* group : dirty_groups_) {
    if (!group->attached) continue;  // its removal is recorded already
    record_.put(
        batch, RecordKind::kStreamGroup, [&](RecordWriter& key) { key.text(group->name); },
        [&](RecordWriter& value) {
          value.varint_id(group->last_delivered).signed_varint(group->entries_read);
        });
  }
  for (const auto& dirty : dirty_consumers_) {
    const StreamGroup& group = *dirty.first;
    const StreamConsumer& consumer = *dirty.second;
    if (!group.attached || !consumer.attached) continue;
    record_.put(
        batch, RecordKind::kStreamConsumer,
        [&](RecordWriter& key) { key.text(group.name).rest(consumer.name); },
        [&](RecordWriter& value) { value.signed_varint(consumer.seen_ms); });
  }
}

void StreamGroups::end_batch() {
  for (StreamGroup* group : dirty_groups_) group->is_dirty = false;
  for (const auto& [group, consumer] : dirty_consumers_) consumer->is_dirty = false;
  dirty_groups_.clear();
  dirty_consumers_.clear();
  if (!groups_.empty()) return;  // the next batch will need the memory again
  dirty_groups_ = std::vector<StreamGroup*>();
  dirty_consumers_ = std::vector<std::pair<StreamGroup*, StreamConsumer*>>();
}

// ---- Records ----

void StreamGroups::record_pending(StoreBatch& batch, const StreamGroup& group, StreamId id,
                                  const PendingEntry& entry) const {
  record_.put(
      batch, RecordKind::kStreamPending, [&](RecordWriter& key) { key.text(group.name).id(id); },
      [&](RecordWriter& value) {
        value.signed_varint(entry.delivered_ms).varint(entry.deliveries).rest(entry.consumer->name);
      });
}

void StreamGroups::record_no_longer_pending(StoreBatch& batch, const StreamGroup& group,
                                            StreamId id) const {
  record_.remove(batch, RecordKind::kStreamPending,
                 [&](RecordWriter& key) { key.text(group.name).id(id); });
}

void StreamGroups::record_removal(StoreBatch& batch, const StreamGroup& group) const {
  remove_each_of_group(batch, RecordKind::kStreamGroup, group);
  RecordCounts counts;
  count_group(group, counts);
  for (const auto kind : {RecordKind::kStreamConsumer, RecordKind::kStreamPending}) {
    if (counts[kind] <= kSingleRemovalsMax) {
      remove_each_of_group(batch, kind, group);
    } else {
      // The length precedes the name, so no other group's records begin with these bytes.
      std::string prefix;
      record_.begin(kind, prefix).text(group.name);
      remove_prefix(batch, prefix);
    }
  }
}

void StreamGroups::record_removal(StoreBatch& batch, const StreamGroup& group,
                                  const StreamConsumer& consumer) const {
  record_.remove(batch, RecordKind::kStreamConsumer,
                 [&](RecordWriter& key) { key.text(group.name).rest(consumer.name); });
}

void StreamGroups::remove_each_of_group(StoreBatch& batch, RecordKind kind,
                                        const StreamGroup& group) const {
  if (kind == RecordKind::kStreamGroup) {
    record_.remove(batch, kind, [&](RecordWriter& key) { key.text(group.name); });
  } else if (kind == RecordKind::kStreamConsumer) {
    for (const auto& [name, consumer] : group.consumers) record_removal(batch, group, *consumer);
  } else if (kind == RecordKind::kStreamPending) {
    for (const auto& [id, entry] : group.pending) record_no_longer_pending(batch, group, id);
  }
}

void StreamGroups::count_records(RecordCounts& counts) const {
  for (const auto& [name, group] : groups_) count_group(*group, counts);
}

void StreamGroups::remove_each_record(StoreBatch& batch, RecordKind kind) const {
  for (const auto& [name, group] : groups_) remove_each_of_group(batch, kind, *group);
}

// ---- Loading ----

bool StreamGroups::load(RecordKind kind, RecordReader& key, RecordReader& value) {
  switch (kind) {
    case RecordKind::kStreamGroup:
      return load_group(key, value);
    case RecordKind::kStreamConsumer:
      return load_consumer(key, value);
    case RecordKind::kStreamPending:
      return load_pending(key, value);
    default:
      return false;
  }
}

bool StreamGroups::load_group(RecordReader& key, RecordReader& value) {
  auto group = std::make_unique<StreamGroup>();
  group->name = key.text();
  group->last_delivered = value.varint_id();
  group->entries_read = value.signed_varint();
  if (!key.ok() || !key.at_end() || !value.ok() || !value.at_end()) return false;
  if (find(group->name) != nullptr) return false;
  attach(std::move(group));
  return true;
}

bool StreamGroups::load_consumer(RecordReader& key, RecordReader& value) {
  StreamGroup* group = find(key.text());
  auto consumer = std::make_unique<StreamConsumer>();
  consumer->name = key.rest();
  consumer->seen_ms = value.signed_varint();
  if (!key.ok() || !value.ok() || !value.at_end() || group == nullptr) return false;
  if (group->find_consumer(consumer->name) != nullptr) return false;
  group->attach_consumer(std::move(consumer));
  return true;
}

bool StreamGroups::load_pending(RecordReader& key, RecordReader& value) {
  StreamGroup* group = find(key.text());
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

// ---- Memory ----

/// Returns the memory without that of the groups.
std::size_t StreamGroups::rest_bytes() const {
  return heap_bytes(dirty_groups_) + heap_bytes(dirty_consumers_) +
         tree_bytes<ByName::value_type>(groups_.size());
}

std::size_t StreamGroups::measured_bytes() const {
  std::size_t bytes = rest_bytes();
  for (const auto& [name, group] : groups_) bytes += group->memory_bytes() + heap_bytes(name);
  return bytes;
}

}  // namespace rushgate
