#include "engine/redis/keyspace/hashes.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"

namespace rushgate::hashes {
namespace {

/// Removes the expiry of a field, hidden or not, if it has one.
void take_expiry(Database& db, Object& object, std::string_view field) {
  const FieldExpiries* const expiries = object.hash().expiries();
  if (expiries == nullptr || !expiries->find(field)) return;
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

/// Removes a field with its expiry, hidden or not. Returns false if there was none.
bool take_field(Database& db, Object& object, std::string_view field) {
  db.changes().reserve_undo(object);
  HashValue& hash = object.hash();
  HashValue::Erased erased = hash.erase(field);
  if (!erased.old) return false;
  db.changes().push_undo(object, [&object, erased = std::move(erased)]() mutable {
    ++object.revision;
    object.hash().roll_back(std::move(erased));
  });
  remove_element(db.changes().records(), object.id, field);
  take_expiry(db, object, field);
  if (hash.wants_to_shrink()) db.changes().mark_elements_dirty(object);
  return true;
}

/// Removes up to `count_max` hidden fields. No command sees a change. Returns their number.
std::size_t remove_hidden(Database& db, Object& object, std::size_t count_max) {
  std::size_t removed = 0;
  for (; removed < count_max && object.hash().hides_any(); ++removed)
    take_field(db, object, std::string(object.hash().expiries()->first_field()));
  return removed;
}

/// Hides the fields that expire at this time or before.
void hide_until(Database& db, Object& object, std::int64_t until_ms) {
  FieldExpiries& expiries = *object.hash().expiries();
  db.changes().reserve_undo(object);
  db.changes().push_undo(object, [&object, old_ms = expiries.hidden_until_ms()] {
    ++object.revision;
    object.hash().expiries()->set_hidden_until_ms(old_ms);
  });
  expiries.set_hidden_until_ms(until_ms);
}

}  // namespace

Object& create(Database& db, std::string_view key) {
  return db.create(key, HashValue(db.keyspace().seed()));
}

bool set(Database& db, Object& object, std::string_view field, std::string_view value) {
  const bool is_new = set_keeping_expiry(db, object, field, value);
  if (!is_new) take_expiry(db, object, field);
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
  if (object.hash().hides(field)) take_field(db, object, field);
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
  if (object.hash().hides(field) || !take_field(db, object, field)) return false;
  db.keyspace().note_change(object);
  if (object.hash().empty()) db.remove(object);
  return true;
}

void set_expiry(Database& db, Object& object, std::string_view field,
                std::optional<std::int64_t> expire_at_ms) {
  db.keyspace().note_change(object);
  HashValue& hash = object.hash();
  if (hash.expiry(field) == expire_at_ms) return;
  if (!expire_at_ms) return take_expiry(db, object, field);
  if (hash.expiries() != nullptr && *expire_at_ms <= hash.expiries()->hidden_until_ms()) {
    // The clock was set back. A time to come must hide no field.
    remove_hidden(db, object, std::numeric_limits<std::size_t>::max());
    hide_until(db, object, std::numeric_limits<std::int64_t>::min());
  }
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
  if (!object.hash().is_expired(db.keyspace().now_ms())) {
    hide_expired(db, object);
    return remove_hidden(db, object, count_max);
  }
  db.remove(object);
  KeyEvents& events = db.keyspace().events();
  events.note(kHashEvents, "hexpired", db.number(), object.key());  // undo keeps it alive
  events.note(kGenericEvents, "del", db.number(), object.key());
  return 1;
}

void hide_expired(Database& db, Object& object) {
  const std::int64_t now_ms = db.keyspace().now_ms();
  FieldExpiries& expiries = *object.hash().expiries();
  if (!expiries.are_due(now_ms)) return;
  if (db.keyspace().keeps_expired()) {
    UndoLog& hidden = db.keyspace().hidden_fields();
    hidden.reserve();
    hidden.push(
        [&expiries, old_ms = expiries.hidden_until_ms()] { expiries.set_hidden_until_ms(old_ms); });
    expiries.set_hidden_until_ms(now_ms);
    return;
  }
  db.keyspace().note_change(object);
  hide_until(db, object, now_ms);
  db.keyspace().events().note(kHashEvents, "hexpired", db.number(), object.key());
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
    if (expire_at_ms > from.expiries()->hidden_until_ms())
      set_expiry(db, made, field, expire_at_ms);
  });
}

}  // namespace rushgate::hashes
