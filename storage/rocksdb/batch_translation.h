// Translates the engine's operations to RocksDB's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "storage/rocksdb/rocksdb_database.h"
#include "storage/rocksdb/segment_search.h"
#include <rushgate/store.h>

namespace rushgate {

/// Translates one batch. Reads the database to find the segments that a trim deletes.
class BatchTranslation final : public StoreBatch::Visitor {
 public:
  BatchTranslation(const RocksDatabase& database, const FirstSegments& first_segments,
                   rocksdb::WriteBatch& writes)
      : database_(database), first_segments_(first_segments), writes_(writes) {}

  void put(std::string_view key, std::string_view value) override;
  void remove(std::string_view key) override;
  void remove_range(std::string_view begin, std::string_view end) override;
  void append_segment(std::uint64_t stream, StreamId first, std::string_view bytes) override;
  void trim_stream(std::uint64_t stream, StreamId before) override;
  void remove_segment(std::uint64_t stream, StreamId first) override;
  void drop_streams(std::uint64_t first, std::uint64_t last) override;

  /// Returns the first error.
  [[nodiscard]] const absl::Status& status() const { return status_; }

  /// Updates the streams' beginnings after the batch was written.
  void update(FirstSegments& first_segments) const;

 private:
  // Segments in the database.
  struct Stored {
    std::vector<StreamId> firsts;  // ascending; at most one more than the limit of single deletions
    std::optional<StreamId> last;  // not in `firsts` if there are more
  };
  Stored find_stored(std::uint64_t stream, StreamId to);
  void delete_stored(std::uint64_t stream, const Stored& segments, std::optional<StreamId> kept);
  void delete_appended(std::uint64_t stream, std::optional<StreamId> kept);
  void delete_segment(std::uint64_t stream, StreamId first);

  void drop_one(std::uint64_t stream);
  void drop_range(StreamRange streams);
  [[nodiscard]] bool dropped(std::uint64_t stream) const;
  [[nodiscard]] bool removed(std::uint64_t stream, StreamId first) const {
    return !removed_.empty() && removed_.contains({stream, first});
  }
  void make_space(std::size_t bytes);
  void write(rocksdb::ColumnFamilyHandle* family, std::string_view key, std::string_view value);
  void erase(rocksdb::ColumnFamilyHandle* family, std::string_view key);
  void erase_range(rocksdb::ColumnFamilyHandle* family, std::string_view begin,
                   std::string_view end);
  void note(const rocksdb::Status& status);

  const RocksDatabase& database_;
  const FirstSegments& first_segments_;
  rocksdb::WriteBatch& writes_;
  absl::Status status_;
  std::vector<std::pair<std::uint64_t, StreamId>> appended_;  // by this batch, and not deleted
  std::vector<std::pair<std::uint64_t, StreamId>> trimmed_;   // stream, its first remaining segment
  absl::flat_hash_set<std::uint64_t> dropped_;                // dropped one by one
  std::vector<StreamRange> dropped_ranges_;
  absl::btree_set<std::pair<std::uint64_t, StreamId>> removed_;  // single segments
};

}  // namespace rushgate
