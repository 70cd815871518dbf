// The consumer groups of one stream, and their records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/keyspace/stream_group.h"
#include "engine/redis/keyspace/stream_record.h"
#include <rushgate/stream_id.h>

namespace rushgate {

class RecordCounts;
class RecordReader;
class StoreBatch;
enum class RecordKind : std::uint8_t;

/// A data structure: durable changes go through streams.h. Changes come without undo log and
/// records. Undo steps need no memory: removed nodes are put back.
class StreamGroups {
 public:
  using ByName = std::map<std::string, std::unique_ptr<StreamGroup>, std::less<>>;

  explicit StreamGroups(std::uint64_t object_id) : record_(object_id) {}
  StreamGroups(const StreamGroups&) = delete;
  StreamGroups& operator=(const StreamGroups&) = delete;

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  [[nodiscard]] ByName::const_iterator begin() const { return groups_.begin(); }
  [[nodiscard]] ByName::const_iterator end() const { return groups_.end(); }
  /// Returns null if there is none.
  [[nodiscard]] StreamGroup* find(std::string_view name) const;

  void attach(std::unique_ptr<StreamGroup> group);
  ByName::node_type take(StreamGroup& group);
  void put_back(ByName::node_type group);

  /// Schedules their records for record_dirty().
  void mark_dirty(StreamGroup& group);
  void mark_dirty(StreamGroup& group, StreamConsumer& consumer);
  /// Called before the undo step of a creation destroys the object.
  void forget_dirty(const StreamGroup& group);
  void forget_dirty(const StreamConsumer& consumer);

  // ---- Records ----

  void record_pending(StoreBatch& batch, const StreamGroup& group, StreamId id,
                      const PendingEntry& entry) const;
  void record_no_longer_pending(StoreBatch& batch, const StreamGroup& group, StreamId id) const;
  /// Removes a group with its consumers and pending entries.
  void record_removal(StoreBatch& batch, const StreamGroup& group) const;
  /// Removes a consumer without its pending entries.
  void record_removal(StoreBatch& batch, const StreamGroup& group,
                      const StreamConsumer& consumer) const;
  /// Called once per commit batch. Writes the records of dirty groups and consumers.
  void record_dirty(StoreBatch& batch) const;
  /// Called after the commit.
  void end_batch();

  /// Adds the numbers of records.
  void count_records(RecordCounts& counts) const;
  /// Removes the records of one kind, one by one.
  void remove_each_record(StoreBatch& batch, RecordKind kind) const;
  /// Loads a record; they come in ascending order of keys. `key` follows kind and object id.
  /// Returns false if the record is invalid.
  bool load(RecordKind kind, RecordReader& key, RecordReader& value);

  /// Returns the memory on the heap, estimated.
  [[nodiscard]] std::size_t memory_bytes() const { return rest_bytes() + groups_bytes_; }
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

 private:
  void enter(ByName::value_type& entry);
  void remove_each_of_group(StoreBatch& batch, RecordKind kind, const StreamGroup& group) const;
  bool load_group(RecordReader& key, RecordReader& value);
  bool load_consumer(RecordReader& key, RecordReader& value);
  bool load_pending(RecordReader& key, RecordReader& value);
  [[nodiscard]] std::size_t rest_bytes() const;

  ByName groups_;
  std::size_t groups_bytes_ = 0;  // memory of the groups
  std::vector<StreamGroup*> dirty_groups_;
  std::vector<std::pair<StreamGroup*, StreamConsumer*>> dirty_consumers_;
  StreamRecord record_;
};

}  // namespace rushgate
