#include "engine/keyspace/strings.h"

#include <utility>

namespace rushgate::strings {

Object& set(Database& db, std::string_view key, StringValue value) {
  Object* object = db.find(key);
  if (object == nullptr) return db.create(key, std::move(value));
  if (object->type() != ValueType::kString) {
    db.remove(*object);
    return db.create(key, std::move(value));
  }
  assign(db, *object, std::move(value));
  db.set_expiry(*object, kNoExpiry);
  return *object;
}

void assign(Database& db, Object& object, StringValue value) {
  const StringValue& current = object.string();
  if (current.is_integer()) {  // the common case, a counter: nothing to destroy later
    db.changes().undo().push(
        [&object, old = *current.integer()] { object.string() = StringValue(old); });
  } else {
    db.changes().undo().push([&object, old = std::move(object.string())]() mutable {
      object.string() = std::move(old);
    });
  }
  object.string() = std::move(value);
  ++object.revision;
  db.changes().touch(object);
}

}  // namespace rushgate::strings
