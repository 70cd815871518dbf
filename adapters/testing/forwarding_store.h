// A store that forwards every call: a base class for stores that count, copy or change writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <rushgate/store.h>

namespace rushgate::testing {

/// Forwards to another store, which it owns.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  absl::Status load(
      absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) override {
    return store_->load(visit);
  }
  absl::Status commit(const StoreBatch& batch) override { return store_->commit(batch); }
  absl::Status sync() override { return store_->sync(); }
  absl::Status read_stream(std::uint64_t stream, StreamId from, StreamId to, std::size_t bytes_max,
                           std::vector<StreamRun>& runs) override {
    return store_->read_stream(stream, from, to, bytes_max, runs);
  }
  absl::Status read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                std::size_t bytes_max, std::vector<StreamRun>& runs) override {
    return store_->read_stream_back(stream, from, to, bytes_max, runs);
  }
  absl::Status find_last_stream(std::uint64_t& stream) override {
    return store_->find_last_stream(stream);
  }
  [[nodiscard]] Durability durability() const override { return store_->durability(); }
  [[nodiscard]] bool keeps_state() const override { return store_->keeps_state(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return store_->memory_bytes(); }

 protected:
  [[nodiscard]] Store& store() const { return *store_; }

 private:
  const std::unique_ptr<Store> store_;
};

}  // namespace rushgate::testing
