// Finds the segments of a stream in the database.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <rocksdb/iterator.h>

#include "absl/container/flat_hash_map.h"
#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/rocksdb_database.h"
#include "storage/rocksdb/rocksdb_status.h"
#include <rushgate/stream_id.h>

namespace rushgate {

/// A range of stream numbers.
struct StreamRange {
  std::uint64_t first;
  std::uint64_t last;

  [[nodiscard]] bool contains(std::uint64_t stream) const {
    return first <= stream && stream <= last;
  }
};

/// The beginning of each trimmed stream. All segments below are deleted, and searches skip them.
/// Kept only in memory.
class FirstSegments {
 public:
  [[nodiscard]] StreamId of(std::uint64_t stream) const {
    const auto found = firsts_.find(stream);
    return found == firsts_.end() ? StreamId::min() : found->second;
  }
  void trimmed(std::uint64_t stream, StreamId first) {
    StreamId& known = firsts_[stream];
    known = std::max(known, first);
  }
  void dropped(std::uint64_t stream) { firsts_.erase(stream); }
  void dropped(StreamRange streams) {
    absl::erase_if(firsts_, [&](const auto& known) { return streams.contains(known.first); });
  }

 private:
  absl::flat_hash_map<std::uint64_t, StreamId> firsts_;
};

/// Iterates over the segments of one stream that begin in [lower, upper]. The bounds keep it from
/// reading deleted segments on either side.
class SegmentIterator {
 public:
  SegmentIterator(const RocksDatabase& database, std::uint64_t stream, StreamId lower,
                  StreamId upper);
  SegmentIterator(const SegmentIterator&) = delete;
  SegmentIterator& operator=(const SegmentIterator&) = delete;

  rocksdb::Iterator* operator->() const { return iterator_.get(); }
  [[nodiscard]] StreamId first() const { return SegmentKey::first(to_view(iterator_->key())); }

 private:
  const std::string lower_;
  const std::string upper_;
  const rocksdb::Slice lower_slice_;  // the iterator keeps pointers to these
  const rocksdb::Slice upper_slice_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace rushgate
