#include "engine/keyspace/hashes.h"

#include <optional>
#include <string>
#include <utility>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"

namespace rushgate::hashes {

Object& create(Database& db, std::string_view key) {
  return db.create(key, HashValue(db.keyspace().seed()));
}

bool set(Database& db, Object& object, std::string_view field, std::string_view value) {
  std::optional<std::string> old = object.hash().assign(field, value);
  const bool is_new = !old.has_value();
  const bool was_large = object.hash().is_large();
  if (!was_large) {
    object.hash().set_large(object.hash().outgrows(db.keyspace().limits(), field, value));
  }
  ++object.revision;
  db.changes().push_undo(object,
                         [&object, field = std::string(field), old = std::move(old), was_large] {
                           ++object.revision;
                           object.hash().set_large(was_large);
                           if (old) {
                             object.hash().assign(field, *old);
                           } else {
                             object.hash().erase(field);
                           }
                         });
  put_element(db.changes().records(), object.id, field, value);
  return is_new;
}

bool remove(Database& db, Object& object, std::string_view field) {
  std::optional<std::string> old = object.hash().erase(field);
  if (!old) return false;
  ++object.revision;
  db.changes().push_undo(object, [&object, field = std::string(field), old = std::move(*old)] {
    ++object.revision;
    object.hash().assign(field, old);
  });
  remove_element(db.changes().records(), object.id, field);
  if (object.hash().size() == 0) db.remove(object);
  return true;
}

void grow(Database& db, Object& object) {
  db.changes().push_undo(
      object, [&hash = object.hash(), old = object.hash().is_large()] { hash.set_large(old); });
  object.hash().set_large(true);
}

}  // namespace rushgate::hashes
