#include "storage/rocksdb/database_reads.h"

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "storage/rocksdb/layout.h"
#include "storage/rocksdb/rocksdb_status.h"
#include "storage/rocksdb/segment_search.h"

namespace rushgate {
namespace {

/// Records read ahead.
class Records {
 public:
  /// Reads until a thread of its own is worthwhile.
  static Records read(rocksdb::Iterator& from) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    Records records;
    records.bytes_.reserve(kBytes + kBytes / 4);
    for (; from.Valid() && records.bytes_.size() < kBytes; from.Next()) {
      records.bytes_.append(to_view(from.key())).append(to_view(from.value()));
      records.sizes_.emplace_back(from.key().size(), from.value().size());
    }
    return records;
  }

  [[nodiscard]] bool empty() const { return sizes_.empty(); }

  template <class Visit>
  void for_each(Visit visit) const {
    std::string_view rest = bytes_;
    for (const auto& [key, value] : sizes_) {
      visit(rest.substr(0, key), rest.substr(key, value));
      rest.remove_prefix(key + value);
    }
  }

 private:
  std::string bytes_;
  std::vector<std::pair<std::size_t, std::size_t>> sizes_;  // of key and value
};

}  // namespace

// Reads the database on another thread while `visit` processes the records.
absl::Status load_records(
    const RocksDatabase& database,
    absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = std::size_t{2} << 20;
  const std::unique_ptr<rocksdb::Iterator> record(
      database.db().NewIterator(options, database.state()));
  record->SeekToFirst();
  for (Records records = Records::read(*record); !records.empty();) {
    std::future<Records> next;
    if (record->Valid())
      next =
          std::async(std::launch::async | std::launch::deferred, Records::read, std::ref(*record));
    records.for_each(visit);
    records = next.valid() ? next.get() : Records();
  }
  return to_absl(record->status(), "loading", database.dir());
}

absl::Status read_segments(const RocksDatabase& database, const StreamBegin& stream, StreamId from,
                           StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) {
  if (from > to) return absl::OkStatus();
  const SegmentIterator segment(database, stream.stream, stream.begin, to);
  const SegmentKey start(stream.stream, from);
  segment->SeekForPrev(to_slice(start.view()));
  if (!segment->Valid()) segment->SeekToFirst();
  std::size_t bytes = 0;
  for (; segment->Valid() && bytes <= bytes_max; segment->Next()) {
    segments.push_back({segment.first(), segment->value().ToString()});
    bytes += segments.back().bytes.size();
  }
  return to_absl(segment->status(), "reading a stream", database.dir());
}

absl::Status read_segments_back(const RocksDatabase& database, const StreamBegin& stream,
                                StreamId from, StreamId to, std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) {
  if (from < to) return absl::OkStatus();
  const SegmentIterator segment(database, stream.stream, stream.begin, from);
  std::size_t bytes = 0;
  for (segment->SeekToLast(); segment->Valid() && bytes <= bytes_max; segment->Prev()) {
    segments.push_back({segment.first(), segment->value().ToString()});
    bytes += segments.back().bytes.size();
    if (segments.back().first <= to) break;
  }
  return to_absl(segment->status(), "reading a stream", database.dir());
}

absl::Status find_last_segment(const RocksDatabase& database, std::uint64_t& stream) {
  const std::unique_ptr<rocksdb::Iterator> segment(
      database.db().NewIterator(rocksdb::ReadOptions(), database.stream()));
  segment->SeekToLast();
  stream = 0;
  if (segment->Valid()) {
    if (segment->key().size() != kSegmentKeyBytes)
      return absl::DataLossError("a segment's key is not 24 bytes");
    stream = SegmentKey::stream(to_view(segment->key()));
  }
  return to_absl(segment->status(), "looking for the last stream", database.dir());
}

}  // namespace rushgate
