// The consumer groups of a stream: the owners of delivered entries that are not acknowledged.
// Semantics: https://redis.io/docs/latest/develop/data-types/streams/#consumer-groups
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <rushgate/stream_id.h>

namespace rushgate {

/// Data structures only: durable changes go through streams.h.
struct StreamConsumer {
  std::string name;
  std::int64_t seen_ms = 0;    // time of its last request
  std::set<StreamId> pending;  // its part of StreamGroup::pending
  bool attached = false;       // in its group; false once removed
  bool is_dirty = false;       // its record must be written at the commit
};

/// An entry that was delivered and is not acknowledged.
struct PendingEntry {
  StreamConsumer* consumer = nullptr;
  std::int64_t delivered_ms = 0;
  std::uint64_t deliveries = 0;

  friend bool operator==(const PendingEntry&, const PendingEntry&) = default;
};

struct StreamGroup {
  static constexpr std::int64_t kEntriesReadUnknown = -1;

  using Pending = std::map<StreamId, PendingEntry>;
  /// The pending entries in order of their delivery: (delivered_ms, id).
  using Deliveries = std::set<std::pair<std::int64_t, StreamId>>;
  using Consumers = std::map<std::string, std::unique_ptr<StreamConsumer>, std::less<>>;

  std::string name;
  StreamId last_delivered;
  std::int64_t entries_read =
      kEntriesReadUnknown;  // entries ever added with ids up to last_delivered
  Pending pending;
  std::unique_ptr<Deliveries>
      deliveries;  // of `pending`; null until a consumer claims by idle time
  Consumers consumers;
  bool attached = false;
  bool is_dirty = false;

  /// Returns null if there is none.
  [[nodiscard]] StreamConsumer* find_consumer(std::string_view consumer) const {
    const auto found = consumers.find(consumer);
    return found == consumers.end() ? nullptr : found->second.get();
  }
  /// Returns null if there is none.
  [[nodiscard]] const PendingEntry* find_pending(StreamId id) const {
    const auto found = pending.find(id);
    return found == pending.end() ? nullptr : &found->second;
  }
  // ---- Changes. A change that throws (out of memory) has no effect. Removed nodes are put back
  // without memory ----

  /// Returns the old value; needs no memory if there was one.
  std::optional<PendingEntry> assign_pending(StreamId id, const PendingEntry& entry);

  /// Its nodes in the group and in its consumer.
  struct TakenEntry {
    Pending::node_type entry;
    std::set<StreamId>::node_type id;
    Deliveries::node_type delivery;  // empty without `deliveries`
  };
  /// Removes a pending entry. Returns empty nodes if there was none.
  TakenEntry take_pending(StreamId id);
  void put_back(TakenEntry taken);

  void attach_consumer(std::unique_ptr<StreamConsumer> consumer);
  /// A removed consumer, with its pending entries.
  struct TakenConsumer {
    Consumers::node_type consumer;
    Pending pending;
    Deliveries deliveries;  // empty without the group's
  };
  TakenConsumer take_consumer(StreamConsumer& consumer);
  void put_back(TakenConsumer taken);

  /// Creates `deliveries`, which must be null.
  void index_deliveries();
  void drop_deliveries();

  /// Returns the memory, the object included. Iterates over all consumers.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// The stream's count of its groups' memory; null while the group is in no stream. The changes
  /// above update it.
  std::size_t* stream_bytes = nullptr;

 private:
  void count(std::size_t before, std::size_t after) {
    if (stream_bytes != nullptr) *stream_bytes += after - before;
  }
  [[nodiscard]] std::size_t table_bytes() const;
  /// Needs no memory.
  void move_delivery(StreamId id, std::int64_t from_ms, std::int64_t to_ms);
};

}  // namespace rushgate
