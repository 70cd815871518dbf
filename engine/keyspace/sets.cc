#include "engine/keyspace/sets.h"

#include <string>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"

namespace rushgate::sets {
namespace {

/// Runs `step(SetValue&, std::string_view member)` when undone. Integers, the common case, are
/// remembered without a string.
template <class Step>
void push_undo(Database& db, Object& object, std::string_view member, Step step) {
  if (const auto integer = parse_int64(member)) {
    db.changes().undo().push(
        [&object, integer = *integer, step] { step(object.set(), DecimalText(integer).view()); });
  } else {
    db.changes().undo().push(
        [&object, text = std::string(member), step] { step(object.set(), text); });
  }
}

}  // namespace

Object& create(Database& db, std::string_view key) {
  return db.create(key, SetValue(db.keyspace().seed()));
}

bool add(Database& db, Object& object, std::string_view member) {
  if (!object.set().insert(member)) return false;
  push_undo(db, object, member, [](SetValue& set, std::string_view added) { set.erase(added); });
  put_element(db.changes().records(), object.id, member, {});
  return true;
}

bool remove(Database& db, Object& object, std::string_view member) {
  if (!object.set().erase(member)) return false;
  push_undo(db, object, member,
            [](SetValue& set, std::string_view removed) { set.insert(removed); });
  remove_element(db.changes().records(), object.id, member);
  if (object.set().size() == 0) db.remove(object);
  return true;
}

}  // namespace rushgate::sets
