#include "engine/keyspace/stream_group.h"

#include <utility>

namespace rushgate {

std::optional<PendingEntry> StreamGroup::assign_pending(StreamId id, const PendingEntry& entry) {
  const bool is_last = pending.empty() || pending.rbegin()->first < id;  // the usual case
  if (is_last) {
    pending.emplace_hint(pending.end(), id, entry);
    entry.consumer->pending.insert(id);
    return std::nullopt;
  }
  const auto [at, is_new] = pending.try_emplace(id, entry);
  if (is_new) {
    entry.consumer->pending.insert(id);
    return std::nullopt;
  }
  if (at->second.consumer != entry.consumer) {
    at->second.consumer->pending.erase(id);
    entry.consumer->pending.insert(id);
  }
  return std::exchange(at->second, entry);
}

std::optional<PendingEntry> StreamGroup::erase_pending(StreamId id) {
  const auto found = pending.find(id);
  if (found == pending.end()) return std::nullopt;
  const PendingEntry erased = found->second;
  pending.erase(found);
  erased.consumer->pending.erase(id);
  return erased;
}

}  // namespace rushgate
