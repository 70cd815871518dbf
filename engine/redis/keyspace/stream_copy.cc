// COPY of a stream, and XSETID, which may require one.
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/base/status_macros.h"
#include "engine/redis/keyspace/copies.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/streams.h"

namespace rushgate::streams {
namespace {

void copy_group(const StreamGroup& from, Database& to, Object& object) {
  StreamGroup& group = create_group(to, object, from.name, from.last_delivered, from.entries_read);
  for (const auto& [name, consumer] : from.consumers) {
    create_consumer(to, object, group, name).seen_ms = consumer->seen_ms;
  }
  for (const auto& [id, pending] : from.pending) {
    PendingEntry copied = pending;
    copied.consumer = group.find_consumer(pending.consumer->name);
    assign_pending(to, object, group, id, copied);
  }
}

absl::Status copy_entries(const StreamLog& from, Database& to, Object& object) {
  std::vector<std::string> values;
  std::vector<StreamField> fields;
  absl::Status appended;
  absl::Status read = from.read(StreamId::min(), StreamId::max(), [&](const StreamEntry& entry) {
    values.clear();
    fields.clear();
    for (std::size_t i = 0; i < entry.size(); ++i) values.push_back(entry.value(i));
    for (std::size_t i = 0; i < entry.size(); ++i)
      fields.emplace_back(entry.name(i), std::string_view(values[i]));
    appended = append(to, object, entry.id(), fields);
    return appended.ok();
  });
  return read.ok() ? appended : read;
}

/// Sets the counters of entries that are gone.
void set_counted_history(Database& db, Object& object, StreamId last_id,
                         std::uint64_t entries_added, StreamId max_deleted_id) {
  StreamLog& log = object.stream().log();
  db.changes().reserve_undo(object);
  db.changes().push_undo(object, [&log, old = log.counters()] {
    log.set_history(old.last_id, old.entries_added, old.max_deleted_id);
  });
  log.set_history(last_id, entries_added, max_deleted_id);
  db.changes().mark_dirty(object);
}

}  // namespace

absl::Status copy(const Stream& from, Database& to, std::string_view key) {
  const StreamLog& log = from.log();
  const Changes::Savepoint before = to.changes().savepoint();
  Object& object = create(to, key);
  absl::Status copied = copy_entries(log, to, object);
  if (copied.ok() && object.stream().log().length() != log.length()) copied = log.miscounted();
  if (!copied.ok()) {
    to.changes().roll_back_to(before);
    return copied;
  }
  set_counted_history(to, object, log.last_id(), log.entries_added(), log.max_deleted_id());
  for (const auto& [name, group] : from.groups()) copy_group(*group, to, object);
  return absl::OkStatus();
}

absl::Status set_history(Database& db, Object& object, StreamId last_id,
                         std::uint64_t entries_added, StreamId max_deleted_id) {
  StreamLog& log = object.stream().log();
  RETURN_IF_ERROR(log.check_end());
  Object* changed = &object;
  if (last_id < log.last_id()) {
    const KeyEvents::Pause pause(db.keyspace().events());  // to others it stays the same stream
    const Changes::Savepoint before = db.changes().savepoint();
    db.remove(object);  // owned by the undo log
    if (absl::Status copied = copy_object(object, db, object.key()); !copied.ok()) {
      db.changes().roll_back_to(before);
      return copied;
    }
    changed = db.find(object.key());
  }
  set_counted_history(db, *changed, last_id, entries_added, max_deleted_id);
  return absl::OkStatus();
}

}  // namespace rushgate::streams
