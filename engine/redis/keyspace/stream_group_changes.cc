// Mutators of consumer groups.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/keyspace/streams.h"

namespace rushgate::streams {

StreamGroup& create_group(Database& db, Object& object, std::string_view name,
                          StreamId last_delivered, std::int64_t entries_read) {
  db.changes().reserve_undo(object);
  StreamGroups& groups = object.stream().groups();
  auto made = std::make_unique<StreamGroup>();
  StreamGroup& group = *made;
  group.name = name;
  group.last_delivered = last_delivered;
  group.entries_read = entries_read;
  groups.attach(std::move(made));
  db.changes().push_undo(object, [&groups, &group] {
    groups.forget_dirty(group);
    groups.take(group);
  });
  groups.mark_dirty(group);
  db.changes().mark_dirty(object);
  return group;
}

void destroy_group(Database& db, Object& object, StreamGroup& group) {
  db.changes().reserve_undo(object);
  StreamGroups& groups = object.stream().groups();
  groups.record_removal(db.changes().records(), group);
  const std::size_t bytes = group.memory_bytes();
  StreamGroups::ByName::node_type node = groups.take(group);
  Removed<StreamGroup> held(db.keyspace().lazy_free(), std::move(node.mapped()), bytes);
  // Also if the stream is new: its list of changed groups refers to this one until the batch ends.
  db.changes().push_undo_always(
      object, [&groups, held = std::move(held), node = std::move(node)]() mutable {
        node.mapped() = held.take();
        groups.put_back(std::move(node));
      });
  db.changes().mark_dirty(object);
  db.keyspace().signal(object, KeySignal::kGone);
}

void set_group_position(Database& db, Object& object, StreamGroup& group, StreamId last_delivered,
                        std::int64_t entries_read) {
  db.changes().reserve_undo(object);
  db.changes().push_undo(object,
                         [&group, old_id = group.last_delivered, old_read = group.entries_read] {
                           group.last_delivered = old_id;
                           group.entries_read = old_read;
                         });
  group.last_delivered = last_delivered;
  group.entries_read = entries_read;
  object.stream().groups().mark_dirty(group);
  db.changes().mark_dirty(object);
}

StreamConsumer& create_consumer(Database& db, Object& object, StreamGroup& group,
                                std::string_view name) {
  db.changes().reserve_undo(object);
  StreamGroups& groups = object.stream().groups();
  auto made = std::make_unique<StreamConsumer>();
  StreamConsumer& consumer = *made;
  consumer.name = name;
  consumer.seen_ms = db.keyspace().now_ms();
  group.attach_consumer(std::move(made));
  db.changes().push_undo(object, [&groups, &group, &consumer] {
    groups.forget_dirty(consumer);
    group.take_consumer(consumer);
  });
  groups.mark_dirty(group, consumer);
  db.changes().mark_dirty(object);
  return consumer;
}

std::size_t remove_consumer(Database& db, Object& object, StreamGroup& group,
                            StreamConsumer& consumer) {
  db.changes().reserve_undo(object);
  const StreamGroups& groups = object.stream().groups();
  for (const StreamId id : consumer.pending) {
    groups.record_no_longer_pending(db.changes().records(), group, id);
  }
  groups.record_removal(db.changes().records(), group, consumer);
  const std::size_t removed = consumer.pending.size();
  // Also if the stream is new: its list of changed consumers refers to this one until the batch
  // ends.
  db.changes().push_undo_always(object, [&group, taken = group.take_consumer(consumer)]() mutable {
    group.put_back(std::move(taken));
  });
  db.changes().mark_dirty(object);
  return removed;
}

void see_consumer(Database& db, Object& object, StreamGroup& group, StreamConsumer& consumer) {
  const std::int64_t now_ms = db.keyspace().now_ms();
  if (consumer.seen_ms == now_ms) return;
  db.changes().reserve_undo(object);
  db.changes().push_undo(object, [&consumer, old = consumer.seen_ms] { consumer.seen_ms = old; });
  consumer.seen_ms = now_ms;
  object.stream().groups().mark_dirty(group, consumer);
  db.changes().mark_dirty(object);
}

void assign_pending(Database& db, Object& object, StreamGroup& group, StreamId id,
                    const PendingEntry& entry) {
  db.changes().reserve_undo(object);
  const std::optional<PendingEntry> old = group.assign_pending(id, entry);
  if (old) {
    db.changes().push_undo(object, [&group, id, old = *old] { group.assign_pending(id, old); });
  } else {
    db.changes().push_undo(object, [&group, id] { group.take_pending(id); });
  }
  object.stream().groups().record_pending(db.changes().records(), group, id, entry);
}

const StreamGroup::Deliveries& ordered_deliveries(Database& db, Object& object,
                                                  StreamGroup& group) {
  if (group.deliveries) return *group.deliveries;
  // Undone, so that earlier undo steps, which have no nodes for it, do not find it.
  db.changes().reserve_undo(object);
  group.index_deliveries();
  db.changes().push_undo(object, [&group] { group.drop_deliveries(); });
  return *group.deliveries;
}

bool acknowledge(Database& db, Object& object, StreamGroup& group, StreamId id) {
  db.changes().reserve_undo(object);
  StreamGroup::TakenEntry taken = group.take_pending(id);
  if (taken.entry.empty()) return false;
  db.changes().push_undo(
      object, [&group, taken = std::move(taken)]() mutable { group.put_back(std::move(taken)); });
  object.stream().groups().record_no_longer_pending(db.changes().records(), group, id);
  return true;
}

void forget_pending(Database& db, Object& object, StreamId first, StreamId last) {
  for (const auto& [name, group] : object.stream().groups()) {
    auto at = group->pending.lower_bound(first);
    while (at != group->pending.end() && at->first <= last) {
      const StreamId id = (at++)->first;
      acknowledge(db, object, *group, id);
    }
  }
}

StreamId delivered_to_all(const Stream& stream) {
  StreamId delivered = StreamId::max();
  for (const auto& [name, group] : stream.groups()) {
    delivered = std::min(delivered, group->last_delivered);
  }
  return delivered;
}

bool is_awaited(const Stream& stream, StreamId id) {
  return std::ranges::any_of(stream.groups(), [id](const auto& entry) {
    const StreamGroup& group = *entry.second;
    return id > group.last_delivered || group.find_pending(id) != nullptr;
  });
}

}  // namespace rushgate::streams
