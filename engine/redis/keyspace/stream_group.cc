#include "engine/redis/keyspace/stream_group.h"

#include <cassert>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "engine/core/base/heap.h"

namespace rushgate {
namespace {

std::size_t pending_bytes(const StreamConsumer& consumer) {
  return tree_bytes<StreamId>(consumer.pending.size());
}

/// `key` is its key in the map.
std::size_t bytes_of(const std::string& key, const StreamConsumer& consumer) {
  return heap_block(sizeof(StreamConsumer)) + heap_bytes(consumer.name) + heap_bytes(key) +
         pending_bytes(consumer);
}

}  // namespace

// ---- Pending entries ----

std::optional<PendingEntry> StreamGroup::assign_pending(StreamId id, const PendingEntry& entry) {
  const bool is_last = pending.empty() || pending.rbegin()->first < id;  // the usual case
  const auto found = is_last ? pending.end() : pending.find(id);
  if (found != pending.end()) {
    StreamConsumer& owner = *found->second.consumer;
    if (&owner != entry.consumer) {
      const std::size_t before = pending_bytes(owner) + pending_bytes(*entry.consumer);
      entry.consumer->pending.insert(owner.pending.extract(id));
      count(before, pending_bytes(owner) + pending_bytes(*entry.consumer));
    }
    if (deliveries) move_delivery(id, found->second.delivered_ms, entry.delivered_ms);
    return std::exchange(found->second, entry);
  }
  StreamConsumer& consumer = *entry.consumer;
  const std::size_t before = table_bytes() + pending_bytes(consumer);
  const auto given = consumer.pending.insert(consumer.pending.end(), id);
  try {
    const auto made = pending.emplace_hint(pending.end(), id, entry);
    absl::Cleanup undo = [&] { pending.erase(made); };
    if (deliveries) deliveries->emplace(entry.delivered_ms, id);
    std::move(undo).Cancel();
  } catch (...) {
    consumer.pending.erase(given);
    throw;
  }
  count(before, table_bytes() + pending_bytes(consumer));
  return std::nullopt;
}

StreamGroup::TakenEntry StreamGroup::take_pending(StreamId id) {
  const auto found = pending.find(id);
  if (found == pending.end()) return {};
  StreamConsumer& consumer = *found->second.consumer;
  const std::size_t before = table_bytes() + pending_bytes(consumer);
  TakenEntry taken;
  if (deliveries) taken.delivery = deliveries->extract({found->second.delivered_ms, id});
  taken.entry = pending.extract(found);
  taken.id = consumer.pending.extract(id);
  count(before, table_bytes() + pending_bytes(consumer));
  return taken;
}

void StreamGroup::put_back(TakenEntry taken) {
  StreamConsumer& consumer = *taken.entry.mapped().consumer;
  const std::size_t before = table_bytes() + pending_bytes(consumer);
  pending.insert(std::move(taken.entry));
  consumer.pending.insert(std::move(taken.id));
  if (deliveries) deliveries->insert(std::move(taken.delivery));
  count(before, table_bytes() + pending_bytes(consumer));
}

// ---- The order of deliveries ----

void StreamGroup::move_delivery(StreamId id, std::int64_t from_ms, std::int64_t to_ms) {
  if (from_ms == to_ms) return;
  Deliveries::node_type delivery = deliveries->extract({from_ms, id});
  delivery.value().first = to_ms;
  deliveries->insert(std::move(delivery));
}

void StreamGroup::index_deliveries() {
  const std::size_t before = table_bytes();
  auto made = std::make_unique<Deliveries>();
  for (const auto& [id, entry] : pending) made->emplace_hint(made->end(), entry.delivered_ms, id);
  deliveries = std::move(made);
  count(before, table_bytes());
}

void StreamGroup::drop_deliveries() {
  const std::size_t before = table_bytes();
  deliveries.reset();
  count(before, table_bytes());
}

// ---- Consumers ----

void StreamGroup::attach_consumer(std::unique_ptr<StreamConsumer> consumer) {
  const std::size_t before = table_bytes();
  std::string its_name = consumer->name;
  const auto at = consumers.emplace(std::move(its_name), std::move(consumer)).first;
  at->second->attached = true;
  count(before, table_bytes() + bytes_of(at->first, *at->second));
}

StreamGroup::TakenConsumer StreamGroup::take_consumer(StreamConsumer& consumer) {
  const auto found = consumers.find(consumer.name);
  assert(found != consumers.end() && found->second.get() == &consumer);
  const std::size_t before = table_bytes() + bytes_of(found->first, consumer);
  TakenConsumer taken;
  for (const StreamId id : consumer.pending) {
    const auto entry = taken.pending.insert(taken.pending.end(), pending.extract(id));
    if (deliveries) taken.deliveries.insert(deliveries->extract({entry->second.delivered_ms, id}));
  }
  taken.consumer = consumers.extract(found);
  consumer.attached = false;
  count(before, table_bytes());
  return taken;
}

void StreamGroup::put_back(TakenConsumer taken) {
  const std::size_t before = table_bytes();
  pending.merge(taken.pending);
  if (deliveries) deliveries->merge(taken.deliveries);
  const auto at = consumers.insert(std::move(taken.consumer)).position;
  at->second->attached = true;
  count(before, table_bytes() + bytes_of(at->first, *at->second));
}

// ---- Memory ----

std::size_t StreamGroup::table_bytes() const {
  const std::size_t index_bytes =
      deliveries
          ? heap_block(sizeof(Deliveries)) + tree_bytes<Deliveries::value_type>(deliveries->size())
          : 0;
  return index_bytes + tree_bytes<decltype(pending)::value_type>(pending.size()) +
         tree_bytes<decltype(consumers)::value_type>(consumers.size());
}

std::size_t StreamGroup::memory_bytes() const {
  std::size_t bytes = heap_block(sizeof(StreamGroup)) + heap_bytes(name) + table_bytes();
  for (const auto& [its_name, consumer] : consumers) {
    bytes += bytes_of(its_name, *consumer);
  }
  return bytes;
}

}  // namespace rushgate
