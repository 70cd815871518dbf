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
  db.changes().reserve_undo(object);
  HashValue& hash = object.hash();
  std::string name(field);
  std::optional<HashValue::Value> old = hash.assign(field, value);
  const bool is_new = !old.has_value();
  const bool was_large = hash.is_large();
  if (!was_large) hash.set_large(hash.outgrows(db.keyspace().limits(), field, value));
  ++object.revision;
  db.changes().push_undo(
      object, [&object, name = std::move(name), old = std::move(old), was_large]() mutable {
        ++object.revision;
        object.hash().set_large(was_large);
        if (old) {
          object.hash().restore(std::move(name), *std::move(old));
        } else {
          object.hash().erase(name);
        }
      });
  put_element(db.changes().records(), object.id, field, value);
  return is_new;
}

bool remove(Database& db, Object& object, std::string_view field) {
  db.changes().reserve_undo(object);
  std::string name(field);
  std::optional<HashValue::Value> old = object.hash().erase(field);
  if (!old) return false;
  ++object.revision;
  db.changes().push_undo(object,
                         [&object, name = std::move(name), old = *std::move(old)]() mutable {
                           ++object.revision;
                           object.hash().restore(std::move(name), std::move(old));
                         });
  remove_element(db.changes().records(), object.id, field);
  if (object.hash().size() == 0) db.remove(object);
  return true;
}

void grow(Database& db, Object& object) {
  db.changes().reserve_undo(object);
  db.changes().push_undo(
      object, [&hash = object.hash(), old = object.hash().is_large()] { hash.set_large(old); });
  object.hash().set_large(true);
}

}  // namespace rushgate::hashes
