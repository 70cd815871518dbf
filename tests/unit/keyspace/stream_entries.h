// The entries of a stream segment as independent values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/keyspace/stream_segment.h"

namespace rushgate {

struct Entry {
  StreamId id;
  std::vector<std::pair<std::string, std::string>> fields;

  friend bool operator==(const Entry&, const Entry&) = default;
};

inline void append(SegmentWriter& writer, const Entry& entry) {
  const std::vector<StreamField> fields(entry.fields.begin(), entry.fields.end());
  writer.append(entry.id, fields);
}

/// Returns the entries of a segment that was read from these bytes.
inline std::vector<Entry> entries_of(const DecodedSegment& segment, std::string_view bytes) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const StreamEntry from = segment.entry(i, bytes);
    Entry& entry = entries.emplace_back(Entry{from.id(), {}});
    for (std::size_t j = 0; j < from.size(); ++j)
      entry.fields.emplace_back(from.name(j), from.value(j));
  }
  return entries;
}

}  // namespace rushgate
