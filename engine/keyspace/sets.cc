#include "engine/keyspace/sets.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"

namespace rushgate::sets {
namespace {

/// Runs `step(SetValue&, std::string_view member)` when undone.
template <class Step>
void push_undo(Database& db, Object& object, std::string_view member, Step step) {
  db.changes().push_undo(object,
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
    if (records.gathered() == SetRecords::kRunMembersMax) records.complete(batch, object.id);
  });
  records.complete(batch, object.id);
}

void record_removal(Database& db, Object& object, std::string_view member) {
  SetRecords& records = object.set().records();
  StoreBatch& batch = db.changes().records();
  const bool is_rewritten = records.has_marks_enough(object.set().size());
  if (is_rewritten || records.gathered() > 0) {
    db.changes().push_undo(object,
                           [&records, before = records]() mutable { records = std::move(before); });
  }
  records.complete(batch, object.id);  // additions before it are recorded before it
  if (is_rewritten) return rewrite(db, object);
  records.record_removal(batch, object.id, member);
}

bool add_text(Database& db, Object& object, std::string_view member) {
  SetValue& set = object.set();
  if (!set.insert_text(member)) return false;
  push_undo(db, object, member,
            [mark = set.records().mark()](SetValue& value, std::string_view added) {
              value.erase(added);
              value.records().take_back_to(mark);
            });
  set.records().add_text(member);
  ++object.revision;
  db.changes().gather(object);
  return true;
}

bool add_integer(Database& db, Object& object, std::int64_t member) {
  SetValue& set = object.set();
  if (!set.insert_integer(member)) return false;
  db.changes().push_undo(object, [&set, member, mark = set.records().mark()] {
    set.erase_integer(member);
    set.records().take_back_to(mark);
  });
  set.records().add_integer(member);
  ++object.revision;
  db.changes().gather(object);
  return true;
}

/// As add_integers(), but for the step that takes it back. All that are new were gathered, whatever
/// it throws.
std::size_t insert_integers(SetValue& set, std::span<const std::int64_t> members,
                            std::size_t new_max, std::span<bool> is_new) {
  SetRecords& records = set.records();
  records.reserve_integers(std::min(members.size(), new_max));
  std::size_t count = 0;
  if (new_max == 0) return count;
  set.insert_integers(members, [&](std::int64_t member, bool was_missing) {
    is_new[count++] = was_missing;
    if (!was_missing) return true;
    records.add_integer(member);
    return --new_max > 0;
  });
  return count;
}

}  // namespace

Object& create(Database& db, std::string_view key) {
  return db.create(key, SetValue(db.keyspace().seed()));
}

bool add(Database& db, Object& object, const Scalar& member) {
  return member.is_integer() ? add_integer(db, object, member.integer())
                             : add_text(db, object, member.text());
}

std::size_t add_integers(Database& db, Object& object, std::span<const std::int64_t> members,
                         std::size_t new_max, std::span<bool> is_new) {
  SetValue& set = object.set();
  SetRecords& records = set.records();
  const SetRecords::Mark mark = records.mark();
  const auto take_back = [&set, mark](std::span<const std::int64_t> added) {
    for (const std::int64_t member : added) set.erase_integer(member);
    set.records().take_back_to(mark);
  };
  try {
    const std::size_t count = insert_integers(set, members, new_max, is_new);
    const auto gathered = records.integers_since(mark);
    if (gathered.empty()) return count;
    db.changes().push_undo(
        object, [take_back, added = std::vector<std::int64_t>(gathered.begin(), gathered.end())] {
          take_back(added);
        });
    ++object.revision;
    db.changes().gather(object);
    return count;
  } catch (...) {  // no memory: what there is no step for must not stay
    take_back(records.integers_since(mark));
    throw;
  }
}

bool remove(Database& db, Object& object, std::string_view member) {
  SetValue& set = object.set();
  const bool is_large = set.is_large(db.keyspace().limits());
  if (!set.erase(member)) return false;
  const SetValue::Form old = set.form();
  push_undo(db, object, member, [old](SetValue& value, std::string_view removed) {
    value.insert(removed);
    value.set_form(old);
  });
  set.set_form({is_large, std::min(old.spared, static_cast<std::int64_t>(set.size()))});
  record_removal(db, object, member);
  ++object.revision;
  if (set.size() == 0) db.remove(object);
  return true;
}

void assign_form(Database& db, Object& object, const SetValue::Form& form) {
  SetValue& set = object.set();
  db.changes().push_undo(object, [&set, old = set.form()] { set.set_form(old); });
  set.set_form(form);
}

}  // namespace rushgate::sets
