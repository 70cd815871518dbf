#include "engine/keyspace/hashes.h"

#include <cstdint>
#include <string>
#include <utility>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"

namespace rushgate::hashes {
namespace {

/// Removes the expiry of a field, if it has one.
void remove_expiry(Database& db, Object& object, std::string_view field) {
  if (!object.hash().expiry(field)) return;
  db.changes().reserve_undo(object);
  db.changes().mark_elements_dirty(object);  // so that the commit releases the memory
  FieldExpiries::Taken taken = object.hash().expiries()->take(field);
  db.changes().push_undo(object, [&db, &object, taken = std::move(taken)]() mutable {
    object.hash().expiries()->roll_back(std::move(taken));
    db.field_expiries_changed(object);
  });
  db.field_expiries_changed(object);
  remove_field_expiry(db.changes().records(), object.id, field);
}

}  // namespace

Object& create(Database& db, std::string_view key) {
  return db.create(key, HashValue(db.keyspace().seed()));
}

bool set(Database& db, Object& object, std::string_view field, std::string_view value) {
  const bool is_new = set_keeping_expiry(db, object, field, value);
  if (!is_new) remove_expiry(db, object, field);
  return is_new;
}

bool set_keeping_expiry(Database& db, Object& object, std::string_view field,
                        std::string_view value) {
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
  remove_expiry(db, object, field);
  if (hash.wants_to_shrink()) db.changes().mark_elements_dirty(object);
  if (hash.size() == 0) db.remove(object);
  return true;
}

void set_expiry(Database& db, Object& object, std::string_view field,
                std::optional<std::int64_t> expire_at_ms) {
  db.keyspace().note_change(object);
  HashValue& hash = object.hash();
  if (hash.expiry(field) == expire_at_ms) return;
  if (!expire_at_ms) return remove_expiry(db, object, field);
  db.changes().reserve_undo(object);
  const bool is_first = hash.expiries() == nullptr;
  FieldExpiries::Assigned assigned = hash.assign_expiry(field, *expire_at_ms);
  db.changes().push_undo(object, [&db, &object, is_first, assigned = std::move(assigned)] {
    ++object.revision;
    object.hash().expiries()->roll_back(assigned);
    db.field_expiries_changed(object);
    if (is_first) object.hash().drop_expiries();
  });
  db.field_expiries_changed(object);
  put_field_expiry(db.changes().records(), object.id, field, *expire_at_ms);
}

std::size_t remove_expired(Database& db, Object& object, std::size_t count_max) {
  const std::int64_t now_ms = db.keyspace().now_ms();
  std::size_t removed = 0;
  if (object.hash().is_expired(now_ms)) {
    db.remove(object);
    removed = 1;
  } else {
    while (removed < count_max && object.hash().has_expired_fields(now_ms)) {
      const std::string field = object.hash().expiries()->first_field();
      remove(db, object, field);
      ++removed;
    }
  }
  KeyEvents& events = db.keyspace().events();
  events.note(kHashEvents, "hexpired", db.number(), object.key());  // undo keeps it alive
  if (!object.attached) events.note(kGenericEvents, "del", db.number(), object.key());
  return removed;
}

void hide_expired(Database& db, Object& object) {
  UndoLog& hidden = db.keyspace().hidden_fields();
  HashValue& hash = object.hash();
  while (hash.has_expired_fields(db.keyspace().now_ms())) {
    hidden.reserve();
    HashValue::Erased erased = hash.erase(std::string(hash.expiries()->first_field()));
    FieldExpiries::Taken taken = hash.expiries()->take(hash.expiries()->first_field());
    hidden.push([&db, &object, erased = std::move(erased), taken = std::move(taken)]() mutable {
      object.hash().roll_back(std::move(erased));
      object.hash().expiries()->roll_back(std::move(taken));
      db.field_expiries_changed(object);
      db.changes().memory().recount(object);
    });
    db.field_expiries_changed(object);
  }
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
  if (from.expiries() == nullptr) return;
  from.expiries()->for_each([&](std::string_view field, std::int64_t expire_at_ms) {
    set_expiry(db, made, field, expire_at_ms);
  });
}

}  // namespace rushgate::hashes
