#include "engine/redis/keyspace/sorted_sets.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"

namespace rushgate::sorted_sets {
namespace {

/// Redis's small sorted sets store integral scores as integers, with a single zero.
double kept_score(const SortedSetValue& value, double score) {
  return score == 0 && !value.is_large() ? 0 : score;
}

/// Takes `member` out of the value. Returns false if it is not there.
bool erase(Database& db, Object& object, std::string_view member) {
  db.changes().reserve_undo(object);
  SortedSetValue& value = object.sorted_set();
  SortedSetValue::Erased erased = value.erase(member);
  if (erased.element == nullptr) return false;
  db.changes().push_undo(object, [&value, erased = std::move(erased)]() mutable {
    value.roll_back(std::move(erased));
  });
  db.keyspace().note_change(object);
  if (value.wants_to_shrink()) db.changes().mark_elements_dirty(object);
  return true;
}

}  // namespace

Object& create(Database& db, std::string_view key) {
  return db.create(key, SortedSetValue(db.keyspace().seed()));
}

bool set(Database& db, Object& object, std::string_view member, double score) {
  const SortedSetValue& value = object.sorted_set();
  if (!value.is_large() && value.outgrows(db.keyspace().limits(), member)) grow(db, object);
  return set_keeping_form(db, object, member, score);
}

bool set_keeping_form(Database& db, Object& object, std::string_view member, double score) {
  db.changes().reserve_undo(object);
  SortedSetValue& value = object.sorted_set();
  const double kept = kept_score(value, score);
  SortedSetValue::Assigned assigned = value.assign(member, kept);
  const bool is_new = !assigned.old_score.has_value();
  db.changes().push_undo(object, [&value, assigned = std::move(assigned)]() mutable {
    value.roll_back(std::move(assigned));
  });
  db.keyspace().note_change(object);
  put_score(db.changes().records(), object.id, member, kept);
  return is_new;
}

bool remove(Database& db, Object& object, std::string_view member) {
  if (!erase(db, object, member)) return false;
  remove_element(db.changes().records(), object.id, member);
  if (object.sorted_set().size() == 0) db.remove(object);
  return true;
}

void remove_first(Database& db, Object& object, std::size_t count) {
  const SortedSetValue& value = object.sorted_set();
  for (; count > 0; --count) {
    const std::string member(value.at(0).member);
    remove_element(db.changes().records(), object.id, member);
    erase(db, object, member);
  }
  if (value.size() == 0) db.remove(object);
}

void grow(Database& db, Object& object) {
  SortedSetValue& value = object.sorted_set();
  if (value.is_large()) return;
  db.changes().reserve_undo(object);
  db.changes().push_undo(
      object, [&value, packed = value.grow()]() mutable { value.roll_back(std::move(packed)); });
}

void copy(Database& db, Object& made, const SortedSetValue& from) {
  if (from.is_large()) grow(db, made);
  from.for_each(0, from.size(), [&](const ScoredElement& element) {
    set_keeping_form(db, made, element.member, element.score);
  });
}

bool is_small(const EncodingLimits& limits, std::span<const ScoredMember> members) {
  return static_cast<std::int64_t>(members.size()) <= limits.zset_entries &&
         std::ranges::all_of(members, [&](const ScoredMember& element) {
           return static_cast<std::int64_t>(element.member.size()) <= limits.zset_value_bytes;
         });
}

void store(Database& db, std::string_view key, std::span<const ScoredMember> members,
           bool begins_small) {
  Object* const old = db.find(key);
  if (members.empty()) {
    if (old != nullptr) db.remove(*old);
    return;
  }
  SortedSetValue value(db.keyspace().seed());
  Object& object =
      old != nullptr ? db.replace(*old, std::move(value)) : db.create(key, std::move(value));
  if (!begins_small) grow(db, object);
  for (const ScoredMember& element : members) set(db, object, element.member, element.score);
}

}  // namespace rushgate::sorted_sets
