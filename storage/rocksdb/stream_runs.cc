#include "storage/rocksdb/stream_runs.h"

#include <rocksdb/options.h>

namespace rushgate {

RunIterator::RunIterator(const RocksDatabase& database, std::uint64_t stream, StreamId lower,
                         StreamId upper)
    : lower_(RunKey(stream, lower).view()),
      upper_(RunKey(stream, upper).successor()),
      lower_slice_(lower_),
      upper_slice_(upper_) {
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &lower_slice_;
  options.iterate_upper_bound = &upper_slice_;
  iterator_.reset(database.db().NewIterator(options, database.stream()));
}

}  // namespace rushgate
