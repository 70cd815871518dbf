// A store in memory, for tests and for sales that need not outlive their process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/store/store.h"
#include "storage/memory/packed_runs.h"

namespace rushgate {

struct MemoryStoreOptions {
  /// Keeps the state records for load(), so that a test can open a second engine on the first one's
  /// data. Otherwise they are dropped, because the keyspace has the values.
  bool keep_state = false;
};

/// Keeps the segments of streams, packed. Fails only when out of memory. Thread safety is that of
/// engine/store/store.h.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryStoreOptions options = {}) : options_(options) {}

  /// May be called again, between two engines.
  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override;
  absl::Status commit(const StoreBatch& batch) override;
  absl::Status sync() override;
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamRun>& runs) override;
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max, std::vector<StreamRun>& runs) override;
  absl::Status find_last_stream(std::uint64_t& stream) override;
  [[nodiscard]] Durability durability() const override { return Durability::kMemory; }
  [[nodiscard]] bool keeps_state() const override { return options_.keep_state; }
  /// Returns the memory of the segments. State records do not count.
  [[nodiscard]] std::size_t memory_bytes() const override { return stream_bytes_; }

 private:
  class Writer;
  using State = std::map<std::string, std::string, std::less<>>;
  using Streams = std::unordered_map<std::uint64_t, PackedRuns>;  // to move runs takes memory

  const MemoryStoreOptions options_;
  State state_;  // empty unless options_.keep_state
  Streams streams_;
  std::size_t stream_bytes_ = 0;
};

}  // namespace rushgate
