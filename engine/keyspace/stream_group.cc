#include "engine/keyspace/stream_group.h"

#include <cassert>
#include <utility>

#include "engine/base/heap.h"

namespace rushgate {
namespace {

std::size_t pending_bytes(const StreamConsumer& consumer) {
  return btree_bytes<StreamId>(consumer.pending.size());
}

/// `key` is what it is found by.
std::size_t bytes_of(const std::string& key, const StreamConsumer& consumer) {
  return heap_block(sizeof(StreamConsumer)) + heap_bytes(consumer.name) + heap_bytes(key) +
         pending_bytes(consumer);
}

}  // namespace

// ---- Pending entries ----

std::optional<PendingEntry> StreamGroup::assign_pending(StreamId id, const PendingEntry& entry) {
  const std::size_t before = table_bytes();
  const bool is_last = pending.empty() || pending.rbegin()->first < id;  // the usual case
  const auto [at, is_new] = is_last
                                ? std::pair(pending.emplace_hint(pending.end(), id, entry), true)
                                : pending.try_emplace(id, entry);
  if (is_new) {
    count(before, table_bytes());
    give(id, *entry.consumer);
    return std::nullopt;
  }
  if (at->second.consumer != entry.consumer) {
    take(id, *at->second.consumer);
    give(id, *entry.consumer);
  }
  return std::exchange(at->second, entry);
}

std::optional<PendingEntry> StreamGroup::erase_pending(StreamId id) {
  const auto found = pending.find(id);
  if (found == pending.end()) return std::nullopt;
  const PendingEntry erased = found->second;
  const std::size_t before = table_bytes();
  pending.erase(found);
  count(before, table_bytes());
  take(id, *erased.consumer);
  return erased;
}

void StreamGroup::give(StreamId id, StreamConsumer& consumer) {
  const std::size_t before = pending_bytes(consumer);
  consumer.pending.insert(id);
  count(before, pending_bytes(consumer));
}

void StreamGroup::take(StreamId id, StreamConsumer& consumer) {
  const std::size_t before = pending_bytes(consumer);
  consumer.pending.erase(id);
  count(before, pending_bytes(consumer));
}

// ---- Consumers ----

void StreamGroup::attach_consumer(std::unique_ptr<StreamConsumer> consumer) {
  const std::size_t before = table_bytes();
  consumer->attached = true;
  std::string its_name = consumer->name;
  const auto at = consumers.emplace(std::move(its_name), std::move(consumer)).first;
  count(before, table_bytes() + bytes_of(at->first, *at->second));
}

std::unique_ptr<StreamConsumer> StreamGroup::detach_consumer(StreamConsumer& consumer) {
  const auto found = consumers.find(consumer.name);
  assert(found != consumers.end() && found->second.get() == &consumer);
  const std::size_t before = table_bytes() + bytes_of(found->first, consumer);
  std::unique_ptr<StreamConsumer> detached = std::move(found->second);
  consumers.erase(found);
  detached->attached = false;
  count(before, table_bytes());
  return detached;
}

// ---- Memory ----

std::size_t StreamGroup::table_bytes() const {
  return btree_bytes<decltype(pending)::value_type>(pending.size()) +
         btree_bytes<decltype(consumers)::value_type>(consumers.size());
}

std::size_t StreamGroup::memory_bytes() const {
  std::size_t bytes = heap_block(sizeof(StreamGroup)) + heap_bytes(name) + table_bytes();
  for (const auto& [its_name, consumer] : consumers) {
    bytes += bytes_of(its_name, *consumer);
  }
  return bytes;
}

}  // namespace rushgate
