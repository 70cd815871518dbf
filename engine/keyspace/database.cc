#include "engine/keyspace/database.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "absl/container/inlined_vector.h"
#include "engine/base/touch.h"
#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"
#include "engine/keyspace/removal_records.h"

namespace rushgate {
namespace {

void record_header_removal(Changes& changes, const Object& object) {
  std::string key;
  write_header_key(object.db, object.key, key);
  changes.records().remove(key);
}

}  // namespace

/// What remove_all() removes.
struct Database::Contents {
  explicit Contents(std::uint64_t seed) : table(seed) {}

  Table table;
  Expiries expiries;
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

Object& Database::attach(std::unique_ptr<Object> object) {
  assert(table_.find(std::string_view(object->key)) == nullptr);
  Object& attached = *object;
  attached.db = number_;
  attached.attached = true;
  const std::size_t before = table_bytes();
  table_.insert(std::move(object));
  if (attached.expire_at_ms != kNoExpiry) expiries_.insert(attached);
  memory().change(before, table_bytes());
  memory().enter(attached);
  return attached;
}

std::unique_ptr<Object> Database::detach(Object& object) {
  assert(object.attached && object.db == number_);
  const std::size_t before = table_bytes();
  if (object.expire_at_ms != kNoExpiry) expiries_.erase(object);
  std::unique_ptr<Object> detached;
  table_.take(std::string_view(object.key), &detached);
  memory().change(before, table_bytes());
  memory().leave(object);
  assert(detached.get() == &object);
  object.attached = false;
  forget_recent();
  return detached;
}

void Database::assign_expiry(Object& object, std::int64_t expire_at_ms) {
  const std::size_t before = table_bytes();
  if (object.expire_at_ms != kNoExpiry) expiries_.erase(object);
  object.expire_at_ms = expire_at_ms;
  if (object.expire_at_ms != kNoExpiry) expiries_.insert(object);
  memory().change(before, table_bytes());
}

void Database::exchange(Database& other) {
  table_.swap(other.table_);
  std::swap(expiries_, other.expiries_);
  for (Database* const db : {this, &other}) {
    db->forget_recent();
    db->for_each([db](Object& object) { object.db = db->number_; });
  }
}

// ---- Mutators ----

/// Where an object of this key, or of another, may stand in recent_.
Object*& Database::recent(std::string_view key) {
  constexpr std::uint64_t kFactor = 0x9E37'79B9'7F4A'7C15;  // mixes into the upper bits
  std::uint64_t end = 0;
  if (key.size() >= sizeof(end)) std::memcpy(&end, key.end() - sizeof(end), sizeof(end));
  return recent_[(end + key.size()) * kFactor >> 61];
}

void Database::warm(std::span<const std::string_view> keys) const {
  absl::InlinedVector<const Object*, kWarmedMax> objects;
  table_.warm(keys, [&objects](const ObjectEntry::Item& object) {
    touch(object.get());
    objects.push_back(object.get());
  });
  for (const Object* const object : objects) {
    touch(object->key.data());
    touch(&object->change);  // it is longer than what is fetched at once
  }
}

Object* Database::find(std::string_view key) {
  Object*& found = recent(key);
  if (found == nullptr || found->key != key) {
    auto* const item = table_.find(key);
    if (item == nullptr) {
      ++keyspace_.counts().missing;
      return nullptr;
    }
    found = item->get();
  }
  Object& object = *found;
  if (object.expire_at_ms == kNoExpiry || object.expire_at_ms > keyspace_.now_ms()) {
    ++keyspace_.counts().found;
    return &object;
  }
  remove(object);
  ++keyspace_.counts().missing;
  ++keyspace_.counts().expired;
  return nullptr;
}

Object& Database::create(std::string_view key, Value value) {
  auto made = std::make_unique<Object>(key, std::move(value));
  const auto* stream = std::get_if<std::unique_ptr<Stream>>(&made->value);
  made->id = stream != nullptr ? (*stream)->object_id() : keyspace_.next_object_id();
  Object& object = attach(std::move(made));
  changes().push_undo([this, &object] { static_cast<void>(removed(detach(object))); });
  changes().touch(object);
  note_creation(object.key);
  keyspace_.signal(object, KeySignal::kReady);
  return object;
}

void Database::remove(Object& object) {
  record_header_removal(changes(), object);
  remove_elements(changes().records(), object);
  std::unique_ptr<Object> detached = detach(object);
  keyspace_.signal(*detached, KeySignal::kGone);
  changes().push_undo(
      [this, held = removed(std::move(detached))]() mutable { attach(held.take()); });
}

void Database::move(Object& object, Database& to, std::string_view key) {
  record_header_removal(changes(), object);
  std::unique_ptr<Object> moved = detach(object);
  keyspace_.signal(*moved, KeySignal::kGone);
  std::string old_key = std::exchange(moved->key, std::string(key));
  to.attach(std::move(moved));
  changes().push_undo([this, &object, &to, old_key = std::move(old_key)]() mutable {
    std::unique_ptr<Object> back = to.detach(object);
    back->key = std::move(old_key);
    attach(std::move(back));
  });
  ++object.revision;
  changes().touch(object);
  to.note_creation(object.key);
  keyspace_.signal(object, KeySignal::kReady);
}

void Database::swap(Database& other) {
  if (this == &other) return;
  for (Database* const db : {this, &other}) {
    db->record_header_removals();
  }
  signal_streams_replaced_by(other);
  other.signal_streams_replaced_by(*this);
  exchange(other);
  changes().push_undo([this, &other] { exchange(other); });
  for (Database* const db : {this, &other}) {
    db->for_each([db](Object& object) {
      ++object.revision;
      db->changes().touch(object);
      db->note_creation(object.key);
      db->keyspace_.signal(object, KeySignal::kReady);
    });
  }
}

/// Those that will not be there any more when it has what `other` has now.
void Database::signal_streams_replaced_by(Database& other) {
  for_each([&](Object& object) {
    if (object.type() != ValueType::kStream) return;
    const Object* const next = other.find(object.key);
    if (next == nullptr || next->type() != ValueType::kStream) {
      keyspace_.signal(object, KeySignal::kGone);
    }
  });
}

void Database::set_expiry(Object& object, std::int64_t expire_at_ms) {
  ++object.revision;
  if (object.expire_at_ms == expire_at_ms) return;
  changes().push_undo([this, &object, old = object.expire_at_ms] { assign_expiry(object, old); });
  assign_expiry(object, expire_at_ms);
  changes().touch(object);
}

void Database::record_header_removals() {
  if (size() > kSingleRemovalsMax)
    return remove_prefix(changes().records(), header_prefix(number_));
  for_each([this](const Object& object) { record_header_removal(changes(), object); });
}

void Database::remove_all() {
  record_header_removals();
  MassRemoval removal(keyspace_.is_all_in(*this));
  for_each([&](const Object& object) { removal.add(object); });
  removal.record(changes().records());
  drop_all();
}

void Database::drop_all() {
  auto contents = std::make_unique<Contents>(keyspace_.seed());
  const std::size_t bytes_before = memory().bytes();
  memory().change(table_bytes(), 0);
  contents->table.swap(table_);
  std::swap(contents->expiries, expiries_);
  forget_recent();
  contents->table.for_each([&](std::unique_ptr<Object>& object) {
    object->attached = false;
    object->prepare_to_be_freed();
    memory().leave(*object);
    keyspace_.signal(*object, KeySignal::kGone);
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
  const Object* const object = find(key);
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

void Database::unwatch(const WatchedKey& watched) {
  if (watched.was_there) return;
  const auto absence = watched_absences_.find(watched.key);
  if (--absence->second.watchers == 0) watched_absences_.erase(absence);
}

bool Database::has_changed(const WatchedKey& watched) {
  const Object* const object = find(watched.key);
  if (!watched.was_there) {
    return object != nullptr || watched_absences_.at(watched.key).creations != watched.creations;
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

std::optional<std::int64_t> Database::next_expiry_ms() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.first().expire_at_ms;
}

std::int64_t Database::average_ttl_ms() const {
  if (expiries_.empty()) return 0;
  const std::int64_t sum = expiries_.sum_of_ttls_ms(keyspace_.now_ms());
  return std::max<std::int64_t>(0, sum / static_cast<std::int64_t>(expiries_.size()));
}

std::size_t Database::remove_expired(std::size_t count_max) {
  std::size_t removed = 0;
  while (removed < count_max && !expiries_.empty()) {
    Object& object = expiries_.first();
    if (object.expire_at_ms > keyspace_.now_ms()) break;
    remove(object);
    ++removed;
  }
  keyspace_.counts().expired += removed;
  return removed;
}

}  // namespace rushgate
