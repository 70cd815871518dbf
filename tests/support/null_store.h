// A store that accepts everything and stores nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <rushgate/store.h>

namespace rushgate {

class NullStore : public Store {
 public:
  absl::Status load(absl::FunctionRef<void(std::string_view, std::string_view)>) override {
    return absl::OkStatus();
  }
  absl::Status commit(const StoreBatch&) override { return absl::OkStatus(); }
  absl::Status sync() override { return absl::OkStatus(); }
  absl::Status read_stream(std::uint64_t, StreamId, StreamId, std::size_t,
                           std::vector<StreamSegment>&) override {
    return absl::OkStatus();
  }
  absl::Status read_stream_back(std::uint64_t, StreamId, StreamId, std::size_t,
                                std::vector<StreamSegment>&) override {
    return absl::OkStatus();
  }
  absl::Status find_last_stream(std::uint64_t& stream) override {
    stream = 0;
    return absl::OkStatus();
  }
  [[nodiscard]] Durability durability() const override { return Durability::kMemory; }
};

}  // namespace rushgate
