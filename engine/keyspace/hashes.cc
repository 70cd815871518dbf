#include "engine/keyspace/hashes.h"

#include <cstdint>
#include <utility>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"

namespace rushgate::hashes {
Object& create(Database& db, std::string_view key) {
  return db.create(key, HashValue(db.keyspace().seed()));
}

bool set(Database& db, Object& object, std::string_view field, std::string_view value) {
  HashValue& hash = object.hash();
  if (!hash.is_large() && hash.outgrows(db.keyspace().limits(), field, value)) grow(db, object);
  return set_keeping_form(db, object, field, value);
}

bool set_keeping_form(Database& db, Object& object, std::string_view field,
                      std::string_view value) {
  db.changes().reserve_undo(object);
  HashValue::Assigned assigned = object.hash().assign(field, value);
  const bool is_new = !assigned.old.has_value();
  const std::uint32_t position = assigned.position;
  db.changes().push_undo(object, [&object, assigned = std::move(assigned)]() mutable {
    ++object.revision;
    object.hash().roll_back(std::move(assigned));
  });
  db.keyspace().note_change(object);
  StoreBatch& batch = db.changes().records();
  if (object.hash().has_positions()) {
    put_field(batch, object.id, field, position, value);
  } else {
    put_element(batch, object.id, field, value);
  }
  return is_new;
}

bool remove(Database& db, Object& object, std::string_view field) {
  db.changes().reserve_undo(object);
  HashValue& hash = object.hash();
  HashValue::Erased erased = hash.erase(field);
  if (!erased.old) return false;
  db.changes().push_undo(object, [&object, erased = std::move(erased)]() mutable {
    ++object.revision;
    object.hash().roll_back(std::move(erased));
  });
  db.keyspace().note_change(object);
  remove_element(db.changes().records(), object.id, field);
  if (hash.wants_to_shrink()) db.changes().mark_elements_dirty(object);
  if (hash.size() == 0) db.remove(object);
  return true;
}

void grow(Database& db, Object& object) {
  db.changes().reserve_undo(object);
  db.changes().push_undo(object, [&hash = object.hash(), packed = object.hash().grow()]() mutable {
    hash.roll_back(std::move(packed));
  });
}

void copy(Database& db, Object& made, const HashValue& from) {
  if (from.is_large()) grow(db, made);
  from.for_each([&](std::string_view field, std::string_view value) {
    set_keeping_form(db, made, field, value);
  });
}

}  // namespace rushgate::hashes
