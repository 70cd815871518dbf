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

/// Writes every member of a set anew, which nothing is gathered of.
void rewrite(Database& db, Object& object) {
  SetRecords& records = object.set().records();
  StoreBatch& batch = db.changes().records();
  records.start_anew(batch, object.id);
  object.set().for_each([&](std::string_view member) {
    const auto integer = parse_int64(member);
    integer ? records.add_integer(*integer) : records.add_text(member);
    if (records.gathered().count == SetRecords::kRunMembersMax) records.complete(batch, object.id);
  });
  records.complete(batch, object.id);
}

void record_removal(Database& db, Object& object, std::string_view member) {
  SetRecords& records = object.set().records();
  StoreBatch& batch = db.changes().records();
  const bool is_rewritten = records.has_marks_enough(object.set().size());
  if (is_rewritten || records.gathered().count > 0) {
    db.changes().undo().push(
        [&records, before = records]() mutable { records = std::move(before); });
  }
  records.complete(batch, object.id);  // additions before it are recorded before it
  if (is_rewritten) return rewrite(db, object);
  records.record_removal(batch, object.id, member);
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
  record_removal(db, object, member);
  if (set.size() == 0) db.remove(object);
  return true;
}

}  // namespace rushgate::sets
