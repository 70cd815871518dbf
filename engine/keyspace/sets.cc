#include "engine/keyspace/sets.h"

#include <string>
#include <utility>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"

namespace rushgate::sets {
namespace {

/// Runs `step(SetValue&, std::string_view member)` when undone.
template <class Step>
void push_undo(Database& db, Object& object, std::string_view member, Step step) {
  db.changes().undo().push(
      [&object, text = std::string(member), step] { step(object.set(), text); });
}

}  // namespace

Object& create(Database& db, std::string_view key) {
  return db.create(key, SetValue(db.keyspace().seed()));
}

bool add(Database& db, Object& object, std::string_view member) {
  if (const auto integer = parse_int64(member)) return add_integer(db, object, *integer);
  SetValue& set = object.set();
  if (!set.insert_text(member)) return false;
  push_undo(db, object, member,
            [mark = set.records().mark()](SetValue& value, std::string_view added) {
              value.erase(added);
              value.records().take_back_to(mark);
            });
  set.records().add_text(member);
  db.changes().gather(object);
  return true;
}

bool add_integer(Database& db, Object& object, std::int64_t member) {
  SetValue& set = object.set();
  if (!set.insert_integer(member)) return false;
  db.changes().undo().push([&set, member, mark = set.records().mark()] {
    set.erase_integer(member);
    set.records().take_back_to(mark);
  });
  set.records().add_integer(member);
  db.changes().gather(object);
  return true;
}

bool remove(Database& db, Object& object, std::string_view member) {
  SetValue& set = object.set();
  if (!set.erase(member)) return false;
  push_undo(db, object, member,
            [](SetValue& value, std::string_view removed) { value.insert(removed); });
  SetRecords& records = set.records();
  if (records.gathered().count > 0) {  // additions before it are recorded before it
    db.changes().undo().push([&records, gathered = records.gathered()]() mutable {
      records.restore(std::move(gathered));
    });
    records.complete(db.changes().records(), object.id);
  }
  records.record_removal(db.changes().records(), object.id, member);
  if (set.size() == 0) db.remove(object);
  return true;
}

}  // namespace rushgate::sets
