// Reads the records and segments of a database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "storage/rocksdb/rocksdb_database.h"
#include <rushgate/store.h>

namespace rushgate {

/// As Store::load().
absl::Status load_records(
    const RocksDatabase& database,
    absl::FunctionRef<void(std::string_view key, std::string_view value)> visit);

/// A stream, and where it begins at the earliest: all segments below are deleted.
struct StreamBegin {
  std::uint64_t stream = 0;
  StreamId begin = StreamId::min();
};
/// As Store::read_stream().
absl::Status read_segments(const RocksDatabase& database, const StreamBegin& stream, StreamId from,
                           StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments);
/// As Store::read_stream_back().
absl::Status read_segments_back(const RocksDatabase& database, const StreamBegin& stream,
                                StreamId from, StreamId to, std::size_t bytes_max,
                                std::vector<StreamSegment>& segments);
/// As Store::find_last_stream().
absl::Status find_last_segment(const RocksDatabase& database, std::uint64_t& stream);

}  // namespace rushgate
