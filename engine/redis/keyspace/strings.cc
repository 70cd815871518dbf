#include "engine/redis/keyspace/strings.h"

#include <memory>
#include <string>
#include <utility>

#include "engine/redis/keyspace/keyspace.h"

namespace rushgate::strings {
namespace {

/// Replaces the value. Its old value is in the undo step.
void replace_value(Database& db, Object& object, StringValue&& value) {
  db.changes().reserve_undo(object);
  const StringValue& current = object.string();
  if (current.is_integer()) {  // the common case, a counter: no memory to free later
    db.changes().push_undo(
        object, [&object, old = *current.integer()] { object.string() = StringValue(old); });
  } else if (const std::size_t bytes = current.memory_bytes(); bytes > LazyFree::kBytesAtOnceMax) {
    Removed<StringValue> old(db.keyspace().lazy_free(),
                             std::make_unique<StringValue>(std::move(object.string())), bytes);
    db.changes().push_undo(object, [&object, old = std::move(old)]() mutable {
      object.string() = std::move(*old.take());
    });
  } else {
    db.changes().push_undo(object, [&object, old = std::move(object.string())]() mutable {
      object.string() = std::move(old);
    });
  }
  object.string() = std::move(value);
}

}  // namespace

Object& set(Database& db, std::string_view key, StringValue value) {
  Object* object = db.find(key);
  if (object == nullptr) return db.create(key, std::move(value));
  if (object->type() != ValueType::kString) {
    return db.replace(*object, std::move(value));
  }
  assign(db, *object, std::move(value));
  db.set_expiry(*object, kNoExpiry);
  return *object;
}

void set_until(Database& db, Object* object, std::string_view key, StringValue value,
               std::int64_t expire_at_ms) {
  if (object == nullptr) {
    object = &db.create(key, std::move(value));
  } else if (object->type() == ValueType::kString) {
    assign(db, *object, std::move(value));
  } else {
    object = &set(db, key, std::move(value));
  }
  db.set_expiry(*object, expire_at_ms);
}

void assign(Database& db, Object& object, StringValue value) {
  replace_value(db, object, std::move(value));
  db.keyspace().note_change(object);
  db.changes().mark_dirty(object);
}

void make_buffer(Database& db, Object& object) {
  if (object.string().is_buffer()) return;
  replace_value(db, object, StringValue::as_buffer(object.string().bytes()));
}

void overwrite(Database& db, Object& object, std::size_t offset, std::string_view bytes) {
  make_buffer(db, object);
  db.changes().reserve_undo(object);
  std::string& text = object.string().edit();
  const std::size_t old_size = text.size();
  std::string old = offset < old_size ? text.substr(offset, bytes.size()) : std::string();
  db.changes().push_undo(object, [&object, offset, old_size, old = std::move(old)] {
    std::string& changed = object.string().edit();
    if (!old.empty()) changed.replace(offset, old.size(), old);
    changed.resize(old_size);
  });
  if (offset + bytes.size() > old_size) text.resize(offset + bytes.size());
  text.replace(offset, bytes.size(), bytes);
  db.keyspace().note_change(object);
  db.changes().mark_dirty(object);
}

}  // namespace rushgate::strings
