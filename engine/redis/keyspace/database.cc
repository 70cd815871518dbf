#include "engine/redis/keyspace/database.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <string>

#include "absl/container/inlined_vector.h"
#include "engine/core/base/prefetch.h"
#include "engine/redis/keyspace/hashes.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/removal_records.h"

namespace rushgate {
namespace {

void record_header_removal(Changes& changes, const Object& object) {
  changes.records().remove_written(
      [&object](std::string& key) { write_header_key(object.db, object.key(), key); });
}

/// Returns the object unless it has expired, else null.
const Object* unexpired(const Object* object, std::int64_t now_ms) {
  return object == nullptr || object->is_expired(now_ms) ? nullptr : object;
}

}  // namespace

/// The contents that remove_all() removes.
struct Database::Contents {
  explicit Contents(std::uint64_t seed) : table(seed) {}

  /// Frees the objects one by one.
  void free_parts(LazyFree::FreedPart freed) {
    table.for_each([&](std::unique_ptr<Object>& object) {
      const std::size_t bytes = object->memory_bytes();
      object.reset();
      freed(bytes);
    });
  }

  Table table;
  Expiries expiries;
  HashesByExpiry expiring_hashes;
};

Database::Database(Keyspace& keyspace, std::uint8_t number)
    : keyspace_(keyspace), number_(number), table_(keyspace.seed()) {}

Changes& Database::changes() { return keyspace_.changes(); }
MemoryCount& Database::memory() { return keyspace_.changes().memory(); }

Removed<Object> Database::removed(std::unique_ptr<Object> object) {
  const std::size_t bytes = object->memory_bytes();
  return {keyspace_.lazy_free(), std::move(object), bytes};
}

// ---- Without undo or record ----

Object& Database::attach(Detached detached) {
  auto& [object, expiry] = detached;
  assert(table_.find(std::string_view(object->key())) == nullptr);
  Object& attached = *object;
  attached.db = number_ & Object::kDbMask;
  attached.attached = true;
  const CountTables counting(*this);
  table_.insert(std::move(object));
  if (attached.expires) {
    expiries_.insert(attached, attached.expire_at_ms(), std::move(expiry));
    note_expiring();
  }
  if (attached.type() == ValueType::kHash) field_expiries_changed(attached);
  memory().enter(attached);
  return attached;
}

Database::Detached Database::detach(Object& object) {
  assert(object.attached && object.db == number_);
  const CountTables counting(*this);
  Detached detached;
  if (object.expires) {
    detached.expiry = expiries_.take(object);
    note_expiring();
  }
  if (object.type() == ValueType::kHash && object.hash().expiries() != nullptr) {
    expiring_hashes_.remove(*object.hash().expiries());
    note_expiring();
  }
  table_.take(std::string_view(object.key()), &detached.object);
  memory().leave(object);
  assert(detached.object.get() == &object);
  object.attached = false;
  forget_recent();
  return detached;
}

void Database::reserve_for(std::string_view key) {
  const CountTables counting(*this);
  table_.reserve_for(key);
}

Database::Expiries::Node Database::assign_expiry(Object& object, std::int64_t expire_at_ms,
                                                 Expiries::Node node) {
  const CountTables counting(*this);
  if (expire_at_ms == kNoExpiry) {
    node = expiries_.take(object);
    object.expires = false;
    note_expiring();
    return node;
  }
  expiries_.insert(object, expire_at_ms, std::move(node));
  note_expiring();
  return {};
}

void Database::exchange(Database& other) {
  table_.swap(other.table_);
  std::swap(expiries_, other.expiries_);
  std::swap(expiring_hashes_, other.expiring_hashes_);
  for (Database* const db : {this, &other}) {
    db->forget_recent();
    db->note_expiring();
    db->for_each([db](Object& object) { object.db = db->number_ & Object::kDbMask; });
  }
}

// ---- Mutators ----

/// Returns the slot of this key in recent_. Other keys share it.
Object*& Database::recent(std::string_view key) {
  constexpr std::uint64_t kFactor = 0x9E37'79B9'7F4A'7C15;  // mixes into the upper bits
  std::uint64_t end = 0;
  if (key.size() >= sizeof(end)) std::memcpy(&end, key.end() - sizeof(end), sizeof(end));
  return recent_[(end + key.size()) * kFactor >> 61];
}

void Database::warm(std::span<const std::string_view> keys) const {
  absl::InlinedVector<const Object*, kWarmedMax> objects;
  table_.warm(keys, [&objects](const ObjectEntry::Item& object) {
    prefetch(object.get());
    prefetch(object.get() + 1);  // value and key
    objects.push_back(object.get());
  });
  for (const Object* const object : objects) {
    if (object->expires) prefetch(&*object->expiry_place);
  }
}

Object* Database::peek(std::string_view key) { return look_up(key, Lookup::kPeek); }

const Object* Database::find_stored(std::string_view key) const {
  const auto* const item = table_.find(key);
  return item == nullptr ? nullptr : item->get();
}

Object* Database::find(std::string_view key) { return look_up(key, Lookup::kUse); }

/// The use of a recent key was noted when it was found in the table.
[[gnu::always_inline]] inline Object* Database::look_up(std::string_view key, Lookup lookup) {
  Object*& last = recent(key);
  Object* found = last;
  if (found == nullptr || found->key() != key) {
    auto* const item = table_.find(key);
    if (item == nullptr) {
      ++keyspace_.counts().missing;
      keyspace_.events().note_miss(number_, key);
      return nullptr;
    }
    found = item->get();
    if (lookup == Lookup::kUse && keyspace_.note_use(*found)) last = found;
  }
  Object& object = *found;
  const std::int64_t now_ms = keyspace_.now_ms();
  const bool may_be_due = object.is_expired(now_ms) || expiring_hashes_.next_ms() <= now_ms;
  if (!may_be_due || outlives_expiry(object)) {
    ++keyspace_.counts().found;
    return &object;
  }
  ++keyspace_.counts().missing;
  keyspace_.events().note_miss(number_, key);
  return nullptr;
}

bool Database::has_expired(const Object& object) const {
  const std::int64_t now_ms = keyspace_.now_ms();
  if (object.is_expired(now_ms)) return true;
  return object.type() == ValueType::kHash && object.hash().is_expired(now_ms);
}

bool Database::outlives_expiry(Object& object) {
  const std::int64_t now_ms = keyspace_.now_ms();
  if (object.is_expired(now_ms)) {
    if (!keyspace_.keeps_expired()) expire(object);
    return false;
  }
  if (object.type() != ValueType::kHash || !object.hash().has_expired_fields(now_ms)) return true;
  if (!keyspace_.keeps_expired()) {
    // Of a large hash, active removal takes the others.
    constexpr std::size_t kLargeMax = 16;
    constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    hashes::remove_expired(*this, object, object.hash().is_large() ? kLargeMax : kAll);
    return object.attached;  // undo keeps it alive
  }
  if (object.hash().is_expired(now_ms)) return false;
  hashes::hide_expired(*this, object);
  return true;
}

void Database::expire(Object& object) {
  remove(object, ChangeCause::kExpiry);
  ++keyspace_.counts().expired;
  keyspace_.events().note(kExpiredEvents, "expired", number_, object.key());  // undo keeps it alive
}

Object& Database::create(std::string_view key, Value value) {
  Object& object = insert(key, std::move(value));
  keyspace_.events().note(kNewEvents, "new", number_, object.key());
  return object;
}

Object& Database::replace(Object& object, Value value) {
  const std::string key(object.key());
  remove(object);
  return insert(key, std::move(value));
}

Object& Database::insert(std::string_view key, Value value) {
  changes().reserve_undo();
  auto made = Object::make(key, std::move(value));
  made->id = made->type() == ValueType::kStream ? made->stream().log().object_id()
                                                : keyspace_.next_object_id();
  made->last_use = keyspace_.use_clock().now() & UseClock::kMax;
  Object& object = attach({.object = std::move(made), .expiry = {}});
  changes().push_undo([this, &object] { static_cast<void>(removed(detach(object).object)); });
  changes().note_creation(object);
  changes().mark_dirty(object);
  note_creation(object.key());
  keyspace_.note_change(object.key());
  keyspace_.signal(object, KeySignal::kReady);
  return object;
}

void Database::remove(Object& object, ChangeCause cause) {
  keyspace_.note_change(object.key(), cause);
  changes().reserve_undo();
  record_header_removal(changes(), object);
  remove_elements(changes().records(), object);
  keyspace_.signal(object, KeySignal::kGone);
  Detached detached = detach(object);
  changes().push_undo([this, held = removed(std::move(detached.object)),
                       expiry = std::move(detached.expiry)]() mutable {
    attach({.object = held.take(), .expiry = std::move(expiry)});
  });
}

void Database::move(Object& object, Database& to, std::string_view key) {
  keyspace_.note_change(object.key());
  keyspace_.note_change(key);
  changes().reserve_undo();
  auto new_key = std::make_unique<std::string>(key);
  auto old_key = std::make_unique<std::string>(object.key());
  record_header_removal(changes(), object);
  keyspace_.signal(object, KeySignal::kGone);
  to.reserve_for(key);
  Detached moved = detach(object);
  moved.object->set_key(std::move(new_key));
  to.attach(std::move(moved));
  changes().push_undo([this, &object, &to, old_key = std::move(old_key)]() mutable {
    Detached back = to.detach(object);
    back.object->set_key(std::move(old_key));
    attach(std::move(back));
  });
  ++object.revision;
  changes().mark_dirty(object);
  to.note_creation(object.key());
  keyspace_.signal(object, KeySignal::kReady);
  keyspace_.events().note(kNewEvents, "new", to.number_, object.key());
}

void Database::swap(Database& other) {
  if (this == &other) return;
  for (Database* const db : {this, &other}) {
    db->record_header_removals();
  }
  signal_streams_replaced_by(other);
  other.signal_streams_replaced_by(*this);
  keyspace_.note_swap();
  changes().reserve_undo();
  exchange(other);
  changes().push_undo([this, &other] { exchange(other); });
  for (Database* const db : {this, &other}) {
    db->for_each([db](Object& object) {
      ++object.revision;
      db->changes().mark_dirty(object);
      // A key that has expired appears to no client.
      if (!object.is_expired(db->keyspace_.now_ms())) db->note_creation(object.key());
      db->keyspace_.signal(object, KeySignal::kReady);
    });
  }
}

/// Signals the streams that are replaced by the contents of `other`. Removes no expired key.
void Database::signal_streams_replaced_by(const Database& other) {
  for_each([&](Object& object) {
    if (object.type() != ValueType::kStream) return;
    const Object* const next = other.find_stored(object.key());
    if (next == nullptr || next->type() != ValueType::kStream) {
      keyspace_.signal(object, KeySignal::kGone);
    }
  });
}

void Database::set_expiry(Object& object, std::int64_t expire_at_ms) {
  keyspace_.note_change(object);
  const std::int64_t old = object.expire_at_ms();
  if (old == expire_at_ms) return;
  changes().reserve_undo();
  if (old != kNoExpiry && expire_at_ms != kNoExpiry) {
    expiries_.move(object, expire_at_ms);
    changes().push_undo([this, &object, old] { expiries_.move(object, old); });
  } else {
    changes().push_undo([this, &object, old, node = assign_expiry(object, expire_at_ms)]() mutable {
      assign_expiry(object, old, std::move(node));
    });
  }
  changes().mark_dirty(object);
}

void Database::field_expiries_changed(Object& hash) {
  FieldExpiries* const expiries = hash.hash().expiries();
  if (expiries == nullptr) return;
  expiring_hashes_.update(hash, *expiries);
  note_expiring();
}

void Database::record_header_removals() {
  if (size() > kSingleRemovalsMax)
    return remove_prefix(changes().records(), header_prefix(number_));
  for_each([this](const Object& object) { record_header_removal(changes(), object); });
}

void Database::remove_all() {
  keyspace_.note_flush();
  record_header_removals();
  MassRemoval removal(keyspace_.is_all_in(*this));
  for_each([&](const Object& object) { removal.add(object); });
  removal.record(changes().records());
  drop_all();
}

void Database::drop_all() {
  if (keyspace_.may_signal()) {
    for_each([this](const Object& object) { keyspace_.signal(object, KeySignal::kGone); });
  }
  changes().reserve_undo();
  auto contents = std::make_unique<Contents>(keyspace_.seed());
  const std::size_t bytes_before = memory().bytes();
  memory().change(table_bytes(), 0);
  contents->table.swap(table_);
  std::swap(contents->expiries, expiries_);
  std::swap(contents->expiring_hashes, expiring_hashes_);
  note_expiring();
  forget_recent();
  contents->table.for_each([&](std::unique_ptr<Object>& object) {
    object->attached = false;
    object->prepare_to_be_freed();
    memory().leave(*object);
  });
  const std::size_t bytes = bytes_before - memory().bytes();
  const std::size_t objects = contents->table.size();
  Removed<Contents> removed(keyspace_.lazy_free(), std::move(contents), bytes, objects);
  changes().push_undo([this, held = std::move(removed)]() mutable {
    const std::unique_ptr<Contents> back = held.take();
    back->table.for_each([this](std::unique_ptr<Object>& object) {
      object->attached = true;
      memory().enter(*object);
    });
    const std::size_t before = table_bytes();
    table_ = std::move(back->table);
    expiries_ = std::move(back->expiries);
    expiring_hashes_ = std::move(back->expiring_hashes);
    note_expiring();
    memory().change(before, table_bytes());
    forget_recent();
  });
}

std::size_t Database::measured_bytes() const {
  std::size_t bytes = table_.measured_bytes() + expiries_.memory_bytes();
  table_.for_each(
      [&](const std::unique_ptr<Object>& object) { bytes += object->measured_bytes(); });
  return bytes;
}

// ---- WATCH ----

WatchedKey Database::watch(std::string_view key) {
  const Object* object = unexpired(find_stored(key), keyspace_.now_ms());
  // Fields that have expired before the watch are no change.
  if (object != nullptr && has_due_fields(*object)) object = peek(key);
  WatchedKey watched{.db = number_, .key = std::string(key), .was_there = object != nullptr};
  if (object != nullptr) {
    watched.object_id = object->id;
    watched.revision = object->revision;
  } else {
    WatchedAbsence& absence = watched_absences_[watched.key];
    ++absence.watchers;
    watched.creations = absence.creations;
  }
  return watched;
}

/// Returns true if find() would hide fields of the object.
bool Database::has_due_fields(const Object& object) const {
  return object.type() == ValueType::kHash && !keyspace_.keeps_expired() &&
         object.hash().has_due_fields(keyspace_.now_ms());
}

void Database::unwatch(const WatchedKey& watched) {
  if (watched.was_there) return;
  const auto absence = watched_absences_.find(watched.key);
  if (--absence->second.watchers == 0) watched_absences_.erase(absence);
}

bool Database::has_changed(const WatchedKey& watched) {
  if (was_written(watched)) return true;
  if (!watched.was_there) return false;
  const Object* const object = unexpired(find_stored(watched.key), keyspace_.now_ms());
  return object == nullptr || has_due_fields(*object);
}

bool Database::was_written(const WatchedKey& watched) const {
  const Object* const object = find_stored(watched.key);
  if (!watched.was_there) {
    return unexpired(object, keyspace_.now_ms()) != nullptr ||
           watched_absences_.at(watched.key).creations != watched.creations;
  }
  return object == nullptr || object->id != watched.object_id ||
         object->revision != watched.revision;
}

void Database::note_creation(std::string_view key) {
  if (watched_absences_.empty()) return;
  const auto absence = watched_absences_.find(std::string(key));
  if (absence != watched_absences_.end()) ++absence->second.creations;
}

// ---- Expiry ----

void Database::note_expiring() {
  keyspace_.note_expiring(number_, !expiries_.empty() || !expiring_hashes_.empty());
}

std::optional<std::int64_t> Database::next_expiry_ms() const {
  if (expiries_.empty() && expiring_hashes_.empty()) return std::nullopt;
  const std::int64_t fields_ms = expiring_hashes_.next_ms();
  return expiries_.empty() ? fields_ms : std::min(fields_ms, expiries_.first().at_ms);
}

std::int64_t Database::average_ttl_ms() const {
  if (expiries_.empty()) return 0;
  const std::int64_t sum = expiries_.sum_of_ttls_ms(keyspace_.now_ms());
  return std::max<std::int64_t>(0, sum / static_cast<std::int64_t>(expiries_.size()));
}

std::size_t Database::remove_expired(std::size_t count_max) {
  std::size_t removed = 0;
  while (removed < count_max) {
    const std::optional<std::int64_t> next_ms = next_expiry_ms();
    if (!next_ms || *next_ms > keyspace_.now_ms()) break;
    if (!expiries_.empty() && expiries_.first().at_ms == *next_ms) {
      expire(*expiries_.first().object);
      ++removed;
    } else {
      removed += hashes::remove_expired(*this, expiring_hashes_.first(), count_max - removed);
    }
  }
  return removed;
}

}  // namespace rushgate
