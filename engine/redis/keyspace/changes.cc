#include "engine/redis/keyspace/changes.h"

#include <algorithm>
#include <string>

#include "engine/redis/keyspace/object.h"
#include "engine/redis/keyspace/records.h"

namespace rushgate {

void Changes::mark_elements_dirty(Object& object) {
  if (object.change != ObjectChange::kNone) return;
  dirty_.push_back(&object);  // may throw: first
  object.change = ObjectChange::kElements;
}

void Changes::mark_dirty(Object& object) {
  mark_elements_dirty(object);
  object.change = ObjectChange::kHeader;
}

void Changes::roll_back_to(const Savepoint& savepoint) {
  forget_newborn();
  // The list comes first: an object created since the savepoint is gone once its creation is
  // undone.
  while (dirty_.size() > savepoint.dirty) {
    dirty_.back()->change = ObjectChange::kNone;
    dirty_.pop_back();
  }
  memory_.count_noted();  // while all of them are alive
  undo_.roll_back_to(savepoint.undo_steps, [this](Object* object) { memory_.recount(*object); });
  records_.truncate(std::min(savepoint.record_bytes, records_.size_bytes()));
}

void Changes::complete_records() {
  for (Object* object : dirty_) {
    if (!object->attached) continue;  // its removal is recorded already
    if (object->type() == ValueType::kStream) object->stream().complete_records(records_);
    if (object->type() == ValueType::kSet) object->set().complete_records(records_, object->id);
    if (object->change != ObjectChange::kHeader) continue;
    records_.put_written(
        [object](std::string& key) { write_header_key(object->db, object->key(), key); },
        [object](std::string& header) { write_header_value(*object, header); });
  }
}

namespace {

/// Releases the buffers and the unused memory of the value.
void end_batch(Object& object) {
  switch (object.type()) {
    case ValueType::kString:
      break;
    case ValueType::kHash:
      object.hash().shrink();
      break;
    case ValueType::kSet:
      object.set().shrink();
      break;
    case ValueType::kStream:
      object.stream().end_batch();
      break;
    case ValueType::kList:
      object.list().shrink();
      break;
    case ValueType::kSortedSet:
      object.sorted_set().shrink();
      break;
  }
}

}  // namespace

void Changes::forget() {
  forget_newborn();
  for (Object* object : dirty_) {
    object->change = ObjectChange::kNone;
    if (object->attached) end_batch(*object);
    if (!object->is_noted) memory_.recount(*object);  // its buffers are empty now
  }
  dirty_.clear();
  memory_.count_noted();  // while all of them are alive
  undo_.forget();
  records_.clear();
}

}  // namespace rushgate
