#include "storage/rocksdb/segment_search.h"

#include <rocksdb/options.h>

namespace rushgate {

SegmentIterator::SegmentIterator(const RocksDatabase& database, std::uint64_t stream,
                                 StreamId lower, StreamId upper)
    : lower_(SegmentKey(stream, lower).view()),
      upper_(SegmentKey(stream, upper).successor()),
      lower_slice_(lower_),
      upper_slice_(upper_) {
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &lower_slice_;
  options.iterate_upper_bound = &upper_slice_;
  iterator_.reset(database.db().NewIterator(options, database.stream()));
}

}  // namespace rushgate
