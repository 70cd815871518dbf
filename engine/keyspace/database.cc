#include "engine/keyspace/database.h"

#include <cassert>
#include <cstring>
#include <string>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/records.h"

namespace rushgate {
namespace {

void record_header_removal(Changes& changes, const Object& object) {
  std::string key;
  write_header_key(object.db, object.key, key);
  changes.records().remove(key);
}

/// What the keys of the headers of one database begin with.
std::string header_prefix(std::uint8_t db) {
  std::string prefix;
  write_header_key(db, {}, prefix);
  return prefix;
}

/// A removed object, held until the group ends in case it must come back.
using Removed = std::unique_ptr<Object>;

}  // namespace

Database::Database(Keyspace& keyspace, std::uint8_t number)
    : keyspace_(keyspace), number_(number), table_(keyspace.seed()) {}

Changes& Database::changes() { return keyspace_.changes(); }

// ---- Without undo or record ----

Object& Database::attach(std::unique_ptr<Object> object) {
  assert(table_.find(std::string_view(object->key)) == nullptr);
  Object& attached = *object;
  attached.db = number_;
  attached.attached = true;
  table_.insert(std::move(object));
  if (attached.expire_at_ms != kNoExpiry) expiries_.insert(&attached);
  return attached;
}

std::unique_ptr<Object> Database::detach(Object& object) {
  assert(object.attached && object.db == number_);
  if (object.expire_at_ms != kNoExpiry) expiries_.erase(&object);
  std::unique_ptr<Object> detached;
  table_.take(std::string_view(object.key), &detached);
  assert(detached.get() == &object);
  object.attached = false;
  forget_recent();
  return detached;
}

void Database::assign_expiry(Object& object, std::int64_t expire_at_ms) {
  if (object.expire_at_ms != kNoExpiry) expiries_.erase(&object);
  object.expire_at_ms = expire_at_ms;
  if (object.expire_at_ms != kNoExpiry) expiries_.insert(&object);
}

void Database::exchange(Database& other) {
  table_.swap(other.table_);
  expiries_.swap(other.expiries_);
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

Object* Database::find(std::string_view key) {
  Object*& found = recent(key);
  if (found == nullptr || found->key != key) {
    auto* const item = table_.find(key);
    if (item == nullptr) return nullptr;
    found = item->get();
  }
  Object& object = *found;
  if (object.expire_at_ms == kNoExpiry || object.expire_at_ms > keyspace_.now_ms()) return &object;
  remove(object);
  return nullptr;
}

Object& Database::create(std::string_view key, Value value) {
  auto made = std::make_unique<Object>(key, std::move(value));
  const auto* stream = std::get_if<std::unique_ptr<Stream>>(&made->value);
  made->id = stream != nullptr ? (*stream)->object_id() : keyspace_.next_object_id();
  Object& object = attach(std::move(made));
  changes().undo().push([this, &object] { detach(object); });
  changes().touch(object);
  note_creation(object.key);
  keyspace_.signal(object, KeySignal::kReady);
  return object;
}

void Database::remove(Object& object) {
  record_header_removal(changes(), object);
  remove_elements(changes().records(), object);
  Removed removed = detach(object);
  keyspace_.signal(*removed, KeySignal::kGone);
  changes().undo().push([this, held = std::move(removed)]() mutable { attach(std::move(held)); });
}

void Database::move(Object& object, Database& to, std::string_view key) {
  record_header_removal(changes(), object);
  Removed moved = detach(object);
  keyspace_.signal(*moved, KeySignal::kGone);
  std::string old_key = std::exchange(moved->key, std::string(key));
  to.attach(std::move(moved));
  changes().undo().push([this, &object, &to, old_key = std::move(old_key)]() mutable {
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
  for (const Database* const db : {this, &other}) {
    changes().records().remove_prefix(header_prefix(db->number_));
  }
  exchange(other);
  changes().undo().push([this, &other] { exchange(other); });
  for (Database* const db : {this, &other}) {
    db->for_each([db](Object& object) {
      ++object.revision;
      db->changes().touch(object);
      db->note_creation(object.key);
      db->keyspace_.signal(object, KeySignal::kReady);
    });
  }
}

void Database::set_expiry(Object& object, std::int64_t expire_at_ms) {
  ++object.revision;
  if (object.expire_at_ms == expire_at_ms) return;
  changes().undo().push([this, &object, old = object.expire_at_ms] { assign_expiry(object, old); });
  assign_expiry(object, expire_at_ms);
  changes().touch(object);
}

void Database::remove_all() {
  changes().records().remove_prefix(header_prefix(number_));

  Table table(keyspace_.seed());
  absl::btree_set<Object*, SoonerExpiry> expiries;
  table.swap(table_);
  expiries.swap(expiries_);
  forget_recent();
  table.for_each([&](Removed& object) {
    remove_elements(changes().records(), *object);
    object->attached = false;
    keyspace_.signal(*object, KeySignal::kGone);
  });
  changes().undo().push([this, table = std::move(table), expiries = std::move(expiries)]() mutable {
    table.for_each([](Removed& object) { object->attached = true; });
    table_ = std::move(table);
    expiries_ = std::move(expiries);
    forget_recent();
  });
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
  return (*expiries_.begin())->expire_at_ms;
}

std::size_t Database::remove_expired(std::size_t count_max) {
  std::size_t removed = 0;
  while (removed < count_max && !expiries_.empty()) {
    Object& object = **expiries_.begin();
    if (object.expire_at_ms > keyspace_.now_ms()) break;
    remove(object);
    ++removed;
  }
  return removed;
}

}  // namespace rushgate
