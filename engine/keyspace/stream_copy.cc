// COPY of a stream.
#include <string>
#include <string_view>
#include <vector>

#include "engine/keyspace/keyspace.h"
#include "engine/keyspace/streams.h"

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

absl::Status copy_entries(const Stream& from, Database& to, Object& object) {
  std::vector<std::string> values;
  std::vector<StreamField> fields;
  return from.read(StreamId::min(), StreamId::max(), [&](const StreamEntry& entry) {
    values.clear();
    fields.clear();
    for (std::size_t i = 0; i < entry.size(); ++i) values.push_back(entry.value(i));
    for (std::size_t i = 0; i < entry.size(); ++i)
      fields.emplace_back(entry.name(i), std::string_view(values[i]));
    append(to, object, entry.id(), fields);
    return true;
  });
}

/// What the stream remembers of entries that are gone.
void copy_counters(const Stream& from, Database& to, Object& object) {
  Stream& stream = object.stream();
  const Stream::Counters old = stream.counters();
  Stream::Counters counters = old;
  counters.entries_added = from.entries_added();
  counters.last_id = from.last_id();
  counters.max_deleted_id = from.max_deleted_id();
  stream.set_counters(counters);
  to.changes().push_undo(object, [&stream, old] { stream.set_counters(old); });
}

}  // namespace

absl::Status copy(const Stream& from, Database& to, std::string_view key) {
  const Changes::Mark before = to.changes().mark();
  Object& object = create(to, key);
  if (absl::Status read = copy_entries(from, to, object); !read.ok()) {
    to.changes().roll_back_to(before);
    return read;
  }
  copy_counters(from, to, object);
  for (const auto& [name, group] : from.groups()) copy_group(*group, to, object);
  return absl::OkStatus();
}

}  // namespace rushgate::streams
