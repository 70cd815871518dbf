// A store in memory, for tests and for sales that need not outlive their process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <rushgate/store.h>

namespace rushgate {

struct MemoryStoreOptions {
  /// Keeps the state records for load(), so that a test can open a second engine on the data of the
  /// first. Otherwise they are dropped, because the keyspace has the values anyway.
  bool keep_state = false;
};

/// Keeps the segments of streams, in a compact form. Fails only when memory runs out. As
/// thread-safe as <rushgate/store.h> demands.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryStoreOptions options = {});
  ~MemoryStore() override;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  /// May be called again, between two engines.
  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override;
  absl::Status commit(const StoreBatch& batch) override;
  absl::Status sync() override;
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamSegment>& segments) override;
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max,
                                std::vector<StreamSegment>& segments) override;
  absl::Status find_last_stream(std::uint64_t& stream) override;
  [[nodiscard]] Durability durability() const override { return Durability::kMemory; }
  [[nodiscard]] bool keeps_state() const override { return options_.keep_state; }
  /// Returns the bytes that the segments take. State records do not count.
  [[nodiscard]] std::size_t memory_bytes() const override { return stream_bytes_; }

 private:
  struct Data;
  class Writer;

  const MemoryStoreOptions options_;
  const std::unique_ptr<Data> data_;
  std::size_t stream_bytes_ = 0;
};

}  // namespace rushgate
