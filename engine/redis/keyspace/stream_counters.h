// The counters of a stream, which its header holds.
#pragma once

#include <cstdint>

#include "engine/redis/keyspace/stream_nodes.h"
#include <rushgate/stream_id.h>

namespace rushgate {

class RecordReader;
class RecordWriter;

struct StreamCounters {
  std::uint64_t length = 0;         // readable entries
  std::uint64_t entries_added = 0;  // ever
  StreamId first_id;                // of the first readable entry; 0-0 if there is none
  StreamId last_id;                 // the greatest id ever given
  StreamId max_deleted_id;          // the greatest id ever deleted by XDEL
  StreamNodePosition position;      // of the first readable entry

  friend bool operator==(const StreamCounters&, const StreamCounters&) = default;

  /// Counts `count` appended entries with ids from `first` to `last`.
  void add(StreamId first, StreamId last, std::uint64_t count);

  /// Returns true if no readable entry has an id up to `id`.
  [[nodiscard]] bool are_trimmed_to(StreamId id) const { return length == 0 || id < first_id; }

  /// Above the limit of XSETID's ENTRIESADDED, and low enough that the number can still count up.
  static constexpr std::uint64_t kEntriesAddedMax = 3ULL << 62;

  void write(RecordWriter& writer) const;
  /// Returns false if the record is invalid.
  bool read(RecordReader& reader);
};

}  // namespace rushgate
