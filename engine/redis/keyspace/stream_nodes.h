// The nodes into which Redis divides a stream: an approximate trim removes whole nodes. There are no
// nodes here. Their limits follow from the entries, which are counted when it matters.
//
// A node is a listpack of entries (engine/redis/rdb/stream_node.h has its form). An entry begins a node if
// the one before has stream-node-max-entries entries, deleted ones included, or if it would reach
// stream-node-max-bytes. (Redis's streamAppendItem.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/redis/keyspace/encoding_limits.h"
#include <rushgate/stream_id.h>

namespace rushgate {

class RecordReader;
class RecordWriter;
class StreamEntry;

/// The position of an entry in its node. Without entries before it, it begins a node.
struct StreamNodePosition {
  std::uint32_t entries = 0;  // before it in the node, deleted ones included
  std::uint32_t bytes = 0;    // of the listpack without the element that counts the entries
  StreamId node_id;           // of the node's first entry
  std::uint64_t names = 0;    // hash of the field names of the node's first entry. Durable

  friend bool operator==(const StreamNodePosition&, const StreamNodePosition&) = default;

  [[nodiscard]] bool begins_node() const { return entries == 0; }
  /// Returns the size of the listpack of all entries before it.
  [[nodiscard]] std::size_t listpack_bytes() const;

  void write(RecordWriter& writer) const;
  /// Returns false if the record is invalid. Stores of older versions have the number of entries
  /// alone: then the position begins a node.
  bool read(RecordReader& reader);
};

/// A node, as far as it was read.
struct StreamNode {
  std::uint64_t live = 0;             // readable entries
  StreamId first;                     // of the first readable entry, and
  StreamNodePosition first_position;  // its position
  StreamId last;                      // deleted ones included
};

/// Moves a position from entry to entry. Does not own the limits.
class StreamNodeWalk {
 public:
  StreamNodeWalk(const EncodingLimits& limits, const StreamNodePosition& from,
                 const StreamNode& node = {})
      : limits_(limits), position_(from), node_(node) {}

  /// Returns the position of the next entry, unless that begins a node.
  [[nodiscard]] const StreamNodePosition& position() const { return position_; }
  void move_to(const StreamNodePosition& position) { position_ = position; }
  /// Returns true if `entry` begins a node.
  bool begins_node(const StreamEntry& entry);
  /// Moves behind `entry`.
  void pass(const StreamEntry& entry);

  // ---- Node by node ----

  /// Returns the current node.
  [[nodiscard]] const StreamNode& node() const { return node_; }
  /// Moves behind an entry of the current node. Returns false if the entry is not part of it.
  bool take(const StreamEntry& entry, bool is_deleted);
  /// Moves behind deleted entries up to `last`, after which the position is `next`. Returns false
  /// if the node ends among them. Then `last` counts as the node's last entry.
  bool take_deleted(StreamId last, const StreamNodePosition& next);
  /// Begins a node, of which the entries before `position` have been passed.
  void begin_node(const StreamNodePosition& position);

 private:
  /// Returns true if the next entry begins a node, for any size of it.
  [[nodiscard]] bool is_node_full() const;
  /// The field names of the last entry. Most entries have those of the one before.
  struct Names {
    std::vector<std::string> names;
    std::uint64_t hash = 0;
    std::size_t listpack_bytes = 0;  // of their elements
    std::size_t bytes = 0;
  };
  void read_names(const StreamEntry& entry);

  const EncodingLimits& limits_;
  StreamNodePosition position_;
  StreamNode node_;
  Names names_;
};

}  // namespace rushgate
