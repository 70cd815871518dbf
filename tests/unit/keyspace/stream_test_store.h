// Stores for tests of streams: one that returns segments in small portions and counts reads, and
// damage to a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <rushgate/memory_store.h>

namespace rushgate {

class StreamTestStore final : public Store {
 public:
  /// Limits the bytes of one read, if not 0. A read of more than a stream's usual chunk gets the
  /// surplus, because the stream uses it to see whether more entries follow.
  std::size_t chunk_bytes = 0;
  std::size_t reads = 0;

  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override {
    return kept_.load(visit);
  }
  absl::Status commit(const StoreBatch& batch) override { return kept_.commit(batch); }
  absl::Status sync() override { return kept_.sync(); }
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) override {
    ++reads;
    return kept_.read_stream(stream, from, to, portion(bytes_max), segments);
  }
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) override {
    ++reads;
    return kept_.read_stream_back(stream, from, to, portion(bytes_max), segments);
  }
  absl::Status find_last_stream(std::uint64_t& stream) override {
    return kept_.find_last_stream(stream);
  }
  [[nodiscard]] Durability durability() const override { return Durability::kMemory; }

 private:
  [[nodiscard]] std::size_t portion(std::size_t bytes_max) const {
    constexpr std::size_t kUsualBytes = 64 * 1024;
    if (chunk_bytes == 0) return bytes_max;
    return bytes_max > kUsualBytes ? bytes_max - kUsualBytes : chunk_bytes;
  }

  MemoryStore kept_{{.keep_state = true}};
};

/// Replaces the entries of a stream, from 1-0, by bytes that are no segment.
inline absl::Status make_unreadable(Store& store, std::uint64_t stream) {
  StoreBatch batch;
  batch.drop_stream(stream);
  batch.append_segment(stream, {1, 0}, "\xff\xff\xff");
  return store.commit(batch);
}

}  // namespace rushgate
