#include "engine/redis/keyspace/removal_records.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "engine/redis/keyspace/records.h"
#include <rushgate/store.h>

namespace rushgate {
namespace {

/// Adds the number of the object's records, or more.
void count_elements(const Object& object, RecordCounts& counts) {
  switch (object.type()) {
    case ValueType::kString:
      return;
    case ValueType::kHash: {
      const auto& hash = object.hash();
      counts[RecordKind::kElement] += hash.stored_size();
      if (hash.expiries() != nullptr) counts[RecordKind::kFieldExpiry] += hash.expiries()->size();
      return;
    }
    case ValueType::kSet: {
      const auto& set = object.set();
      return set.records().count(set.size(), counts);
    }
    case ValueType::kStream:
      return object.stream().count_records(counts);
    case ValueType::kList:
      counts[RecordKind::kElement] += object.list().size();
      return;
    case ValueType::kSortedSet:
      counts[RecordKind::kElement] += object.sorted_set().size();
      return;
  }
}

/// Removes the records of one kind. The object must have few, and know all of them.
void remove_each(StoreBatch& batch, RecordKind kind, const Object& object) {
  const auto remove = [&](std::string_view element) {
    batch.remove(element_key(kind, object.id, element));
  };
  switch (object.type()) {
    case ValueType::kString:
      return;
    case ValueType::kHash: {
      const auto& hash = object.hash();
      const auto remove_field = [&](std::string_view field, const auto&) { remove(field); };
      if (kind == RecordKind::kElement) hash.for_each_stored(remove_field);
      if (kind == RecordKind::kFieldExpiry && hash.expiries() != nullptr)
        hash.expiries()->for_each(remove_field);
      return;
    }
    case ValueType::kSet: {
      const auto& set = object.set();
      if (kind == RecordKind::kSetSegment && !set.records().has_segments()) return;
      if (kind != RecordKind::kSetSegment && kind != RecordKind::kElement) return;
      set.for_each(remove);  // a segment's key is a member, or was one
      for (const std::string& member : set.records().known_tombstones()) remove(member);
      return;
    }
    case ValueType::kStream:
      return object.stream().remove_each_record(batch, kind);
    case ValueType::kList: {
      if (kind != RecordKind::kElement) return;
      const auto& list = object.list();
      for (auto place = list.begin(); place != list.end(); place = list.next(place)) {
        batch.remove(position_key(object.id, list.position(place)));
      }
      return;
    }
    case ValueType::kSortedSet: {
      if (kind != RecordKind::kElement) return;
      const auto& set = object.sorted_set();
      set.for_each(0, set.size(), [&](const ScoredElement& element) { remove(element.member); });
      return;
    }
  }
}

/// A set in rewriting has two ids. The records of such a set are removed by ranges.
template <class Visit>
void for_each_id(const Object& object, Visit visit) {
  visit(object.id);
  if (object.type() != ValueType::kSet) return;
  const SetRecords& records = object.set().records();
  if (records.is_being_rewritten()) visit(records.old_id());
}

/// Objects without another object's id between their ids.
struct Neighbours {
  std::span<const MassRemoval::Entry> objects;
  std::uint64_t first_id;
  std::uint64_t last_id;
};

void remove_neighbours(StoreBatch& batch, const Neighbours& neighbours) {
  RecordCounts counts;
  std::vector<std::uint64_t> streams;
  for (const auto& [id, object] : neighbours.objects) {
    count_elements(*object, counts);
    if (object->type() == ValueType::kStream) streams.push_back(id);
  }
  const bool are_few = neighbours.objects.size() <= kSingleRemovalsMax;
  for (const RecordKind kind : kElementKinds) {
    if (counts[kind] == 0) continue;
    if (are_few && counts[kind] <= kSingleRemovalsMax) {
      for (const auto& [id, object] : neighbours.objects) remove_each(batch, kind, *object);
    } else {
      remove_range(batch, kind, neighbours.first_id, neighbours.last_id);
    }
  }
  if (streams.size() > kSingleRemovalsMax) {
    batch.drop_streams(neighbours.first_id, neighbours.last_id);
  } else {
    for (const std::uint64_t stream : streams) batch.drop_stream(stream);
  }
}

}  // namespace

void remove_elements(StoreBatch& batch, const Object& object) {
  for_each_id(object, [&](std::uint64_t id) {
    const MassRemoval::Entry entry = {.id = id, .object = &object};
    remove_neighbours(batch, {{&entry, 1}, id, id});
  });
}

void MassRemoval::add(const Object& object) {
  if (is_all_ && object.type() == ValueType::kString) return;  // it separates no neighbours
  for_each_id(object, [&](std::uint64_t id) { objects_.push_back({.id = id, .object = &object}); });
}

void MassRemoval::record(StoreBatch& batch) {
  if (objects_.empty()) return;
  if (is_all_) {
    const auto [first, last] = std::ranges::minmax_element(objects_, {}, &Entry::id);
    return remove_neighbours(batch, {objects_, first->id, last->id});
  }
  std::ranges::sort(objects_, {}, &Entry::id);
  const auto is_gap = [](const Entry& one, const Entry& next) { return one.id + 1 != next.id; };
  for (auto begin = objects_.begin(); begin != objects_.end();) {
    auto end = std::adjacent_find(begin, objects_.end(), is_gap);
    if (end != objects_.end()) ++end;
    remove_neighbours(batch, {{begin, end}, begin->id, std::prev(end)->id});
    begin = end;
  }
}

}  // namespace rushgate
