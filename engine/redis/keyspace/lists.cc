#include "engine/redis/keyspace/lists.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/removal_records.h"

namespace rushgate::lists {
namespace {

using Place = ListValue::Place;

constexpr ListPosition kFirstPosition = ListPosition{1} << 63;  // of a new list
constexpr ListPosition kGreatestPosition = std::numeric_limits<ListPosition>::max();

Place place_at(const ListValue& list, End end) {
  return end == End::kHead ? list.begin() : list.previous(list.end());
}

// ---- Records ----

void record(Database& db, const Object& object, ListPosition position, std::string_view element) {
  db.changes().records().put(position_key(object.id, position), element);
}

void record_removal(Database& db, const Object& object, ListPosition position) {
  db.changes().records().remove(position_key(object.id, position));
}

/// Removes the records of `count` elements, from the one at `first` on, which are still in the
/// list.
void record_removal(Database& db, Object& object, std::size_t first, std::size_t count) {
  const ListValue& list = object.list();
  if (count > kSingleRemovalsMax) {
    const ListPosition last = list.position(list.place_of(first + count - 1));
    const std::string end = position_key(object.id, last) + '\0';  // the next possible key
    db.changes().records().remove_range(
        position_key(object.id, list.position(list.place_of(first))), end);
    return;
  }
  Place place = list.place_of(first);
  for (; count > 0; --count, place = list.next(place)) {
    record_removal(db, object, list.position(place));
  }
}

/// Schedules the release of memory for the time when no change can be undone.
void shrink_later(Database& db, Object& object) {
  if (object.list().wants_to_shrink()) db.changes().mark_elements_dirty(object);
}

// ---- One element ----

void insert_at(Database& db, Object& object, Place place, ListPosition position,
               const MaybeInteger& element) {
  db.changes().reserve_undo(object);
  ListValue& list = object.list();
  db.changes().push_undo(object, [&list, inserted = list.insert(place, position, element)] {
    list.roll_back(inserted);
  });
  record(db, object, position, element.text());
  shrink_later(db, object);
}

void erase_at(Database& db, Object& object, Place place) {
  db.changes().reserve_undo(object);
  ListValue& list = object.list();
  const ListPosition position = list.position(place);
  db.changes().push_undo(
      object, [&list, erased = list.erase(place)]() mutable { list.roll_back(std::move(erased)); });
  record_removal(db, object, position);
  shrink_later(db, object);
}

// ---- Positions ----

/// Assigns positions with distance `spacing` to the elements from `first` on.
void respace(Database& db, Object& object, std::size_t first, std::size_t count,
             ListPosition position, ListPosition spacing) {
  ListValue& list = object.list();
  std::vector<ListPosition> before;
  std::vector<ListPosition> after;
  std::vector<std::string> elements;
  list.for_each(first, count, [&](ListPosition old, std::string element) {
    before.push_back(old);
    after.push_back(position);
    elements.push_back(std::move(element));
    position += spacing;
  });
  for (const ListPosition old : before) record_removal(db, object, old);
  for (std::size_t i = 0; i < count; ++i) record(db, object, after[i], elements[i]);
  db.changes().reserve_undo(object);
  list.reposition(first, after);
  db.changes().push_undo(
      object, [&list, first, before = std::move(before)] { list.reposition(first, before); });
}

/// Assigns positions with the usual distance to all elements, in the middle of the range.
void respace_all(Database& db, Object& object) {
  const std::size_t count = object.list().size();
  respace(db, object, 0, count, kFirstPosition - count / 2 * kListStep, kListStep);
}

/// Spreads the elements around `index`: the smallest number, within a factor of two, whose new
/// distances exceed their number. The more elements, the larger their distances, so an insertion
/// moves few elements on average, wherever it is.
void make_space(Database& db, Object& object, std::size_t index) {
  constexpr std::size_t kFewest = 32;
  const ListValue& list = object.list();
  for (std::size_t most = kFewest; most < list.size(); most *= 2) {
    const std::size_t first = index - std::min(index, most / 2);
    const std::size_t end = std::min(list.size(), first + most);
    const std::size_t count = end - first;
    const bool is_at_head = first == 0;
    const bool is_at_tail = end == list.size();
    const ListPosition before = is_at_head ? 0 : list.position(list.place_of(first - 1));
    const ListPosition behind = is_at_tail ? kGreatestPosition : list.position(list.place_of(end));
    ListPosition spacing = (behind - before) / (count + 1);
    if (is_at_head || is_at_tail) spacing = std::min(spacing, kListStep);
    if (spacing < 2 * count) continue;
    const ListPosition position = is_at_head ? behind - count * spacing : before + spacing;
    return respace(db, object, first, count, position, spacing);
  }
  respace_all(db, object);
}

/// Returns a position between the element at `index` and its predecessor; empty if there is none.
std::optional<ListPosition> free_position(const ListValue& list, std::size_t index) {
  if (list.size() == 0) return kFirstPosition;
  if (index == 0) {
    const ListPosition first = list.position(list.begin());
    if (first < kListStep) return std::nullopt;
    return first - kListStep;
  }
  const Place place = list.place_of(index);
  const ListPosition before = list.position(list.previous(place));
  if (place == list.end()) {
    if (before > kGreatestPosition - kListStep) return std::nullopt;
    return before + kListStep;
  }
  const ListPosition between = before + (list.position(place) - before) / 2;
  if (between == before) return std::nullopt;
  return between;
}

}  // namespace

Object& create(Database& db, std::string_view key) { return db.create(key, ListValue()); }

std::string peek(const ListValue& list, End end) { return list.element(place_at(list, end)); }

void push(Database& db, Object& object, End end, const MaybeInteger& element) {
  insert(db, object, end == End::kHead ? 0 : object.list().size(), element);
}

void insert(Database& db, Object& object, std::size_t index, const MaybeInteger& element) {
  ListValue& list = object.list();
  std::optional<ListPosition> position = free_position(list, index);
  if (!position) {
    if (index == 0 || index == list.size()) {
      respace_all(db, object);
    } else {
      make_space(db, object, index);
    }
    position = free_position(list, index);
  }
  insert_at(db, object, list.place_of(index), *position, element);
  db.keyspace().note_change(object);
}

void set(Database& db, Object& object, std::size_t index, const MaybeInteger& element) {
  ListValue& list = object.list();
  const Place place = list.place_of(index);
  const ListPosition position = list.position(place);
  if (!list.has_space_for(place, element)) {
    erase_at(db, object, place);
    insert_at(db, object, list.normal(place), position, element);
  } else {
    db.changes().reserve_undo(object);
    std::string old = list.element(place);
    list.assign(place, element);
    db.changes().push_undo(object,
                           [&list, place, old = std::move(old)] { list.assign(place, old); });
    record(db, object, position, element.text());
    shrink_later(db, object);
  }
  db.keyspace().note_change(object);
}

std::string pop(Database& db, Object& object, End end) {
  ListValue& list = object.list();
  const Place place = place_at(list, end);
  std::string element = list.element(place);
  if (list.size() == 1) {
    db.remove(object);
    return element;
  }
  erase_at(db, object, place);
  db.keyspace().note_change(object);
  return element;
}

void remove_range(Database& db, Object& object, std::size_t first, std::size_t count) {
  ListValue& list = object.list();
  if (count == list.size()) return db.remove(object);
  db.keyspace().note_change(object);  // WATCH sees LTRIM even without a removal
  constexpr std::size_t kFew = 16;    // for more, splitting two blocks is cheaper
  if (count <= kFew) {
    Place place = list.place_of(first);
    for (; count > 0; --count, place = list.normal(place)) erase_at(db, object, place);
    return;
  }
  record_removal(db, object, first, count);
  db.changes().reserve_undo(object);
  auto taken = std::make_unique<ListValue::Taken>();
  *taken = list.take(first, count);
  const std::size_t bytes = taken->memory_bytes();
  Removed<ListValue::Taken> held(db.keyspace().lazy_free(), std::move(taken), bytes);
  db.changes().push_undo(object, [&list, held = std::move(held)]() mutable {
    list.put_back(std::move(*held.take()));
  });
}

std::size_t remove_equal(Database& db, Object& object, const MaybeInteger& element, End from,
                         std::size_t count_max) {
  const ListValue& list = object.list();
  std::size_t count = 0;
  if (from == End::kHead) {
    for (Place place = list.begin(); place != list.end() && count < count_max;) {
      if (!list.equals(place, element)) {
        place = list.next(place);
        continue;
      }
      erase_at(db, object, place);
      place = list.normal(place);
      ++count;
    }
  } else {
    for (Place place = list.end(); place != list.begin() && count < count_max;) {
      place = list.previous(place);
      if (!list.equals(place, element)) continue;
      erase_at(db, object, place);
      place = list.normal(place);
      ++count;
    }
  }
  if (count == 0) return 0;
  db.keyspace().note_change(object);
  if (list.size() == 0) db.remove(object);
  return count;
}

}  // namespace rushgate::lists
