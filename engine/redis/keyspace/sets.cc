#include "engine/redis/keyspace/sets.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/base/numbers.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"

namespace rushgate::sets {
namespace {

/// Writes the next members of a set in rewriting.
void rewrite_portion(Database& db, Object& object) {
  const SetValue& set = object.set();
  SetRecords& records = object.set().records();
  StoreBatch& batch = db.changes().records();
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  const std::uint64_t begin = records.rewritten_to();
  const std::uint64_t end = set.step_end(begin, SetRecords::kRewrittenAtOnce);
  set.for_each_between(begin, end, [&](std::string_view member) {
    if (const auto integer = parse_int64(member)) {
      integers.push_back(*integer);
    } else {
      texts.emplace_back(member);
    }
  });
  records.rewrite(batch, object.id, integers, texts, end);
  if (end < SetValue::kPositionEnd) return;
  records.end_rewrite(batch);
  db.changes().mark_dirty(object);
}

void record_removal(Database& db, Object& object, std::string_view member) {
  SetRecords& records = object.set().records();
  StoreBatch& batch = db.changes().records();
  const bool begins = records.has_many_tombstones(object.set().size());
  const bool is_portion_due = records.is_portion_due() || begins;
  if (is_portion_due || records.buffered() > 0) {
    db.changes().reserve_undo(object);
    db.changes().push_undo(object, [&object, &records, id = object.id, before = records]() mutable {
      object.id = id;
      records = std::move(before);
    });
  }
  records.complete(batch, object.id);  // earlier additions are recorded first
  if (begins) {
    records.begin_rewrite(object.id);
    object.id = db.keyspace().next_object_id();
    db.changes().mark_dirty(object);
  }
  records.record_removal(batch, object.id, member);
  if (is_portion_due) rewrite_portion(db, object);
}

/// Changes the form of the set if it has no space for this member.
void grow_for(Database& db, Object& object, const MaybeInteger& member) {
  SetValue& set = object.set();
  if (!set.outgrows(db.keyspace().limits(), member)) return;
  db.changes().reserve_undo(object);
  db.changes().push_undo(object, [&set, packed = set.grow(member, db.keyspace().seed())]() mutable {
    set.roll_back(std::move(packed));
  });
}

bool add_text(Database& db, Object& object, std::string_view member) {
  db.changes().reserve_undo(object);
  SetValue& set = object.set();
  SetRecords& records = set.records();
  std::string added(member);
  if (!set.insert_text(member)) return false;
  db.changes().push_undo(
      object, [&set, &records, added = std::move(added), savepoint = records.savepoint()] {
        set.erase_text(added);
        records.roll_back_to(savepoint);
      });
  records.add_text(member);
  db.keyspace().note_change(object);
  db.changes().mark_elements_dirty(object);
  return true;
}

bool add_integer(Database& db, Object& object, std::int64_t member) {
  db.changes().reserve_undo(object);
  SetValue& set = object.set();
  SetRecords& records = set.records();
  if (!set.insert_integer(member)) return false;
  db.changes().push_undo(object, [&set, &records, member, savepoint = records.savepoint()] {
    set.erase_integer(member);
    records.roll_back_to(savepoint);
  });
  records.add_integer(member);
  db.keyspace().note_change(object);
  db.changes().mark_elements_dirty(object);
  return true;
}

/// As add_integers(), without the undo step. All new members are in the buffer, even if it
/// throws.
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

/// As add_integers(), for a set whose form may change.
std::size_t add_one_by_one(Database& db, Object& object, std::span<const std::int64_t> members,
                           std::size_t new_max, std::span<bool> is_new) {
  std::size_t count = 0;
  for (; count < members.size() && new_max > 0; ++count) {
    is_new[count] = add(db, object, DecimalText(members[count]).view());
    if (is_new[count]) --new_max;
  }
  return count;
}

}  // namespace

Object& create(Database& db, std::string_view key) { return db.create(key, SetValue()); }

bool add(Database& db, Object& object, const MaybeInteger& member) {
  grow_for(db, object, member);
  return member.is_integer() ? add_integer(db, object, member.integer())
                             : add_text(db, object, member.text());
}

std::size_t add_integers(Database& db, Object& object, std::span<const std::int64_t> members,
                         std::size_t new_max, std::span<bool> is_new) {
  SetValue& set = object.set();
  if (!set.has_space_for_integers(db.keyspace().limits(), std::min(members.size(), new_max))) {
    return add_one_by_one(db, object, members, new_max, is_new);
  }
  db.changes().reserve_undo(object);
  SetRecords& records = set.records();
  const SetRecords::Savepoint savepoint = records.savepoint();
  const auto roll_back = [&set, savepoint](std::span<const std::int64_t> added) {
    for (const std::int64_t member : added) set.erase_integer(member);
    set.records().roll_back_to(savepoint);
  };
  try {
    const std::size_t count = insert_integers(set, members, new_max, is_new);
    const auto buffered = records.integers_since(savepoint);
    if (buffered.empty()) return count;
    db.changes().push_undo(
        object, [roll_back, added = std::vector<std::int64_t>(buffered.begin(), buffered.end())] {
          roll_back(added);
        });
    db.keyspace().note_change(object);
    db.changes().mark_elements_dirty(object);
    return count;
  } catch (...) {  // out of memory: without an undo step, no member may stay
    roll_back(records.integers_since(savepoint));
    throw;
  }
}

void copy(Database& db, Object& made, const SetValue& from) {
  assert(made.is_newborn);  // a rollback removes it as a whole
  db.changes().reserve_undo(made);
  db.changes().mark_elements_dirty(made);
  made.set().copy_members(from);
  SetRecords& records = made.set().records();
  const auto record_segment = [&] {
    if (records.buffered() == SetRecords::kSegmentMembersMax) {
      records.complete(db.changes().records(), made.id);
    }
  };
  from.for_each_integer([&](std::int64_t member) {
    records.add_integer(member);
    record_segment();
  });
  from.for_each_text([&](std::string_view member) {
    records.add_text(member);
    record_segment();
  });
  db.keyspace().note_change(made);
}

bool remove(Database& db, Object& object, std::string_view member) {
  db.changes().reserve_undo(object);
  SetValue& set = object.set();
  if (const auto integer = parse_int64(member)) {
    if (!set.erase_integer(*integer)) return false;
    db.changes().push_undo(object, [&set, removed = *integer] { set.insert_integer(removed); });
  } else {
    std::optional<std::string> removed = set.take_text(member);
    if (!removed) return false;
    db.changes().push_undo(object, [&set, removed = *std::move(removed)]() mutable {
      set.put_back(std::move(removed));
    });
  }
  record_removal(db, object, member);
  db.keyspace().note_change(object);
  if (set.wants_to_shrink()) db.changes().mark_elements_dirty(object);
  if (set.size() == 0) db.remove(object);
  return true;
}

}  // namespace rushgate::sets
